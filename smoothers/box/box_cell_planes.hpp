#pragma once

// For CUDA sources only: Gauss-Seidel by points in 8 colours on all planes of one parity, of cells (core/operators/box_rows.hpp).
// A warp goes along y through 64 columns of a plane, a lane has two neighbours of every row; nothing waits for another warp.
// A row of cells, of both layers at once, gives to the rows of nodes before and behind it what they have in common, with
// A = K m_z and B = K k_z of the layers, v in the plane, w_1 and w_2 beside it, and dx, dy differences along x and y,
//
//     G_x = 2 (A_1 + A_2) dx v + A_1 dx w_1 + A_2 dx w_2 ,     G_y alike ,     G_z = B_1 (v - w_1) + B_2 (v - w_2) ,
//
// of which a node takes k_x m_y (2 G_x + G_x'), m_x k_y (2 G_y + G_y') and m_x m_y (4, 2, 2, 1) G_z, a dash for what lies
// across: about 85 operations a node, and 20 for the entries of its plane. Rows of the colours that come first are corrected as
// soon as both of their rows of cells are done; the row before then has all that it waits for. x + d is written to another
// vector, for warps have nodes in common: corrections are those of colours before, three columns and a row away. Results are
// those of Rows::product up to rounding; there are no differences of sums.

#include <type_traits>

#include <stratum/core/device/launch.hpp>
#include <stratum/core/operators/box_pairs.hpp>
#include <stratum/smoothers/box/box_planes.hpp>

namespace stratum::cuda {

/// To rounding.
__device__ STRATUM_INLINE float quotient(float a, float b) { return __fdividef(a, b); }
__device__ STRATUM_INLINE double quotient(double a, double b) { return a / b; }

/// Pairs of columns of a warp that are its own: one before them and two behind them belong to other warps.
inline constexpr int own_pairs = 29, march_warps = 4;
/// Blocks of a multiprocessor, so that registers hold what a thread has.
template <class T>
inline constexpr int march_blocks = std::is_same_v<T, double> ? 2 : 4;

template <class T, BoxZeros zeros, BoxKind kind>
class CellRowMarch {
  static constexpr unsigned whole = 0xffffffffU;
  static constexpr int parts = kind == BoxKind::any ? 3 : 1;

 public:
  __device__ CellRowMarch(const PlanesOfParity<BoxCellRows<T>>& s, int lane, int first_column, int plane)
      : s_(s), lane_(lane), plane_(plane) {
    const int n = s.rows.shape.n.nx;
    const bool periodic = s.rows.shape.periodic[0];
#pragma unroll
    for (int e = 0; e < 3; ++e) {
      const int cell = at(first_column + e, 0, n, n, periodic);
      kx_[e] = s.rows.axes[0].k[cell];
      mx_[e] = s.rows.axes[0].m[cell];
    }
    // Columns that are none have numbers, too, of a row beside: nobody takes them.
    const int column = at(first_column, -2, n, n, periodic);
    own_ = s.own.row(0, plane) + column;
    beside_[0] = s.beside.row(0, plane - 1) + column;
    beside_[1] = s.beside.row(0, plane + 1) + column;
#pragma unroll
    for (int part = 0; part < parts; ++part)
#pragma unroll
      for (int layer = 0; layer < 2; ++layer) k_[part][layer] = s.rows.k[part].row(0, plane + layer) + column;
#pragma unroll
    for (int node = 0; node < 2; ++node) {
      const int i = first_column + node;
      b_[node] = s.b.row(0, plane) + at(i, 0, n - 1, n, periodic);
      there_[node] = periodic || (i >= 0 && i < n);
    }
#pragma unroll
    for (int layer = 0; layer < 2; ++layer) {
      kz_[layer] = s.rows.axes[2].k[plane + layer];
      mz_[layer] = s.rows.axes[2].m[plane + layer];
    }
  }

