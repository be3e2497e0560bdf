#include <stratum/solvers/inner_solve.hpp>

#include <cmath>

#include <stratum/core/blas.hpp>

namespace stratum {

template <class T>
InnerSolve<T>::InnerSolve(const LinearOperator<T>& a, Solver<T>& solver, Preconditioner<T>* m,
                          const StoppingParams& stop)
    : a_(a), solver_(solver), m_(m), stop_(stop) {
  stop.validate();
}

template <class T>
void InnerSolve<T>::apply(Context& ctx, GridView<const T> r, GridView<T> z) {
  set(ctx, T(0), z);
  const SolveReport report = solver_.solve(ctx, a_, m_, r, z, stop_);
  iterations_ = report.iterations;
  if (!std::isfinite(report.residual)) copy<T, T>(ctx, r, z);
}

template class InnerSolve<float>;
template class InnerSolve<double>;

}  // namespace stratum
