#pragma once

// Places in a box, nodes beside each other, parts that these make, sums and medians: for multigrid/structured/box_rows.cpp. On the host.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include <stratum/core/operators/box_rows.hpp>

namespace stratum::detail {

using Place = std::array<int, 3>;

inline std::size_t at(std::int64_t k) { return static_cast<std::size_t>(k); }

/// Places in a box, x fastest.
struct Box {
  std::array<int, 3> n;
  [[nodiscard]] std::size_t size() const { return at(n[0]) * at(n[1]) * at(n[2]); }
  [[nodiscard]] Place place(std::size_t node) const {
    const int k = static_cast<int>(node), row = k / n[0];
    return {k - row * n[0], row % n[1], row / n[1]};
  }
  [[nodiscard]] std::size_t node(const Place& p) const {
    return (at(p[2]) * at(n[1]) + at(p[1])) * at(n[0]) + at(p[0]);
  }
};

/// From a node to a neighbour; around the box where there are at least three nodes.
struct Offset {
  std::array<int, 3> d{};
  std::array<bool, 3> across{};
  Offset(const Box& box, const Place& from, const Place& to) {
    for (std::size_t e = 0; e < 3; ++e) {
      d[e] = to[e] - from[e];
      const int n = box.n[e];
      if (n < 3 || (d[e] != n - 1 && d[e] != 1 - n)) continue;
      d[e] = d[e] > 0 ? -1 : 1;
      across[e] = true;
    }
  }
  [[nodiscard]] bool fits() const {
    return std::all_of(d.begin(), d.end(), [](int v) { return v >= -1 && v <= 1; });
  }
  [[nodiscard]] std::size_t number() const { return at(box_neighbours + d[0] + 3 * d[1] + 9 * d[2]); }
};

/// Nodes of a box with their neighbours, around the box.
class Neighbours {
 public:
  explicit Neighbours(const std::array<int, 3>& n) : n_(n) {}

  /// use(node, its neighbour by a number of 27) of all nodes.
  template <class F>
  void for_each(int number, const F& use) const {
    const auto nx = at(n_[0]);
    const int dx = number % 3 - 1;
    std::size_t own = 0;
    for (int k = 0; k < n_[2]; ++k)
      for (int j = 0; j < n_[1]; ++j, own += nx) {
        const std::size_t other = row(number, j, k) * nx;
        if (dx == 0) {
          for (std::size_t i = 0; i < nx; ++i) use(own + i, other + i);
        } else if (dx > 0) {
          for (std::size_t i = 0; i + 1 < nx; ++i) use(own + i, other + i + 1);
          use(own + nx - 1, other);
        } else {
          use(own, other + nx - 1);
          for (std::size_t i = 1; i < nx; ++i) use(own + i, other + i - 1);
        }
      }
  }
  /// use(node, their places) with the neighbours by some numbers.
  template <class F>
  void for_each(const std::vector<int>& numbers, const F& use) const {
    const auto nx = at(n_[0]);
    std::vector<std::size_t> rows(numbers.size()), there(numbers.size());
    std::size_t own = 0;
    for (int k = 0; k < n_[2]; ++k)
      for (int j = 0; j < n_[1]; ++j) {
        for (std::size_t e = 0; e < numbers.size(); ++e) rows[e] = row(numbers[e], j, k) * nx;
        for (std::size_t i = 0; i < nx; ++i, ++own) {
          const std::array<std::size_t, 3> column{i == 0 ? nx - 1 : i - 1, i, i + 1 == nx ? 0 : i + 1};
          for (std::size_t e = 0; e < numbers.size(); ++e) there[e] = rows[e] + column[at(numbers[e] % 3)];
          use(own, there);
        }
      }
  }

 private:
  [[nodiscard]] std::size_t row(int number, int j, int k) const {
    const auto around = [](int i, int size) { return i < 0 ? size - 1 : i == size ? 0 : i; };
    return at(around(k + number / 9 - 1, n_[2])) * at(n_[1]) + at(around(j + number / 3 % 3 - 1, n_[1]));
  }
  std::array<int, 3> n_;
};

/// -1, 0 or 1 of a number of 27 in a direction.
inline int step_of(int number, std::size_t d) { return std::array{number % 3, number / 3 % 3, number / 9}[d] - 1; }

/// Sets that are united, of which the smallest member is the first.
class Parts {
 public:
  explicit Parts(std::size_t size) : parent_(size) { std::iota(parent_.begin(), parent_.end(), 0); }
  std::size_t first(std::size_t k) {
    auto own = static_cast<std::uint32_t>(k);
    while (parent_[own] != own) own = parent_[own] = parent_[parent_[own]];
    return own;
  }
  void unite(std::size_t a, std::size_t b) {
    const std::size_t one = first(a), other = first(b);
    parent_[std::max(one, other)] = static_cast<std::uint32_t>(std::min(one, other));
  }

 private:
  std::vector<std::uint32_t> parent_;
};

/// Sums of rows of nodes in long double, zero where they are rounding.
struct Sum {
  long double left = 0, sizes = 0;
  void add(double v) {
    left += v;
    sizes += std::abs(v);
  }
  [[nodiscard]] double value(double rounding) const {
    return std::abs(left) <= rounding * sizes ? 0 : static_cast<double>(left);
  }
};

inline double median(std::vector<double>& v) {
  const auto middle = v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2);
  std::nth_element(v.begin(), middle, v.end());
  return *middle;
}

}  // namespace stratum::detail