  /// A row of nodes, and that of cells before it.
  struct Row {
    T v[4], w[2][4];
    T k[parts][2][3], ky, my;
    T b[2];
  };
  /// Of a row of nodes what is done: A u and the diagonal entries, and those between columns.
  struct Sums {
    T value[2], diagonal[2], along[3];
  };
  /// Entries between two rows: of columns, and across.
  struct Entries {
    T across[2], corner[3];
  };

  /// Asks for row j.
  __device__ STRATUM_INLINE void ask(int j) {
    const int n = s_.rows.shape.n.ny;
    const bool periodic = s_.rows.shape.periodic[1];
    const int row = row_at(j, -1, n, n, periodic), cells = row_at(j, 0, n, n, periodic),
              own = row_at(j, 0, n - 1, n, periodic);
    const auto go = [](const T*& pointer, int rows, std::int64_t stride) __attribute__((always_inline)) {
      pointer += rows * stride;
    };
    if constexpr (zeros == BoxZeros::none) {
      go(own_, row - row_, s_.own.strides.row);
      ask_row(own_, ahead_.v);
    }
    if constexpr (zeros != BoxZeros::all) {
#pragma unroll
      for (int side = 0; side < 2; ++side) {
        go(beside_[side], row - row_, s_.beside.strides.row);
        ask_row(beside_[side], ahead_.w[side]);
      }
    }
#pragma unroll
    for (int part = 0; part < parts; ++part)
#pragma unroll
      for (int layer = 0; layer < 2; ++layer) {
        go(k_[part][layer], cells - cells_, s_.rows.k[0].strides.row);
        ahead_.k[part][layer][0] = k_[part][layer][0];
        ahead_.k[part][layer][1] = k_[part][layer][1];
      }
    ahead_.ky = s_.rows.axes[1].k[cells];
    ahead_.my = s_.rows.axes[1].m[cells];
#pragma unroll
    for (int node = 0; node < 2; ++node) {
      go(b_[node], own - b_row_, s_.b.strides.row);
      ahead_.b[node] = *b_[node];
    }
    row_ = row;
    cells_ = cells;
    b_row_ = own;
  }
  /// The row that was asked for, with what lanes beside this one have of it.
  __device__ STRATUM_INLINE Row take() const {
    Row row = ahead_;
    if constexpr (zeros == BoxZeros::none) share(row.v);
    if constexpr (zeros != BoxZeros::all) share(row.w[0]), share(row.w[1]);
#pragma unroll
    for (int part = 0; part < parts; ++part)
#pragma unroll
      for (int layer = 0; layer < 2; ++layer)
        row.k[part][layer][2] = __shfl_down_sync(whole, ahead_.k[part][layer][0], 1);
    return row;
  }

