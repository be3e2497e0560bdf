#pragma once

// Random numbers, widths and coefficients for property tests; the same on every run.

#include <cmath>
#include <concepts>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "reference/reference.hpp"

namespace test {

/// Unknowns in x and y: tiny, odd, prime, long and thin, across vector lengths.
inline const std::vector<std::pair<int, int>> small_shapes{{1, 1},  {1, 7},   {7, 1},  {2, 2},  {3, 5},   {4, 3},
                                                           {16, 9}, {17, 13}, {31, 2}, {2, 67}, {130, 3}, {3, 129}};

class Random {
 public:
  explicit Random(std::uint32_t seed) : engine_(seed) {}

  [[nodiscard]] double uniform(double low, double high) {
    return low + (high - low) * static_cast<double>(engine_()) / static_cast<double>(std::mt19937::max());
  }
  [[nodiscard]] std::vector<double> values(std::integral auto n, double low = -1, double high = 1) {
    std::vector<double> v(static_cast<std::size_t>(n));
    for (double& x : v) x = uniform(low, high);
    return v;
  }
  /// Interval widths over `decades` decades.
  [[nodiscard]] std::vector<double> widths(int n, double decades = 2) {
    std::vector<double> h(static_cast<std::size_t>(n));
    for (double& w : h) w = std::pow(10.0, -uniform(0, decades));
    return h;
  }
  /// Strictly diagonally dominant nine-point coefficients of both signs.
  [[nodiscard]] reference::Stencil stencil(int nx, int ny, bool symmetric, bool periodic_x = false,
                                           bool periodic_y = false) {
    reference::Stencil a(nx, ny, periodic_x, periodic_y);
    for (int j = 0; j < ny; ++j)
      for (int i = 0; i < nx; ++i)
        for (int dy = -1; dy <= 1; ++dy)
          for (int dx = -1; dx <= 1; ++dx) {
            if (!a.inside(i + dx, j + dy)) continue;
            const bool upper = dy > 0 || (dy == 0 && dx > 0);
            if (upper || !symmetric) a.at(dx, dy, i, j) = uniform(-1, 0.5);
            if (upper && symmetric) a.at(-dx, -dy, i + dx, j + dy) = a.at(dx, dy, i, j);
          }
    for (int j = 0; j < ny; ++j)
      for (int i = 0; i < nx; ++i) {
        double sum = 0;
        for (int dy = -1; dy <= 1; ++dy)
          for (int dx = -1; dx <= 1; ++dx)
            if (dx != 0 || dy != 0) sum += std::abs(a.coefficient(dx, dy, i, j));
        a.at(0, 0, i, j) = sum + uniform(0.1, 1);
      }
    return a;
  }

 private:
  std::mt19937 engine_;
};

}  // namespace test
