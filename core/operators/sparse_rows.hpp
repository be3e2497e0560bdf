#pragma once

// Sparse matrices by rows (CSR) on the host, in double: the result of readers and generators, and the input of incomplete
// factorisations and of deflation. `validate` throws UsageError, naming the row; other functions take a valid matrix for
// granted.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <stratum/core/errors.hpp>

namespace stratum {

/// Throws UsageError for row starts, from 0 to the number of entries, of which one is larger than the last or than the next.
template <class Index>
void expects_increasing(std::span<const Index> start) {
  for (std::size_t k = 1; k < start.size(); ++k) {
    expects(start[k] <= start.back(), "row starts must not decrease: number ", k, ", counted from 0, is ", start[k],
            ", and there are ", start.back(), " entries");
    expects(start[k] >= start[k - 1], "row starts must not decrease: number ", k, ", counted from 0, is ", start[k],
            " after ", start[k - 1]);
  }
}

/// Row i has the entries start[i] .. start[i + 1] - 1, columns increasing.
struct SparseRows {
  int rows = 0;
  int columns = 0;
  std::vector<int> start{0};
  std::vector<int> column;
  std::vector<double> value;
  int first_row = 0;  // what messages call it: files count from 1

  [[nodiscard]] std::int64_t entries() const { return static_cast<std::int64_t>(value.size()); }
  /// Entry (i, j); zero where the pattern has none.
  [[nodiscard]] double at(int i, int j) const;
  [[nodiscard]] std::vector<double> diagonal() const;
  /// |a_ij - a_ji| <= tolerance min(max_k |a_ik|, max_k |a_jk|) everywhere: one large row excuses no other.
  [[nodiscard]] bool is_symmetric(double tolerance = 1e-14) const;
  /// Throws UsageError unless starts increase, columns are in range and increase in every row, and sizes agree.
  void validate() const;
};

struct SparseEntry {
  int row = 0;
  int column = 0;
  double value = 0;
};

/// A^T, the same on any number of threads.
[[nodiscard]] SparseRows transposed(const SparseRows& a, int threads = 1);

/// Rows from entries in any order; entries of the same place are added. Throws UsageError for one outside the matrix.
[[nodiscard]] SparseRows sparse_rows(int rows, int columns, std::vector<SparseEntry> entries);

}  // namespace stratum
