#pragma once

// How far a run has come and how long it will take: on a terminal only, from the second second on, four times a second at most.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include <stratum/solvers/stopping.hpp>

#include "program.hpp"
#include "timing.hpp"

namespace stratum::apps {

class Progress {
 public:
  explicit Progress(bool shows) : shows_(shows) {}
  /// `done`: the part of the work, from 0 to 1; `what()` is asked for only where it is shown.
  void operator()(double done, const std::function<std::string()>& what) {
    const double now = wall_seconds();
    if (!shows_ || now - last_ < interval) return;
    last_ = now;
    const auto left = static_cast<long long>(done > 0 ? (now - begin_) * (1 - done) / done : 0);
    char time[64];
    (void)std::snprintf(time, sizeof time, "%.0f %%, %lld:%02lld:%02lld left", 100 * done, left / 3600, left / 60 % 60,
                        left % 60);
    progress(what() + ", " + time);
    is_there_ = true;
  }
  /// Before something else is printed.
  void clear() {
    if (is_there_) progress("");
    is_there_ = false;
  }

 private:
  static constexpr double interval = 0.25, silent = 2;
  double begin_ = wall_seconds(), last_ = begin_ + silent - interval;
  bool shows_, is_there_ = false;
};

/// Of a solve, by the digits that the residual has gained of those that it shall, or by the iterations that it may take; around
/// `monitor`, which prints.
[[nodiscard]] inline Monitor with_progress(Progress& progress, const StoppingParams& stop, double rhs_norm,
                                           Monitor monitor) {
  return [&progress, stop, rhs_norm, monitor = std::move(monitor),
          first = std::make_shared<double>(0)](int iteration, double residual) {
    progress.clear();
    if (monitor) monitor(iteration, residual);
    if (iteration == 0) *first = residual;
    const double target =
        std::max(stop.rtol * (stop.reference_norm == ReferenceNorm::rhs ? rhs_norm : *first), stop.atol);
    const double digits = std::log(*first / residual) / std::log(*first / target);
    const double by_limit = static_cast<double>(iteration) / stop.max_iterations;
    const double done = std::clamp(std::isfinite(digits) ? std::max(digits, by_limit) : by_limit, 0.0, 1.0);
    progress(done, [iteration] { return message("iteration ", iteration); });
  };
}

}  // namespace stratum::apps
