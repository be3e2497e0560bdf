#pragma once

// PoissonSolver: a mesh in, or a matrix and its mesh, a solver for A x = b out. It builds the hierarchy once and solves
// any number of right-hand sides:
//
//   precision mixed    double defect and update around a float cycle, the default
//             full     everything in double
//             single   everything in float: the published negative example. Its own residual falls, the true one does not,
//                      and the report says so.
//             double_single  everything in float with x in two of them, for GPUs whose double is slow (solvers/mixed/double_single.hpp):
//                      right to 1e-7 in the energy norm, with a residual that stays above 1e-8. Tensor and element-coefficient operators;
//                      cg, fcg or cr
//   method    multigrid             iterative refinement with the cycle
//             cg, fcg, cr           preconditioned by the symmetric cycle; of these fcg alone takes a K-cycle
//             gcr, gmres, bicgstab  preconditioned by the ordinary cycle; gcr and gmres start again after krylov.restart
//                                   directions (solvers/solver.hpp)
//   deflate            cg without the slow modes that inclusions of high K leave (multigrid/deflated_solver.hpp)
//   full_multigrid     one FMG cycle from the coarsest level up; with `stop` it goes on by cycles to the tolerance
//
// With smoother "auto" a GPU solves tensor operators with few unknowns in one direction without cycles
// (MultigridParams::exact_below), and mixed precision is full there where doubles are half as fast as floats. Else the method
// and the cycle, where they are left open, follow from how far widths jump in both directions at once (the smaller
// largest_jump): below 16 V-cycles, to 200 F-cycles on a CPU with 50000 unknowns or more, else CG. Where K varies, on deformed
// meshes and for matrices that are said to be symmetric, from the matrix (multigrid/couplings.hpp): flexible CG around K-cycles
// where it is rotated against the axes, CG around W2-cycles where it jumps as well, else CG around V-cycles.
//
// A mixed solve that stagnates above the rounding of double, overflows, grows by the rounding of float or breaks down is taken
// up again in double unless `retry_in_double` is off; the report's reason says so. All vectors are in double.
//
// On a Context with other subdomains of the grid (Context::set_communicator) all subdomains make the same calls with the whole
// mesh, and the solver cuts it into subdomains (mesh/partition.hpp): b and x are those of the subdomain, as
// fine_operator().shape() says, reports are of the whole.

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <stratum/core/names.hpp>
#include <stratum/multigrid/deflated_solver.hpp>
#include <stratum/multigrid/multigrid.hpp>
#include <stratum/multigrid/singular_parts.hpp>
#include <stratum/multigrid/structured/scaled_rows.hpp>
#include <stratum/solvers/krylov/refinement.hpp>

