#pragma once

// Points of cells, and functions at them: what the sources of this folder share.

#include <algorithm>
#include <cmath>
#include <exception>

#include <stratum/assembly/coefficients.hpp>
#include <stratum/core/errors.hpp>

namespace stratum {

/// A coordinate, and the distances to both ends.
struct LinePoint {
  double at;
  double from_begin;
  double from_end;
};

inline LinePoint line_point(const Line& line, double from_begin, double from_end) {
  return {line.origin() + from_begin, from_begin, from_end};
}

inline LinePoint node_of(const Line& line, int i) {
  const auto k = static_cast<std::size_t>(i);
  return line_point(line, line.from_begin()[k], line.from_end()[k]);
}

/// The point at fraction t of interval i.

inline LinePoint point_of(const Line& line, int i, double t) {
  const auto k = static_cast<std::size_t>(i);
  const double h = line.widths()[k], length = line.length();
  // Rounding must not carry a point of the thinnest cell beyond the side that it touches.
  return line_point(line, std::min(line.from_begin()[k] + t * h, length),
                    std::min(line.from_end()[k + 1] + (1 - t) * h, length));
}

inline Point make_point(const LinePoint& x, const LinePoint& y) {
  return {x.at, y.at, x.from_end, y.from_end, x.from_begin, y.from_begin};
}

/// Throws UsageError where `what` is not finite.
inline double evaluate(const ScalarFunction& function, const Point& p, const char* what) {
  const double value = function(p);
  expects(std::isfinite(value), "the ", what, " is ", value, " at (", p.x, ", ", p.y, "); it must be finite");
  return value;
}

/// Runs body(j, functions...) for rows j = 0 .. rows-1 on the Context's threads, each with its own copies of the functions,
/// and hands the exception of the first row that has one to the caller.
template <class Body, class... Functions>
void for_each_row(const Context& ctx, int rows, const Body& body, const Functions&... functions) {
  std::exception_ptr failure;
  int failed = rows;
#pragma omp parallel num_threads(ctx.threads())
  {
    const auto run = [&](const Functions... own) {
#pragma omp for schedule(static)
      for (int j = 0; j < rows; ++j) {
        try {
          body(j, own...);
        } catch (...) {
#pragma omp critical(stratum_for_each_row)
          if (j < failed) {
            failed = j;
            failure = std::current_exception();
          }
        }
      }
    };
    run(functions...);
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace stratum
