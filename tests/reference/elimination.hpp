#pragma once

// Small dense systems A x = b, solved by Gaussian elimination with exchanges of rows.

#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

namespace reference {

/// x. `rows` are those of A, whose numbers it overwrites.
template <class T>
[[nodiscard]] std::vector<T> eliminate(std::vector<T*> rows, std::vector<T> b) {
  const std::size_t n = b.size();
  for (std::size_t k = 0; k < n; ++k) {
    std::size_t pivot = k;
    for (std::size_t i = k + 1; i < n; ++i)
      if (std::abs(rows[i][k]) > std::abs(rows[pivot][k])) pivot = i;
    std::swap(rows[k], rows[pivot]);
    std::swap(b[k], b[pivot]);
    const T* const from = rows[k];
    for (std::size_t i = k + 1; i < n; ++i) {
      T* const row = rows[i];
      const T factor = row[k] / from[k];
      if (factor == 0) continue;
      for (std::size_t j = k; j < n; ++j) row[j] -= factor * from[j];
      b[i] -= factor * b[k];
    }
  }
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t j = i + 1; j < n; ++j) b[i] -= rows[i][j] * b[j];
    b[i] /= rows[i][i];
  }
  return b;
}

/// x of A, whose rows stand one behind the other.
template <class T>
[[nodiscard]] std::vector<T> eliminated(std::vector<T> a, std::vector<T> b) {
  std::vector<T*> rows;
  for (std::size_t i = 0; i < b.size(); ++i) rows.push_back(a.data() + i * b.size());
  return eliminate(std::move(rows), std::move(b));
}

/// x of A, a vector of rows.
template <class T>
[[nodiscard]] std::vector<T> eliminated(std::vector<std::vector<T>> a, std::vector<T> b) {
  std::vector<T*> rows;
  for (auto& row : a) rows.push_back(row.data());
  return eliminate(std::move(rows), std::move(b));
}

}  // namespace reference
