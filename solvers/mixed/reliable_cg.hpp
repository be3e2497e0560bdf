#pragma once

// Conjugate gradients in mixed precision with reliable updates, for A x = b with A symmetric positive definite, given in both
// precisions. Steps are taken in float,
//
//     alpha = (r, r) / (d, A d),  y <- y + alpha d,  r <- r - alpha A d,  d <- r + beta d   in float
//
// and updates correct them in double,
//
//     x <- x + y,  y = 0,  r = b - A x                                            in double
//     d <- d - (r, d) / (r, r) r,  d <- r + beta d,  beta = (r, r) / (r, r)_old   in float, (r, r)_old before the latest step.
//
// An update happens when solvers/mixed/residual_replacement.hpp says that it is due, and when the recursive residual meets the
// tolerance. Only a residual in double ends the iteration. The direction is kept and made orthogonal to r, so that it keeps what
// the iteration has learnt; a restart from d = r takes up to twice as many iterations. r is scaled to unit size before it is
// narrowed.
//
// Parameters switch parts of the update off, to show what each is for: without a replaced r the recursion ends at a residual
// that is not the true one (breakdown); without a reset of y the residual cannot fall below the rounding of y in float
// (stagnated).
//
// b and x have the shape that the constructor is given. Errors: UsageError for other shapes, for stopping parameters that
// `validate` refuses, and if a second thread uses the object. `solve` allocates nothing. The host waits for one number per
// iteration, on GPUs for that of the iteration before the latest. Memory beside b and x: 24 bytes per unknown. Memory traffic
// per unknown and iteration beside that of A: about 10 words of float.
// Sources: Sleijpen, van der Vorst, Reliable updated residuals in hybrid Bi-CG methods, 1996; Strzodka, Goeddeke, Pipelined
// mixed precision algorithms on FPGAs for fast and accurate PDE solvers from low precision components, 2006; Jang, Kim, Lee,
// Multi GPU performance of conjugate gradient solver with staggered fermions in mixed precision, 2011.

#include <memory>
#include <optional>

#include <stratum/core/operators/linear_operator.hpp>
#include <stratum/core/reentrancy_guard.hpp>
#include <stratum/solvers/krylov/conjugate_step.hpp>
#include <stratum/solvers/mixed/residual_replacement.hpp>
#include <stratum/solvers/stopping.hpp>

namespace stratum {

struct ReliableCgParams {
  double delta = 0.1;
  UpdateBeta beta = UpdateBeta::guarded;
  bool solution_in_double = false;  // y is x itself: 12 bytes an unknown and iteration more, and delta may be smaller
  bool carry_direction = true;      // else every update starts again from d = r
  bool replace_residual = true;     // by the true one
  bool reset_solution = true;       // y = 0
  /// The host submits an iteration before it has the numbers of the one before, so that an update comes an iteration after it
  /// is due. Unset: on GPUs. Not with solution_in_double.
  std::optional<bool> ahead{};
};

class ReliableCg {
 public:
  /// Throws UsageError unless 0 < delta < 1.
  ReliableCg(Context& ctx, const GridLayout<2>& shape, const ReliableCgParams& params = {});

  /// Solves A x = b from the given x; `inner` is A in float. Throws UsageError for shapes that differ, for bad tolerances and
  /// for a solver that is solving already. The history holds recursive residuals, and true ones at updates.
  SolveReport solve(Context& ctx, const LinearOperator<double>& a, const LinearOperator<float>& inner,
                    FieldView<const double> b, FieldView<double> x, const StoppingParams& stop = {},
                    const Monitor& monitor = {});

  /// Of the latest solve.
  [[nodiscard]] int updates() const { return updates_; }

 private:
  /// x <- x + y
  void add_to(Context& ctx, FieldView<double> x, double scale);

  ReliableCgParams params_;
  GridLayout<2> shape_;
  std::shared_ptr<ReentrancyGuard> guard_ = std::make_shared<ReentrancyGuard>();
  int updates_ = 0;
  Field<double> residual_, start_;  // start_: of x, where y is never reset
  Field<float> r_, d_, ad_, y_;
  std::optional<QueuedSteps<float>> queue_;  // where the host goes ahead
};

}  // namespace stratum
