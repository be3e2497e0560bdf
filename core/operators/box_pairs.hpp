#pragma once

// For CUDA sources only: rows of cells of a box (core/operators/box_rows.hpp) for two neighbours along x at once,
// nodes (i, j, l) and (i + 1, j, l), as one thread takes them. What the two share, cells and differences, is formed once: with
//
//     E = 2 v + w   of differences along x and along y, of the node's plane v and the plane beside it w,    d = v - w ,
//
// a cell of factors p, q, s gives a node  p (2 E_x + E_x') + q (2 E_y + E_y') + s (2 h + h') ,  h = 2 d + d' ,  a dash for what
// lies across: about 140 operations a node. The results are those of Rows::product up to
// rounding; there are no differences of sums here either.
//
// Where i + 1 is no node what belongs to it means nothing, and nothing is read far from the box.

#include <type_traits>

#include <stratum/core/device/launch.hpp>
#include <stratum/core/field/for_each_node_3d.hpp>
#include <stratum/core/operators/box_rows.hpp>

namespace stratum::cuda {

/// K is a number a cell and c is zero; anything.
enum class BoxKind { plain, any };

template <class T>
[[nodiscard]] BoxKind kind_of(const BoxCellRows<T>& rows) {
  const bool scalar = rows.k[1].data == rows.k[0].data && rows.k[2].data == rows.k[0].data;
  return scalar && rows.reaction == 0 ? BoxKind::plain : BoxKind::any;
}
/// Calls `use` with the kind of these rows as its template argument.
template <class Rows, class F>
void with_kind(const Rows& rows, const F& use) {
  if constexpr (requires { rows.axes; }) {
    if (kind_of(rows) == BoxKind::any) return use.template operator()<BoxKind::any>();
  }
  use.template operator()<BoxKind::plain>();
}

/// Columns i - 1 .. i + 2 of a row of u.
template <class T>
__device__ STRATUM_INLINE void load_columns(const FieldView<const T, 3>& u, int n, int i, int j, int l, T (&row)[4]) {
  const T* const at = u.row(j, l);
  row[0] = at[i - 1];
  row[1] = at[i];
  row[2] = at[i + 1];
  row[3] = at[i + 2 <= n ? i + 2 : n];
}

/// A u at both nodes; u has ghosts.
template <BoxKind kind, class T>
__device__ STRATUM_INLINE void product_of_pair(const BoxCellRows<T>& rows, const FieldView<const T, 3>& u, int i, int j,
                                               int l, T (&value)[2]) {
  const int n = rows.shape.n.nx, last = i + 2 <= n ? i + 2 : n;
  const T kx[3] = {rows.axes[0].k[i], rows.axes[0].k[i + 1], rows.axes[0].k[last]};
  const T mx[3] = {rows.axes[0].m[i], rows.axes[0].m[i + 1], rows.axes[0].m[last]};
  const bool has_mass = kind != BoxKind::plain && rows.reaction != 0;
  constexpr bool scalar = kind != BoxKind::any;
  T v[3][4] = {};
#pragma unroll
  for (int r = 0; r < 3; ++r) load_columns(u, n, i, j + r - 1, l, v[r]);
  value[0] = value[1] = 0;
#pragma unroll
  for (int layer = 0; layer < 2; ++layer) {
    const T kz = rows.axes[2].k[l + layer], mz = rows.axes[2].m[l + layer];
    T w[3][4] = {};
#pragma unroll
    for (int r = 0; r < 3; ++r) load_columns(u, n, i, j + r - 1, l + 2 * layer - 1, w[r]);
#pragma unroll
    for (int side = 0; side < 2; ++side) {
      const int across = 2 * side;
      const T ky = rows.axes[1].k[j + side], my = rows.axes[1].m[j + side];
      // Of columns: differences along y, and of planes.
      T e_y[4], h[4], mass[4];
#pragma unroll
      for (int c = 0; c < 4; ++c) {
        e_y[c] = 2 * (v[1][c] - v[across][c]) + (w[1][c] - w[across][c]);
        h[c] = 2 * (v[1][c] - w[1][c]) + (v[across][c] - w[across][c]);
        mass[c] = has_mass ? 2 * (2 * v[1][c] + w[1][c]) + (2 * v[across][c] + w[across][c]) : T(0);
      }
#pragma unroll
      for (int e = 0; e < 3; ++e) {
        const int column = e < 2 ? i + e : last;
        const T k = rows.k[0](column, j + side, l + layer);
        const T k_y = scalar ? k : rows.k[1](column, j + side, l + layer),
                k_z = scalar ? k : rows.k[2](column, j + side, l + layer);
        const T p = k * kx[e] * (my * mz), q = k_y * ky * (mx[e] * mz), s = k_z * kz * (mx[e] * my),
                m = has_mass ? rows.reaction * mx[e] * (my * mz) : T(0);
        const T e_x = 2 * (2 * (v[1][e + 1] - v[1][e]) + (w[1][e + 1] - w[1][e])) +
                      (2 * (v[across][e + 1] - v[across][e]) + (w[across][e + 1] - w[across][e]));
        const auto give = [&](int node, int c, int other, T towards) __attribute__((always_inline)) {
          value[node] += p * towards + q * (2 * e_y[c] + e_y[other]) + s * (2 * h[c] + h[other]);
          if (has_mass) value[node] += m * (2 * mass[c] + mass[other]);
        };
        if (e > 0) give(e - 1, e, e + 1, -e_x);
        if (e < 2) give(e, e + 1, e, e_x);
      }
    }
  }
}

constexpr int pair_rows = 4;
/// Blocks of a multiprocessor, so that registers hold what a thread has.
template <class T>
constexpr int pair_blocks = std::is_same_v<T, double> ? 3 : 4;

/// r = b - A u, in rows of y and z: two nodes a thread. u has ghosts.
template <BoxKind kind, class T>
__global__ void __launch_bounds__(32 * pair_rows, pair_blocks<T>)
    pairs_kernel(const BoxCellRows<T> rows, const FieldView<const T, 3> b, const FieldView<const T, 3> u,
                 const FieldView<T, 3> r, const AxisRange y, const AxisRange z) {
  after_previous();
  const int nx = rows.shape.n.nx, i = 2 * static_cast<int>(blockIdx.x * 32 + threadIdx.x),
            j = y.begin + y.step * static_cast<int>(blockIdx.y * pair_rows + threadIdx.y);
  if (i >= nx || j >= y.end) return;
  for (int l = z.begin + z.step * static_cast<int>(blockIdx.z); l < z.end; l += z.step * static_cast<int>(gridDim.z)) {
    T value[2];
    product_of_pair<kind>(rows, u, i, j, l, value);
#pragma unroll
    for (int node = 0; node < 2; ++node)
      if (i + node < nx) r(i + node, j, l) = b(i + node, j, l) - value[node];
  }
}

template <class T>
void run_pairs(const Context& ctx, const BoxCellRows<T>& rows, FieldView<const T, 3> b, FieldView<const T, 3> u,
               FieldView<T, 3> r, const NodeRange<3>& nodes) {
  if (ctx.is_dry_run() || nodes.count() == 0) return;
  constexpr int most_blocks = 65535;
  const int planes = nodes.z.count();
  const Launch launch{dim3(static_cast<unsigned>(divide_up(rows.shape.n.nx, 64)),
                           static_cast<unsigned>(divide_up(nodes.y.count(), pair_rows)),
                           static_cast<unsigned>(planes < most_blocks ? planes : most_blocks)),
                      dim3(32, pair_rows)};
  with_kind(rows, [&]<BoxKind kind>() { launch(ctx, pairs_kernel<kind, T>, rows, b, u, r, nodes.y, nodes.z); });
}

}  // namespace stratum::cuda
