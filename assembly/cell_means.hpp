#pragma once

// What a cell has of a coefficient that jumps within it: common code of the sources of this folder and of patches. `Cell` has
// at(t, s), a Point, and measure(t, s), as CellPoints (assembly/geometry.hpp).

#include <algorithm>
#include <cmath>

#include <stratum/assembly/gauss_rules.hpp>
#include <stratum/assembly/points.hpp>

namespace stratum::detail {

struct Sample {
  double value;
  bool is_mean;
};

/// Of a function that is not negative: its value at the centre of the cell, or the mean of the Gauss points where it jumps by
/// more than a twentieth of its largest value. Jumps show in third differences, in which smooth functions are small, or, where
/// they are symmetric about the middle, in the distance from a bilinear surface. A negative or infinite value, if there is one,
/// to be refused.
template <class Cell>
[[nodiscard]] Sample sample(const Cell& cell, const ScalarFunction& f) {
  constexpr double in_third_differences = 0.02, in_distances = 0.25;
  constexpr double outer = 0.395;  // third divided differences of the Gauss points, the middle ones weighing one
  constexpr std::size_t n = gauss4.size();
  double at[n][n], sum = 0, area = 0, largest = 0;
  for (std::size_t q = 0; q < n; ++q)
    for (std::size_t p = 0; p < n; ++p) {
      const auto [s, weight_s] = gauss4[q];
      const auto [t, weight_t] = gauss4[p];
      const double value = at[q][p] = f(cell.at(t, s)), part = weight_s * weight_t * cell.measure(t, s);
      if (!(value >= 0 && std::isfinite(value))) return {value, false};
      sum += part * value;
      area += part;
      largest = std::max(largest, value);
    }
  const auto third = [](double a, double b, double c, double d) { return std::abs(outer * (d - a) + b - c); };
  const auto place = [](std::size_t k) {
    return (gauss4[k].t - gauss4.front().t) / (gauss4.back().t - gauss4.front().t);
  };
  double difference = 0, distance = 0;
  for (std::size_t q = 0; q < n; ++q) {
    difference = std::max(
        {difference, third(at[q][0], at[q][1], at[q][2], at[q][3]), third(at[0][q], at[1][q], at[2][q], at[3][q])});
    for (std::size_t p = 0; p < n; ++p) {
      const double t = place(p), s = place(q);
      const double bilinear =
          (1 - s) * ((1 - t) * at[0][0] + t * at[0][n - 1]) + s * ((1 - t) * at[n - 1][0] + t * at[n - 1][n - 1]);
      distance = std::max(distance, std::abs(at[q][p] - bilinear));
    }
  }
  const bool smooth = difference <= in_third_differences * largest && distance <= in_distances * largest;
  return smooth ? Sample{f(cell.at(0.5, 0.5)), false} : Sample{sum / area, true};
}

/// Of f, where a coefficient is a mean.
template <class Cell>
[[nodiscard]] double mean_of(const Cell& cell, const ScalarFunction& f, const char* what) {
  double sum = 0, area = 0;
  for (const auto& [s, weight_s] : gauss4)
    for (const auto& [t, weight_t] : gauss4) {
      const double part = weight_s * weight_t * cell.measure(t, s);
      sum += part * evaluate(f, cell.at(t, s), what);
      area += part;
    }
  return sum / area;
}

}  // namespace stratum::detail
