#pragma once

// Streaming stencils: stencil work on a GPU, one warp streaming down a panel of columns, a row at a time. For CUDA sources
// only.
//
//     lane       0        1        2    ...    31          a lane holds 16 bytes of a row, loaded and stored at once;
//             | o o o o | o o o o | o ...                  neighbours in the row come from the lanes beside it, those in
//     row j   | o o o o | o o o o | o ...                  the rows above and below are kept in registers:
//             | o o o o | o o o o | o ...                  every number is loaded once.
//
// A stream is a pipeline put together at compile time. Each stage gives the rows of a grid function one after the other; a
// stencil pulls three rows of the stage before it and right-hand sides, so that several sweeps cost one pass over memory.
// What a stage finds beyond a panel is recomputed or useless: `margin` lanes at both ends of a panel belong to the panels
// beside it, and a panel starts as many rows early as its stages look back. Columns and rows beyond the grid are zero. Rows -1
// and ny, which other subdomains of the grid have (mesh/partition.hpp) or its other end, a stencil of one stage finds in the
// halo (`with_rows_of`); several sweeps in one pass look further, and are for grids without such rows.
//
// Vectors must be aligned as `Field` makes them: column -1 of each row at a multiple of 16 bytes, and not periodic in x
// (`can_stream`): columns outside are taken to be zero.

#include <cuda_runtime.h>

#include <algorithm>

#include <stratum/core/device/context.hpp>
#include <stratum/core/device/launch.hpp>
#include <stratum/core/field/lanes.hpp>

namespace stratum::cuda {

template <class... T>
bool has_chunks(const FieldView<T>&... x) {
  return ((reinterpret_cast<std::uintptr_t>(x.data - 1) % 16 == 0 && x.pitch % 4 == 0) && ...);
}
/// Of fields on this grid.
template <class... T>
bool can_stream(const GridLayout<2>& grid, const FieldView<T>&... x) {
  return !grid.periodic_x && has_chunks(x...);
}

/// Three rows around the current one, a number more at both ends; (e, r) is column e of the lane's chunk, r rows further.
template <class T>
struct Window {
  static constexpr int n = chunk_width<T>;
  static constexpr int pitch = n + 2;
  T v[3 * pitch];

  __device__ STRATUM_INLINE const T& operator()(int e, int r) const { return v[(r + 1) * pitch + e + 1]; }
  __device__ STRATUM_INLINE void set(int r, const Chunk<T>& c) {
    T* row = v + (r + 1) * pitch;
#pragma unroll
    for (int e = 0; e < n; ++e) row[e + 1] = c.v[e];
    row[0] = __shfl_up_sync(whole_warp, c.v[n - 1], 1);
    row[n + 1] = __shfl_down_sync(whole_warp, c.v[0], 1);
  }
  [[nodiscard]] __device__ STRATUM_INLINE Chunk<T> chunk(int r) const {
    Chunk<T> c;
#pragma unroll
    for (int e = 0; e < n; ++e) c.v[e] = v[(r + 1) * pitch + e + 1];
    return c;
  }
  /// The next row becomes the current one.
  __device__ STRATUM_INLINE void advance(const Chunk<T>& north) {
#pragma unroll
    for (int k = 0; k < 2 * pitch; ++k) v[k] = v[k + pitch];
    set(1, north);
  }
};

// --- stages: Rows(stage, lane, j) starts at row j, next() gives the rows from there on ----------------------------------

/// The rows of x, asked for `depth` rows ahead, and so many of its halo.
template <class T, int depth = rows_ahead, int halo = 0>
struct Given {
  using Number = T;
  static constexpr int halo_rows = halo;
  FieldView<const T> x;

