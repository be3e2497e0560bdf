#include <stratum/solvers/mixed_refinement.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

#include <stratum/core/blas.hpp>
#include <stratum/core/errors.hpp>

namespace stratum {

double power_of_two_below_reciprocal(double norm) {
  if (!(norm > 0) || !std::isfinite(norm)) return 1;
  // Both it and its reciprocal must be finite.
  return std::ldexp(1.0, -std::clamp(std::ilogb(norm) + 1, -1000, 1000));
}

MixedRefinement::MixedRefinement(Context& ctx, const GridShape& shape) : r_(ctx, shape), c_(ctx, shape) {}

SolveReport MixedRefinement::solve(Context& ctx, const GridOperator<double>& a, Preconditioner<float>& m,
                                   GridView<const double> b, GridView<double> x, const StoppingParams& stop,
                                   const Monitor& monitor) {
  const double rhs_norm = norm2(ctx, b);
  // With b = 0 the residual is A x, of the size of D x.
  double scale = power_of_two_below_reciprocal(
      rhs_norm > 0 ? rhs_norm : a.rounding_level(ctx, x) / std::numeric_limits<double>::epsilon());
  const auto residual = [&] { return a.scaled_residual_norm(ctx, scale, b, x, r_.view()); };
  const double initial = residual().wait(ctx) / scale;
  StoppingTest test(stop, rhs_norm, initial, monitor);
  int inner = 0;
  bool done = test.done(0, initial);
  if (!done && stop.baseline == Baseline::initial && initial <= a.rounding_level(ctx, x)) {
    // Nothing is left to reduce: a relative tolerance on rounding noise could never be met.
    test.end(Status::converged, message("the initial guess solves the system to rounding, residual ", initial));
    done = true;
  }
  // A GPU computes the next correction while the norm is on its way to the host, unless this one is likely to be the last.
  constexpr double likely = 3;
  double norm = initial, rate = 0;
  bool ahead = false;
  for (int iteration = 1; !done; ++iteration) {
    if (!ahead) m.apply(ctx, r_.cview(), c_.view());
    inner += m.iterations();
    axpy<float, double>(ctx, 1 / scale, c_.cview(), x);
    scale = power_of_two_below_reciprocal(norm);
    const auto next = residual();
    ahead = ctx.on_gpu() && rate * norm > likely * test.target() && iteration < stop.max_iterations;
    if (ahead) m.apply(ctx, r_.cview(), c_.view());
    const double before = norm;
    norm = next.wait(ctx) / scale;
    rate = norm / before;
    done = test.done(iteration, norm);
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

}  // namespace stratum
