#pragma once

// Preconditioned conjugate gradients in float for A x = b in double. A and M are symmetric positive definite, M is constant, and
// A is given in both precisions:
//
//     z = M^-1 r,  beta = (r, z) / (r, z)_before,  p <- z + beta p,  alpha = (r, z) / (p, A p),  y <- y + alpha p,
//     r <- r - alpha A p                                                                                in float
//
// and at an update, with s a power of two near 1 / ||b||,
//
//     x <- x + 1/s y,  y = 0,  r = s (b - A x)                                                          in double.
//
// An update happens when solvers/mixed/residual_replacement.hpp says that it is due (the first one by `first_delta`), when the
// recursive residual meets the tolerance, and at the last iteration. Only a residual in double ends the iteration. Updates keep
// the direction p, so that the number of iterations is that of conjugate gradients in double. y rounds relative to the size of
// x before the first update and to the size of x's error after it; hence the first update must come early.
//
// b and x have the shape that the constructor is given. Errors: UsageError for other shapes, for an M that is not constant and
// symmetric, and for stopping parameters that `validate` refuses. `solve` waits for the stream twice per iteration and allocates
// nothing. Memory beside b and x: 20 bytes per unknown, on a GPU 24. Memory traffic per unknown and iteration beside that of A
// and M: 14 words of float, on a GPU 12 (conjugate gradients in double around a float cycle: 20 words of double); an update
// moves 13 more. Sources: those of solvers/mixed/reliable_cg.hpp, which has no preconditioner.

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