namespace stratum {

/// mixed: cycles in float, all else in double; residual_replacement: conjugate gradients in float as well, now and then set
/// right in double (solvers/mixed/mixed_cg.hpp); full: all in double; single: all in float; double_single:
/// solvers/mixed/double_single.hpp.
enum class Precision : std::uint8_t { mixed, full, single, double_single, residual_replacement };
enum class Method : std::uint8_t { multigrid, cg, fcg, cr, gcr, gmres, bicgstab };

template <>
inline constexpr auto
    names_of<Precision> = std::to_array<Named<Precision>>({{Precision::mixed, "mixed"},
                                                           {Precision::full, "double"},
                                                           {Precision::residual_replacement, "residual-replacement"},
                                                           {Precision::double_single, "double-single"},
                                                           {Precision::single, "single"}});
template <>
inline constexpr auto names_of<Method> = std::to_array<Named<Method>>({{Method::multigrid, "multigrid"},
                                                                       {Method::cg, "cg"},
                                                                       {Method::fcg, "fcg"},
                                                                       {Method::cr, "cr"},
                                                                       {Method::gcr, "gcr"},
                                                                       {Method::gmres, "gmres"},
                                                                       {Method::bicgstab, "bicgstab"}});

/// Between neighbouring nodes: above it an interpolation that follows the matrix is worth its making.
inline constexpr double most_bilinear_jump = 1.5;

struct PoissonSolverParams {
  MultigridParams multigrid;
  StorageFormat format = StorageFormat::tensor;  // symmetric where it is tensor and an alpha varies along its side
  OperatorTerms terms{};                         // beside the Laplacian; the mesh says what its ends are
  /// K, and c beside that of `terms`, of the mesh's cells; null: K = 1. The finest operator is then a cell or tensor operator,
  /// coarse ones are Galerkin products whose interpolation follows K, and the method is cg where none is asked for (fcg with a
  /// K-cycle).
  std::shared_ptr<const CellCoefficients> coefficients{};
  /// Of Galerkin products: conductance where coefficients are given and on deformed meshes, which have no split one; of a
  /// matrix bilinear, or where smoother "auto" finds K to jump by more than most_bilinear_jump the matrix.
  std::optional<InterpolationKind> interpolation{};
  Precision precision = Precision::mixed;
  InnerStop inner;
  std::optional<Method>
      method{};  // multigrid; of residual_replacement cg, of double_single too, and fcg with a K-cycle
  SolverParams krylov{.restart = 10};
  StoppingParams stop;
  bool full_multigrid = false;
  bool full_multigrid_from_x = false;  // for the correction of the given x: coarse levels know no boundary values
  bool continue_after_full_multigrid = false;  // to stop.rtol
  bool retry_in_double = true;
  /// Of method cg, K by cells of a rectangle, or a symmetric matrix (there `automatic` is none with another method); what it
  /// takes is not in required_memory.
  DeflateParams deflate{};
};

/// Bytes that a PoissonSolver takes on this mesh with b and x, found by making one in a memory dry run of the Context. (Beyond
/// them: one vector while a solve that stagnated is looked at, and a cycle in double after a double-precision fallback.) A
/// batch of several systems has as many b and x and, where they are solved one a thread, the threads' hierarchies.
[[nodiscard]] std::int64_t required_memory(const Context& ctx, const Geometry& mesh, const PoissonSolverParams& params,
                                           const SmootherRegistry& registry = builtin_smoothers(),
                                           std::size_t systems = 1);

class PoissonSolver {
 public:
  /// Throws UsageError for bad parameters, ResourceError when the hierarchy would not fit in memory: it says what is
  /// needed and what there is before it allocates.
  /// On a deformed mesh the finest operator is five bands (assembly/mapped_operators.hpp), else all is as with `coefficients`.
  PoissonSolver(Context& ctx, const Geometry& mesh, const PoissonSolverParams& params = {},
                const SmootherRegistry& registry = builtin_smoothers());
  /// Of a matrix, which is shared, whose unknowns are those of the mesh: on Hierarchy::galerkin. What `params.multigrid` says
  /// of it (symmetric, singular) is taken on trust but for what check_coefficients sees; `form` and `terms` do not matter.
  PoissonSolver(Context& ctx, const GridOperator<double>& a, const TensorMesh<2>& mesh,
                const PoissonSolverParams& params = {}, const SmootherRegistry& registry = builtin_smoothers());
  /// The same with an interpolation that follows these conductances of the mesh's cells, which need not outlive the call.
  PoissonSolver(Context& ctx, const GridOperator<double>& a, const Conductances& k, const TensorMesh<2>& mesh,
                const PoissonSolverParams& params = {}, const SmootherRegistry& registry = builtin_smoothers());
  /// The same of a matrix whose rows want scales: A x = b is what is iterated on and whose residual counts, the cycle is that
  /// of D A, which `params.multigrid` is about. Mixed or double precision, methods multigrid, gcr, gmres, bicgstab; no update.
  PoissonSolver(Context& ctx, const GridOperator<double>& a, const RowScales& scales, const TensorMesh<2>& mesh,
                const PoissonSolverParams& params, const SmootherRegistry& registry = builtin_smoothers());
  /// The same with a cycle that is that of another matrix, between projections (multigrid/singular_parts.hpp): for a singular A
  /// with several null vectors. Double precision; no deflation, no update.
  PoissonSolver(Context& ctx, const GridOperator<double>& a, const GridOperator<double>& for_cycle,
                const PartMeans& means, const TensorMesh<2>& mesh, const PoissonSolverParams& params,
                const SmootherRegistry& registry = builtin_smoothers());
  ~PoissonSolver();
  PoissonSolver(PoissonSolver&&) noexcept;
  PoissonSolver& operator=(PoissonSolver&&) noexcept;
  PoissonSolver(const PoissonSolver&) = delete;
  PoissonSolver& operator=(const PoissonSolver&) = delete;

