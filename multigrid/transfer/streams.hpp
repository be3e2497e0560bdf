#pragma once

// For CUDA sources only: P and P^T in streaming kernels, by chunks of rows. The formulas are those of linear.hpp and
// by_cells.hpp.

#include <algorithm>
#include <type_traits>

#include <stratum/core/field/for_each_node.hpp>
#include <stratum/core/field/streaming_stencil.hpp>
#include <stratum/multigrid/transfer/by_cells.hpp>

namespace stratum {

namespace {
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
      for (int e = 0; e < n; ++e) sum[e] = linear::gathered(below, lower.v[e], middle.v[e], above, upper.v[e]);
      lower = upper;
      const T before = __shfl_up_sync(cuda::whole_warp, sum[n - 1], 1);
      T second_before = 0;
      if constexpr (shifted) second_before = __shfl_up_sync(cuda::whole_warp, sum[n - 2], 1);
      const auto at = [&](int e) { return e >= 0 ? sum[e >= 0 ? e : 0] : e == -1 ? before : second_before; };
      Chunk<T, half> out;
#pragma unroll
      for (int h = 0; h < half; ++h) {
        const int e = 2 * h + centre;
        out.v[h] = linear::gathered(right[h], at(e - 1), at(e), left[h], at(e + 1));
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
        to_west[h] = by_cells::sum(nw.v[h], lower.v[e], west.v[h], middle.v[e], sw.v[h], upper.v[e]);
        to_east[h] = by_cells::sum(ne.v[h], lower.v[e], T(1) - west.v[h], middle.v[e], se.v[h], upper.v[e]);
      }
      const T before = __shfl_up_sync(cuda::whole_warp, to_east[half - 1], 1);
      Chunk<T, half> out;
#pragma unroll
      for (int h = 0; h < half; ++h) {
        const int e = 2 * h;
        const T own = by_cells::gathered(south.v[h], lower.v[e], middle.v[e], north.v[h], upper.v[e]);
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

/// What is added to an interpolant, at a chunk of its row j that begins with `column` and is to go to `at`: nothing, what is
/// there already, or alpha z.
template <class T>
struct Nothing {
  __device__ STRATUM_INLINE Chunk<T> operator()(const T* /*at*/, int /*column*/, int /*j*/) const { return {}; }
};
template <class T>
struct InPlace {
  __device__ STRATUM_INLINE Chunk<T> operator()(const T* at, int /*column*/, int /*j*/) const {
    return cuda::load_chunk<cuda::chunk_width<T>>(at);
  }
};
template <class T, class Z>
struct Scaled {
  T alpha;
  FieldView<const Z> z;
  __device__ STRATUM_INLINE Chunk<T> operator()(const T* /*at*/, int column, int j) const {
    constexpr int n = cuda::chunk_width<T>;
    const auto some = cuda::load_chunk<n>(&z(column, j));
    Chunk<T> result;
#pragma unroll
    for (int e = 0; e < n; ++e) result.v[e] = alpha * static_cast<T>(some.v[e]);
    return result;
  }
};

/// Chunk c of the fine rows between 2 J and 2 J + 3 (local), J a multiple of coarse_rows: loads first, so that they are in
/// flight together. Of pairs of fine rows the second, even one is coarse; `begins_coarse`: of the first pair it is all that the
/// grid has. Words per fine node: 1.25 and what is added.
template <class T, class Added, bool shifted, bool begins_coarse, SomeRows wanted = SomeRows::all>
struct ProlongateChunk {
  static constexpr int coarse_rows = wanted == SomeRows::all ? 2 : 4;
  [[nodiscard]] static constexpr bool wants(int row) {
    return wanted == SomeRows::all || (row % 2 != 0) == (wanted == SomeRows::even);
  }
  TransferView<T> wx, wy;
  FieldView<const T> coarse;
  Added added;
  FieldView<T> fine;
  __device__ STRATUM_INLINE void operator()(int c, int first) const {
    constexpr int n = cuda::chunk_width<T>, half = n / 2, fine_rows = 2 * coarse_rows;
    constexpr int even = shifted ? 1 : 0, odd = 1 - even;  // coarse and new columns of a pair
    const int column = n * c - 1;
    T* const at = &fine(column, 2 * first);
    const int there = fine.ny - 2 * first;  // rows of the grid from here on
    const auto precedes = [&](int k) { return begins_coarse && k == 0 && first == 0; };  // the grid
    Chunk<T> values[fine_rows] = {};
#pragma unroll
    for (int k = 0; k < fine_rows; ++k)
      if (wants(k) && k < there && !precedes(k))
        values[k] = added(at + k * fine.pitch, column, 2 * first + k - (begins_coarse ? 1 : 0));
    // Coarse rows from first - 1 on.
    T near[coarse_rows + 1][half + 1];
    const T* from = &coarse(half * c - 1, first - 1);
#pragma unroll
    for (int r = 0; r <= coarse_rows; ++r) {
      Chunk<T, half> some{};
      T next = 0;
      // Where the last interval stays alone, its right end counts for the row before.
      if ((r > 0 || wants(0)) && 2 * r - 2 < there) {
        some = cuda::load_chunk<half>(from + r * coarse.pitch);
        next = from[r * coarse.pitch + half];
      }
#pragma unroll
      for (int h = 0; h < half; ++h) near[r][h] = some.v[h];
      near[r][half] = next;
    }
#pragma unroll
    for (int r = 0; r < coarse_rows; ++r) {
      if (2 * r >= there) break;
      const T below = wants(0) ? wy.left[first + r] : T(0), above = wants(0) ? wy.right[first + r] : T(0);
#pragma unroll
      for (int h = 0; h < half; ++h) {
        const int interval = min(half * c + h, coarse.nx) - (shifted ? 1 : 0);
        const T left = wx.left[interval], right = wx.right[interval];
        const T own = linear::between(below, above, near[r][h], near[r + 1][h]);
        const T next = linear::between(below, above, near[r][h + 1], near[r + 1][h + 1]);
        values[2 * r].v[2 * h + even] += shifted ? next : own;
        values[2 * r].v[2 * h + odd] += linear::between(left, right, own, next);
        values[2 * r + 1].v[2 * h + even] += near[r + 1][h + even];
        values[2 * r + 1].v[2 * h + odd] += linear::between(left, right, near[r + 1][h], near[r + 1][h + 1]);
      }
    }
#pragma unroll
    for (int k = 0; k < fine_rows; ++k) {
      if (k >= there) break;
      if (!wants(k) || precedes(k)) continue;
      cuda::store_chunk(fine, column, 2 * first + k, values[k], fine.nx, column >= 0 && column + n <= fine.nx);
    }
  }
};

/// The rows of x, and the sum of their squares: one number a subdomain and block row, unless `partial` is null. The first row
/// of a subdomain is the last one of the subdomain before, which counts it.
template <class T>
struct Measured {
  using Number = T;
  Given<T> x;
  double* partial;
  int panels;  // side by side, of StreamGrid

  struct Rows {
    const Measured& stage;
    const Lane<T>& lane;
    typename Given<T>::Rows x;
    double sum = 0;
    bool counts;
    __device__ STRATUM_INLINE Rows(const Measured& s, const Lane<T>& l, int first)
        : stage(s), lane(l), x(s.x, l, first), counts(first == 0) {}
    __device__ STRATUM_INLINE Chunk<T> next() {
      Chunk<T> row = x.next();
      lane.clear_outside(row);
#pragma unroll
      for (int e = 0; e < lane.n; ++e)
        if (counts) sum += static_cast<double>(row.v[e]) * static_cast<double>(row.v[e]);
      counts = true;
      return row;
    }
    __device__ STRATUM_INLINE void end() const {
      if (stage.partial != nullptr) cuda::store_sum(lane, sum, stage.partial, stage.panels);
    }
  };
};

/// Chunk c of the fine rows that belong to a row of coarse cells, but those on their lower sides, by weights of the cells.
/// Words per fine node: 2.75, and one more where it is added.
template <bool add, class T>
struct ProlongateCellChunk {
  WeightsView<const T> w;
  FieldView<const T> coarse;
  FieldView<T> fine;
  __device__ STRATUM_INLINE void operator()(int c, int row) const {
    constexpr int n = cuda::chunk_width<T>, half = n / 2;
    const int column = n * c - 1, j = 2 * row + 1 - w.origin_y;
    const bool lower_there = j >= 0 && j < fine.ny, upper_there = j + 1 < fine.ny;
    Chunk<T> lower{}, upper{};
    if constexpr (add) {
      if (lower_there) lower = cuda::load_chunk<n>(&fine(column, j));
      if (upper_there) upper = cuda::load_chunk<n>(&fine(column, j + 1));
    }
    const std::int64_t at = w.at(half * c, row);
    const auto load = [at](const T* weights) { return cuda::load_chunk<half>(weights + at); };
    const auto south = load(w.south), west = load(w.west + w.pitch);
    const auto sw = load(w.sw), se = load(w.se), nw = load(w.nw), ne = load(w.ne);
    const T* const from = &coarse(half * c - w.origin_x, row - w.coarse_origin_y);
    T low[half + 1], high[half + 1];
    const auto near_low = cuda::load_chunk<half>(from), near_high = cuda::load_chunk<half>(from + coarse.pitch);
#pragma unroll
    for (int h = 0; h < half; ++h) {
      low[h] = near_low.v[h];
      high[h] = near_high.v[h];
    }
    low[half] = from[half];
    high[half] = from[coarse.pitch + half];
#pragma unroll
    for (int h = 0; h < half; ++h) {
      lower.v[2 * h] += by_cells::between(south.v[h], low[h], high[h]);
      lower.v[2 * h + 1] +=
          by_cells::centre(sw.v[h], se.v[h], nw.v[h], ne.v[h], low[h], low[h + 1], high[h], high[h + 1]);
      upper.v[2 * h] += high[h];
      upper.v[2 * h + 1] += by_cells::between(west.v[h], high[h], high[h + 1]);
    }
    const bool whole = column >= 0 && column + n <= fine.nx;
    if (lower_there) cuda::store_chunk(fine, column, j, lower, fine.nx, whole);
    if (upper_there) cuda::store_chunk(fine, column, j + 1, upper, fine.nx, whole);
  }
};

/// fine = P coarse and what is added. Rows go by pairs whose second one is coarse: where the grid begins with a coarse row, so
/// does the first pair one row before it.
template <SomeRows wanted = SomeRows::all, class T, class Added>
void prolongate(Context& ctx, const TransferView<T>& x, const TransferView<T>& y, FieldView<const T> coarse,
                const Added& added, FieldView<T> fine) {
  with_shift(x, [&](auto shifted) {
    with_shift(y, [&](auto begins_coarse) {
      FieldView<T> rows = fine;
      if (begins_coarse) {
        rows.data -= rows.pitch;
        ++rows.ny;
      }
      using Functor = ProlongateChunk<T, Added, shifted, begins_coarse, wanted>;
      for_each_node(ctx, {0, fine.nx / cuda::chunk_width<T> + 1, 1, 0, coarse.ny + 1, Functor::coarse_rows},
                    Functor{x, from_first_row(y), coarse, added, rows});
    });
  });
}

}  // namespace stream
}  // namespace
}  // namespace stratum
