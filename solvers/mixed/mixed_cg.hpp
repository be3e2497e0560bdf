#pragma once

// Conjugate gradients in float around a preconditioner in float, for A x = b in double; A and M symmetric positive definite, M
// constant, A given in both precisions:
//
//     z = M^-1 r,  beta = (r, z) / (r, z)_before,  p <- z + beta p,  alpha = (r, z) / (p, A p),  y <- y + alpha p,
//     r <- r - alpha A p                                                                                in float
//
// and at an update
//
//     x <- x + 1/s y,  y = 0,  r = s (b - A x)                                                          in double
//
// with s a power of two near 1 / ||b||. An update is due by solvers/mixed/residual_replacement.hpp (the first by
// `first_delta`), where the recursion says that the tolerance is met, and at the last iteration: only a residual in double ends
// the iteration. The direction is carried on over updates, so that it takes the iterations of conjugate gradients in double.
// What y rounds is of the size of x before the first update and of that of x's error after it: the first one must come early.
//
// Sources: as of solvers/mixed/reliable_cg.hpp, which has no preconditioner.
//
// 20 bytes an unknown beside b and x, on a GPU 24. Words of float a node and iteration: on a GPU 12 and the operator's, else
// 14; double ones around a float cycle are twice as long, and there are 20 of them. An update moves 13 more. Two waits for the
// stream an iteration; nothing is allocated by `solve`.

#include <stratum/core/io/solve_report.hpp>
#include <stratum/core/operators/linear_operator.hpp>
#include <stratum/solvers/krylov/conjugate_step.hpp>
#include <stratum/solvers/stopping.hpp>

namespace stratum {

class MixedCg {
 public:
  static constexpr double first_delta = 0.1, default_delta = 0.01;

  /// Throws UsageError unless 0 < delta < 1.
  MixedCg(Context& ctx, const GridLayout<2>& shape, double delta = default_delta);

  /// Solves A x = b from the given x; `inner` is A in float. A has LinearOperator::residual_in_float. Throws UsageError for an
  /// M that is not constant and symmetric. The history holds recursive residuals, and true ones at updates.
  SolveReport solve(Context& ctx, const LinearOperator<double>& a, const LinearOperator<float>& inner,
                    Preconditioner<float>& m, FieldView<const double> b, FieldView<double> x,
                    const StoppingParams& stop, const Monitor& monitor = {});

  /// Of the latest solve.
  [[nodiscard]] int updates() const { return updates_; }

 private:
  double delta_;
  int updates_ = 0;
  Field<float> r_, z_, ap_, y_;
  SearchDirection<float> p_;
};

}  // namespace stratum
