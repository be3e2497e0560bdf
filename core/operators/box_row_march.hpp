#pragma once

// For CUDA sources only: A u of cells (core/operators/box_rows.hpp) by warps that go along y through 64 columns of a plane, a
// lane having two neighbours of every row; nothing waits for another warp. A row of cells, of both layers at once, gives to the
// rows of nodes before and behind it what they have in common, with A = K m_z and B = K k_z of the layers, v in the plane, w_1
// and w_2 beside it, and dx, dy differences along x and y,
//
//     G_x = 2 (A_1 + A_2) dx v + A_1 dx w_1 + A_2 dx w_2 ,     G_y alike ,     G_z = B_1 (v - w_1) + B_2 (v - w_2) ,
//
// of which a node takes k_x m_y (2 G_x + G_x'), m_x k_y (2 G_y + G_y') and m_x m_y (4, 2, 2, 1) G_z, a dash for what lies
// across: about 85 operations a node, and 20 for the entries of its plane. Results are those of Rows::product up to rounding;
// there are no differences of sums.

#include <cstdint>
#include <type_traits>

#include <stratum/core/device/launch.hpp>
#include <stratum/core/field/field_functors.hpp>
#include <stratum/core/field/reduce.hpp>
#include <stratum/core/operators/box_pairs.hpp>

namespace stratum::cuda {

/// What of u is known to be zero.
enum class BoxZeros { none, own_plane, all };

/// Planes of a block, one a warp: neighbours have planes to read in common.
inline constexpr int march_planes = 4;
/// Blocks of a multiprocessor, so that registers hold what a thread has.
template <class T>
inline constexpr int march_blocks = std::is_same_v<T, double> ? 2 : 4;

/// i of a direction that goes round.
__device__ STRATUM_INLINE int wrapped(int i, int n, bool periodic) {
  if (!periodic || (i >= 0 && i < n)) return i;
  i %= n;
  return i < 0 ? i + n : i;
}

/// `own`: u in the plane, `beside`: in the planes before and behind it. `ghosts`: they have them; else u is zero there.
template <class T, BoxZeros zeros, BoxKind kind, bool ghosts, bool has_b = true>
class CellRowMarch {
  static constexpr unsigned whole = 0xffffffffU;
  static constexpr int parts = kind == BoxKind::any ? 3 : 1;

