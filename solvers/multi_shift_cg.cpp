#include <stratum/solvers/multi_shift_cg.hpp>

#include <algorithm>
#include <cmath>

#include <stratum/core/grid/blas.hpp>

namespace stratum {

template <class T>
void ShiftedOperator<T>::apply(Context& ctx, GridView<const T> x, GridView<T> y) const {
  a_.apply(ctx, x, y);
  axpy<T, T>(ctx, shift_, x, y);
}

template <class T>
void ShiftedOperator<T>::residual(Context& ctx, GridView<const T> b, GridView<const T> x, GridView<T> r) const {
  a_.residual(ctx, b, x, r);
  axpy<T, T>(ctx, -shift_, x, r);
}

template <class T>
double ShiftedOperator<T>::magnitude(Context& ctx, GridView<const T> b, GridView<const T> x) const {
  const double of_a = a_.magnitude(ctx, b, x);
  return of_a == 0 ? 0 : of_a + shift_ * norm2<T>(ctx, x);
}

template <class T>
MultiShiftCg<T>::MultiShiftCg(Context& ctx, const GridShape& shape, int shifts)
    : shape_(shape), finisher_(ctx, shape), r_(ctx, shape), ap_(ctx, shape) {
  expects(shifts >= 1, "there must be a shift or more, not ", shifts);
  for (int k = 0; k < shifts; ++k) p_.emplace_back(ctx, shape);
}

template <class T>
std::vector<SolveReport>
MultiShiftCg<T>::solve(Context& ctx, const LinearOperator<T>& a, const std::vector<double>& shifts, GridView<const T> b,
                       const std::vector<GridView<T>>& x, const StoppingParams& stop, const Monitor& monitor) {
  const auto hold = in_use_->hold("MultiShiftCg");
  const std::size_t count = p_.size();
  expects(shifts.size() == count && x.size() == count, "made for ", count, " shifts, not for ", shifts.size(), " and ",
          x.size(), " solutions");
  expects(a.shape() == shape_, "the operator must have the shape that the solver was made for");
  expects_fit(ctx, "b", b, shape_);
  for (const double shift : shifts)
    expects(std::isfinite(shift) && shift >= 0, "shifts must be finite and not negative, not ", shift);
  for (const auto& xk : x) expects_fit(ctx, "x", xk, shape_);

  struct State {
    double zeta = 1, zeta_before = 1;
    int iterations = 0;
    bool left_alone = false;
  };
  std::vector<State> states(count);
  const auto smallest = static_cast<std::size_t>(std::min_element(shifts.begin(), shifts.end()) - shifts.begin());
  const ShiftedOperator<T> base(a, shifts[smallest]);
  const auto r = r_.view(), ap = ap_.view(), p = p_[smallest].view();
  copy<T, T>(ctx, b, r);
  for (std::size_t k = 0; k < count; ++k) {
    set<T>(ctx, 0, x[k]);
    copy<T, T>(ctx, b, p_[k].view());
  }
  const double rhs_norm = norm2<T>(ctx, b);
  StoppingTest test(stop, rhs_norm, rhs_norm, monitor, IterationKind::krylov);
  double rr = dot<T>(ctx, r, r), alpha_before = 1, beta_before = 0;
  bool done = test.done(0, rhs_norm);
  for (int iteration = 1; !done; ++iteration) {
    base.apply(ctx, p, ap);
    const double curvature = dot<T>(ctx, p, ap);
    if (!(curvature > 0)) break;  // the finisher says so
    const double alpha = rr / curvature, rr_before = rr;
    axpy<T, T>(ctx, -alpha, ap, r);
    rr = dot<T>(ctx, r, r);
    const double beta = rr / rr_before;
    for (std::size_t k = 0; k < count; ++k) {
      State& s = states[k];
      if (s.left_alone) continue;
      const double shift = shifts[k] - shifts[smallest];
      const double zeta =
          s.zeta * s.zeta_before * alpha_before /
          (s.zeta_before * alpha_before * (1 + alpha * shift) + alpha * beta_before * (s.zeta_before - s.zeta));
      const double ratio = zeta / s.zeta;
      axpy<T, T>(ctx, alpha * ratio, p_[k].view(), x[k]);
      s.zeta_before = s.zeta;
      s.zeta = zeta;
      s.iterations = iteration;
      s.left_alone = std::abs(zeta) * std::sqrt(rr) <= test.target();
      if (s.left_alone) continue;
      // p_k = zeta r + beta ratio^2 p_k
      if (k == smallest) {
        xpay<T>(ctx, r, beta, p);
      } else {
        xpay<T>(ctx, r, beta * ratio * ratio / zeta, p_[k].view());
        if (zeta != 1) copy_scaled<T, T>(ctx, zeta, p_[k].cview(), p_[k].view());
      }
    }
    alpha_before = alpha;
    beta_before = beta;
    done = test.done(iteration, std::sqrt(rr));
  }

  std::vector<SolveReport> reports;
  for (std::size_t k = 0; k < count; ++k) {
    StoppingParams rest = stop;
    rest.max_iterations = std::max(0, stop.max_iterations - states[k].iterations);
    SolveReport report = finisher_.solve(ctx, ShiftedOperator<T>(a, shifts[k]), nullptr, b, x[k], rest);
    report.iterations += states[k].iterations;
    report.initial_residual = rhs_norm;
    if (k == smallest) {
      const auto& common = test.report().history;
      report.history.insert(report.history.begin(), common.begin(), common.end() - 1);
    }
    reports.push_back(std::move(report));
  }
  return reports;
}

template class ShiftedOperator<float>;
template class ShiftedOperator<double>;
template class MultiShiftCg<float>;
template class MultiShiftCg<double>;

}  // namespace stratum
