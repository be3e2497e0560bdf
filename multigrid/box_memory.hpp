#pragma once

// Memory of a box for products with dense matrices (solvers/direct/box_diagonalization.hpp), and the order of directions in it.

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <utility>

#include <stratum/core/device/context.hpp>
#include <stratum/core/field/field_3d.hpp>
#include <stratum/solvers/direct/box_diagonalization.hpp>

namespace stratum {

/// Directions in the order of storage: the lines are those of the last one.
using BoxOrder = std::array<std::size_t, 3>;

[[nodiscard]] inline BoxOrder order_of(int lines) {
  BoxOrder order{0, 1, 2};
  std::swap(order[static_cast<std::size_t>(lines)], order[2]);
  return order;
}
/// Distances of numbers that lie x fastest, along the directions of storage.
[[nodiscard]] inline std::array<std::int64_t, 3> apart(const BoxOrder& order, const Strides<3>& strides) {
  const std::array<std::int64_t, 3> users{1, strides.row, strides.plane};
  return {users[order[0]], users[order[1]], users[order[2]]};
}

/// Numbers of a box in the Context's memory; `first` is that of unknown (0, 0, 0).
struct BoxMemory {
  std::shared_ptr<void> memory;
  FieldView<double, 3> view;
  std::int64_t first = 0, size = 0;

  BoxMemory() = default;
  /// `ghosts`: one node more at both ends of all axes. Rows and planes have room for what products write.
  BoxMemory(Context& ctx, const std::array<int, 3>& n, bool ghosts) {
    constexpr int line = 8;  // numbers of a cache line
    const int lead = ghosts ? line : 0, more = ghosts ? 1 : 0;
    std::int64_t row = padded_size(lead + std::max(n[0] + more, padded_size(n[0])));
    // One row of ghosts is that behind a plane and that before the next one; where padding has room for both, products find one
    // matrix.
    std::int64_t rows = std::max(n[1] + 2 * more, padded_size(n[1]));
    // On a CPU rows and planes that are a power of two apart compete for the same places of a cache.
    if (!ctx.on_gpu() && row % 64 == 0) row += line;
    if (!ctx.on_gpu() && row * rows % 512 == 0) ++rows;
    const std::int64_t plane = row * rows;
    first = more * (plane + row) + lead;
    size = plane * (n[2] + 2 * more) + line;
    memory = allocate(ctx, static_cast<std::size_t>(size) * sizeof(double));
    view = {static_cast<double*>(memory.get()) + first, {n[0], n[1], n[2]}, {row, plane}};
  }
  [[nodiscard]] double* begin() const { return static_cast<double*>(memory.get()); }
};

}  // namespace stratum
