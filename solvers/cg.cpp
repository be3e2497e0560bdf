#include <stratum/solvers/cg.hpp>

#include <cmath>

#include <stratum/core/blas.hpp>

namespace stratum {

template <class T>
ConjugateGradients<T>::ConjugateGradients(Context& ctx, const GridShape& shape)
    : r_(ctx, shape), z_(ctx, shape), p_(ctx, shape), ap_(ctx, shape) {}

template <class T>
SolveReport ConjugateGradients<T>::solve(Context& ctx, const LinearOperator<T>& a, Preconditioner<T>* m,
                                         GridView<const T> b, GridView<T> x, const StoppingParams& stop,
                                         const Monitor& monitor) {
  expects(m == nullptr || (m->is_constant() && m->is_symmetric()),
          "conjugate gradients need a constant symmetric preconditioner; use a symmetric cycle with a fixed number of "
          "inner "
          "cycles, or the stationary iteration");
  const auto r = r_.view(), p = p_.view();
  a.residual(ctx, b, x, r);
  const double initial = norm2(ctx, r_.cview());
  StoppingTest test(stop, norm2(ctx, b), initial, monitor);
  int inner = 0;
  double rz = 0;
  bool restart = true;
  bool verified = true;  // r is the true residual, not the recursive one
  double last_verified = initial;
  bool done = test.done(0, initial);
  for (int iteration = 1; !done; ++iteration) {
    auto z = r;
    if (m != nullptr) {
      z = z_.view();
      m->apply(ctx, r, z);
      inner += m->iterations();
    }
    const double rz_new = dot<T>(ctx, r, z);
    if (!(rz_new > 0)) {
      test.end(Status::breakdown, message("(r, M^-1 r) = ", rz_new, " in iteration ", iteration,
                                          ": the preconditioner is not positive definite"));
      break;
    }
    xpay<T>(ctx, z, restart ? 0.0 : rz_new / rz, p);
    restart = false;
    rz = rz_new;
    a.apply(ctx, p, ap_.view());
    const double curvature = dot<T>(ctx, p, ap_.view());
    if (!(curvature > 0)) {
      test.end(Status::breakdown, message("(p, A p) = ", curvature, " in iteration ", iteration,
                                          ": the operator is not positive definite"));
      break;
    }
    axpy<T, T>(ctx, rz / curvature, p, x);
    axpy<T, T>(ctx, -rz / curvature, ap_.view(), r);
    double residual = norm2(ctx, r_.cview());
    verified = false;
    if (residual <= test.target()) {
      // Claim convergence on the true residual only; where rounding has parted the two, go on from the true one.
      a.residual(ctx, b, x, r);
      residual = norm2(ctx, r_.cview());
      verified = restart = true;
      if (residual > test.target() && residual > 0.5 * last_verified) {
        (void)test.done(iteration, residual);
        test.report().at_rounding = residual <= 16 * a.rounding_level(ctx, x);
        test.end(Status::stagnated, message(test.report().at_rounding ? "at rounding: " : "", residual,
                                            " is the true residual; ", test.target(), " was asked for"));
        break;
      }
      last_verified = residual;
    }
    done = test.done(iteration, residual);
  }
  SolveReport& report = test.report();
  report.inner_iterations = inner;
  if (!verified) {
    a.residual(ctx, b, x, r);
    report.residual = norm2(ctx, r_.cview());
  }
  return report;
}

template class ConjugateGradients<float>;
template class ConjugateGradients<double>;

}  // namespace stratum
