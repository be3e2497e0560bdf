#pragma once

// What the sources of Transfer share. None of the headers with its members includes another: a source would compile the kernels
// of that one, too.

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include <stratum/core/field/blas.hpp>
#include <stratum/core/field/for_each_node.hpp>
#include <stratum/multigrid/transfer/transfer.hpp>
#include <stratum/multigrid/transfer/weighted_functors.hpp>
#if defined(__CUDACC__)
#include <stratum/core/field/streaming_stencil.hpp>
#endif

namespace stratum {

/// Coarse rows that a subdomain restricts to: its own, and where y is coarsened one of the next subdomain, which adds it to its
/// own.
inline int restricted_rows(bool coarsened_y, const GridLayout<2>& coarse) {
  return coarse.ny + (coarsened_y && coarse.above ? 1 : 0);
}

namespace {

#if defined(__CUDACC__)
namespace stream {

using cuda::Chunk;
using cuda::Lane;

constexpr int depth = 2;  // rows asked for ahead
template <class T>
using Given = cuda::Given<T, depth>;

/// Lanes that `columns` columns beyond a subdomain take.
template <class T>
constexpr int margin_of(int columns) {
  return (columns + cuda::chunk_width<T> - 1) / cuda::chunk_width<T>;
}

/// y as rows count its weights: interval 0 ends in the first coarse row.
template <class T>
TransferView<T> from_first_row(TransferView<T> y) {
  y.left += y.coarse_origin - 1;
  y.right += y.coarse_origin - 1;
  return y;
}
/// The grid's first row or column is a coarse one: of a subdomain that begins so, or behind a Neumann or Robin boundary.
template <class T>
bool first_is_coarse(const TransferView<T>& t) {
  return t.origin == 2 * t.coarse_origin;
}
/// Calls f with whether it is: lanes' columns then begin at odd global numbers, not at even ones, and pairs of rows one row
/// before the grid.
template <class T, class F>
void with_shift(const TransferView<T>& t, const F& f) {
  if (first_is_coarse(t))
    f(std::true_type());
  else
    f(std::false_type());
}

/// coarse = P^T d with the rows of d from a stage. `early`: 1 where the fine grid begins with the first coarse row, and not
/// with the one before. `shifted`: a lane's first coarse column lies in the chunk before its own, and takes from two columns
/// back. `last_alone`: the last coarse node has no chunk of fine ones; it takes from the last one that there is. `first`:
/// coarse rows before it are not wanted.
template <class Defect, bool shifted, bool last_alone>
struct RestrictRows {
  using Number = typename Defect::Number;
  TransferView<Number> wx, wy;
  Defect defect;
  FieldView<Number> coarse;
  int early, first;

  [[nodiscard]] int rows() const { return coarse.ny - first; }
  __device__ STRATUM_INLINE void run(const Lane<Number>& lane, int begin, int end) const {
    using T = Number;
    begin += first;
    end += first;
    constexpr int n = cuda::chunk_width<T>, half = n / 2;
    constexpr int centre = shifted ? -1 : 0;  // column of a lane's first coarse node, in its chunk or the one before
    T left[half], right[half];                // weights of the new nodes right and left of a coarse column
#pragma unroll
    for (int h = 0; h < half; ++h) {
      const int node = half * lane.chunk + h;
      left[h] = cuda::number_or_zero(wx.left + centre, node, 1, coarse.nx);
      right[h] = cuda::number_or_zero(wx.right + centre - 1, node, 1, coarse.nx);
    }
    typename Defect::Rows d(defect, lane, 2 * begin - early);
    Chunk<T> lower = d.next();
    for (int j = begin; j < end; ++j) {
      const Chunk<T> middle = d.next(), upper = d.next();
      const T below = __ldg(wy.right + j), above = __ldg(wy.left + j + 1);
      T sum[n];
#pragma unroll
      for (int e = 0; e < n; ++e) sum[e] = below * lower.v[e] + middle.v[e] + above * upper.v[e];
      lower = upper;
      const T before = __shfl_up_sync(cuda::whole_warp, sum[n - 1], 1);
      T second_before = 0;
      if constexpr (shifted) second_before = __shfl_up_sync(cuda::whole_warp, sum[n - 2], 1);
      const auto at = [&](int e) { return e >= 0 ? sum[e >= 0 ? e : 0] : e == -1 ? before : second_before; };
      Chunk<T, half> out;
#pragma unroll
      for (int h = 0; h < half; ++h) {
        const int e = 2 * h + centre;
        out.v[h] = right[h] * at(e - 1) + at(e) + left[h] * at(e + 1);
      }
      lane.store(coarse, j, out);
      if constexpr (last_alone)
        if (lane.owner && lane.chunk == lane.nx / n)
          coarse(coarse.nx - 1, j) = shifted ? __ldg(wx.right + coarse.nx - 2) * sum[n - 2] + sum[n - 1] : sum[n - 1];
    }
    if constexpr (requires { d.end(); }) d.end();
  }
};

/// The same by weights of coarse cells. `early`: 1 where the fine grid begins with the first coarse row; `first` as above.
/// Words per fine node: 1.75 and those of the defect.
template <class Defect, bool last_alone>
struct RestrictByCells {
  using Number = typename Defect::Number;
  using T = Number;
  static constexpr int n = cuda::chunk_width<T>, half = n / 2;
  WeightsView<const T> w;
  Defect defect;
  FieldView<T> coarse;
  int early, first;