  struct Rows {
    const Given& stage;
    const Lane<T>& lane;
    int j;
    Chunk<T> ahead[depth];
    __device__ STRATUM_INLINE Rows(const Given& s, const Lane<T>& l, int first) : stage(s), lane(l), j(first) {
#pragma unroll
      for (int k = 0; k < depth; ++k) ahead[k] = lane.template load<Lane<T>::n, halo>(stage.x, j + k);
    }
    __device__ STRATUM_INLINE Chunk<T> next() {
      const Chunk<T> c = ahead[0];
#pragma unroll
      for (int k = 1; k < depth; ++k) ahead[k - 1] = ahead[k];
      ahead[depth - 1] = lane.template load<Lane<T>::n, halo>(stage.x, j + depth);
      ++j;
      return c;
    }
  };
};

/// Calls f with the rows of x, and with those of its halo where the grid has any.
template <int depth = rows_ahead, class T, class F>
void with_rows_of(const GridLayout<2>& grid, const FieldView<const T>& x, const F& f) {
  if (grid.has_halo())
    f(Given<T, depth, 1>{x});
  else
    f(Given<T, depth>{x});
}

/// Rows of zeros.
template <class T>
struct Zero {
  using Number = T;
  struct Rows {
    __device__ STRATUM_INLINE Rows(const Zero&, const Lane<T>&, int) {}
    __device__ STRATUM_INLINE Chunk<T> next() { return {}; }
  };
};

/// formula(a, b, i, j): no neighbours.
template <class View, class Formula, int depth = rows_ahead>
struct Pointwise {
  using Number = typename View::Number;
  View a;
  Given<Number, depth> b;
  Formula formula;

  struct Rows {
    using T = Number;
    const Pointwise& stage;
    const Lane<T>& lane;
    int j;
    LaneOperator<View, depth> a;
    typename Given<T, depth>::Rows b;
    __device__ STRATUM_INLINE Rows(const Pointwise& s, const Lane<T>& l, int first)
        : stage(s), lane(l), j(first), a(s.a, l, first), b(s.b, l, first) {}
    __device__ STRATUM_INLINE Chunk<T> next() {
      const Chunk<T> right = b.next();
      Chunk<T> result{};
      if constexpr (a.in_order) a.row(lane, j);
      if (j >= 0 && j < lane.ny) {
        if constexpr (!a.in_order) a.row(lane, j);
        const View local = a.view();
#pragma unroll
        for (int e = 0; e < lane.n; ++e) result.v[e] = stage.formula(local, right, e, 0);
        lane.clear_outside(result);
      }
      ++j;
      return result;
    }
  };
};

/// formula(a, b, x, i, j) with x the rows of another stage.
template <class View, class Source, class Formula, int depth = rows_ahead>
struct Stencil {
  using Number = typename View::Number;
  View a;
  Given<Number, depth> b;
  Source x;
  Formula formula;

  struct Rows {
    using T = Number;
    const Stencil& stage;
    const Lane<T>& lane;
    int j;
    LaneOperator<View, depth> a;
    typename Given<T, depth>::Rows b;
    typename Source::Rows x;
    Window<T> window;
    __device__ STRATUM_INLINE Rows(const Stencil& s, const Lane<T>& l, int first)
        : stage(s), lane(l), j(first), a(s.a, l, first), b(s.b, l, first), x(s.x, l, first - 1) {
      window.set(0, x.next());
      window.set(1, x.next());
    }
    __device__ STRATUM_INLINE Chunk<T> next() {
      window.advance(x.next());
      const Chunk<T> right = b.next();
      Chunk<T> result{};
      if constexpr (a.in_order) a.row(lane, j);
      if (j >= 0 && j < lane.ny) {
        if constexpr (!a.in_order) a.row(lane, j);
        const View local = a.view();
#pragma unroll
        for (int e = 0; e < lane.n; ++e) result.v[e] = stage.formula(local, right, window, e, 0);
        lane.clear_outside(result);
      }
      ++j;
      return result;
    }
    /// Row of the source that the latest row was computed from.
    [[nodiscard]] __device__ STRATUM_INLINE Chunk<T> centre() const { return window.chunk(0); }
  };
};

/// Runs a pipeline's rows into y.
template <class Source, class To = typename Source::Number, int depth = rows_ahead>
struct StoreRows {
  using Number = typename Source::Number;
  Source source;
  FieldView<To> y;

