#include <stratum/solvers/mixed/mixed_refinement.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

#include <stratum/core/errors.hpp>
#include <stratum/core/field/blas.hpp>
#include <stratum/solvers/error_estimate.hpp>
#include <stratum/solvers/rounding.hpp>

namespace stratum {

double power_of_two_below_reciprocal(double norm) {
  if (!(norm > 0) || !std::isfinite(norm)) return 1;
  // Both it and its reciprocal must be finite.
  return std::ldexp(1.0, -std::clamp(std::ilogb(norm) + 1, -1000, 1000));
}

MixedRefinement::MixedRefinement(Context& ctx, const GridOperator<double>& a, bool has_room) : deferred_(ctx) {
  const GridLayout<2> shape = a.shape();
  if (!has_room) {
    r_ = Field<float>(ctx, shape);
    c_ = Field<float>(ctx, shape);
  }
  if (ctx.on_gpu() && a.traits().streams && !shape.periodic_x) other_ = Field<double>(ctx, shape);
}

SolveReport MixedRefinement::solve(Context& ctx, const GridOperator<double>& a, Preconditioner<float>& m,
                                   FieldView<const double> b, FieldView<double> x, const StoppingParams& stop,
                                   const Monitor& monitor, std::optional<double> known_rhs_norm,
                                   const std::optional<Room<float>>& room) {
  if (!room && r_.empty()) {
    r_ = Field<float>(ctx, a.shape());
    c_ = Field<float>(ctx, a.shape());
  }
  const FieldView<float> r = room ? room->r : r_.view(), c = room ? room->z : c_.view();
  const FieldView<const float> defect = r, correction = c;
  const double rhs_norm = known_rhs_norm ? *known_rhs_norm : norm2(ctx, b);
  // With b = 0 the residual is A x.
  scale_ = power_of_two_below_reciprocal(rhs_norm > 0 ? rhs_norm : a.magnitude(ctx, b, x));
  // On a GPU the next cycle is submitted before the norm is known that says whether it is wanted, where that is expected.
  bool submitted = false;
  double alpha = 1;
  const std::function<void()> submit = [&] {
    m.apply(ctx, defect, c);
    submitted = true;
  };
  // Subdomains of a grid go by the same numbers, and so do alike.
  const bool in_order = ctx.communicator() == nullptr || ctx.communicator()->keeps_order();
  const auto early_if = [&](bool expected) { return expected && in_order && !m.waits() ? submit : nullptr; };
  const auto residual = [&](FieldView<const double> at, const std::function<void()>& meanwhile) {
    return a.scaled_residual_norm(ctx, scale_, b, at, r, meanwhile) / scale_;
  };
  constexpr double much = 1e-7;  // of ||b||: an x to begin with is seldom as good
  const bool asks_much =
      stop.reference_norm == ReferenceNorm::rhs && std::max(stop.rtol * rhs_norm, stop.atol) <= much * rhs_norm;
  const double initial = residual(x, early_if(asks_much && stop.max_iterations > 0));
  const bool fuses = !other_.empty() && a.fuses_update(ctx, b, x);
  FieldView<double> here = x, there = other_.view();
  const auto bring_home = [&] {
    if (here.data == x.data) return;
    copy<double, double>(ctx, here, x);
    std::swap(here, there);
  };
  StoppingTest test(stop, rhs_norm, initial, monitor);
  Rounding<double> rounding(ctx, a, b, x, rhs_norm);
  ErrorEstimate estimate;
  int iteration = 0;
  // On a GPU these come with the residual's norm, where they will be wanted.
  std::optional<DeferredSizes::Sizes> sizes;
  // c_ is the correction that led to x, or of the next iteration already.
  const auto measure = [&] {
    if (!m.estimates_error()) return;
    const int k = submitted && !sizes ? iteration : iteration - 1;
    if (k < 0 || estimate.has(k)) return;
    const double largest = sizes ? sizes->largest_c : norm_max(ctx, correction);
    estimate.add(k, largest * (k == iteration ? 1 / scale_ : alpha));
  };
  // `fresh`: by the correction of x as it is, not by how corrections have fallen before.
  const auto error_of_x = [&](bool fresh) -> std::optional<double> {
    if (!m.estimates_error()) return {};
    bring_home();
    const Extremes of_x = sizes && sizes->of_x ? *sizes->of_x : extremes<double>(ctx, x);
    measure();
    if (const auto known = estimate.of(iteration); known && !fresh)
      if (const double relative = relative_error(*known, of_x);
          relative * estimate.doubt(iteration) <= test.error_limit())
        return relative;
    if (!submitted) submit();
    sizes.reset();
    measure();
    return relative_error(*estimate.of(iteration), of_x);
  };
  test.set_error([&] { return error_of_x(false); });
  test.set_worst_row([&] {
    bring_home();
    return rounding.worst_row();
  });
  int inner = 0;
  bool done = test.done(0, initial);
  // Near rounding: the correction still falls, or the iteration ends where it is reached.
  const auto end_at_rounding = [&](const auto& reached) {
    const auto left = error_of_x(true);
    if (left && !(*left <= test.error_at_rounding()) && !estimate.stopped(iteration)) return test.gained();
    if (!reached()) return;
    test.end_at_rounding(left);
    done = true;
  };
  const auto check_rounding = [&](double norm_of_defect, double slack = 1) {
    bring_home();
    if (rounding.reached(norm_of_defect, defect, Rounding<double>::stopped))
      end_at_rounding([&] { return rounding.reached(norm_of_defect, defect, slack); });
  };
  // Of a tolerance relative to rounding noise nothing would be left to reduce.
  if (!done && stop.reference_norm == ReferenceNorm::initial && rounding.reached_at_start(initial, defect))
    end_at_rounding([] { return true; });
  constexpr double usual_fall = 0.1, by_far = 3;
  double norm = initial, fall = usual_fall;
  while (!done) {
    ++iteration;
    if (!submitted) submit();
    submitted = false;
    inner += m.iterations();
    const double before = norm;
    alpha = 1 / scale_;
    scale_ = power_of_two_below_reciprocal(norm);
    const double expected = norm * fall;
    const bool is_home = here.data == x.data, may_be_last = expected <= test.target();
    const bool updates_there = fuses && !(is_home && may_be_last);
    const auto cycle = early_if(iteration < stop.max_iterations && expected > by_far * test.target());
    const bool measures = deferred_.available() && m.estimates_error() && test.is_near(expected);
    const auto next = [&]() -> std::function<void()> {
      if (!measures) return cycle;
      return [&, x_next = FieldView<const double>(updates_there ? there : here)] {
        deferred_.submit(ctx, correction, cycle ? std::nullopt : std::optional(x_next));
        if (cycle) cycle();
      };
    }();
    if (updates_there) {
      norm = a.updated_residual_norm<float>(ctx, scale_, b, here, alpha, correction, there, r, next);
      norm /= scale_;
      std::swap(here, there);
    } else {
      axpy<float, double>(ctx, alpha, correction, here);
      norm = residual(here, next);
    }
    sizes.reset();
    if (deferred_.submitted()) sizes = deferred_.fetch(ctx);
    fall = norm / before;
    done = test.done(iteration, norm);
    const bool ask = test.slow() || test.rounding_will_do(iteration, norm);
    if (done ? test.status() == Status::max_iterations : ask) check_rounding(norm);
    if (done && test.status() == Status::stagnated) check_rounding(norm, Rounding<double>::stopped);
    if (!done && (ask || test.is_near(norm))) measure();
  }
  bring_home();
  SolveReport& report = test.report();
  if (!report.estimated_error && iteration > 1 && report.residual > 0 && std::isfinite(report.residual)) {
    measure();
    if (const auto known = estimate.of(iteration))
      report.estimated_error = relative_error(*known, extremes<double>(ctx, x));
  }
  report.inner_iterations = inner;
  return report;
}

}  // namespace stratum