  /// Adds to the sums of the rows before and behind the cells of `now`, and gives the entries between these.
  __device__ STRATUM_INLINE Entries add(const Row& before, const Row& now, Sums& to_before, Sums& to_now) const {
    constexpr bool has_own = zeros == BoxZeros::none, has_beside = zeros != BoxZeros::all;
    const T mass = kind == BoxKind::any ? s_.rows.reaction : T(0);
    T side[3], flat[3], corner[3];
    Entries entries;
#pragma unroll
    for (int e = 0; e < 3; ++e) {
      const T a[2] = {now.k[0][0][e] * mz_[0], now.k[0][1][e] * mz_[1]};
      const T q[2] = {kind == BoxKind::any ? now.k[parts / 2][0][e] * mz_[0] : a[0],
                      kind == BoxKind::any ? now.k[parts / 2][1][e] * mz_[1] : a[1]};
      const T c[2] = {now.k[parts - 1][0][e] * kz_[0], now.k[parts - 1][1][e] * kz_[1]};
      const T of_x = kx_[e] * now.my, of_y = mx_[e] * now.ky, of_z = mx_[e] * now.my;
      const T all_x = a[0] + a[1], all_y = q[0] + q[1];
      if constexpr (has_beside) {
        T g_x[2], g_y[2], g_z[2][2];  // by rows; by columns; by columns and rows
#pragma unroll
        for (int r = 0; r < 2; ++r) {
          const Row& row = r == 0 ? before : now;
          g_x[r] = a[0] * (row.w[0][e + 1] - row.w[0][e]) + a[1] * (row.w[1][e + 1] - row.w[1][e]);
          if constexpr (has_own) g_x[r] += 2 * all_x * (row.v[e + 1] - row.v[e]);
#pragma unroll
          for (int side_of = 0; side_of < 2; ++side_of) {
            const int column = e + side_of;
            const T v = has_own ? row.v[column] : T(0), w_0 = row.w[0][column], w_1 = row.w[1][column];
            g_z[side_of][r] = c[0] * (v - w_0) + c[1] * (v - w_1);
            if constexpr (kind == BoxKind::any)
              g_z[side_of][r] += mass * (mz_[0] * (2 * v + w_0) + mz_[1] * (2 * v + w_1));
          }
        }
#pragma unroll
        for (int side_of = 0; side_of < 2; ++side_of) {
          const int column = e + side_of;
          g_y[side_of] =
              q[0] * (now.w[0][column] - before.w[0][column]) + q[1] * (now.w[1][column] - before.w[1][column]);
          if constexpr (has_own) g_y[side_of] += 2 * all_y * (now.v[column] - before.v[column]);
        }
        const T x_before = of_x * (2 * g_x[0] + g_x[1]), x_now = of_x * (2 * g_x[1] + g_x[0]);
        const auto give = [&](int node, int side_of, T x_sign) __attribute__((always_inline)) {
          const int far = 1 - side_of;
          const T y = of_y * (2 * g_y[side_of] + g_y[far]);
          const T h_before = 2 * g_z[side_of][0] + g_z[far][0], h_now = 2 * g_z[side_of][1] + g_z[far][1];
          to_before.value[node] += x_sign * x_before - y + of_z * (2 * h_before + h_now);
          to_now.value[node] += x_sign * x_now + y + of_z * (2 * h_now + h_before);
        };
        // Columns 1 and 2 are the lane's nodes.
        if (e < 2) give(e, 1, T(1));
        if (e > 0) give(e - 1, 0, T(-1));
      }
      const T p_sum = all_x * of_x, q_sum = all_y * of_y,
              s_sum = (c[0] + c[1] + (kind == BoxKind::any ? 2 * mass * (mz_[0] + mz_[1]) : T(0))) * of_z;
      flat[e] = p_sum + q_sum + s_sum;
      side[e] = flat[e] - 3 * q_sum;
      corner[e] = 3 * s_sum - 2 * flat[e];
      const T along = 2 * (flat[e] - 3 * p_sum);
      to_before.along[e] += along;
      to_now.along[e] += along;
    }
#pragma unroll
    for (int node = 0; node < 2; ++node) {
      const T own = 4 * (flat[node] + flat[node + 1]);
      to_before.diagonal[node] += own;
      to_now.diagonal[node] += own;
      entries.across[node] = 2 * (side[node] + side[node + 1]);
    }
#pragma unroll
    for (int e = 0; e < 3; ++e) entries.corner[e] = corner[e];
    return entries;
  }