  /// On a GPU: two solves of two iterations on numbers of its own, which take two vectors meanwhile, so that device code is
  /// loaded and cycles are recorded before the first solve; part of the set-up's time.
  void warm_up(Context& ctx);

  /// Solves A x = b from the given x (full multigrid ignores it unless full_multigrid_from_x).
  SolveReport solve(Context& ctx, FieldView<const double> b, FieldView<double> x, const Monitor& monitor = {});

  /// Solves A x_k = b_k for every k; each system stops on its own, with the bits of a solve of its own. On a CPU systems of
  /// up to `most_unknowns_side_by_side` unknowns are solved one a thread, each thread with a hierarchy of its own, made at the
  /// first such call (ResourceError where they would not fit in memory); larger ones, and those on a GPU, one after the other,
  /// and what they share is the set-up.
  std::vector<SolveReport> solve(Context& ctx, std::span<const FieldView<const double>> b,
                                 std::span<const FieldView<double>> x);
  static constexpr std::int64_t most_unknowns_side_by_side = 300'000;

  /// Another c in `params.terms`, for one that was made with c > 0, K = 1 and a tensor operator (Hierarchy::set_reaction).
  /// Allocates nothing on the device.
  void set_reaction(Context& ctx, double c);
  /// Other coefficients for a solver of a matrix (Hierarchy::update), and other conductances where it was made with some.
  /// Allocates nothing on the device. What was made for batches is made anew at the next one.
  void update(Context& ctx, const GridOperator<double>& a);
  void update(Context& ctx, const GridOperator<double>& a, const Conductances& k);

  /// How the solves that follow stop. Throws UsageError for bad parameters.
  void set_stop(const StoppingParams& stop);

  /// One cycle from zero in double, or several of them as params.inner says, whatever its precision: for iterations
  /// of one's own. Made with the first call where the method does without.
  [[nodiscard]] Preconditioner<double>& preconditioner(Context& ctx);

  /// With what was left open filled in.
  [[nodiscard]] const PoissonSolverParams& params() const;
  /// The method or cycle that smoother "auto" chose, and why; empty where it was asked for.
  [[nodiscard]] const std::string& choice() const;
  /// The vectors that conjugate gradients are deflated by, or why there are none; empty where none were asked for.
  [[nodiscard]] const std::string& deflation() const;
  /// Of the cycle, coarsest first: shapes, smoothers and, where measured, seconds.
  [[nodiscard]] std::vector<LevelReport> level_reports() const;
  /// Multigrid::overlap of the cycle's levels, coarsest first.
  [[nodiscard]] std::vector<std::vector<OverlapRows>> overlaps() const;
  [[nodiscard]] int levels() const;
  /// Of the hierarchy, coarsest first.
  [[nodiscard]] const std::vector<TensorMesh<2>>& meshes() const;
  /// How the coarsest level is solved; never `automatic`.
  [[nodiscard]] const std::string& coarse_solver() const;
  [[nodiscard]] const GridOperator<double>& fine_operator() const;

 private:
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace stratum