 public:
  __device__ CellRowMarch(const BoxCellRows<T>& rows, const FieldView<const T, 3>& b, const FieldView<const T, 3>& own,
                          const FieldView<const T, 3>& beside, int lane, int first_column, int plane)
      : rows_(rows), own_stride_(own.strides.row), beside_stride_(beside.strides.row), b_stride_(b.strides.row),
        lane_(lane) {
    const BoxShape& shape = rows.shape;
    const int n = shape.n.nx, nz = shape.n.nz;
    const bool periodic = shape.periodic[0];
#pragma unroll
    for (int e = 0; e < 3; ++e) {
      const int cell = at(first_column + e, 0, n, n, periodic);
      kx_[e] = rows.axes[0].k[cell];
      mx_[e] = rows.axes[0].m[cell];
    }
    // Columns that are none have numbers, too, of a row beside: nobody takes them.
    const int column = at(first_column, -2, n, n, periodic), inside = at(first_column, 0, n - 1, n, periodic),
              u_column = ghosts ? column : inside;
    behind_ = ghosts ? 1 : at(first_column + 1, 0, n - 1, n, periodic) - inside;
    in_front_ = ghosts ? -1 : at(first_column - 1, 0, n - 1, n, periodic) - inside;
    has_in_front_ = ghosts || shape.has(0, first_column - 1);
    own_ = own.row(0, plane) + u_column;
#pragma unroll
    for (int side = 0; side < 2; ++side) {
      const int l = plane + 2 * side - 1;
      has_plane_[side] = ghosts || shape.has(2, l);
      beside_[side] = beside.row(0, ghosts ? l : at(l, 0, nz - 1, nz, shape.periodic[2])) + u_column;
    }
#pragma unroll
    for (int part = 0; part < parts; ++part)
#pragma unroll
      for (int layer = 0; layer < 2; ++layer) k_[part][layer] = rows.k[part].row(0, plane + layer) + column;
#pragma unroll
    for (int node = 0; node < 2; ++node) {
      const int i = first_column + node;
      if constexpr (has_b) b_[node] = b.row(0, plane) + at(i, 0, n - 1, n, periodic);
      there_[node] = shape.has(0, i);
    }
#pragma unroll
    for (int layer = 0; layer < 2; ++layer) {
      kz_[layer] = rows.axes[2].k[plane + layer];
      mz_[layer] = rows.axes[2].m[plane + layer];
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

  [[nodiscard]] __device__ STRATUM_INLINE bool there(int node) const { return there_[node]; }

  /// Asks for row j.
  __device__ STRATUM_INLINE void ask(int j) {
    const int n = rows_.shape.n.ny;
    const bool periodic = rows_.shape.periodic[1];
    const int cells = row_at(j, 0, n, n, periodic), inside = row_at(j, 0, n - 1, n, periodic),
              row = ghosts ? row_at(j, -1, n, n, periodic) : inside;
    const bool has_row = ghosts || row_there(j);
    const auto go = [](const T*& pointer, int rows, std::int64_t stride) __attribute__((always_inline)) {
      pointer += rows * stride;
    };
    if constexpr (zeros == BoxZeros::none) {
      go(own_, row - row_, own_stride_);
      ask_row(own_, has_row, ahead_.v);
    }
    if constexpr (zeros != BoxZeros::all) {
#pragma unroll
      for (int side = 0; side < 2; ++side) {
        go(beside_[side], row - row_, beside_stride_);
        ask_row(beside_[side], has_row && has_plane_[side], ahead_.w[side]);
      }
    }
#pragma unroll
    for (int part = 0; part < parts; ++part)
#pragma unroll
      for (int layer = 0; layer < 2; ++layer) {
        go(k_[part][layer], cells - cells_, rows_.k[0].strides.row);
        ahead_.k[part][layer][0] = k_[part][layer][0];
        ahead_.k[part][layer][1] = k_[part][layer][1];
      }
    ahead_.ky = rows_.axes[1].k[cells];
    ahead_.my = rows_.axes[1].m[cells];
    if constexpr (has_b) {
#pragma unroll
      for (int node = 0; node < 2; ++node) {
        go(b_[node], inside - b_row_, b_stride_);
        ahead_.b[node] = *b_[node];
      }
    }
    row_ = row;
    cells_ = cells;
    b_row_ = inside;
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
    const T mass = kind == BoxKind::any ? rows_.reaction : T(0);
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

  [[nodiscard]] __device__ STRATUM_INLINE bool row_there(int j) const {
    return rows_.shape.periodic[1] || (j >= 0 && j < rows_.shape.n.ny);
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
  __device__ STRATUM_INLINE void ask_row(const T* row, bool has_row, T (&to)[4]) const {
    to[1] = ghosts || (has_row && there_[0]) ? row[0] : T(0);
    to[2] = ghosts || (has_row && there_[1]) ? row[behind_] : T(0);
    if (lane_ == 0) to[0] = ghosts || (has_row && has_in_front_) ? row[in_front_] : T(0);
  }
  __device__ STRATUM_INLINE void share(T (&row)[4]) const {
    const T before = __shfl_up_sync(whole, row[2], 1);
    if (lane_ != 0) row[0] = before;
    row[3] = __shfl_down_sync(whole, row[1], 1);
  }

  const BoxCellRows<T>& rows_;
  std::int64_t own_stride_, beside_stride_, b_stride_;
  int lane_, behind_, in_front_;
  bool there_[2], has_in_front_, has_plane_[2];
  // Where the latest row's numbers of the lane lie, and which row that is, of x, of cells and of b.
  const T *own_, *beside_[2], *k_[parts][2], *b_[2];
  int row_ = 0, cells_ = 0, b_row_ = 0;
  T kx_[3], mx_[3], kz_[2], mz_[2];
  Row ahead_;
};

/// Pairs of columns of a warp that are its own: one behind them belongs to another warp.
inline constexpr int product_pairs = 31;

/// r = scale (b - A u) by `chunk` rows a warp; `product`: r = A u, and, where it is given, to `partial` the sum of u A u of every
/// block.
template <bool ghosts, bool product, BoxKind kind, class T, class R>
__global__ void __launch_bounds__(32 * march_planes, march_blocks<T>)
    march_products(const BoxCellRows<T> rows, double scale, const FieldView<const T, 3> b,
                   const FieldView<const T, 3> u, const FieldView<R, 3> r, int chunk, double* partial) {
  using March = CellRowMarch<T, BoxZeros::none, kind, ghosts, !product>;
  after_previous();
  const auto [nx, ny, nz] = rows.shape.n;
  const int lane = static_cast<int>(threadIdx.x);
  const int column = 2 * (static_cast<int>(blockIdx.x) * product_pairs + lane);
  const int first = static_cast<int>(blockIdx.y) * chunk, end = first + chunk < ny ? first + chunk : ny;
  const bool stores[2] = {lane < product_pairs && column < nx, lane < product_pairs && column + 1 < nx};
  const T of_result = static_cast<T>(scale);
  double sum = 0;
  for (int l = static_cast<int>(blockIdx.z * blockDim.y + threadIdx.y); l < nz;
       l += static_cast<int>(gridDim.z * blockDim.y)) {
    March march(rows, b, u, u, lane, column, l);
    march.ask(first - 1);
    typename March::Row before = march.take();
    march.ask(first);
    typename March::Sums sums{};
    R* to = r.row(first, l) + column;
    // The row before the first one belongs to another warp.
    for (int j = first; j <= end; ++j) {
      const typename March::Row now = march.take();
      if (j < end) march.ask(j + 1);
      typename March::Sums next{};
      (void)march.add(before, now, sums, next);
      if (j > first) {
        T left[2];
#pragma unroll
        for (int node = 0; node < 2; ++node) {
          left[node] = product ? sums.value[node] : before.b[node] - sums.value[node];
          if (stores[node]) to[node] = static_cast<R>(product ? left[node] : of_result * left[node]);
        }
        to += r.strides.row;
        if constexpr (product)
          sum += static_cast<double>(stores[0] ? before.v[1] * left[0] : T(0)) +
                 static_cast<double>(stores[1] ? before.v[2] * left[1] : T(0));
      }
      sums = next;
      before = now;
    }
  }
  if constexpr (product) {
    if (partial == nullptr) return;
    __shared__ double of_warps[march_planes];
#pragma unroll
    for (int width = 16; width > 0; width /= 2) sum += __shfl_down_sync(0xffffffffU, sum, width);
    if (lane == 0) of_warps[threadIdx.y] = sum;
    __syncthreads();
    if (lane != 0 || threadIdx.y != 0) return;
    for (int warp = 1; warp < march_planes; ++warp) sum += of_warps[warp];
    partial[(blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x] = sum;
  }
}

/// Rows of a warp so that there are warps enough for the device, as far as there are: `rows` in all, of `others` warps a row.
inline int march_chunk(int rows, std::int64_t others, int longest, int shortest) {
  constexpr std::int64_t enough = 1 << 12;
  constexpr int most_blocks = 65535;
  int chunk = longest;
  while (chunk > shortest && others * divide_up(rows, chunk) < enough) chunk /= 2;
  return divide_up(rows, chunk) > most_blocks ? divide_up(rows, most_blocks) : chunk;
}

/// r = scale (b - A u). `product`: r = A u; `dot`: (u, r) then comes to the first number of the Context's scratch, which the
/// caller holds, and to its number on the host.
template <bool ghosts, bool product = false, class T, class R>
void run_products(Context& ctx, const BoxCellRows<T>& rows, double scale, FieldView<const T, 3> b,
                  FieldView<const T, 3> u, FieldView<R, 3> r, bool dot = false) {
  if (ctx.is_dry_run() || r.nodes() == 0) return;
  const auto& [nx, ny, nz] = rows.shape.n;
  constexpr int longest = 32, shortest = 4, most_blocks = 65535;
  const int across = divide_up((nx + 1) / 2, product_pairs), planes = divide_up(nz, march_planes);
  const int chunk = march_chunk(ny, std::int64_t{across} * nz, longest, shortest);
  const dim3 grid(static_cast<unsigned>(across), static_cast<unsigned>(divide_up(ny, chunk)),
                  static_cast<unsigned>(planes < most_blocks ? planes : most_blocks));
  const std::size_t blocks = std::size_t{grid.x} * grid.y * grid.z;
  double* const partial = dot ? ctx.reduction_scratch(blocks) : nullptr;
  const Launch launch{grid, dim3(32, march_planes)};
  with_kind(rows, [&]<BoxKind kind>() {
    launch(ctx, march_products<ghosts, product, kind, T, R>, rows, scale, b, u, r, chunk, partial);
  });
  if (!dot) return;
  const Launch one_block{1, detail::reduction_threads};
  one_block(ctx, detail::reduce_partials<Product<T>>, partial, static_cast<int>(blocks), ctx.host_number());
}

}  // namespace stratum::cuda