  /// Corrections of a row's two colours by what is left of its rows.
  __device__ STRATUM_INLINE void relax(const T (&r)[2], const Sums& row, bool row_there, T (&d)[2]) const {
    d[0] = row_there && there_[0] ? quotient(r[0], row.diagonal[0]) : T(0);
    const T next = __shfl_down_sync(whole, d[0], 1);
    d[1] = row_there && there_[1] ? quotient(r[1] - row.along[1] * d[0] - row.along[2] * next, row.diagonal[1]) : T(0);
  }
  /// What corrections `d` of a row take from what is left of one beside it; `d` with those of lanes beside this one.
  __device__ STRATUM_INLINE static void correct(const Entries& a, const T (&d)[4], T (&r)[2]) {
#pragma unroll
    for (int node = 0; node < 2; ++node)
      r[node] -= a.across[node] * d[node + 1] + a.corner[node] * d[node] + a.corner[node + 1] * d[node + 2];
  }
  __device__ STRATUM_INLINE static void widen(const T (&d)[2], T (&all)[4]) {
    all[0] = __shfl_up_sync(whole, d[1], 1);
    all[1] = d[0];
    all[2] = d[1];
    all[3] = __shfl_down_sync(whole, d[0], 1);
  }
  [[nodiscard]] __device__ STRATUM_INLINE bool row_there(int j) const {
    return s_.rows.shape.periodic[1] || (j >= 0 && j < s_.rows.shape.n.ny);
  }

 private:
  /// i, or where it goes round to; else the nearest of least .. most.
  __device__ STRATUM_INLINE static int at(int i, int least, int most, int n, bool periodic) {
    return periodic ? wrapped(i, n, true) : min(max(i, least), most);
  }
  /// The same of a row at most 2 from the grid; one that goes round has at least 2.
  __device__ STRATUM_INLINE static int row_at(int j, int least, int most, int n, bool periodic) {
    if (!periodic) return min(max(j, least), most);
    const int from_0 = j < 0 ? j + n : j, once = from_0 >= n ? from_0 - n : from_0;
    return once >= n ? once - n : once;
  }
  __device__ STRATUM_INLINE void ask_row(const T* row, T (&to)[4]) const {
    to[1] = row[0];
    to[2] = row[1];
    if (lane_ == 0) to[0] = row[-1];
  }
  __device__ STRATUM_INLINE void share(T (&row)[4]) const {
    const T before = __shfl_up_sync(whole, row[2], 1);
    if (lane_ != 0) row[0] = before;
    row[3] = __shfl_down_sync(whole, row[1], 1);
  }

