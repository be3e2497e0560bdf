#include <stratum/staggered/multi_shift_cg.hpp>

#include <algorithm>
#include <cmath>

#include <stratum/core/field/blas.hpp>
#include <stratum/solvers/krylov/conjugate_step.hpp>
#include <stratum/solvers/krylov/krylov.hpp>
#include <stratum/solvers/mixed/mixed_refinement.hpp>

namespace stratum {

template <class T>
void ShiftedOperator<T>::apply(Context& ctx, FieldView<const T> x, FieldView<T> y) const {
  a_.apply(ctx, x, y);
  axpy<T, T>(ctx, shift_, x, y);
}

template <class T>
void ShiftedOperator<T>::residual(Context& ctx, FieldView<const T> b, FieldView<const T> x, FieldView<T> r) const {
  a_.residual(ctx, b, x, r);
  axpy<T, T>(ctx, -shift_, x, r);
}

template <class T>
double ShiftedOperator<T>::magnitude(Context& ctx, FieldView<const T> b, FieldView<const T> x) const {
  const double of_a = a_.magnitude(ctx, b, x);
  return of_a == 0 ? 0 : of_a + shift_ * norm2<T>(ctx, x);
}

template <class T>
MultiShiftCg<T>::MultiShiftCg(Context& ctx, const GridLayout<2>& shape, int shifts)
    : shape_(shape), finisher_(ctx, shape), r_(ctx, shape), ap_(ctx, shape) {
  expects(shifts >= 1, "there must be a shift or more, not ", shifts);
  for (int k = 0; k < shifts; ++k) p_.emplace_back(ctx, shape);
}

namespace {

/// What the residual of one shift is of that of the smallest.
struct Shifted {
  double shift = 0;  // beyond the smallest
  double zeta = 1, zeta_before = 1;
  int iterations = 0;
  bool left_alone = false;

  /// The next zeta, by alpha and those of the iteration before; returns its ratio to the last.
  double step(double alpha, double alpha_before, double beta_before) {
    const double next = zeta * zeta_before * alpha_before /
                        (zeta_before * alpha_before * (1 + alpha * shift) + alpha * beta_before * (zeta_before - zeta));
    const double ratio = next / zeta;
    zeta_before = zeta;
    zeta = next;
    return ratio;
  }
};

/// x_k <- x_k + scale alpha_k p_k and whether it goes on; then p_k <- zeta r + beta ratio^2 p_k.
template <class T, class X>
void step_of_one(Context& ctx, double alpha, double scale, FieldView<const T> r, double beta, double ratio,
                 const Shifted& of, FieldView<T> p, FieldView<X> x) {
  axpy<T, X>(ctx, scale * alpha * ratio, p, x);
  if (of.left_alone) return;
  xpay<T>(ctx, r, beta * ratio * ratio / of.zeta, p);
  if (of.zeta != 1) copy_scaled<T, T>(ctx, of.zeta, FieldView<const T>(p), p);
}

template <class T>
std::size_t check_shifts(Context& ctx, std::size_t count, const std::vector<double>& shifts, FieldView<const T> b,
                         const std::vector<FieldView<T>>& x, const GridLayout<2>& shape) {
  expects(shifts.size() == count && x.size() == count, "made for ", count, " shifts, not for ", shifts.size(), " and ",
          x.size(), " solutions");
  expects_fit(ctx, "b", b, shape);
  for (const double shift : shifts)
    expects(std::isfinite(shift) && shift >= 0, "shifts must be finite and not negative, not ", shift);
  for (const auto& xk : x) expects_fit(ctx, "x", xk, shape);
  return static_cast<std::size_t>(std::min_element(shifts.begin(), shifts.end()) - shifts.begin());
}

std::vector<Shifted> beyond(const std::vector<double>& shifts, double smallest) {
  std::vector<Shifted> states;
  for (const double shift : shifts) states.push_back({.shift = shift - smallest});
  return states;
}

/// Each judged and finished from where it is: solve_one(shift, x, stop).
template <class T, class SolveOne>
std::vector<SolveReport> finished(const std::vector<Shifted>& states, const std::vector<double>& shifts,
                                  std::size_t smallest, const std::vector<FieldView<T>>& x, const StoppingParams& stop,
                                  const SolveReport& common, double rhs_norm, const SolveOne& solve_one) {
  std::vector<SolveReport> reports;
  for (std::size_t k = 0; k < states.size(); ++k) {
    StoppingParams rest = stop;
    rest.max_iterations = std::max(0, stop.max_iterations - states[k].iterations);
    SolveReport report = solve_one(shifts[k], x[k], rest);
    report.iterations += states[k].iterations;
    report.initial_residual = rhs_norm;
    if (k == smallest) report.history.insert(report.history.begin(), common.history.begin(), common.history.end() - 1);
    reports.push_back(std::move(report));
  }
  return reports;
}

}  // namespace

template <class T>
std::vector<SolveReport> MultiShiftCg<T>::solve(Context& ctx, const LinearOperator<T>& a,
                                                const std::vector<double>& shifts, FieldView<const T> b,
                                                const std::vector<FieldView<T>>& x, const StoppingParams& stop,
                                                const Monitor& monitor) {
  const auto entered = guard_->enter("MultiShiftCg");
  const std::size_t count = p_.size();
  expects(a.shape() == shape_, "the operator must have the shape that the solver was made for");
  const std::size_t smallest = check_shifts<T>(ctx, count, shifts, b, x, shape_);
  auto states = beyond(shifts, shifts[smallest]);
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
    const auto step = conjugate_step<T, T>(ctx, rr, p, ap, 1, x[smallest], r);
    if (!(step.curvature > 0)) break;  // the finisher says so
    const double alpha = rr / step.curvature, beta = step.square / rr;
    rr = step.square;
    for (std::size_t k = 0; k < count; ++k) {
      Shifted& s = states[k];
      if (s.left_alone) continue;
      const double ratio = s.step(alpha, alpha_before, beta_before);
      s.iterations = iteration;
      s.left_alone = std::abs(s.zeta) * std::sqrt(rr) <= test.target();
      if (k != smallest) step_of_one<T, T>(ctx, alpha, 1, r, beta, ratio, s, p_[k].view(), x[k]);
    }
    xpay<T>(ctx, r, beta, p);
    alpha_before = alpha;
    beta_before = beta;
    done = test.done(iteration, std::sqrt(rr));
  }
  return finished<T>(states, shifts, smallest, x, stop, test.report(), rhs_norm,
                     [&](double shift, FieldView<T> xk, const StoppingParams& rest) {
                       return finisher_.solve(ctx, ShiftedOperator<T>(a, shift), nullptr, b, xk, rest);
                     });
}

