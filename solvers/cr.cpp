#include <stratum/solvers/cr.hpp>

#include <stratum/solvers/krylov.hpp>

namespace stratum {

namespace {

/// (A p, z) and (M^-1 A p, r) agree when z = M^-1 r; where they differ by more, z is computed anew.
constexpr double tolerated_drift = 1e-2;

}  // namespace

template <class T>
ConjugateResiduals<T>::ConjugateResiduals(Context& ctx, const GridShape& shape)
    : Solver<T>(shape), r_(ctx, shape), z_(ctx, shape), az_(ctx, shape), p_(ctx, shape), ap_(ctx, shape),
      map_(ctx, shape) {}

template <class T>
SolveReport ConjugateResiduals<T>::run(Context& ctx, const LinearOperator<T>& a, Preconditioner<T>* m,
                                       GridView<const T> b, GridView<T> x, const StoppingParams& stop,
                                       const Monitor& monitor) {
  expects_constant_symmetric("conjugate residuals", m);
  const auto r = r_.view(), az = az_.view(), p = p_.view(), ap = ap_.view();
  KrylovIteration<T> iteration(ctx, a, m, b, x, r, stop, monitor);
  double square = 0;
  bool drifted = false;
  GridView<const T> z, map;
  for (bool restart = true; !iteration.done();) {
    if (restart || drifted) z = iteration.precondition(r, z_.view());
    a.apply(ctx, z, az);
    const double beta = restart ? 0 : -dot<T>(ctx, az, map) / square;
    xpay<T>(ctx, z, beta, p);
    xpay<T>(ctx, az, beta, ap);
    map = iteration.precondition(ap, map_.view());
    const auto products = dots<T>(ctx, {{ap, map}, {r, map}, {ap, z}});
    square = products[0];
    if (!(square > 0)) {
      iteration.break_down(message("(A p, M^-1 A p) = ", square,
                                   square < 0 ? ": the preconditioner is not positive definite"
                                              : ": the operator or the preconditioner is singular"));
      break;
    }
    const double alpha = products[1] / square;
    if (!(alpha != 0 && std::isfinite(alpha))) {
      restart = iteration.recover(
          message("(A p, M^-1 r) = ", products[1], ": the operator is not definite; gmres does without"));
      continue;
    }
    drifted = std::abs(products[2] - products[1]) > tolerated_drift * std::abs(products[1]);
    axpy<T, T>(ctx, alpha, p, x);
    axpy<T, T>(ctx, -alpha, ap, r);
    if (m != nullptr) axpy<T, T>(ctx, -alpha, map, z_.view());
    restart = iteration.advance(norm2<T>(ctx, r));
  }
  return iteration.finish();
}

template class ConjugateResiduals<float>;
template class ConjugateResiduals<double>;

}  // namespace stratum
