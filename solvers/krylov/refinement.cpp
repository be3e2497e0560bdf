#include <stratum/solvers/krylov/refinement.hpp>

#include <cmath>
#include <limits>
#include <utility>

#include <stratum/core/field/blas.hpp>
#include <stratum/solvers/krylov/krylov.hpp>

namespace stratum {

void register_refinement(SolverRegistry& registry);

namespace {

template <class T>
std::unique_ptr<Solver<T>> make_refinement(Context& ctx, const GridLayout<2>& shape, const SolverParams& /*params*/) {
  return std::make_unique<Refinement<T>>(ctx, shape);
}

}  // namespace

template <class T>
Refinement<T>::Refinement(Context& ctx, const GridLayout<2>& shape, ResidualUpdate update)
    : Solver<T>(shape), r_(ctx, shape), c_(ctx, shape), update_(update) {
  if (update == ResidualUpdate::updated) ac_ = SharedField<T>(ctx, shape);
}

template <class T>
SolveReport Refinement<T>::run(Context& ctx, const LinearOperator<T>& a, Preconditioner<T>* m, FieldView<const T> b,
                               FieldView<T> x, const StoppingParams& stop, const Monitor& monitor) {
  const auto r = r_.view();
  KrylovIteration<T> iteration(ctx, a, m, b, x, r, c_.view(), stop, monitor, IterationKind::stationary);
  while (!iteration.done()) {
    const auto c = iteration.precondition(r, c_.view());
    axpy<T, T>(ctx, 1.0, c, x);
    if (update_ == ResidualUpdate::recomputed) {
      iteration.advance_truly();
    } else {
      a.apply(ctx, c, ac_.view());
      axpy<T, T>(ctx, -1.0, ac_.view(), r);
      iteration.record(norm2<T>(ctx, r));
    }
  }
  return iteration.finish(update_ == ResidualUpdate::updated);
}

void InnerStop::validate() const {
  expects(rtol >= 0 && rtol < 1, "the inner relative tolerance must be in [0, 1), not ", rtol);
  expects(increment >= 0 && increment < 1, "the inner increment must be between 0 and 1, not ", increment);
  expects(rtol == 0 || increment == 0, "an inner relative tolerance and an inner increment exclude each other");
  expects(tests() || cycles >= 1, "inner cycles must be 1 or more, not ", cycles);
  expects(max_cycles >= 1, "the limit of inner cycles must be 1 or more, not ", max_cycles);
}

template <class T>
InnerIteration<T>::InnerIteration(Context& ctx, Shared<const LinearOperator<T>> a, Shared<Preconditioner<T>> m,
                                  const InnerStop& stop)
    : a_(std::move(a)), m_(std::move(m)), stop_(stop), d_(ctx, a_->shape()), c_(ctx, a_->shape()) {
  stop.validate();
}

template <class T>
void InnerIteration<T>::apply(Context& ctx, FieldView<const T> r, FieldView<T> z) {
  expects_fit(ctx, "r", r, d_.shape());
  expects_fit(ctx, "z", z, d_.shape());
  const auto entered = work_->guard.enter("inner iteration");
  int& iterations = work_->iterations;
  m_->apply(ctx, r, z);
  iterations = 1;
  const bool by_residual = stop_.rtol > 0;
  const double target = by_residual ? norm2(ctx, r) * stop_.rtol : 0;
  const int limit = stop_.tests() ? stop_.max_cycles : stop_.cycles;
  double previous = std::numeric_limits<double>::infinity();
  while (iterations < limit) {
    a_->residual(ctx, r, z, d_.view());
    if (by_residual) {
      const double residual = norm2(ctx, d_.cview());
      if (!(residual > target) || residual >= previous) return;
      previous = residual;
    }
    m_->apply(ctx, d_.cview(), c_.view());
    axpy<T, T>(ctx, 1.0, c_.cview(), z);
    ++iterations;
    if (stop_.increment > 0 && !(norm_max(ctx, c_.cview()) >= stop_.increment * norm_max<T>(ctx, z))) return;
  }
}

template class Refinement<float>;
template class Refinement<double>;
template class InnerIteration<float>;
template class InnerIteration<double>;

void register_refinement(SolverRegistry& registry) {
  registry.add({{.vectors = 2},
                "richardson",
                "x <- x + M^-1 (b - A x); with a cycle as M the multigrid solver",
                make_refinement<float>,
                make_refinement<double>});
}

}  // namespace stratum