MixedMultiShiftCg::MixedMultiShiftCg(Context& ctx, const GridLayout<2>& shape, int shifts,
                                     const ReliableCgParams& params)
    : params_(params), shape_(shape), finisher_(ctx, shape, params), residual_(ctx, shape), r_(ctx, shape),
      ap_(ctx, shape) {
  expects(shifts >= 1, "there must be a shift or more, not ", shifts);
  expects(params.carry_direction && params.replace_residual && params.reset_solution,
          "several shifts are solved for by the whole scheme only");
  for (int k = 0; k < shifts; ++k) p_.emplace_back(ctx, shape);
}

std::vector<SolveReport> MixedMultiShiftCg::solve(Context& ctx, const LinearOperator<double>& a,
                                                  const LinearOperator<float>& inner, const std::vector<double>& shifts,
                                                  FieldView<const double> b, const std::vector<FieldView<double>>& x,
                                                  const StoppingParams& stop, const Monitor& monitor) {
  const auto entered = guard_->enter("MixedMultiShiftCg");
  const std::size_t count = p_.size();
  expects(a.shape() == shape_ && inner.shape() == shape_,
          "the operators must have the shape that the solver was made for");
  const std::size_t smallest = check_shifts<double>(ctx, count, shifts, b, x, shape_);
  auto states = beyond(shifts, shifts[smallest]);
  const ShiftedOperator<double> base(a, shifts[smallest]);
  const ShiftedOperator<float> inner_base(inner, shifts[smallest]);
  const auto r = r_.view(), ap = ap_.view(), p = p_[smallest].view();
  for (const auto& xk : x) set<double>(ctx, 0, xk);
  KrylovIteration<double> iteration(ctx, base, nullptr, b, x[smallest], residual_.view(), stop, monitor);
  const double rhs_norm = iteration.residual(), scale = power_of_two_below_reciprocal(rhs_norm);
  copy_scaled(ctx, scale, residual_.cview(), r);
  for (auto& pk : p_) copy(ctx, r_.cview(), pk.view());
  // Where the truth no longer follows, the finisher goes on, which knows when to give up.
  ResidualReplacement updates({.delta = params_.delta, .patience = 5}, rhs_norm);
  double rr = dot<float>(ctx, r, r), alpha_before = 1, beta_before = 0;
  for (int count_of_steps = 1; !iteration.done(); ++count_of_steps) {
    inner_base.apply(ctx, p, ap);
    const double before = rr;
    const auto step = conjugate_step<float, double>(ctx, rr, p, ap, 1 / scale, x[smallest], r);
    if (!(step.curvature > 0)) break;  // the finisher says so
    rr = step.square;
    const double alpha = before / step.curvature, norm = std::sqrt(rr) / scale;
    double beta = rr / before;
    const bool claimed = norm <= iteration.target(), update = updates.due(norm) || claimed;
    if (update) {
      iteration.advance_truly();
      updates.replaced(iteration.residual());
      const auto replaced = replace_residual(ctx, scale, residual_.cview(), r, p, params_.beta, before, rr);
      rr = replaced.square;
      beta = replaced.beta;
      if (!updates.follows()) break;
    } else {
      iteration.record(norm);
    }
    for (std::size_t k = 0; k < count; ++k) {
      Shifted& s = states[k];
      if (s.left_alone) continue;
      s.iterations = count_of_steps;
      const double ratio = s.step(alpha, alpha_before, beta_before);
      if (k == smallest) continue;
      s.left_alone = std::abs(s.zeta) * norm <= iteration.target();
      step_of_one<float, double>(ctx, alpha, 1 / scale, r, beta, ratio, s, p_[k].view(), x[k]);
    }
    xpay<float>(ctx, r, beta, p);
    alpha_before = alpha;
    beta_before = beta;
  }
  return finished<double>(states, shifts, smallest, x, stop, iteration.finish(), rhs_norm,
                          [&](double shift, FieldView<double> xk, const StoppingParams& rest) {
                            return finisher_.solve(ctx, ShiftedOperator<double>(a, shift),
                                                   ShiftedOperator<float>(inner, shift), b, xk, rest);
                          });
}

template class ShiftedOperator<float>;
template class ShiftedOperator<double>;
template class MultiShiftCg<float>;
template class MultiShiftCg<double>;

}  // namespace stratum
