#pragma once

// What A x = b has for a solution, by Gaussian elimination in long double within the bands of a grid operator's matrix.

#include <algorithm>
#include <cmath>
#include <utility>

#include <stratum/core/operators/csr_matrix.hpp>

#include "backends.hpp"

namespace test {

/// Without exchanges of rows: for diagonally dominant or positive definite A.
[[nodiscard]] inline Values direct_solution(const stratum::SparseRows& a, const Values& b) {
  const auto n = static_cast<std::size_t>(a.rows);
  std::size_t w = 0;
  for (std::size_t i = 0; i < n; ++i)
    for (int k = a.start[i]; k < a.start[i + 1]; ++k) {
      const auto j = static_cast<std::size_t>(a.column[static_cast<std::size_t>(k)]);
      w = std::max(w, i > j ? i - j : j - i);
    }
  const std::size_t width = 2 * w + 1;
  std::vector<long double> m(n * width, 0.0L), x(b.begin(), b.end());
  const auto at = [&](std::size_t i, std::size_t j) -> long double& { return m[i * width + (j + w - i)]; };
  for (std::size_t i = 0; i < n; ++i)
    for (int k = a.start[i]; k < a.start[i + 1]; ++k)
      at(i, static_cast<std::size_t>(a.column[static_cast<std::size_t>(k)])) += a.value[static_cast<std::size_t>(k)];
  for (std::size_t p = 0; p < n; ++p)
    for (std::size_t i = p + 1; i < std::min(n, p + w + 1); ++i) {
      const long double factor = at(i, p) / at(p, p);
      if (factor == 0) continue;
      for (std::size_t j = p; j < std::min(n, p + w + 1); ++j) at(i, j) -= factor * at(p, j);
      x[i] -= factor * x[p];
    }
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t j = i + 1; j < std::min(n, i + w + 1); ++j) x[i] -= at(i, j) * x[j];
    x[i] /= at(i, i);
  }
  return {x.begin(), x.end()};
}

[[nodiscard]] inline Values host(Context& ctx, FieldView<const double> v) {
  Values numbers(static_cast<std::size_t>(v.nodes()));
  copy_to_host(ctx, v, numbers.data());
  return numbers;
}
[[nodiscard]] inline Values direct_solution(Context& ctx, const GridOperator<double>& a, FieldView<const double> b) {
  return direct_solution(stratum::sparse_rows(ctx, a), host(ctx, b));
}

/// max |x - exact| as a part of the range of the latter.
[[nodiscard]] inline double error_of_range(const Values& x, const Values& exact) {
  double largest = 0;
  for (std::size_t k = 0; k < x.size(); ++k) largest = std::max(largest, std::abs(x[k] - exact[k]));
  const auto [least, most] = std::minmax_element(exact.begin(), exact.end());
  return largest / (*most - *least);
}

}  // namespace test
