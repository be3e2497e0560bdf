#pragma once

// Points of cells, and functions at them: what the sources of this folder share.

#include <algorithm>
#include <cmath>
#include <exception>

#include <stratum/assembly/coefficients.hpp>
#include <stratum/core/errors.hpp>

namespace stratum {

/// The point at fraction t of interval i, by its distances to both ends.
struct LinePoint {
  double from_begin;
  double from_end;
};

inline LinePoint point_of(const Line& line, int i, double t) {
  const auto k = static_cast<std::size_t>(i);
  const double h = line.widths()[k], length = line.length();
  // Rounding must not carry a point of the thinnest cell beyond the side that it touches.
  return {std::min(line.from_begin()[k] + t * h, length), std::min(line.from_end()[k + 1] + (1 - t) * h, length)};
}

inline Point make_point(const LinePoint& x, const LinePoint& y) {
  return {x.from_begin, y.from_begin, x.from_end, y.from_end};
}

/// Throws UsageError where `what` is not finite.
inline double evaluate(const ScalarFunction& function, const Point& p, const char* what) {
  const double value = function(p);
  expects(std::isfinite(value), "the ", what, " is ", value, " at (", p.x, ", ", p.y, "); it must be finite");
  return value;
}

/// Runs body(j, functions...) for rows j = 0 .. rows-1 on the Context's threads, each with its own copies of the functions,
/// and hands the first exception to the caller.
template <class Body, class... Functions>
void for_each_row(const Context& ctx, int rows, const Body& body, const Functions&... functions) {
  std::exception_ptr failure;
#pragma omp parallel num_threads(ctx.threads())
  {
    const auto run = [&](const Functions... own) {
#pragma omp for schedule(static)
      for (int j = 0; j < rows; ++j) {
        try {
          body(j, own...);
        } catch (...) {
#pragma omp critical(stratum_for_each_row)
          failure = std::current_exception();
        }
      }
    };
    run(functions...);
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace stratum
