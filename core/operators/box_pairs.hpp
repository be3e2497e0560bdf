#pragma once

// For CUDA sources only: rows of matrices of a box (core/operators/box_rows.hpp) for two neighbours along x at once,
// nodes (i, j, l) and (i + 1, j, l), as one thread takes them. What the two share, cells and differences, is formed once: with
//
//     E = 2 v + w   of differences along x and along y, of the node's plane v and the plane beside it w,    d = v - w ,
//
// a cell of factors p, q, s gives a node  p (2 E_x + E_x') + q (2 E_y + E_y') + s (2 h + h') ,  h = 2 d + d' ,  a dash for what
// lies across: about 140 operations a node, and 185 with the entries of its plane. The results are those of Rows::product up to
// rounding; there are no differences of sums here either.
//
// Where i + 1 is no node what belongs to it means nothing, and nothing is read far from the box.

#include <type_traits>

#include <stratum/core/device/launch.hpp>
#include <stratum/core/field/for_each_node_3d.hpp>
#include <stratum/core/operators/box_rows.hpp>

namespace stratum::cuda {

/// Rows of two nodes.
template <class T>
struct BoxPair {
  T value[2] = {}, diagonal[2] = {};
  // Entries to the neighbours in the plane.
  T along[3] = {};         // i - 1 and i, i and i + 1, i + 1 and i + 2
  T across[2][2] = {};     // of a node, to j - 1 and j + 1
  T corner[2][2][2] = {};  // of a node, to i - 1 and i + 1 of its own, of j - 1 and j + 1
};

/// What of u is known to be zero.
enum class BoxZeros { none, own_plane, all };
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

/// `own`: u in plane l, `beside`: in planes l - 1 and l + 1, with ghosts. `entries`: those of the plane and the diagonal, too.
template <BoxZeros zeros, bool entries, BoxKind kind, class T>
__device__ STRATUM_INLINE BoxPair<T> pair_of(const BoxCellRows<T>& rows, const FieldView<const T, 3>& own,
                                             const FieldView<const T, 3>& beside, int i, int j, int l) {
  BoxPair<T> pair;
  const int n = rows.shape.n.nx, last = i + 2 <= n ? i + 2 : n;
  const T kx[3] = {rows.axes[0].k[i], rows.axes[0].k[i + 1], rows.axes[0].k[last]};
  const T mx[3] = {rows.axes[0].m[i], rows.axes[0].m[i + 1], rows.axes[0].m[last]};
  const bool has_mass = kind != BoxKind::plain && rows.reaction != 0;
  constexpr bool scalar = kind != BoxKind::any;
  T v[3][4] = {};
  if constexpr (zeros == BoxZeros::none) {
#pragma unroll
    for (int r = 0; r < 3; ++r) load_columns(own, n, i, j + r - 1, l, v[r]);
  }
  T p_sum[3][2] = {}, q_sum[3][2] = {}, s_sum[3][2] = {}, m_sum[3][2] = {};  // of cells, over both layers
#pragma unroll
  for (int layer = 0; layer < 2; ++layer) {
    const T kz = rows.axes[2].k[l + layer], mz = rows.axes[2].m[l + layer];
    T w[3][4] = {};
    if constexpr (zeros != BoxZeros::all) {
#pragma unroll
      for (int r = 0; r < 3; ++r) load_columns(beside, n, i, j + r - 1, l + 2 * layer - 1, w[r]);
    }
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
        if constexpr (zeros != BoxZeros::all) {
          const T e_x = 2 * (2 * (v[1][e + 1] - v[1][e]) + (w[1][e + 1] - w[1][e])) +
                        (2 * (v[across][e + 1] - v[across][e]) + (w[across][e + 1] - w[across][e]));
          const auto give = [&](int node, int c, int other, T towards) __attribute__((always_inline)) {
            pair.value[node] += p * towards + q * (2 * e_y[c] + e_y[other]) + s * (2 * h[c] + h[other]);
            if (has_mass) pair.value[node] += m * (2 * mass[c] + mass[other]);
          };
          if (e > 0) give(e - 1, e, e + 1, -e_x);
          if (e < 2) give(e, e + 1, e, e_x);
        }
        if constexpr (entries) {
          p_sum[e][side] += p;
          q_sum[e][side] += q;
          s_sum[e][side] += s;
          m_sum[e][side] += m;
        }
      }
    }
  }
  if constexpr (entries) {
#pragma unroll
    for (int side = 0; side < 2; ++side)
#pragma unroll
      for (int e = 0; e < 3; ++e) {
        const T p = p_sum[e][side], q = q_sum[e][side], s = s_sum[e][side], m = m_sum[e][side];
        const T to_y = 2 * (p + s - 2 * q) + 4 * m, to_corner = s - 2 * (p + q) + 2 * m,
                own_part = 4 * (p + q + s) + 8 * m;
        pair.along[e] += 2 * (q + s - 2 * p) + 4 * m;
        if (e > 0) {
          pair.across[e - 1][side] += to_y;
          pair.corner[e - 1][1][side] = to_corner;
          pair.diagonal[e - 1] += own_part;
        }
        if (e < 2) {
          pair.across[e][side] += to_y;
          pair.corner[e][0][side] = to_corner;
          pair.diagonal[e] += own_part;
        }
      }
  }
  return pair;
}

/// The same of bands.
template <BoxZeros zeros, bool entries, BoxKind kind, class T>
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
    if constexpr (entries) {
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
  }
  return pair;
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
    const auto pair = pair_of<BoxZeros::none, false, kind>(rows, u, u, i, j, l);
#pragma unroll
    for (int node = 0; node < 2; ++node)
      if (i + node < nx) r(i + node, j, l) = b(i + node, j, l) - pair.value[node];
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
