#pragma once

// The part of a row that a lane of a warp holds when warps move along rows, 16 bytes of each
// (core/field/streaming_stencil.hpp): how a lane reads and writes it, and how it accesses operators. Empty except in CUDA
// sources.

#if defined(__CUDACC__)

#include <cuda_runtime.h>

#include <cstdint>

#include <stratum/core/field/field.hpp>

namespace stratum::cuda {

constexpr int lanes = 32;
constexpr unsigned whole_warp = 0xffffffffU;
constexpr int stream_warps = 4;  // panels side by side in a block

template <class T>
constexpr int chunk_width = static_cast<int>(16 / sizeof(T));

/// Consecutive numbers of a row that one lane holds.
template <class T, int n = chunk_width<T>>
struct alignas(n * sizeof(T)) Chunk {
  T v[n];
  __device__ STRATUM_INLINE const T& operator()(int i, int /*j*/) const { return v[i]; }
};

template <int n, class T>
__device__ STRATUM_INLINE Chunk<std::remove_const_t<T>, n> load_chunk(T* aligned) {
  return *reinterpret_cast<const Chunk<std::remove_const_t<T>, n>*>(aligned);
}
/// To columns column .. column + n - 1 of row j, rounded to the precision of x; those outside 0 .. nx - 1 are left alone.
/// `whole`: none is outside. By reference, and with addresses of its own in each branch: residuals take 80 registers so, and 86
/// otherwise.
template <class To, class T, int n>
__device__ STRATUM_INLINE void store_chunk(const FieldView<To>& x, const int& column, int j, const Chunk<T, n>& numbers,
                                           const int& nx, const bool& whole) {
  Chunk<To, n> c;
#pragma unroll
  for (int e = 0; e < n; ++e) c.v[e] = static_cast<To>(numbers.v[e]);
  if (whole) {
    *reinterpret_cast<Chunk<To, n>*>(&x(column, j)) = c;
  } else {
#pragma unroll
    for (int e = 0; e < n; ++e)
      if (column + e >= 0 && column + e < nx) x(column + e, j) = c.v[e];
  }
}
/// Number i of first .. last; zero beyond.
template <class T>
__device__ STRATUM_INLINE T number_or_zero(const T* numbers, int i, int first, int last) {
  return i >= first && i <= last ? numbers[i] : T(0);
}

/// Where a lane stands. Its chunk covers columns column .. column + n - 1; chunk 0 starts with the halo column -1.
template <class T>
struct Lane {
  static constexpr int n = chunk_width<T>;
  int index, chunk, column, nx, ny;
  int panel;
  bool idle;    // the whole warp has nothing to do
  bool inside;  // the chunk has a column of the grid
  bool whole;   // all of its columns are of the grid
  bool owner;   // it stores its columns

  __device__ Lane(int grid_nx, int grid_ny, int margin) : nx(grid_nx), ny(grid_ny) {
    panel = static_cast<int>(blockIdx.x) * stream_warps + static_cast<int>(threadIdx.x) / lanes;
    const int first = panel * (lanes - 2 * margin), chunks = nx / n + 1;
    index = static_cast<int>(threadIdx.x) % lanes;
    chunk = first - margin + index;
    column = n * chunk - 1;
    idle = first >= chunks;
    inside = chunk >= 0 && chunk < chunks;
    whole = column >= 0 && column + n <= nx;
    owner = inside && index >= margin && index < lanes - margin;
  }
  [[nodiscard]] __device__ STRATUM_INLINE bool has(int e) const { return column + e >= 0 && column + e < nx; }

  /// Row j of a grid with `count` numbers a lane, n or, on the grid below, half as many; zero where there is none. `halo`: so
  /// many rows above and below are read, too.
  template <int count = n, int halo = 0>
  [[nodiscard]] __device__ STRATUM_INLINE Chunk<T, count> load(const FieldView<const T>& x, int j) const {
    if (inside && j >= -halo && j < (count == n ? ny : x.ny) + halo) return load_chunk<count>(&x(first_of<count>(), j));
    return {};
  }
  /// Rounds to the precision of x. The halo is left alone.
  template <class To, int count>
  __device__ STRATUM_INLINE void store(const FieldView<To>& x, int j, const Chunk<T, count>& numbers) const {
    if (!owner) return;
    if constexpr (count == n) {
      store_chunk(x, column, j, numbers, nx, whole);
    } else {
      const int first = first_of<count>();
      store_chunk(x, first, j, numbers, x.nx, first >= 0 && first + count <= x.nx);
    }
  }
  template <int count>
  [[nodiscard]] __device__ STRATUM_INLINE int first_of() const {
    return count == n ? column : count * chunk - 1;
  }
  /// Numbers that belong to no unknown become zero.
  __device__ STRATUM_INLINE void clear_outside(Chunk<T>& c) const {
    if (whole) return;
#pragma unroll
    for (int e = 0; e < n; ++e)
      if (!has(e)) c.v[e] = 0;
  }
};

/// Rows that are asked for ahead, as many as a window has: unrolled so often, a loop moves nothing from register to
/// register. Longer pipelines, whose registers limit the warps in flight, are faster with two.
constexpr int rows_ahead = 3;

/// An operator as seen from a lane: row(lane, j) moves to row j of the grid, view() is the operator's view of there, with
/// column e of the lane's chunk as node (e, 0). `in_order`: row by row alone, from `first` of the constructor on, through rows
/// that may lie outside of the grid, of which `depth` are asked for ahead. A copy goes its own way. Of the storage formats that
/// stream; each stands in its storage format's file.
template <class View, int depth = rows_ahead>
struct LaneOperator;

}  // namespace stratum::cuda

#endif
