#pragma once

// A symmetric matrix from one of its triangles, the diagonal included: an entry (i, j) beside the diagonal is also entry (j, i).

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include <stratum/core/operators/sparse_rows.hpp>

namespace stratum {

/// Of a square matrix whose row i has the entries start[i] .. start[i + 1] - 1. Throws UsageError for a column outside it.
template <class Index>
[[nodiscard]] SparseRows with_both_triangles(std::span<const Index> start, std::span<const Index> column,
                                             std::span<const double> value) {
  std::vector<SparseEntry> entries;
  entries.reserve(2 * value.size());
  const int rows = static_cast<int>(start.size()) - 1;
  for (int i = 0; i < rows; ++i)
    for (auto e = static_cast<std::size_t>(start[static_cast<std::size_t>(i)]);
         e < static_cast<std::size_t>(start[static_cast<std::size_t>(i) + 1]); ++e) {
      const int j = static_cast<int>(column[e]);
      entries.push_back({i, j, value[e]});
      if (j != i) entries.push_back({j, i, value[e]});
    }
  return sparse_rows(rows, rows, std::move(entries));
}

}  // namespace stratum