  [[nodiscard]] int rows() const { return coarse.ny - first; }
  __device__ STRATUM_INLINE void run(const Lane<T>& lane, int begin, int end) const {
    begin += first;
    end += first;
    const int column = half * lane.chunk;
    const bool there = column >= 0 && column <= w.intervals_x + 1;
    const auto load = [&](const T* weights, int row) {
      return there ? cuda::load_chunk<half>(weights + w.at(column, row)) : Chunk<T, half>{};
    };
    typename Defect::Rows d(defect, lane, 2 * begin - early);
    Chunk<T> lower = d.next();
    int row = begin + w.coarse_origin_y;
    Chunk<T, half> south = load(w.south, row - 1), nw = load(w.nw, row - 1), ne = load(w.ne, row - 1);
    for (int j = begin; j < end; ++j, ++row) {
      const Chunk<T, half> west = load(w.west, row), sw = load(w.sw, row), se = load(w.se, row);
      const Chunk<T, half> north = load(w.south, row), next_nw = load(w.nw, row), next_ne = load(w.ne, row);
      const Chunk<T> middle = d.next(), upper = d.next();
      T to_west[half], to_east[half];  // what the new column of a cell gives to those of its sides
#pragma unroll
      for (int h = 0; h < half; ++h) {
        const int e = 2 * h + 1;
        to_west[h] = nw.v[h] * lower.v[e] + west.v[h] * middle.v[e] + sw.v[h] * upper.v[e];
        to_east[h] = ne.v[h] * lower.v[e] + (T(1) - west.v[h]) * middle.v[e] + se.v[h] * upper.v[e];
      }
      const T before = __shfl_up_sync(cuda::whole_warp, to_east[half - 1], 1);
      Chunk<T, half> out;
#pragma unroll
      for (int h = 0; h < half; ++h) {
        const int e = 2 * h;
        const T own = (T(1) - south.v[h]) * lower.v[e] + middle.v[e] + north.v[h] * upper.v[e];
        out.v[h] = own + to_west[h] + (h == 0 ? before : to_east[h > 0 ? h - 1 : 0]);
      }
      lane.store(coarse, j, out);
      if constexpr (last_alone)
        if (lane.owner && lane.column + n == lane.nx) coarse(coarse.nx - 1, j) = to_east[half - 1];
      lower = upper;
      south = north;
      nw = next_nw;
      ne = next_ne;
    }
  }
};

/// Calls f with whether the last coarse node of a row of nx fine ones has no chunk (RestrictRows).
template <class T, class F>
void with_last_alone(const FieldView<T>& coarse, int nx, const F& f) {
  constexpr int n = cuda::chunk_width<T>, half = n / 2;
  if (coarse.nx / half > nx / n)
    f(std::true_type());
  else
    f(std::false_type());
}

/// Restricts from a fine grid nx x ny to coarse rows from `first` on. Returns how many sums a stage has stored that adds up by
/// subdomains.
template <class Defect, class T = typename Defect::Number>
int run_restriction(const Context& ctx, const TransferView<T>& x, const TransferView<T>& y, const Defect& defect,
                    FieldView<T> coarse, int nx, int ny, int margin = 1, int first = 0) {
  int sums = 0;
  with_shift(x, [&](auto shifted) {
    with_last_alone(coarse, nx, [&](auto alone) {
      const RestrictRows<Defect, shifted, alone> rows{x,      from_first_row(y),          defect,
                                                      coarse, first_is_coarse(y) ? 1 : 0, first};
      sums = cuda::run_stream(ctx, rows, nx, ny, margin).count();
    });
  });
  return sums;
}

/// coarse = P^T d by weights, d a stage, from a fine grid nx x ny, from row `first` on.
template <class Defect, class T>
void restrict_by_cells(const Context& ctx, const WeightsView<const T>& w, const Defect& defect, FieldView<T> coarse,
                       int nx, int ny, int first = 0) {
  const int early = w.origin_y == 2 * w.coarse_origin_y ? 1 : 0;
  with_last_alone(coarse, nx, [&](auto alone) {
    cuda::run_stream(ctx, RestrictByCells<Defect, alone>{w, defect, coarse, early, first}, nx, ny);
  });
}

/// The rows that a stream restricts to, from `first` rows before the subdomain's own on.
template <class T>
FieldView<T> rows_before(const GridLayout<2>& layout, FieldView<T> coarse, int first) {
  coarse.ny = restricted_rows(true, layout) + first;
  coarse.data -= first * coarse.pitch;
  return coarse;
}

}  // namespace stream
#endif

}  // namespace

/// Coarse rows 0 .. rows - 1. Without looking for fine nodes where they are all there, else with: which of the two a node takes
/// does not depend on where the grid is cut, nor do its bits.
template <class Defect, class T>
void restrict_nodes(Context& ctx, const TransferView<T>& x, const TransferView<T>& y, const Defect& defect, int fine_nx,
                    int fine_ny, FieldView<T> coarse, int rows) {
  struct Range {
    int begin, end;
  };
  // Coarse nodes with fine ones on both sides.
  const auto inner = [](const TransferView<T>& t, int fine_nodes, int nodes) -> Range {
    if (t.left == nullptr) return {0, nodes};
    const int offset = 2 * t.coarse_origin - t.origin, begin = std::min(nodes, offset > 0 ? 0 : (2 - offset) / 2);
    return {begin, std::max(begin, std::min(nodes, (fine_nodes - offset) / 2))};
  };
  const Range in_x = inner(x, fine_nx, coarse.nx), in_y = inner(y, fine_ny, rows);
  const auto some = [&](const Range& columns, const Range& lines, const auto& functor) {
    const NodeRange<2> range{columns.begin, columns.end, 1, lines.begin, lines.end, 1};
    if (range.count() > 0) for_each_node(ctx, range, functor);
  };
  const Restrict<false, Defect, T> beside{x, y, defect, fine_nx, fine_ny, coarse};
  const Range all{0, coarse.nx};
  const bool plain = in_x.end - in_x.begin == coarse.nx && in_y.end - in_y.begin == rows;
  if (ctx.on_gpu() && !plain) return some(all, {0, rows}, beside);  // one launch
  some(in_x, in_y, Restrict<true, Defect, T>{x, y, defect, fine_nx, fine_ny, coarse});
  some(all, {0, in_y.begin}, beside);
  some(all, {in_y.end, rows}, beside);
  some({0, in_x.begin}, in_y, beside);
  some({in_x.end, coarse.nx}, in_y, beside);
}

template <class Defect, class T>
void restrict_weighted(Context& ctx, const WeightsView<const T>& w, const Defect& defect, const GridLayout<2>& fine,
                       const GridLayout<2>& layout, FieldView<T> coarse) {
  for_each_node(ctx, {0, coarse.nx, 1, 0, restricted_rows(w.south != nullptr, layout), 1},
                RestrictWeighted<Defect, T>{w, defect, fine.nx, fine.ny, coarse});
}

/// One row for the subdomain above, and one from the subdomain below.
template <class T>
void pass_upward(Context& ctx, const GridLayout<2>& coarse, const T* to_above, T* from_below, int count) {
  if (!coarse.below && !coarse.above) return;
  Communicator::Rows rows;
  if (coarse.above) rows.to_above = to_above;
  if (coarse.below) rows.from_below = from_below;
  rows.bytes = static_cast<std::size_t>(count) * sizeof(T);
  ctx.communicator()->exchange(ctx, rows);
}

/// CPU: calls f(part, begin, end) for the shares of coarse rows, `parts` of them at most, in parallel where b is long.
template <class T, class F>
void for_each_share(const Context& ctx, const FieldView<const T>& b, int rows, int parts, const F& f) {
  const int team = std::min(ctx.threads(), parts);
#pragma omp parallel for schedule(static, 1) num_threads(ctx.threads()) if (b.nodes() > serial_limit)
  for (int part = 0; part < team; ++part) {
    const auto share = [&](int p) { return static_cast<int>(std::int64_t{rows} * p / team); };
    if (share(part) < share(part + 1)) f(part, share(part), share(part + 1));
  }
}

}  // namespace stratum
