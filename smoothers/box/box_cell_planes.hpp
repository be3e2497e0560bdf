#pragma once

// For CUDA sources only: Gauss-Seidel by points in 8 colours on all planes of one parity, of cells, by warps that go along y
// (core/operators/box_row_march.hpp). Rows of the colours that come first are corrected as soon as both of their rows of cells
// are done; the row before then has all that it waits for. x + d is written to another vector, for warps have nodes in common:
// corrections are those of colours before, three columns and a row away.

#include <stratum/core/device/launch.hpp>
#include <stratum/core/operators/box_row_march.hpp>
#include <stratum/smoothers/box/box_planes.hpp>

namespace stratum::cuda {

/// To rounding.
__device__ STRATUM_INLINE float quotient(float a, float b) { return __fdividef(a, b); }
__device__ STRATUM_INLINE double quotient(double a, double b) { return a / b; }

/// Pairs of columns of a warp that are its own: one before them and two behind them belong to other warps.
inline constexpr int own_pairs = 29;

template <class T, BoxZeros zeros, BoxKind kind>
class CellRelaxation : public CellRowMarch<T, zeros, kind, true> {
  using Base = CellRowMarch<T, zeros, kind, true>;

 public:
  using typename Base::Entries, typename Base::Sums;
  __device__ CellRelaxation(const PlanesOfParity<BoxCellRows<T>>& s, int lane, int first_column, int plane)
      : Base(s.rows, s.b, s.own, s.beside, lane, first_column, plane) {}

  /// Corrections of a row's two colours by what is left of its rows.
  __device__ STRATUM_INLINE void relax(const T (&r)[2], const Sums& row, bool row_there, T (&d)[2]) const {
    d[0] = row_there && this->there(0) ? quotient(r[0], row.diagonal[0]) : T(0);
    const T next = __shfl_down_sync(0xffffffffU, d[0], 1);
    d[1] = row_there && this->there(1) ? quotient(r[1] - row.along[1] * d[0] - row.along[2] * next, row.diagonal[1])
                                       : T(0);
  }
  /// What corrections `d` of a row take from what is left of one beside it; `d` with those of lanes beside this one.
  __device__ STRATUM_INLINE static void correct(const Entries& a, const T (&d)[4], T (&r)[2]) {
#pragma unroll
    for (int node = 0; node < 2; ++node)
      r[node] -= a.across[node] * d[node + 1] + a.corner[node] * d[node] + a.corner[node + 1] * d[node + 2];
  }
  __device__ STRATUM_INLINE static void widen(const T (&d)[2], T (&all)[4]) {
    all[0] = __shfl_up_sync(0xffffffffU, d[1], 1);
    all[1] = d[0];
    all[2] = d[1];
    all[3] = __shfl_down_sync(0xffffffffU, d[0], 1);
  }
};

/// `chunk`: rows of the colours that come first, of a warp.
template <class T, BoxZeros zeros, BoxKind kind>
__global__ void __launch_bounds__(32 * march_planes, march_blocks<T>)
    relax_cell_planes(const PlanesOfParity<BoxCellRows<T>> s, int chunk) {
  using March = CellRelaxation<T, zeros, kind>;
  after_previous();
  const auto [nx, ny, nz] = s.rows.shape.n;
  const int lane = static_cast<int>(threadIdx.x);
  const int column = 2 * (static_cast<int>(blockIdx.x) * own_pairs + lane - 1) - s.first_x;
  const int pairs = (ny + 1 + s.first_y) / 2, first = static_cast<int>(blockIdx.y) * chunk,
            end = first + chunk < pairs ? first + chunk : pairs;
  const bool is_own = lane > 0 && lane <= own_pairs;
  const bool stores[2] = {is_own && column >= 0 && column < nx, is_own && column + 1 < nx};
  const int apart = 2 * static_cast<int>(gridDim.z * blockDim.y);
  for (int l = s.plane + 2 * static_cast<int>(blockIdx.z * blockDim.y + threadIdx.y); l < nz; l += apart) {
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
  const int across = divide_up(columns, own_pairs), blocks = divide_up(planes, march_planes);
  const int chunk = march_chunk(rows, std::int64_t{across} * planes, longest, shortest);
  const Launch launch{dim3(static_cast<unsigned>(across), static_cast<unsigned>(divide_up(rows, chunk)),
                           static_cast<unsigned>(blocks < most_blocks ? blocks : most_blocks)),
                      dim3(32, march_planes)};
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
