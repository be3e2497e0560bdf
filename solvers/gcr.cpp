#include <stratum/solvers/gcr.hpp>

namespace stratum {

template <class T>
Gcr<T>::Gcr(Context& ctx, const GridShape& shape, int restart) : Solver<T>(shape), r_(ctx, shape) {
  expects(restart >= 1, "restart must be 1 or more, not ", restart);
  p_ = Basis<T>(ctx, shape, restart);
  q_ = Basis<T>(ctx, shape, restart);
}

template <class T>
SolveReport Gcr<T>::run(Context& ctx, const LinearOperator<T>& a, Preconditioner<T>* m, GridView<const T> b,
                        GridView<T> x, const StoppingParams& stop, const Monitor& monitor) {
  const auto r = r_.view();
  KrylovIteration<T> iteration(ctx, a, m, b, x, r, stop, monitor);
  std::vector<double> h;
  int k = 0;  // directions kept
  while (!iteration.done()) {
    const auto p = p_[k], q = q_[k];
    const auto z = iteration.precondition(r, p);
    if (z.data != p.data) copy<T, T>(ctx, z, p);
    a.apply(ctx, p, q);
    const double norm = q_.orthogonalise(ctx, k, q, h);
    if (!(norm > 0 && std::isfinite(norm))) {
      (void)iteration.recover(norm == 0 ? "A M^-1 r depends on the directions before it"
                                        : "the operator or the preconditioner gave numbers that are not finite");
      k = 0;
      continue;
    }
    for (double& factor : h) factor = -factor;
    axpys<T>(ctx, h, p_.first(k), p);
    copy_scaled<T, T>(ctx, 1 / norm, p, p);
    copy_scaled<T, T>(ctx, 1 / norm, q, q);
    const double alpha = dot<T>(ctx, r, q);
    axpy<T, T>(ctx, alpha, p, x);
    axpy<T, T>(ctx, -alpha, q, r);
    const bool full = ++k == q_.capacity();
    if (iteration.advance(norm2<T>(ctx, r)) || full) k = 0;
  }
  return iteration.finish();
}

template class Gcr<float>;
template class Gcr<double>;

}  // namespace stratum
