#include <stratum/solvers/held_constant.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

#include <stratum/core/errors.hpp>
#include <stratum/solvers/error_estimate.hpp>

namespace stratum {

HoldOfConstants hold_of_constants(Context& ctx, const LinearOperator<double>& a) {
  Field<double> ones(ctx, a.shape()), scratch(ctx, a.shape());
  set(ctx, 1.0, ones.view());
  a.apply(ctx, ones.cview(), scratch.view());
  const double sum = dot<double>(ctx, ones.cview(), scratch.cview());
  set(ctx, 0.0, scratch.view());
  constexpr double unit = std::numeric_limits<double>::epsilon() / 2;
  return {sum, unit * a.magnitude(ctx, scratch.cview(), ones.cview()) / sum};
}

namespace {

/// Of an iteration whose x has this error by rounding, beside its size.
void count(double error, double hold, const StoppingParams& stop, SolveReport& report) {
  if (error <= report.estimated_error.value_or(0)) return;
  report.estimated_error = error;
  constexpr double at_rounding = 1e-6, wrong = 1e-2;
  if (error <= std::max(stop.error_limit(), at_rounding)) return;
  report.status = error <= wrong ? Status::round_off_limit : Status::stagnated;
  report.reason = message("residual ", report.residual, ", but so little holds constants (the entries of A sum to ",
                          hold, ") that rounding leaves an estimated error of ", error, " of the size of x");
}

}  // namespace

void HeldConstant::settle(Context& ctx, const LinearOperator<double>& a, bool stored, FieldView<const double> b,
                          FieldView<double> x, const StoppingParams& stop, SolveReport& report) {
  constexpr double little = 1e-11, much = 1e-2;
  const bool ended_well = report.status == Status::converged || report.status == Status::round_off_limit;
  if (!ended_well || !std::isfinite(report.residual)) return;
  if (!hold_) hold_ = hold_of_constants(ctx, a);
  const auto [hold, lost] = *hold_;
  if (!(std::abs(lost) > little) || (hold <= 0 && !stored)) return;
  Field<double> ones(ctx, a.shape()), r(ctx, a.shape());
  const auto constant = [&](FieldView<const double> of_b, FieldView<const double> of_x) {
    a.residual(ctx, of_b, of_x, r.view());
    set(ctx, 1.0, ones.view());
    return dot<double>(ctx, ones.cview(), r.cview()) / hold;
  };
  const double added = constant(b, x), before = norm2<double>(ctx, r.cview());
  if (!std::isfinite(added)) return;
  axpy<double, double>(ctx, added, ones.cview(), x);
  double left = constant(b, x);
  const double now = norm2<double>(ctx, r.cview());
  constexpr double clearly = 2;  // more than that of a residual at rounding changes
  const double most = report.status == Status::converged ? report.residual : clearly * before;
  if (hold > 0 && now <= std::max(before, most)) {
    report.residual = now;
    if (!report.history.empty()) report.history.back() = now;
  } else {  // what holds constants is not alike everywhere
    axpy<double, double>(ctx, -added, ones.cview(), x);
    left = added;
  }
  double rounding = 0;
  for (const double s : {0.7, 1.1, 1.3}) {
    copy_scaled<double, double>(ctx, s, b, r.view());
    copy_scaled<double, double>(ctx, s, x, ones.view());
    rounding = std::max(rounding, std::abs(constant(r.cview(), ones.cview()) / s - left));
  }
  constexpr double given = 2;  // b has come with a rounding like that of s b
  const Extremes of_x = extremes<double>(ctx, x);
  const double largest = std::max(std::abs(of_x.least), std::abs(of_x.most));
  const double of_entries = !stored ? 0 : hold > 0 && lost < much ? lost * largest : largest;
  count(relative_error(std::abs(left) + given * rounding + of_entries, of_x), hold, stop, report);
}

}  // namespace stratum
