#include <stratum/multigrid/box_refinement.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

#include <stratum/core/errors.hpp>

namespace stratum {

SolveReport refine(const BoxRefinement& by, double first, const StoppingParams& stop, const Monitor& monitor) {
  SolveReport report;
  double r = first;
  const double target = std::max(stop.rtol * first, stop.atol);
  const auto record = [&](int iteration) {
    report.history.push_back(r);
    report.residual = r;
    report.iterations = iteration;
    if (monitor) monitor(iteration, r);
  };
  report.reference_norm = stop.reference_norm;
  report.reference_norm_value = report.initial_residual = first;
  record(0);
  if (!std::isfinite(first)) {
    report.status = Status::non_finite;
    report.reason = "the right-hand side or a boundary value is not finite";
    return report;
  }
  constexpr double stopped = 0.5, slack = 16, grown = 1e5, near = 32;
  report.status = r <= target ? Status::converged : Status::max_iterations;
  for (int k = 1; r > target && k <= stop.max_iterations; ++k) {
    const double before = r;
    by.correct(k == 1);
    r = by.residual_norm();
    record(k);
    if (r <= target) {
      report.status = Status::converged;
    } else if (!std::isfinite(r) || r > grown * first) {
      report.status = Status::diverged;
      report.reason = message("the residual rose from ", before, " to ", r);
      break;
    } else if (r > stopped * before || (stop.rounding_will_do && r <= near * target)) {
      const double level = 2 * std::numeric_limits<double>::epsilon() * by.magnitude();
      const bool falls = r <= stopped * before;
      const bool at_rounding = r <= (falls ? 1 : slack) * level && (r <= first || by.has_its_size());
      if (falls && !at_rounding) continue;
      report.status = at_rounding ? Status::round_off_limit : Status::stagnated;
      report.reason =
          message("the residual ", falls ? "is " : "no longer falls: ", r, " after ", before, "; ",
                  at_rounding ? "rounding of double leaves about " : "rounding of double alone would leave ", level);
      break;
    }
  }
  if (report.status == Status::converged)
    report.reason = first == 0 ? "the right-hand side and the boundary values are zero"
                               : message("the residual ", r, " is at most ", target);
  if (report.status == Status::max_iterations) report.reason = max_iterations_reason(r, stop.max_iterations, target);
  return report;
}

}  // namespace stratum
