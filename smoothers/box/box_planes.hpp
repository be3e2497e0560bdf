#pragma once

// For CUDA sources only: Gauss-Seidel by points in 8 colours on all planes of one parity, in one kernel, of bands; of cells:
// smoothers/box/box_cell_planes.hpp. A block has a tile of a plane, a warp a row of it, a thread two neighbours of the row. What
// is left of all rows, with x as it was, is formed first; corrections d then go through the four colours of the plane, from
// thread to thread,
//
//     d_i = (r_i - sum over neighbours of earlier colours a_ij d_j) / a_ii ,
//
// and x + d is written to another vector, for blocks have nodes in common: of the nodes around its tile that come into it, a
// block makes the corrections itself. They are those of colours before, three columns and a row away.

#include <stratum/core/device/launch.hpp>
#include <stratum/core/operators/box_row_march.hpp>

namespace stratum::cuda {

/// Of a tile: rows and columns that are its own. A warp's 64 columns have 6 more, which nodes of its own depend on.
inline constexpr int tile_rows = 6, tile_columns = 58, tile_warps = tile_rows + 1;

/// Rows of two nodes.
template <class T>
struct BoxPair {
  T value[2] = {}, diagonal[2] = {};
  // Entries to the neighbours in the plane.
  T along[3] = {};         // i - 1 and i, i and i + 1, i + 1 and i + 2
  T across[2][2] = {};     // of a node, to j - 1 and j + 1
  T corner[2][2][2] = {};  // of a node, to i - 1 and i + 1 of its own, of j - 1 and j + 1
};

template <class Rows, class T = typename Rows::Number>
struct PlanesOfParity {
  Rows rows;
  FieldView<const T, 3> b, own, beside;  // x in planes of this parity, and in those beside them
  FieldView<T, 3> to;
  int first_x, first_y;  // parities that come first
  int plane;             // parity of planes
};

/// `own`: u in plane l, `beside`: in planes l - 1 and l + 1, with ghosts.
template <BoxZeros zeros, class T>
__device__ STRATUM_INLINE BoxPair<T> pair_of(const BoxBandRows<T>& rows, const FieldView<const T, 3>& own,
                                             const FieldView<const T, 3>& beside, int i, int j, int l) {
  BoxPair<T> pair;
#pragma unroll
  for (int node = 0; node < 2; ++node) {
    const int c = i + node <= rows.shape.n.nx - 1 ? i + node : i;  // one that there is
    const T o = zeros == BoxZeros::none ? own(c, j, l) : T(0), e = rows.at(0, c, j, l);
    T sum = e * o, diagonal = e;
    const auto add = [&](int number) __attribute__((always_inline)) {
      const BoxOffset d(number);
      const T behind = rows.at(number, c, j, l), before = rows.at(number, c - d.x, j - d.y, l - d.z);
      diagonal -= behind + before;
      const bool in_plane = d.z == 0;
      if (zeros == BoxZeros::all || (in_plane && zeros != BoxZeros::none)) return;
      const FieldView<const T, 3>& u = in_plane ? own : beside;
      sum += behind * (u(c + d.x, j + d.y, l + d.z) - o) + before * (u(c - d.x, j - d.y, l - d.z) - o);
    };
    add(1), add(2), add(3), add(4), add(5), add(6), add(7), add(8), add(9), add(10), add(11), add(12), add(13);
    pair.value[node] = sum;
    pair.diagonal[node] = diagonal;
    if (node == 0) pair.along[0] = rows.at(1, c - 1, j, l);
    pair.along[node + 1] = rows.at(1, c, j, l);
    pair.across[node][0] = rows.at(3, c, j - 1, l);
    pair.across[node][1] = rows.at(3, c, j, l);
    pair.corner[node][0][0] = rows.at(4, c - 1, j - 1, l);
    pair.corner[node][1][1] = rows.at(4, c, j, l);
    pair.corner[node][0][1] = rows.at(2, c, j, l);
    pair.corner[node][1][0] = rows.at(2, c + 1, j - 1, l);
  }
  return pair;
}

template <class T, BoxZeros zeros>
__global__ void __launch_bounds__(32 * tile_warps, 2) relax_planes(const PlanesOfParity<BoxBandRows<T>> s) {
  constexpr unsigned whole = 0xffffffffU;
  __shared__ T corrections[tile_rows / 2 + 1][66];  // of rows that come first
  after_previous();
  const BoxShape& shape = s.rows.shape;
  const auto [nx, ny, nz] = shape.n;
  const int lane = static_cast<int>(threadIdx.x), warp = static_cast<int>(threadIdx.y);
  const int tile_x = static_cast<int>(blockIdx.x) * tile_columns, tile_y = static_cast<int>(blockIdx.y) * tile_rows;
  const int column = tile_x - (s.first_x == 0 ? 2 : 4) + 2 * lane, row = tile_y - s.first_y + warp;
  const int i = wrapped(column, nx, shape.periodic[0]), j = wrapped(row, ny, shape.periodic[1]);
  const bool there = i >= 0 && i < nx && j >= 0 && j < ny, is_pair = there && i + 1 < nx;
  const bool is_own = there && column >= tile_x && column < tile_x + tile_columns && column < nx && row >= tile_y &&
                      row < tile_y + tile_rows && row < ny;
  const bool comes_first = warp % 2 == 0;
  for (int l = s.plane + 2 * static_cast<int>(blockIdx.z); l < nz; l += 2 * static_cast<int>(gridDim.z)) {
    BoxPair<T> a;
    T r[2] = {}, inverse[2] = {}, d[2];
    if (there) {
      a = pair_of<zeros>(s.rows, s.own, s.beside, i, j, l);
      r[0] = s.b(i, j, l) - a.value[0];
      inverse[0] = 1 / a.diagonal[0];
    }
    if (is_pair) {
      r[1] = s.b(i + 1, j, l) - a.value[1];
      inverse[1] = 1 / a.diagonal[1];
    }
    const auto relax = [&] {
      if (s.first_x == 0) {
        d[0] = r[0] * inverse[0];
        const T next = __shfl_down_sync(whole, d[0], 1);
        d[1] = (r[1] - a.along[1] * d[0] - (lane < 31 ? a.along[2] * next : T(0))) * inverse[1];
      } else {
        d[1] = r[1] * inverse[1];
        const T before = __shfl_up_sync(whole, d[1], 1);
        d[0] = (r[0] - a.along[1] * d[1] - (lane > 0 ? a.along[0] * before : T(0))) * inverse[0];
      }
    };
    __syncthreads();  // the plane before is done with
    if (comes_first) {
      relax();
      T* const to = corrections[warp / 2];
      to[1 + 2 * lane] = d[0];
      to[2 + 2 * lane] = d[1];
      if (lane == 0) to[0] = 0;
      if (lane == 31) to[65] = 0;
    }
    __syncthreads();
    if (!comes_first) {
#pragma unroll
      for (int side = 0; side < 2; ++side) {
        const T* const from = corrections[warp / 2 + side] + 2 * lane;
        r[0] -= a.corner[0][0][side] * from[0] + a.across[0][side] * from[1] + a.corner[0][1][side] * from[2];
        r[1] -= a.corner[1][0][side] * from[1] + a.across[1][side] * from[2] + a.corner[1][1][side] * from[3];
      }
      relax();
    }
    if (!is_own) continue;
    constexpr bool zero = zeros != BoxZeros::none;
    s.to(i, j, l) = (zero ? T(0) : s.own(i, j, l)) + d[0];
    if (is_pair) s.to(i + 1, j, l) = (zero ? T(0) : s.own(i + 1, j, l)) + d[1];
  }
}

template <class T>
void launch_planes(const Context& ctx, const PlanesOfParity<BoxBandRows<T>>& s, BoxZeros zeros) {
  const auto& [nx, ny, nz] = s.rows.shape.n;
  constexpr int most_blocks = 65535;
  const int planes = (nz - s.plane + 1) / 2;
  if (planes <= 0) return;
  const Launch launch{dim3(static_cast<unsigned>(divide_up(nx, tile_columns)),
                           static_cast<unsigned>(divide_up(ny, tile_rows)),
                           static_cast<unsigned>(planes < most_blocks ? planes : most_blocks)),
                      dim3(32, tile_warps)};
  if (zeros == BoxZeros::all)
    launch(ctx, relax_planes<T, BoxZeros::all>, s);
  else if (zeros == BoxZeros::own_plane)
    launch(ctx, relax_planes<T, BoxZeros::own_plane>, s);
  else
    launch(ctx, relax_planes<T, BoxZeros::none>, s);
}

}  // namespace stratum::cuda
