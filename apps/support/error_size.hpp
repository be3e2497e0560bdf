#pragma once

// What errors are relative to where u is nearly constant (relative_error of solvers/error_estimate.hpp), in words.

#include <algorithm>
#include <string>
#include <utility>

#include <stratum/core/errors.hpp>

namespace stratum::apps {

/// Of u between these two, which differ by less than a thousandth of the larger: a thousandth of it, or a fiftieth where u does
/// not vary but for the error.
[[nodiscard]] inline std::string size_of_near_constant(double error, std::pair<double, double> u) {
  const double range = u.second - u.first, largest = std::max(-u.first, u.second);
  const double part = range <= 2 * error * largest / 50 ? 50 : 1000;
  const std::string said = message("max |u| / ", part, ", since u varies by less");
  return range > 0 ? message(said, ": ", error * largest / part / range, " of its range") : said;
}

}  // namespace stratum::apps