  const PlanesOfParity<BoxCellRows<T>>& s_;
  int lane_, plane_;
  // Where the latest row's numbers of the lane lie, and which row that is, of x, of cells and of b.
  const T *own_, *beside_[2], *k_[parts][2], *b_[2];
  int row_ = 0, cells_ = 0, b_row_ = 0;
  bool there_[2];
  T kx_[3], mx_[3], kz_[2], mz_[2];
  Row ahead_;
};

/// `chunk`: rows of the colours that come first, of a warp.
template <class T, BoxZeros zeros, BoxKind kind>
__global__ void __launch_bounds__(32 * march_warps, march_blocks<T>)
    relax_cell_planes(const PlanesOfParity<BoxCellRows<T>> s, int chunk) {
  using March = CellRowMarch<T, zeros, kind>;
  after_previous();
  const auto [nx, ny, nz] = s.rows.shape.n;
  const int lane = static_cast<int>(threadIdx.x), tile = static_cast<int>(blockIdx.x * blockDim.y + threadIdx.y);
  const int column = 2 * (tile * own_pairs + lane - 1) - s.first_x;
  const int pairs = (ny + 1 + s.first_y) / 2, first = static_cast<int>(blockIdx.y) * chunk,
            end = first + chunk < pairs ? first + chunk : pairs;
  const bool is_own = lane > 0 && lane <= own_pairs;
  const bool stores[2] = {is_own && column >= 0 && column < nx, is_own && column + 1 < nx};
  if (column - 2 * lane >= nx) return;
  for (int l = s.plane + 2 * static_cast<int>(blockIdx.z); l < nz; l += 2 * static_cast<int>(gridDim.z)) {
    March march(s, lane, column, l);
    const auto store = [&](int j, const T(&v)[2], const T(&d)[2]) __attribute__((always_inline)) {
      if (j < 0 || j >= ny) return;
      T* const to = s.to.row(j, l);
      if (stores[0]) to[column] = v[0] + d[0];
      if (stores[1]) to[column + 1] = v[1] + d[1];
    };
    const auto of_nodes = [](const typename March::Row& row, int node) __attribute__((always_inline)) {
      return zeros == BoxZeros::none ? row.v[node + 1] : T(0);
    };
    int j = 2 * first - s.first_y;
    march.ask(j - 1);
    typename March::Row before = march.take();
    march.ask(j);
    // The row that waits for the one behind it: what is left of it, x there.
    typename March::Sums waiting{};
    T left[2] = {}, x[2] = {};
    for (int pair = first; pair <= end; ++pair, j += 2) {
      const typename March::Row now = march.take();
      march.ask(j + 1);
      typename March::Sums sums{}, part{};
      const typename March::Entries to_waiting = march.add(before, now, part, sums);
#pragma unroll
      for (int node = 0; node < 2; ++node) {
        left[node] -= part.value[node];
        waiting.diagonal[node] += part.diagonal[node];
      }
#pragma unroll
      for (int e = 0; e < 3; ++e) waiting.along[e] += part.along[e];
      const typename March::Row behind = march.take();
      if (pair < end) march.ask(j + 2);
      typename March::Sums next{};
      const typename March::Entries to_next = march.add(now, behind, sums, next);
      const T r[2] = {now.b[0] - sums.value[0], now.b[1] - sums.value[1]};
      T d[2], all[4];
      march.relax(r, sums, march.row_there(j), d);
      March::widen(d, all);
      March::correct(to_waiting, all, left);
      T of_waiting[2];
      march.relax(left, waiting, march.row_there(j - 1), of_waiting);
      if (pair > first) store(j - 1, x, of_waiting);
      if (pair == end) break;
      const T of_now[2] = {of_nodes(now, 0), of_nodes(now, 1)};
      store(j, of_now, d);
#pragma unroll
      for (int node = 0; node < 2; ++node) {
        left[node] = behind.b[node] - next.value[node];
        x[node] = of_nodes(behind, node);
      }
      March::correct(to_next, all, left);
      waiting = next;
      before = behind;
    }
  }
}

template <class T>
void launch_planes(const Context& ctx, const PlanesOfParity<BoxCellRows<T>>& s, BoxZeros zeros) {
  const auto& [nx, ny, nz] = s.rows.shape.n;
  const int planes = (nz - s.plane + 1) / 2, columns = (nx + 1 + s.first_x) / 2, rows = (ny + 1 + s.first_y) / 2;
  if (planes <= 0) return;
  constexpr int longest = 16, shortest = 2, most_blocks = 65535;
  // Warps enough for the device, as far as there are.
  constexpr std::int64_t enough = 1 << 12;
  const int across = divide_up(columns, own_pairs);
  int chunk = longest;
  while (chunk > shortest && std::int64_t{across} * divide_up(rows, chunk) * planes < enough) chunk /= 2;
  if (divide_up(rows, chunk) > most_blocks) chunk = divide_up(rows, most_blocks);
  const int blocks = divide_up(across, march_warps), warps = divide_up(across, blocks);
  const Launch launch{dim3(static_cast<unsigned>(blocks), static_cast<unsigned>(divide_up(rows, chunk)),
                           static_cast<unsigned>(planes < most_blocks ? planes : most_blocks)),
                      dim3(32, static_cast<unsigned>(warps))};
  with_kind(s.rows, [&]<BoxKind kind>() {
    if (zeros == BoxZeros::all)
      launch(ctx, relax_cell_planes<T, BoxZeros::all, kind>, s, chunk);
    else if (zeros == BoxZeros::own_plane)
      launch(ctx, relax_cell_planes<T, BoxZeros::own_plane, kind>, s, chunk);
    else
      launch(ctx, relax_cell_planes<T, BoxZeros::none, kind>, s, chunk);
  });
}

}  // namespace stratum::cuda
