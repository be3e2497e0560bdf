#include <stratum/solvers/inner_solve.hpp>

#include <cmath>
#include <utility>

#include <stratum/core/field/blas.hpp>

namespace stratum {

template <class T>
InnerSolve<T>::InnerSolve(Shared<const LinearOperator<T>> a, Shared<Solver<T>> solver, Shared<Preconditioner<T>> m,
                          const StoppingParams& stop, Monitor monitor)
    : a_(std::move(a)), solver_(std::move(solver)), m_(std::move(m)), stop_(stop), monitor_(std::move(monitor)) {
  stop.validate();
}

template <class T>
void InnerSolve<T>::apply(Context& ctx, FieldView<const T> r, FieldView<T> z) {
  const auto entered = work_->guard.enter("inner solve");
  set(ctx, T(0), z);
  const SolveReport report = solver_->solve(ctx, *a_, m_.get(), r, z, stop_, monitor_);
  work_->iterations = report.iterations;
  if (!std::isfinite(report.residual)) copy<T, T>(ctx, r, z);
}

template class InnerSolve<float>;
template class InnerSolve<double>;

}  // namespace stratum
