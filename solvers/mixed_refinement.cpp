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

double MixedRefinement::residual(Context& ctx, const GridOperator<double>& a, GridView<const double> b,
                                 GridView<const double> x) {
  return a.scaled_residual_norm(ctx, scale_, b, x, r_.view()) / scale_;
}

SolveReport MixedRefinement::solve(Context& ctx, const GridOperator<double>& a, Preconditioner<float>& m,
                                   GridView<const double> b, GridView<double> x, const StoppingParams& stop,
                                   const Monitor& monitor) {
  const double rhs_norm = norm2(ctx, b);
  // With b = 0 the residual is A x, of the size of D x.
  scale_ = power_of_two_below_reciprocal(
      rhs_norm > 0 ? rhs_norm : a.rounding_level(ctx, x) / std::numeric_limits<double>::epsilon());
  const double initial = residual(ctx, a, b, x);
  StoppingTest test(stop, rhs_norm, initial, monitor);
  int inner = 0;
  bool done = test.done(0, initial);
  if (!done && stop.baseline == Baseline::initial && initial <= a.rounding_level(ctx, x)) {
    // Nothing is left to reduce: a relative tolerance on rounding noise could never be met.
    test.end(Status::converged, message("the initial guess solves the system to rounding, residual ", initial));
    done = true;
  }
  double norm = initial;
  for (int iteration = 1; !done; ++iteration) {
    m.apply(ctx, r_.cview(), c_.view());
    inner += m.iterations();
    axpy<float, double>(ctx, 1 / scale_, c_.cview(), x);
    scale_ = power_of_two_below_reciprocal(norm);
    norm = residual(ctx, a, b, x);
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
