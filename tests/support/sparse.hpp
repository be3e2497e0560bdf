#pragma once

// Random sparse matrices, and the same as dense ones for oracles.

#include <algorithm>
#include <set>

#include <stratum/core/operators/csr_matrix.hpp>
#include <stratum/two_phase/five_point.hpp>

#include "backends.hpp"
#include "reference/krylov.hpp"

namespace test {

using stratum::SparseEntry;
using stratum::SparseRows;

using reference::Dense;

[[nodiscard]] inline Dense dense(const SparseRows& rows) {
  Dense a(static_cast<std::size_t>(rows.rows));
  for (std::size_t i = 0; i < a.n; ++i)
    for (auto k = static_cast<std::size_t>(rows.start[i]); k < static_cast<std::size_t>(rows.start[i + 1]); ++k)
      a(i, static_cast<std::size_t>(rows.column[k])) += rows.value[k];
  return a;
}

/// About `per_row` entries a row, some rows empty, some long.
[[nodiscard]] inline SparseRows random_rows(Random& random, int n, double per_row) {
  std::vector<SparseEntry> entries;
  for (int i = 0; i < n; ++i) {
    const double length = i % 7 == 3 ? 0 : i % 11 == 5 ? 8 * per_row : random.uniform(0, 2 * per_row);
    std::set<int> columns;
    for (int k = 0; k < static_cast<int>(length); ++k)
      columns.insert(std::min(n - 1, static_cast<int>(random.uniform(0, n))));
    for (const int j : columns) entries.push_back({i, j, random.uniform(-1, 1)});
  }
  return stratum::sparse_rows(n, n, entries);
}

/// A symmetric diagonally dominant M-matrix.
[[nodiscard]] inline SparseRows random_m_matrix(Random& random, int n, double per_row) {
  std::vector<SparseEntry> entries;
  Values sum(static_cast<std::size_t>(n));
  std::set<std::pair<int, int>> seen;
  for (int i = 0; i < n; ++i)
    for (int k = 0; k < static_cast<int>(per_row); ++k) {
      const int j = std::min(n - 1, static_cast<int>(random.uniform(0, n)));
      if (j >= i || !seen.insert({i, j}).second) continue;
      const double value = random.uniform(-1, 0);
      entries.push_back({i, j, value});
      entries.push_back({j, i, value});
      sum[static_cast<std::size_t>(i)] -= value;
      sum[static_cast<std::size_t>(j)] -= value;
    }
  for (int i = 0; i < n; ++i) entries.push_back({i, i, sum[static_cast<std::size_t>(i)] + random.uniform(0.01, 0.1)});
  return stratum::sparse_rows(n, n, entries);
}

/// The Poisson matrix, 4 and -1, on nx x ny cells.
[[nodiscard]] inline SparseRows five_points(int nx, int ny) {
  Context host;
  return sparse_rows(host, stratum::five_point_operator(host, stratum::poisson_links(nx, ny)));
}

[[nodiscard]] inline GridLayout<2> flat(int n) { return GridLayout<2>::flat(n); }

/// The text of the error that `f` throws; a failure when it throws none.
template <class Error, class F>
[[nodiscard]] std::string error_text(const F& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  ADD_FAILURE() << "no error";
  return "";
}

}  // namespace test
