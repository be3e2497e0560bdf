#pragma once

// Extents<D>: the number of unknowns per axis. Strides<D>: the distance between rows and, in three dimensions, between planes.
// The numbers of a row are contiguous.

#include <array>
#include <cstdint>

#include <stratum/core/config.hpp>

namespace stratum {

inline constexpr std::array<char, 3> axis_names{'x', 'y', 'z'};

template <int D>
struct Extents;
template <int D>
struct Strides;

template <>
struct Extents<2> {
  int nx = 0, ny = 0;

  [[nodiscard]] std::int64_t nodes() const { return std::int64_t{nx} * ny; }
  friend bool operator==(const Extents&, const Extents&) = default;
};

template <>
struct Extents<3> {
  int nx = 0, ny = 0, nz = 0;

  [[nodiscard]] std::int64_t rows() const { return std::int64_t{ny} * nz; }
  [[nodiscard]] std::int64_t nodes() const { return nx * rows(); }
  friend bool operator==(const Extents&, const Extents&) = default;
};

/// Node (i, j) lies at data[j * row + i].
template <>
struct Strides<2> {
  std::int64_t row = 0;

  friend bool operator==(const Strides&, const Strides&) = default;
};

/// Node (i, j, k) lies at data[k * plane + j * row + i].
template <>
struct Strides<3> {
  std::int64_t row = 0, plane = 0;

  friend bool operator==(const Strides&, const Strides&) = default;
};

}  // namespace stratum
