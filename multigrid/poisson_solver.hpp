#pragma once

// PoissonSolver: a tensor-product mesh in, a solver for A x = b out. It builds the hierarchy once and solves any number of
// right-hand sides:
//
//   precision mixed    double defect and update around a float cycle, the default
//             full     everything in double
//             single   everything in float: the published negative example. Its own residual falls, the true one does not,
//                      and the report says so.
//   method    multigrid             iterative refinement with the cycle
//             cg, fcg, cr           preconditioned by the symmetric cycle
//             gcr, gmres, bicgstab  preconditioned by the ordinary cycle; gcr and gmres start again after krylov.restart
//                                   directions (solvers/solver.hpp)
//   full_multigrid     one pass from the coarsest level up; with `stop` it goes on by cycles to the tolerance
//
// A mixed solve that stagnates above the rounding of double, overflows or breaks down is taken up again in double unless
// `retry_in_double` is off; the report's reason says so. All vectors are in double.

#include <memory>

#include <stratum/multigrid/multigrid.hpp>
#include <stratum/solvers/refinement.hpp>

namespace stratum {

enum class Precision : std::uint8_t { mixed, full, single };
enum class Method : std::uint8_t { multigrid, cg, fcg, cr, gcr, gmres, bicgstab };

inline constexpr Method every_method[] = {Method::multigrid, Method::cg,    Method::fcg,     Method::cr,
                                          Method::gcr,       Method::gmres, Method::bicgstab};
[[nodiscard]] std::string_view to_string(Method method);

struct PoissonSolverParams {
  MultigridParams multigrid;
  OperatorForm form = OperatorForm::tensor;
  Precision precision = Precision::mixed;
  InnerStop inner;
  Method method = Method::multigrid;
  SolverParams krylov{.restart = 10};
  StoppingParams stop;
  bool full_multigrid = false;
  bool continue_after_full_multigrid = false;  // to stop.rtol
  bool retry_in_double = true;
};

/// Bytes that a PoissonSolver takes on this mesh with b and x while it solves, within a few per cent of the Context's peak. (Beyond
/// them: one vector while a solve that stagnated is looked at, and a cycle in double where a mixed one is taken up again.)
[[nodiscard]] std::int64_t required_memory(const Context& ctx, const TensorMesh& mesh,
                                           const PoissonSolverParams& params,
                                           const SmootherRegistry& registry = builtin_smoothers());

class PoissonSolver {
 public:
  /// Throws UsageError for bad parameters, ResourceError when the hierarchy would not fit in memory: it says what is
  /// needed and what there is before it allocates.
  PoissonSolver(Context& ctx, const TensorMesh& mesh, const PoissonSolverParams& params = {},
                const SmootherRegistry& registry = builtin_smoothers());
  ~PoissonSolver();
  PoissonSolver(PoissonSolver&&) noexcept;
  PoissonSolver& operator=(PoissonSolver&&) noexcept;
  PoissonSolver(const PoissonSolver&) = delete;
  PoissonSolver& operator=(const PoissonSolver&) = delete;

  /// Solves A x = b from the given x (full multigrid ignores it).
  SolveReport solve(Context& ctx, GridView<const double> b, GridView<double> x, const Monitor& monitor = {});

  [[nodiscard]] int levels() const;
  /// Of the hierarchy, coarsest first.
  [[nodiscard]] const std::vector<TensorMesh>& meshes() const;
  /// How the coarsest level is solved; never `automatic`.
  [[nodiscard]] CoarseSolver coarse_solver() const;
  [[nodiscard]] const GridOperator<double>& fine_operator() const;

 private:
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace stratum