  [[nodiscard]] int rows() const { return y.ny; }
  __device__ STRATUM_INLINE void run(const Lane<Number>& lane, int begin, int end) const {
    typename Source::Rows rows(source, lane, begin);
#pragma unroll depth
    for (int j = begin; j < end; ++j) lane.store(y, j, rows.next());
  }
};

/// partial[a number of this panel] = what the lanes have added up of their own columns; by all of a warp.
template <class T>
__device__ STRATUM_INLINE void store_sum(const Lane<T>& lane, double sum, double* partial, int panels) {
  if (!lane.owner) sum = 0;
  for (int distance = lanes / 2; distance > 0; distance /= 2) sum += __shfl_down_sync(whole_warp, sum, distance);
  if (lane.index == 0) partial[static_cast<int>(blockIdx.y) * panels + lane.panel] = sum;
}

/// StoreRows that also adds up the squares of the rows, before they are rounded: one number a panel and block row. `keeps`: and
/// stores the rows that a stencil has computed them from.
template <class Source, class To, bool keeps = false>
struct StoreRowsAndSquares {
  using Number = typename Source::Number;
  Source source;
  FieldView<To> y;
  double* partial;
  int panels;  // side by side, of StreamGrid
  FieldView<Number> kept;

  [[nodiscard]] int rows() const { return y.ny; }
  __device__ STRATUM_INLINE void run(const Lane<Number>& lane, int begin, int end) const {
    typename Source::Rows rows(source, lane, begin);
    double sum = 0;
#pragma unroll rows_ahead
    for (int j = begin; j < end; ++j) {
      const Chunk<Number> row = rows.next();
      if constexpr (keeps) lane.store(kept, j, rows.centre());
      lane.store(y, j, row);
#pragma unroll
      for (int e = 0; e < lane.n; ++e) sum += static_cast<double>(row.v[e]) * static_cast<double>(row.v[e]);
    }
    store_sum(lane, sum, partial, panels);
  }
};

template <class Stream>
__global__ void __launch_bounds__(stream_warps* lanes)
    stream_kernel(const Stream stream, const int nx, const int ny, const int margin, const int rows,
                  const int rows_a_panel) {
  after_previous();
  const Lane<typename Stream::Number> lane(nx, ny, margin);
  if (lane.idle) return;
  const int begin = static_cast<int>(blockIdx.y) * rows_a_panel;
  stream.run(lane, begin, begin + rows_a_panel < rows ? begin + rows_a_panel : rows);
}

/// How a stream over `rows` rows of a grid nx numbers wide is cut: panels side by side, `length` rows of each, `parts` above
/// each other. Begun with the shortest: their first rows, which the panels above load too, count little yet, and there are
/// warps for the whole device.
template <class T>
struct StreamGrid {
  static constexpr int shortest = 8, usual = 32;
  static constexpr int warps_wanted = 1024;  // for the whole device
  int panels, length = shortest, parts;
  StreamGrid(int nx, int rows, int margin) : panels(divide_up(nx / chunk_width<T> + 1, lanes - 2 * margin)) {
    while (length > 2 && static_cast<std::int64_t>(rows) * panels < std::int64_t{warps_wanted} * length) length /= 2;
    parts = divide_up(rows, length);
  }
  /// Panels that a device runs in one turn of all the blocks that it holds at once: where there are few turns the last one
  /// would else be half empty. Of many turns that does not count.
  void fit(int rows, int resident_blocks) {
    constexpr int few_turns = 3;
    const int blocks_wide = divide_up(panels, stream_warps), at_once = resident_blocks / blocks_wide;
    const bool many = divide_up(rows, usual) > few_turns * at_once;
    length = many ? std::max(length, usual) : std::max(length, divide_up(rows, at_once));
    parts = divide_up(rows, length);
  }
  [[nodiscard]] dim3 blocks() const {
    return {static_cast<unsigned>(divide_up(panels, stream_warps)), static_cast<unsigned>(parts)};
  }
  /// Of sums by panels; as it begins, the most that there can be.
  [[nodiscard]] int count() const { return panels * parts; }
};

/// Runs a stream over the fine grid nx x ny; `margin` lanes of each panel are recomputed by the next. Returns how it was cut.
template <class Stream>
StreamGrid<typename Stream::Number> run_stream(const Context& ctx, const Stream& stream, int nx, int ny,
                                               int margin = 1) {
  const int rows = stream.rows();
  StreamGrid<typename Stream::Number> cut(nx, rows, margin);
  Launch launch{cut.blocks(), stream_warps * lanes};
  cut.fit(rows, launch.resident(ctx, stream_kernel<Stream>));
  launch.grid = cut.blocks();
  launch.early = cut.count() <= cut.warps_wanted;
  launch(ctx, stream_kernel<Stream>, stream, nx, ny, margin, rows, cut.length);
  return cut;
}

}  // namespace stratum::cuda
