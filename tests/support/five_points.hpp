#pragma once

// The Poisson matrix.

#include <vector>

#include <stratum/core/operators/sparse_rows.hpp>

namespace test {

using stratum::SparseEntry;
using stratum::SparseRows;

/// Five points, 4 and -1, on an nx x ny grid.
[[nodiscard]] inline SparseRows five_points(int nx, int ny) {
  std::vector<SparseEntry> entries;
  for (int j = 0; j < ny; ++j)
    for (int i = 0; i < nx; ++i) {
      const int row = j * nx + i;
      entries.push_back({row, row, 4});
      if (i > 0) entries.push_back({row, row - 1, -1});
      if (i + 1 < nx) entries.push_back({row, row + 1, -1});
      if (j > 0) entries.push_back({row, row - nx, -1});
      if (j + 1 < ny) entries.push_back({row, row + nx, -1});
    }
  return stratum::sparse_rows(nx * ny, nx * ny, entries);
}

}  // namespace test
