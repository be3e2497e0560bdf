#include <stratum/solvers/refinement.hpp>

#include <cmath>
#include <limits>

#include <stratum/core/blas.hpp>

namespace stratum {

template <class T>
Refinement<T>::Refinement(Context& ctx, const GridShape& shape, ResidualUpdate update)
    : r_(ctx, shape), c_(ctx, shape), update_(update) {
  if (update == ResidualUpdate::updated) ac_ = Vector<T>(ctx, shape);
}

template <class T>
SolveReport Refinement<T>::solve(Context& ctx, const LinearOperator<T>& a, Preconditioner<T>& m, GridView<const T> b,
                                 GridView<T> x, const StoppingParams& stop, const Monitor& monitor) {
  const auto r = r_.view(), c = c_.view();
  a.residual(ctx, b, x, r);
  const double initial = norm2(ctx, r_.cview());
  StoppingTest test(stop, norm2(ctx, b), initial, monitor);
  int inner = 0;
  bool done = test.done(0, initial);
  if (!done && stop.baseline == Baseline::initial && initial <= a.rounding_level(ctx, x)) {
    // Nothing is left to reduce: a relative tolerance on rounding noise could never be met.
    test.end(Status::converged, message("the initial guess solves the system to rounding, residual ", initial));
    done = true;
  }
  for (int iteration = 1; !done; ++iteration) {
    m.apply(ctx, r, c);
    inner += m.iterations();
    axpy<T, T>(ctx, 1.0, c, x);
    if (update_ == ResidualUpdate::recomputed) {
      a.residual(ctx, b, x, r);
    } else {
      a.apply(ctx, c, ac_.view());
      axpy<T, T>(ctx, -1.0, ac_.view(), r);
    }
    done = test.done(iteration, norm2(ctx, r_.cview()));
  }
  SolveReport& report = test.report();
  report.inner_iterations = inner;
  if (report.status == Status::stagnated && report.residual <= 16 * a.rounding_level(ctx, x)) {
    report.at_rounding = true;
    report.reason = message("at rounding: ", report.residual, " is as small as this precision can make ||b - A x||; ",
                            test.target(), " was asked for");
  }
  return report;
}

void InnerStop::validate() const {
  expects(digits >= 0 && digits <= 16, "inner digits must be between 0 and 16, not ", digits);
  expects(digits > 0 || cycles >= 1, "inner cycles must be 1 or more, not ", cycles);
  expects(max_cycles >= 1, "the limit of inner cycles must be 1 or more, not ", max_cycles);
}

template <class T>
InnerIteration<T>::InnerIteration(Context& ctx, const LinearOperator<T>& a, Preconditioner<T>& m, const InnerStop& stop)
    : a_(a), m_(m), stop_(stop), d_(ctx, a.shape()), c_(ctx, a.shape()) {
  stop.validate();
}

template <class T>
void InnerIteration<T>::apply(Context& ctx, GridView<const T> r, GridView<T> z) {
  m_.apply(ctx, r, z);
  iterations_ = 1;
  const bool by_digits = stop_.digits > 0;
  const double target = by_digits ? norm2(ctx, r) * std::pow(10.0, -stop_.digits) : 0;
  const int limit = by_digits ? stop_.max_cycles : stop_.cycles;
  double previous = std::numeric_limits<double>::infinity();
  while (iterations_ < limit) {
    a_.residual(ctx, r, z, d_.view());
    if (by_digits) {
      const double residual = norm2(ctx, d_.cview());
      if (!(residual > target) || residual >= previous) return;
      previous = residual;
    }
    m_.apply(ctx, d_.cview(), c_.view());
    axpy<T, T>(ctx, 1.0, c_.cview(), z);
    ++iterations_;
  }
}

template class Refinement<float>;
template class Refinement<double>;
template class InnerIteration<float>;
template class InnerIteration<double>;

}  // namespace stratum
