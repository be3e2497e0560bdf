#include <stratum/solvers/mixed_refinement.hpp>

#include <algorithm>
#include <cmath>

#include <stratum/core/errors.hpp>
#include <stratum/core/grid/blas.hpp>
#include <stratum/solvers/rounding.hpp>

namespace stratum {

double power_of_two_below_reciprocal(double norm) {
  if (!(norm > 0) || !std::isfinite(norm)) return 1;
  // Both it and its reciprocal must be finite.
  return std::ldexp(1.0, -std::clamp(std::ilogb(norm) + 1, -1000, 1000));
}

MixedRefinement::MixedRefinement(Context& ctx, const GridShape& shape) : r_(ctx, shape), c_(ctx, shape) {}

double MixedRefinement::residual(Context& ctx, const GridOperator<double>& a, GridView<const double> b,
                                 GridView<const double> x) {
  return a.scaled_residual_norm(ctx, scale_, b, x, r_.view()) / scale_;
}

SolveReport MixedRefinement::solve(Context& ctx, const GridOperator<double>& a, Preconditioner<float>& m,
                                   GridView<const double> b, GridView<double> x, const StoppingParams& stop,
                                   const Monitor& monitor) {
  const double rhs_norm = norm2(ctx, b);
  // With b = 0 the residual is A x.
  scale_ = power_of_two_below_reciprocal(rhs_norm > 0 ? rhs_norm : a.magnitude(ctx, b, x));
  const double initial = residual(ctx, a, b, x);
  StoppingTest test(stop, rhs_norm, initial, monitor);
  Rounding<double> rounding(ctx, a, b, x, rhs_norm);
  test.set_worst_row([&] { return rounding.worst_row(); });
  int inner = 0;
  bool done = test.done(0, initial);
  const auto end_at_rounding = [&](bool reached) {
    if (!reached) return;
    test.end_at_rounding();
    done = true;
  };
  const auto check_rounding = [&](double residual, double slack = 1) {
    end_at_rounding(rounding.reached(residual, r_.cview(), slack));
    if (rounding.rows_gained()) test.gained();
  };
  // Of a tolerance relative to rounding noise nothing would be left to reduce.
  if (!done && stop.baseline == Baseline::initial) end_at_rounding(rounding.reached_at_start(initial, r_.cview()));
  double norm = initial;
  for (int iteration = 1; !done; ++iteration) {
    m.apply(ctx, r_.cview(), c_.view());
    inner += m.iterations();
    axpy<float, double>(ctx, 1 / scale_, c_.cview(), x);
    scale_ = power_of_two_below_reciprocal(norm);
    norm = residual(ctx, a, b, x);
    done = test.done(iteration, norm);
    const bool ask = test.slow() || test.rounding_will_do(iteration, norm);
    if (done ? test.status() == Status::max_iterations : ask) check_rounding(norm);
    if (done && test.status() == Status::stagnated) check_rounding(norm, Rounding<double>::stopped);
  }
  SolveReport& report = test.report();
  report.inner_iterations = inner;
  return report;
}

}  // namespace stratum
