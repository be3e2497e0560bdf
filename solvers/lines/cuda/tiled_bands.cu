// solvers/lines/cuda/tiled_bands.hpp says what is written.

#include <stratum/solvers/lines/cuda/persistent_bands.hpp>

namespace stratum::line {

namespace {

/// Entries of a matrix as a record has them; those of nodes that are none of the grid's from the other side, or zero.
template <class View>
struct EntriesOfTile {
  using T = typename View::Number;
  const View& a;
  int nx, ny;

  [[nodiscard]] __device__ STRATUM_INLINE bool has(int i, int j) const { return i >= 0 && i < nx && j >= 0 && j < ny; }
  template <int dx, int dy>
  [[nodiscard]] __device__ STRATUM_INLINE T coupling(int i, int j) const {
    if (has(i, j)) return a.template coefficient<dx, dy>(i, j);
    if constexpr (View::is_symmetric)
      if (has(i + dx, j + dy)) return a.template coefficient<-dx, -dy>(i + dx, j + dy);
    return T(0);
  }
  /// To the column beside it, row d = 0, 1, 2 there being j - 1, j, j + 1.
  template <int dx>
  [[nodiscard]] __device__ STRATUM_INLINE T across(int i, int j, int d) const {
    return d == 0 ? coupling<dx, -1>(i, j) : d == 1 ? coupling<dx, 0>(i, j) : coupling<dx, 1>(i, j);
  }
  [[nodiscard]] __device__ STRATUM_INLINE T centre(int i, int j) const {
    return has(i, j) ? a.template coefficient<0, 0>(i, j) : T(1);
  }
  [[nodiscard]] __device__ STRATUM_INLINE T north(int i, int j) const {
    return has(i, j) && j + 1 < ny ? a.template coefficient<0, 1>(i, j) : T(0);
  }
  [[nodiscard]] __device__ STRATUM_INLINE T south(int i, int j) const {
    return has(i, j) && j > 0 ? a.template coefficient<0, -1>(i, j) : T(0);
  }
};

constexpr int fill_threads = 512;

/// A block a record: tile blockIdx.x, part blockIdx.y of its lines.
template <class View, class T>
__global__ void __launch_bounds__(fill_threads)
    fill_records(const View a, const int nx, const int ny, T* const records, const std::int64_t pitch) {
  using Tile = BandTile<T>;
  constexpr bool once = couplings_once<T>(View::is_symmetric);
  using Record = BandRecord<T, once>;
  constexpr int S = Tile::segment, P = Tile::pairs, W = Tile::segments, in_row = W * P;
  T* const record = records + (static_cast<std::int64_t>(blockIdx.x) * gridDim.y + blockIdx.y) * pitch;
  const int begin = static_cast<int>(blockIdx.x) * Tile::width - 1, base = static_cast<int>(blockIdx.y) * Tile::rows;
  const EntriesOfTile<View> entries{a, nx, ny};
  // Of the even node of pair p in row k of segment s, five bands.
  const auto put_own = [&](int d, int k, int s, int p, T value) {
    if constexpr (once) record[Record::own + Record::template row<P>(d, k) + s * P + p] = value;
  };
  const auto put_beside = [&](int d, int k, int s, int p, T value) {
    if constexpr (once) record[Record::beside + Record::template row<P + 1>(d, k) + s * (P + 1) + p] = value;
  };
  cuda::after_previous();
  for (int n = static_cast<int>(threadIdx.x); n < Tile::nodes; n += fill_threads) {
    const int p = n % P, s = n / P % W, k = n / in_row, j = base + s * S + k, even = begin + 2 * p;
    // All are read before any is written, so that they need not wait for each other.
    T south[2], centre[2], north[2], to_east[2][3], to_west[2][3];
#pragma unroll
    for (int odd = 0; odd < 2; ++odd) {
      centre[odd] = entries.centre(even + odd, j);
      north[odd] = entries.north(even + odd, j);
      if constexpr (!once) south[odd] = entries.south(even + odd, j);
#pragma unroll
      for (int d = 0; d < 3; ++d) {
        if (once && odd == 1) continue;
        to_east[odd][d] = entries.template across<1>(even + odd, j, d);
        to_west[odd][d] = entries.template across<-1>(even + odd, j, d);
      }
    }
    T* const to = record + k * in_row + s * P + p;
#pragma unroll
    for (int odd = 0; odd < 2; ++odd) {
      T* const along = to + Record::along + odd * Record::along_size;
      along[Record::centre] = centre[odd];
      along[Record::north] = north[odd];
      if constexpr (!once) along[Record::south] = south[odd];
    }
#pragma unroll
    for (int d = 0; d < 3; ++d) {
      if constexpr (once) {
        put_own(d, k, s, p, to_east[0][d]);
        put_beside(d, k, s, p, to_west[0][d]);
      } else {
        const int own = d * Tile::nodes, other = (3 + d) * Tile::nodes;
        to[own] = to_east[0][d];
        to[other] = to_west[0][d];
        to[Record::couplings_size + own] = to_west[1][d];
        to[Record::couplings_size + other] = to_east[1][d];
      }
    }
    // The pair behind the tile.
    if (once && p == P - 1)
      for (int d = 0; d < 3; ++d) put_beside(d, k, s, P, entries.template across<-1>(even + 2, j, d));
  }
  if constexpr (once) {
    const int p = static_cast<int>(threadIdx.x), even = begin + 2 * p;
    if (p > P) return;
    const auto put_edge = [&](int d, int k, int s, int j) {
      if (p < P) put_own(d, k, s, p, entries.template across<1>(even, j, d));
      put_beside(d, k, s, p, entries.template across<-1>(even, j, d));
    };
    put_edge(2, S - 1, -1, base - 1);
    put_edge(0, 0, W, base + Tile::rows);
  }
}

}  // namespace

template <class T>
GridLayout<2> records_shape(const Context& ctx, const GridLayout<2>& shape, StorageFormat format) {
  using Tile = BandTile<T>;
  constexpr int longest_in_caches = 512;
  const int parts = cuda::divide_up(shape.ny, Tile::rows);
  if (!ctx.on_gpu() || record_size<T>(format) == 0 || shape.periodic_y || shape.below || shape.above ||
      shape.ny <= longest_in_caches || parts > cuda::blocks_at_most())
    return {0, 0};
  cuda::Launch launch;
  const bool once = couplings_once<T>(traits(format).is_symmetric);
  launch.bytes = once ? cuda::persistent_band_bytes<true, T> : cuda::persistent_band_bytes<false, T>;
  if (!launch.fits()) return {0, 0};
  return {record_size<T>(format), cuda::divide_up(shape.nx + 1, Tile::width) * parts};
}

template <class T>
void tile_bands(const Context& ctx, const GridOperator<T>& a, FieldView<T> records) {
  using Tile = BandTile<T>;
  const GridLayout<2> shape = a.shape();
  const dim3 grid{static_cast<unsigned>(cuda::divide_up(shape.nx + 1, Tile::width)),
                  static_cast<unsigned>(cuda::divide_up(shape.ny, Tile::rows))};
  a.visit([&]<class View>(const View& view) {
    if constexpr (View::has_bands)
      cuda::Launch{grid, fill_threads}(ctx, fill_records<View, T>, view, shape.nx, shape.ny, first_record(records),
                                       records.pitch);
  });
}

template GridLayout<2> records_shape<float>(const Context&, const GridLayout<2>&, StorageFormat);
template GridLayout<2> records_shape<double>(const Context&, const GridLayout<2>&, StorageFormat);
template void tile_bands<float>(const Context&, const GridOperator<float>&, FieldView<float>);
template void tile_bands<double>(const Context&, const GridOperator<double>&, FieldView<double>);

}  // namespace stratum::line
