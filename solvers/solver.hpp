#pragma once

// Solver<T>: the interface of every iterative method for A x = b, for any LinearOperator A and any Preconditioner M.
//
//   name        iteration                                        A            M                  words per unknown kept
//   richardson  x <- x + M^-1 (b - A x)                          any          any, may vary            2
//   cg          conjugate gradients                              SPD          SPD, constant            4
//   fcg         cg with the flexible (Polak-Ribiere) beta        SPD          SPD, may vary            4
//   cr          conjugate residuals                              symmetric    SPD, constant            6
//   gcr         generalised conjugate residuals, restarted       any          any, may vary      1 + 2 k
//   gmres       flexible GMRES, right preconditioned, restarted  any          any, may vary      1 + 2 k
//   bicgstab    stabilised bi-conjugate gradients, right prec.   any          any, may vary            7
//
// Recursive residuals steer the iteration. Convergence is only claimed for b - A x, recomputed from the returned x, with its
// norm summed in double. If round-off has separated the two, the iteration restarts from the true residual. After a breakdown
// it restarts as well; if that does not help, the breakdown is reported. The constructor allocates the vectors; `solve`
// allocates nothing on the device, and waits for the stream once for each group of reductions. How a solve may end:
// solvers/stopping.hpp.
//
// To add a method, add one file solvers/krylov/NAME.cpp that defines `void register_NAME(SolverRegistry&)`; the build collects
// the calls. Users may register their own at run time.

#include <memory>
#include <string>
#include <string_view>

#include <stratum/core/io/solve_report.hpp>
#include <stratum/core/operators/linear_operator.hpp>
#include <stratum/core/registry.hpp>
#include <stratum/core/shared.hpp>
#include <stratum/solvers/stopping.hpp>

namespace stratum {

template <class T>
class Solver {
 public:
  explicit Solver(const GridLayout<2>& shape) : shape_(shape), guard_(std::make_shared<ReentrancyGuard>()) {}
  virtual ~Solver() = default;

  /// Solves A x = b from the given x. m = nullptr: no preconditioner. Throws UsageError for shapes that differ, for memory that
  /// the Context does not compute on, for bad tolerances, for a preconditioner that the method cannot use, and for a solver
  /// that is solving already.
  SolveReport solve(Context& ctx, const LinearOperator<T>& a, Preconditioner<T>* m, FieldView<const T> b,
                    FieldView<T> x, const StoppingParams& stop = {}, const Monitor& monitor = {});
  SolveReport solve(Context& ctx, const LinearOperator<T>& a, Preconditioner<T>& m, FieldView<const T> b,
                    FieldView<T> x, const StoppingParams& stop = {}, const Monitor& monitor = {}) {
    return solve(ctx, a, &m, b, x, stop, monitor);
  }
  /// With one in single precision (solvers/mixed/precision_cast.hpp), whose two vectors the first such solve allocates.
  SolveReport solve(Context& ctx, const LinearOperator<T>& a, Preconditioner<float>& m, FieldView<const T> b,
                    FieldView<T> x, const StoppingParams& stop = {},
                    const Monitor& monitor = {}) requires std::is_same_v<T, double>;

  [[nodiscard]] const GridLayout<2>& shape() const { return shape_; }

 protected:
  // Copies are the same solver.
  Solver(const Solver&) = default;
  Solver& operator=(const Solver&) = default;
  Solver(Solver&&) noexcept = default;
  Solver& operator=(Solver&&) noexcept = default;

 private:
  virtual SolveReport run(Context& ctx, const LinearOperator<T>& a, Preconditioner<T>* m, FieldView<const T> b,
                          FieldView<T> x, const StoppingParams& stop, const Monitor& monitor) = 0;

  GridLayout<2> shape_;
  std::shared_ptr<ReentrancyGuard> guard_;
  std::shared_ptr<Preconditioner<T>> cast_;  // of the latest preconditioner in single precision,
  const void* cast_of_ = nullptr;            // which is this
};

struct SolverParams {
  int restart = 30;  // directions that gcr and gmres keep before they start again
};

template <>
struct Registered<Solver> {
  static constexpr std::string_view what = "solver";
  using Params = SolverParams;
  struct Traits {
    bool symmetric = false;           // A must be symmetric
    bool constant_symmetric = false;  // M must be constant and symmetric
    int vectors = 0;                  // kept beside b and x,
    int vectors_per_restart = 0;      // and as many for every direction
  };
};

using SolverEntry = RegistryEntry<Solver>;
using SolverRegistry = Registry<Solver>;

/// The methods of this library; a fresh registry that the caller may add to.
[[nodiscard]] SolverRegistry builtin_solvers();

/// The same by name, none added.
[[nodiscard]] const std::map<std::string, SolverEntry, std::less<>>& solver_entries();
/// Throws UsageError for an unknown name, listing the known ones.
[[nodiscard]] const SolverEntry& solver_entry(std::string_view name);

/// Throws UsageError for an unknown name or a restart below 1.
template <class T>
[[nodiscard]] std::unique_ptr<Solver<T>> make_solver(Context& ctx, std::string_view name, const GridLayout<2>& shape,
                                                     const SolverParams& params = {});
/// Throws UsageError for a restart below 1.
void expects_restart(int restart);

}  // namespace stratum
