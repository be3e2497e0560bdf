#pragma once

// Rows of nodes in packs of the machine's register width. Packs start at column -1, where rows are aligned. Lanes outside the
// grid hold meaningless numbers.

#include <algorithm>

#include <stratum/core/device/simd.hpp>

namespace stratum {

/// What rows of residuals and of equations have.
template <int bytes, class T>
struct PackedRow {
  using Pack = simd::Pack<T, bytes>;
  static constexpr int width = bytes / static_cast<int>(sizeof(T));
  static constexpr int begin = width - 1;
  int end;  // i < end: some node before i is inside
  explicit PackedRow(int nx) : end(nx + width) {}
  /// The lanes of the pack at `first` that are inside.
  [[nodiscard]] STRATUM_INLINE int lanes_begin(int first) const { return std::max(0, -first); }
  [[nodiscard]] STRATUM_INLINE int lanes_end(int first) const { return std::min(width, end - width - first); }
  [[nodiscard]] STRATUM_INLINE bool inside(int first) const { return first >= 0 && first + 2 * width <= end; }
  /// The pack, zero outside.
  [[nodiscard]] STRATUM_INLINE Pack clipped(Pack pack, int first) const {
    if (inside(first)) return pack;
    alignas(bytes) T numbers[width];
    simd::pack<bytes>(numbers) = pack;
    std::fill(numbers, numbers + lanes_begin(first), T(0));
    std::fill(numbers + lanes_end(first), numbers + width, T(0));
    return simd::pack<bytes>(numbers);
  }
  /// to[n] = the pack's number at node n, inside.
  STRATUM_INLINE void store(Pack pack, int first, T* to) const {
    if (inside(first)) {
      simd::pack<bytes>(to + first) = pack;
    } else {
      alignas(bytes) T numbers[width];
      simd::pack<bytes>(numbers) = pack;
      for (int k = lanes_begin(first); k < lanes_end(first); ++k) to[first + k] = numbers[k];
    }
  }
};

}  // namespace stratum
