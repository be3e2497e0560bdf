#include <stratum/solvers/stopping.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

#include <stratum/core/errors.hpp>

namespace stratum {

namespace {

constexpr double divergence_factor = 1e5;
constexpr int default_patience = 10;
// Residuals count as better when they fall by a hundredth; a stationary iteration that slow would need thousands of steps.
constexpr double improvement = 0.99;
// Above this multiple of the best residual the iteration grows rather than stagnates.
constexpr double growth = 2;
// Inner products are squares of norms; outside of these their last digits would leave the range of double.
constexpr double smallest_norm = 1e-140, largest_norm = 1e140;

std::string converged_reason(double residual, double target, ReferenceNorm reference_norm) {
  if (residual == 0) return "the residual is zero";
  return message("residual ", residual, " <= ", target, " = max(rtol ",
                 reference_norm == ReferenceNorm::rhs ? "||b||" : "||r0||", ", atol)");
}

std::string diverged_reason(double residual, int iterations) {
  return message("the residual grew to ", residual, " in ", iterations, " iterations");
}

}  // namespace

std::string max_iterations_reason(double residual, int iterations, double target) {
  return message("after ", iterations, " iterations the residual is ", residual, ", above the tolerance ", target);
}

std::string rounding_reason(double residual, double target) {
  const char* const beside = residual <= target ? ", below the tolerance " : ", above the tolerance ";
  return message("rounding keeps the residual at ", residual, beside, target);
}

void judge_single_precision(SolveReport& report, const StoppingParams& stop, double scale, double true_residual,
                            std::string_view advice) {
  const double own = report.residual / scale;
  for (double& r : report.history) r /= scale;
  report.reference_norm_value /= scale;
  report.initial_residual /= scale;
  report.residual = true_residual;
  const double target = std::max(stop.rtol * report.reference_norm_value, stop.atol);
  const bool done = report.status == Status::converged || report.status == Status::round_off_limit;
  if (done && !(true_residual <= target)) {
    report.status = Status::round_off_limit;
    report.reason =
        message("the residual that single precision keeps fell to ", own, ", the true one of its solution is ",
                true_residual, ", above the tolerance ", target, "; ", advice);
  } else if (report.status == Status::converged) {
    report.reason = converged_reason(true_residual, target, report.reference_norm);
  } else if (report.status == Status::max_iterations) {
    report.reason = max_iterations_reason(true_residual, report.iterations, target);
  } else if (report.status == Status::diverged && std::isfinite(true_residual)) {
    report.reason = diverged_reason(true_residual, report.iterations);
  }
}

StoppingParams rest_of(StoppingParams stop, const SolveReport& before) {
  const double target = std::max(stop.rtol * before.reference_norm_value, stop.atol);
  if (!stop.error_tol && target > stop.atol) stop.error_tol = stop.error_limit();
  stop.rtol = std::numeric_limits<double>::min();
  stop.atol = target;
  stop.reference_norm = ReferenceNorm::rhs;
  stop.max_iterations = std::max(0, stop.max_iterations - before.iterations);
  return stop;
}

void put_before(const SolveReport& before, SolveReport& report) {
  // An FMG cycle leaves its residual to the iteration that follows.
  const bool is_first_again = before.history.size() == static_cast<std::size_t>(before.iterations) + 1;
  report.iterations += before.iterations;
  report.inner_iterations += before.inner_iterations;
  report.reference_norm = before.reference_norm;
  report.reference_norm_value = before.reference_norm_value;
  report.initial_residual = before.initial_residual;
  report.history.insert(report.history.begin(), before.history.begin(),
                        before.history.end() - (is_first_again ? 1 : 0));
}

void StoppingParams::validate() const {
  expects(rtol >= 0 && rtol < 1, "rtol must be below 1, the residual to begin with, and not negative; it is ", rtol);
  expects(std::isfinite(atol) && atol >= 0, "atol must be finite and not negative, not ", atol);
  expects(rtol > 0 || atol > 0, "one of rtol and atol must be positive");
  expects(!patience || *patience >= 1, "patience must be 1 or more, not ", patience.value_or(0));
  expects(!error_tol || *error_tol > 0, "error_tol must be positive, not ", error_tol.value_or(0));
  expects(max_iterations >= 0, "max_iterations must be 0 or more, not ", max_iterations);
}

double StoppingParams::error_limit() const {
  return error_tol.value_or(rtol > 0 ? errors_per_residual * rtol : std::numeric_limits<double>::infinity());
}

StoppingTest::StoppingTest(const StoppingParams& params, double rhs_norm, double initial_residual, Monitor monitor,
                           IterationKind kind)
    : params_(params), monitor_(std::move(monitor)), kind_(kind) {
  params_.validate();
  expects(rhs_norm == 0 || !std::isfinite(rhs_norm) || (rhs_norm >= smallest_norm && rhs_norm <= largest_norm),
          "the norm of the right-hand side must be zero or lie in ", smallest_norm, " .. ", largest_norm, ", not ",
          rhs_norm, "; scale the system");
  // With b = 0 the norm of b is no measure; the initial residual is.
  report_.reference_norm = rhs_norm > 0 ? params_.reference_norm : ReferenceNorm::initial;
  report_.reference_norm_value = report_.reference_norm == ReferenceNorm::rhs ? rhs_norm : initial_residual;
  report_.initial_residual = initial_residual;
  report_.history.reserve(static_cast<std::size_t>(std::min(params_.max_iterations, 1000)) + 1);
  target_ = std::max(params_.rtol * report_.reference_norm_value, params_.atol);
  // Of b = 0 the solution has no size that its error could be a part of.
  error_limit_ = rhs_norm == 0 ? std::numeric_limits<double>::infinity() : params_.error_limit();
  if (!std::isfinite(rhs_norm)) end(Status::non_finite, "the right-hand side is not finite");
}

bool StoppingTest::error_converged(double residual) {
  report_.estimated_error.reset();
  if (!error_ || residual == 0 || std::isinf(error_limit_) || (!params_.error_tol && residual <= params_.atol))
    return true;
  report_.estimated_error = error_();
  return !report_.estimated_error || *report_.estimated_error <= error_limit_;
}

void StoppingTest::end(Status status, std::string reason) {
  const bool gives_up = status == Status::round_off_limit || status == Status::stagnated || status == Status::breakdown;
  constexpr double nearly = 10;
  const auto& error = report_.estimated_error;
  if (gives_up && report_.residual <= target_ && (!error || *error <= nearly * error_limit_) && worst_row_ &&
      worst_row_() <= params_.rtol) {
    status = Status::converged;
    reason = converged_reason(report_.residual, target_, report_.reference_norm);
  }
  report_.status = status;
  report_.reason = std::move(reason);
}

void StoppingTest::end_at_rounding(std::optional<double> error) {
  constexpr double wrong = 1e-2;
  report_.estimated_error = error;
  if (error && !(*error <= wrong))
    end(Status::stagnated, message("rounding keeps the residual at ", report_.residual,
                                   ", and the estimated error stays at ", *error, " of the range of x"));
  else
    end(Status::round_off_limit, rounding_reason(report_.residual, target_));
}

bool StoppingTest::slow() const {
  constexpr double fall = 0.5, fall_of_one = 0.7, rate = 0.3, slower = 3;
  const auto& history = report_.history;
  if (history.size() < 3) return false;
  const double last = history.back(), before = history[history.size() - 2], first = history[history.size() - 3];
  return !(last <= fall * first) || !(last <= fall_of_one * before) ||
         (last > rate * before && last / before > slower * (before / first));
}

double StoppingTest::rate() const {
  const auto& history = report_.history;
  return history.size() < 2 ? 1 : history.back() / history[history.size() - 2];
}

bool StoppingTest::rounding_will_do(int iteration, double residual) const {
  // Where fewer suffice rounding is not near, and asking for it costs a pass over memory.
  constexpr int some = 7;
  constexpr double near = 32;
  return params_.rounding_will_do && iteration > some && residual <= near * target_;
}

bool StoppingTest::done(int iteration, double residual) {
  report_.iterations = iteration;
  report_.residual = residual;
  report_.history.push_back(residual);
  if (monitor_) monitor_(iteration, residual);
  if (report_.status == Status::non_finite) return true;

  if (!std::isfinite(residual)) {
    if (iteration == 0)
      end(Status::non_finite, "the initial residual is not finite");
    else
      end(Status::diverged, message("the residual overflowed in iteration ", iteration));
    return true;
  }
  if (residual <= target_ && error_converged(residual)) {
    end(Status::converged, converged_reason(residual, target_, report_.reference_norm));
    return true;
  }
  const bool stationary = kind_ == IterationKind::stationary;
  if (stationary && residual > divergence_factor * std::max(report_.reference_norm_value, report_.initial_residual)) {
    end(Status::diverged, diverged_reason(residual, iteration));
    return true;
  }
  const auto patience = stationary ? params_.patience.value_or(default_patience) : params_.patience;
  if (residual < improvement * best_) {
    best_ = residual;
    best_iteration_ = iteration;
  } else if (patience && iteration - best_iteration_ >= *patience && (!stationary || residual <= growth * best_)) {
    end(Status::stagnated, message("no better residual than ", best_, " in the last ", *patience, " iterations"));
    return true;
  }
  constexpr int some = 5;
  constexpr double little = 0.1;
  if (params_.gives_up && !was_asked_ && iteration >= some && iteration < params_.max_iterations &&
      best_ > little * report_.history[report_.history.size() - 1 - some]) {
    was_asked_ = true;
    if (params_.gives_up()) {
      end(Status::stagnated, message("the residual fell from ", report_.history[report_.history.size() - 1 - some],
                                     " to ", best_, " at best in the last ", some, " iterations"));
      return true;
    }
  }
  if (iteration >= params_.max_iterations) {
    end(Status::max_iterations, residual > target_
                                    ? max_iterations_reason(residual, iteration, target_)
                                    : message("residual ", residual, " <= ", target_, ", but the estimated error is ",
                                              report_.estimated_error.value_or(0), " of the range of x after ",
                                              iteration, " iterations, above the limit ", error_limit_));
    return true;
  }
  return false;
}

}  // namespace stratum
