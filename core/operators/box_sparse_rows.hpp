#pragma once

// SparseRows of matrices that couple a node of a box with its 26 neighbours (core/operators/box_rows.hpp), nodes numbered x
// fastest. On the host.

#include <array>
#include <cstddef>
#include <utility>
#include <vector>

#include <stratum/core/operators/box_rows.hpp>
#include <stratum/core/operators/sparse_rows.hpp>

namespace stratum {

/// The node beside (i, j, k) by its number of 27, 13 + x + 3 y + 9 z, around the box where it would lie outside.
[[nodiscard]] inline int neighbour_in_box(const Extents<3>& n, int i, int j, int k, int number) {
  const auto around = [](int at, int size) { return at < 0 ? size - 1 : at == size ? 0 : at; };
  const int x = around(i + number % 3 - 1, n.nx), y = around(j + number / 3 % 3 - 1, n.ny),
            z = around(k + number / 9 - 1, n.nz);
  return (z * n.ny + y) * n.nx + x;
}

/// fill(i, j, k, row) sets what is not zero of a row, by the numbers above. Zeros beside the diagonal are left out. `slab`:
/// columns are those of the planes before, within and behind the box. `some`: of a mark a node, where other rows than those of
/// marked nodes are to have no entry.
template <class Fill>
[[nodiscard]] SparseRows sparse_rows_of_box(const Extents<3>& n, const Fill& fill, bool slab = false,
                                            const std::vector<char>& some = {}) {
  SparseRows a;
  a.rows = static_cast<int>(n.nodes());
  const int before = slab ? n.nx * n.ny : 0;
  a.columns = a.rows + 2 * before;
  a.start.reserve(static_cast<std::size_t>(a.rows) + 1);
  std::array<int, box_row> to{};  // inside the box
  for (int e = 0; e < box_row; ++e)
    to[static_cast<std::size_t>(e)] = ((e / 9 - 1) * n.ny + e / 3 % 3 - 1) * n.nx + e % 3 - 1;
  int own = 0;
  for (int k = 0; k < n.nz; ++k)
    for (int j = 0; j < n.ny; ++j)
      for (int i = 0; i < n.nx; ++i, ++own) {
        if (!some.empty() && some[static_cast<std::size_t>(own)] == 0) {
          a.start.push_back(static_cast<int>(a.column.size()));
          continue;
        }
        double row[box_row] = {};
        fill(i, j, k, row);
        const bool inside = i > 0 && i + 1 < n.nx && j > 0 && j + 1 < n.ny && (slab || (k > 0 && k + 1 < n.nz));
        const auto column_of = [&](int e) {
          if (inside) return before + own + to[static_cast<std::size_t>(e)];
          if (!slab) return neighbour_in_box(n, i, j, k, e);
          constexpr int within_plane = 9;
          return neighbour_in_box({n.nx, n.ny, 1}, i, j, 0, within_plane + e % within_plane) +
                 (k + e / within_plane) * before;
        };
        const std::size_t begin = a.column.size();
        for (int e = 0; e < box_row; ++e) {
          const double value = row[e];
          if (value == 0 && e != box_neighbours) continue;
          a.column.push_back(column_of(e));
          a.value.push_back(value);
          // Columns around the box come late or early.
          for (std::size_t m = a.column.size() - 1; m > begin && a.column[m] < a.column[m - 1]; --m) {
            std::swap(a.column[m], a.column[m - 1]);
            std::swap(a.value[m], a.value[m - 1]);
          }
        }
        a.start.push_back(static_cast<int>(a.column.size()));
      }
  return a;
}

}  // namespace stratum
