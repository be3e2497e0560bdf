#pragma once

// The members of Transfer and their kernels, for transfer_float.cpp and transfer_double.cpp, which are compiled beside each other.

#include <stratum/multigrid/transfer.hpp>

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <vector>

#include <stratum/core/device/simd.hpp>
#include <stratum/core/grid/blas.hpp>
#include <stratum/core/grid/for_each_node.hpp>
#include <stratum/core/operators/residual_row.hpp>
#include <stratum/core/operators/stencil_formulas.hpp>
#include <stratum/multigrid/weighted_functors.hpp>
#if defined(__CUDACC__)
#include <stratum/core/grid/march.hpp>
#include <stratum/multigrid/interpolated_defect.hpp>
#endif

namespace stratum {

namespace {

#if defined(__CUDACC__)
namespace march {

using cuda::Chunk;
using cuda::Lane;

constexpr int depth = 2;  // rows asked for ahead
template <class T>
using Given = cuda::Given<T, depth>;

/// Lanes that `columns` columns beyond a strip take.
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
/// The grid's first row or column is a coarse one: of a strip that begins so, or behind a natural side.
template <class T>
bool first_is_coarse(const TransferView<T>& t) {
  return t.origin == 2 * t.coarse_origin;
}
/// Calls f with whether it is: lanes' columns then begin at odd global numbers, not at even ones, and pairs of rows one row before
/// the grid.
template <class T, class F>
void with_shift(const TransferView<T>& t, const F& f) {
  if (first_is_coarse(t))
    f(std::true_type());
  else
    f(std::false_type());
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
  GridView<const Z> z;
  __device__ STRATUM_INLINE Chunk<T> operator()(const T* /*at*/, int column, int j) const {
    constexpr int n = cuda::chunk_width<T>;
    const auto some = cuda::load_chunk<n>(&z(column, j));
    Chunk<T> result;
#pragma unroll
    for (int e = 0; e < n; ++e) result.v[e] = alpha * static_cast<T>(some.v[e]);
    return result;
  }
};

/// Chunk c of the fine rows between 2 J and 2 J + 3 (local), J a multiple of coarse_rows: loads first, so that they are in flight
/// together. Of pairs of fine rows the second, even one is coarse; `begins_coarse`: of the first pair it is all that the grid has.
/// Words per fine node: 1.25 and what is added.
template <class T, class Added, bool shifted, bool begins_coarse, SomeRows wanted = SomeRows::all>
struct ProlongateChunk {
  static constexpr int coarse_rows = wanted == SomeRows::all ? 2 : 4;
  [[nodiscard]] static constexpr bool wants(int row) {
    return wanted == SomeRows::all || (row % 2 != 0) == (wanted == SomeRows::even);
  }
  TransferView<T> wx, wy;
  GridView<const T> coarse;
  Added added;
  GridView<T> fine;
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
        const T own = below * near[r][h] + above * near[r + 1][h];
        const T next = below * near[r][h + 1] + above * near[r + 1][h + 1];
        values[2 * r].v[2 * h + even] += shifted ? next : own;
        values[2 * r].v[2 * h + odd] += left * own + right * next;
        values[2 * r + 1].v[2 * h + even] += near[r + 1][h + even];
        values[2 * r + 1].v[2 * h + odd] += left * near[r + 1][h] + right * near[r + 1][h + 1];
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

/// The rows of x, and the sum of their squares: one number a strip and block row, unless `partial` is null. The first row of a
/// strip is the last one of the strip before, which counts it.
template <class T>
struct Measured {
  using Number = T;
  Given<T> x;
  double* partial;
  int strips;  // side by side, of MarchGrid

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
      if (stage.partial != nullptr) cuda::store_sum(lane, sum, stage.partial, stage.strips);
    }
  };
};

/// coarse = P^T d with the rows of d from a stage. `early`: 1 where the fine grid begins with the first coarse row, and not with
/// the one before. `shifted`: a lane's first coarse column lies in the
/// chunk before its own, and takes from two columns back. `last_alone`: the last coarse node has no chunk of fine ones; it takes
/// from the last one that there is. `first`: coarse rows before it are not wanted.
template <class Defect, bool shifted, bool last_alone>
struct RestrictRows {
  using Number = typename Defect::Number;
  TransferView<Number> wx, wy;
  Defect defect;
  GridView<Number> coarse;
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

/// The same by weights of coarse cells. `early`: 1 where the fine grid begins with the first coarse row; `first` as above. Words per
/// fine node: 1.75 and those of the defect.
template <class Defect, bool last_alone>
struct RestrictByCells {
  using Number = typename Defect::Number;
  using T = Number;
  static constexpr int n = cuda::chunk_width<T>, half = n / 2;
  WeightsView<const T> w;
  Defect defect;
  GridView<T> coarse;
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

/// Chunk c of the fine rows that belong to a row of coarse cells, but those on their lower sides, by weights of the cells. Words per fine
/// node: 2.75, and one more where it is added.
template <bool add, class T>
struct ProlongateCellChunk {
  WeightsView<const T> w;
  GridView<const T> coarse;
  GridView<T> fine;
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
    using Cell = ProlongateCell<add, T>;
#pragma unroll
    for (int h = 0; h < half; ++h) {
      lower.v[2 * h] += Cell::between(south.v[h], low[h], high[h]);
      lower.v[2 * h + 1] += sw.v[h] * low[h] + se.v[h] * low[h + 1] + nw.v[h] * high[h] + ne.v[h] * high[h + 1];
      upper.v[2 * h] += high[h];
      upper.v[2 * h + 1] += Cell::between(west.v[h], high[h], high[h + 1]);
    }
    const bool whole = column >= 0 && column + n <= fine.nx;
    if (lower_there) cuda::store_chunk(fine, column, j, lower, fine.nx, whole);
    if (upper_there) cuda::store_chunk(fine, column, j + 1, upper, fine.nx, whole);
  }
};

/// Calls f with whether the last coarse node of a row of nx fine ones has no chunk (RestrictRows).
template <class T, class F>
void with_last_alone(const GridView<T>& coarse, int nx, const F& f) {
  constexpr int n = cuda::chunk_width<T>, half = n / 2;
  if (coarse.nx / half > nx / n)
    f(std::true_type());
  else
    f(std::false_type());
}

/// Restricts from a fine grid nx x ny to coarse rows from `first` on. Returns how many sums a stage has stored that adds up by
/// strips.
template <class Defect, class T = typename Defect::Number>
int run_restriction(const Context& ctx, const TransferView<T>& x, const TransferView<T>& y, const Defect& defect,
                    GridView<T> coarse, int nx, int ny, int margin = 1, int first = 0) {
  int sums = 0;
  with_shift(x, [&](auto shifted) {
    with_last_alone(coarse, nx, [&](auto alone) {
      const RestrictRows<Defect, shifted, alone> rows{x,      from_first_row(y),          defect,
                                                      coarse, first_is_coarse(y) ? 1 : 0, first};
      sums = cuda::run_march(ctx, rows, nx, ny, margin).count();
    });
  });
  return sums;
}

/// coarse = P^T (b - A x), x a `Given`, from row `first` on.
template <class View, class Source, class T>
void restrict_rows(const Context& ctx, const TransferView<T>& x, const TransferView<T>& y, const View& a,
                   GridView<const T> b, const Source& given, GridView<T> coarse, int first) {
  using Defect = cuda::Stencil<View, Source, DefectFormula, depth>;
  const int columns_back = first_is_coarse(x) ? 3 : 2;  // the defect's among them
  run_restriction(ctx, x, y, Defect{a, {b}, given, {}}, coarse, b.nx, b.ny, margin_of<T>(columns_back), first);
}

/// coarse = P^T d by weights, d a stage, from a fine grid nx x ny, from row `first` on.
template <class Defect, class T>
void restrict_by_cells(const Context& ctx, const WeightsView<const T>& w, const Defect& defect, GridView<T> coarse,
                       int nx, int ny, int first = 0) {
  const int early = w.origin_y == 2 * w.coarse_origin_y ? 1 : 0;
  with_last_alone(coarse, nx, [&](auto alone) {
    cuda::run_march(ctx, RestrictByCells<Defect, alone>{w, defect, coarse, early, first}, nx, ny);
  });
}

/// fine = P coarse and what is added. Rows go by pairs whose second one is coarse: where the grid begins with a coarse row, so does
/// the first pair one row before it.
template <SomeRows wanted = SomeRows::all, class T, class Added>
void prolongate(Context& ctx, const TransferView<T>& x, const TransferView<T>& y, GridView<const T> coarse,
                const Added& added, GridView<T> fine) {
  with_shift(x, [&](auto shifted) {
    with_shift(y, [&](auto begins_coarse) {
      GridView<T> rows = fine;
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

}  // namespace march
#endif

/// CPU: one fine row of a coarsened x direction, in blocks that stay in the nearest cache.
template <bool add, class T>
STRATUM_SIMD_CLONES void prolongate_row(const ProlongateCoarsened<add, T> p, const int j) {
  constexpr int block = 256;
  const auto rows = coarse_rows(p.y, j);
  T edge[block + 1],
      middle[block];  // the coarse rows combined, from the left end of the first interval on; the new nodes
  // An interval that stays alone beside a natural side has one fine node of its own, not two.
  const int origin = p.x.origin, pairs = std::min(p.end(), (p.fine.nx + p.x.origin - 1) / 2);
  if (p.begin() < 0) p(-1, j);
  for (int begin = 0; begin < pairs; begin += block) {
    const int length = std::min(block, pairs - begin);
    const T *c0 = &p.coarse(begin - origin, rows.j0), *c1 = &p.coarse(begin - origin, rows.j1);
    const T *left = p.x.left + begin, *right = p.x.right + begin;
#pragma omp simd
    for (int n = 0; n <= length; ++n) edge[n] = rows.w0 * c0[n] + rows.w1 * c1[n];
#pragma omp simd
    for (int n = 0; n < length; ++n) middle[n] = left[n] * edge[n] + right[n] * edge[n + 1];
    simd::interleave<add>(middle, edge + 1, length, &p.fine(2 * begin + 1 - origin, j));
  }
  for (int interval = pairs; interval < p.end(); ++interval) p(interval, j);
}

/// CPU: coarse rows begin .. end - 1; every fine row is computed once and kept while coarse rows need it. Rows are kept from
/// their column -1 on, up to two columns beyond the last. `from_below`: what coarse row 0 has of the fine row before a strip's
/// first. `for_above`: nothing but this for the strip above, whose first row is `begin`, in the first row kept. So a row on a
/// cut has the bits that it has without.
template <class View, class T>
struct RestrictRows {
  ComputedDefect<View, T> defect;
  TransferView<T> x, y;
  GridView<T> coarse;
  int begin, end;
  T *first_kept, *second_kept;
  const T* from_below = nullptr;
  bool for_above = false;

  template <int bytes>
  STRATUM_INLINE void run() const {
    const int fine_nx = defect.b.nx, fine_ny = defect.b.ny;
    T *lower = first_kept, *middle = second_kept;
    const bool coarsened_y = y.left != nullptr;
    const bool goes_on = begin == 0 && from_below != nullptr;
    if (goes_on)
      std::copy_n(from_below, fine_nx, lower);
    else
      std::fill_n(lower, fine_nx, T(0));
    for (int j = begin; j < end; ++j) {
      // The fine row after the coarse one belongs to this coarse row and to the next. One call for all rows: what a thread
      // computes first and what it computes later then has the same bits.
      const int node = j + y.coarse_origin;
      for (int k = coarsened_y && (j > begin || goes_on) ? 1 : 0; k < (coarsened_y && !for_above ? 3 : 1); ++k) {
        const T here = !coarsened_y || k == 1 ? T(1) : k == 0 ? y.right[node - 1] : y.left[node];
        const T next = k == 2 && j + 1 < end ? y.right[node] : T(0);
        const int row = coarsened_y ? fine_node(y, 2 * node - y.origin + k - 1, fine_ny) : j;
        if (row < 0) {
          if (k == 2) std::fill_n(middle, fine_nx, T(0));
          continue;
        }
        residual_row<bytes>(
            defect.a, defect.b, defect.x, row,
            [ lower, middle, here, next ](int i, T d) __attribute__((always_inline)) {
              lower[i] += here * d;
              middle[i] = next * d;
            });
      }
      if (for_above) return;
      if (x.left != nullptr) {
        lower[-1] = x.periodic ? lower[fine_nx - 1] : T(0);
        lower[fine_nx] = x.periodic ? lower[0] : T(0);
        lower[fine_nx + 1] = 0;
        const T *left = x.left + x.origin, *right = x.right + x.origin - 1, *from = lower + x.origin;
#pragma omp simd
        for (int i = 0; i < coarse.nx; ++i)
          coarse(i, j) = right[i] * from[2 * i - 1] + from[2 * i] + left[i] * from[2 * i + 1];
      } else {
        for (int i = 0; i < coarse.nx; ++i) coarse(i, j) = lower[i];
      }
      std::swap(lower, middle);
    }
  }
};

/// CPU: the fine rows of a row of coarse cells, both directions coarsened, in blocks that stay in the nearest cache.
template <bool add, class T>
STRATUM_SIMD_CLONES void prolongate_cells(const ProlongateCell<add, T> p, const int row) {
  constexpr int block = 256;
  T edge[block], middle[block];
  const auto& w = p.w;
  const NodeRange range = p.range();
  const int pairs = std::min(range.end_x, (p.fine.nx + w.origin_x - 1) / 2), j = 2 * row + 1 - w.origin_y;
  if (range.begin_x < 0) p(-1, row);
  for (int begin = 0; begin < pairs; begin += block) {
    const int length = std::min(block, pairs - begin), i = 2 * begin + 1 - w.origin_x;
    const T *lower = &p.coarse(begin - w.origin_x, row - w.coarse_origin_y), *upper = lower + p.coarse.pitch;
    const std::int64_t at = w.at(begin, row);
    if (j >= 0 && j < p.fine.ny) {
      const T *south = w.south + at + 1, *sw = w.sw + at, *se = w.se + at, *nw = w.nw + at, *ne = w.ne + at;
#pragma omp simd
      for (int n = 0; n < length; ++n) {
        edge[n] = p.between(south[n], lower[n + 1], upper[n + 1]);
        middle[n] = sw[n] * lower[n] + se[n] * lower[n + 1] + nw[n] * upper[n] + ne[n] * upper[n + 1];
      }
      simd::interleave<add>(middle, edge, length, &p.fine(i, j));
    }
    if (j + 1 >= 0 && j + 1 < p.fine.ny) {
      const T* west = w.west + at + w.pitch;
#pragma omp simd
      for (int n = 0; n < length; ++n) middle[n] = p.between(west[n], upper[n], upper[n + 1]);
      simd::interleave<add>(middle, upper + 1, length, &p.fine(i, j + 1));
    }
  }
  for (int column = pairs; column < range.end_x; ++column) p(column, row);
}

/// CPU: coarse rows begin .. end - 1 by weights, both directions coarsened; three fine rows are kept, from their column -1 on.
template <class View, class T>
struct RestrictCells {
  ComputedDefect<View, T> defect;
  WeightsView<const T> w;
  GridView<T> coarse;
  int begin, end;
  T* kept[3];

  template <int bytes>
  STRATUM_INLINE void run() const {
    const View a = defect.a;
    const GridView<const T> b = defect.b, x = defect.x;
    const int fine_nx = b.nx, fine_ny = b.ny;
    T* lines[3] = {kept[0], kept[1], kept[2]};
    for (int j = begin; j < end; ++j) {
      const int row = j + w.coarse_origin_y, centre = 2 * row - w.origin_y;
      if (j > begin) std::swap(lines[0], lines[2]);
      // One call for all rows, as the code is long.
      for (int k = j > begin ? 1 : 0; k < 3; ++k) {
        T* const line = lines[k];
        const int fine_row = fine_node(w.periodic_y, centre + k - 1, fine_ny);
        if (fine_row < 0) {
          std::fill_n(line - 1, fine_nx + 3, T(0));
          continue;
        }
        residual_row<bytes>(
            a, b, x, fine_row, [line](int i, T d) __attribute__((always_inline)) { line[i] = d; });
        line[-1] = w.periodic_x ? line[fine_nx - 1] : T(0);
        line[fine_nx] = w.periodic_x ? line[0] : T(0);
        line[fine_nx + 1] = 0;
      }
      const T *low = lines[0] + w.origin_x, *mid = lines[1] + w.origin_x, *up = lines[2] + w.origin_x;
      const std::int64_t at = w.at(w.origin_x, row), below = at - w.pitch;
      const T *west = w.west + at, *south = w.south + at, *under = w.south + below;
      const T *sw = w.sw + at, *se = w.se + at - 1, *nw = w.nw + below, *ne = w.ne + below - 1;
      T* to = &coarse(0, j);
#pragma omp simd
      for (int i = 0; i < coarse.nx; ++i)
        to[i] = ((ne[i] * low[2 * i - 1] + (T(1) - under[i]) * low[2 * i]) + nw[i] * low[2 * i + 1]) +
                (((T(1) - west[i - 1]) * mid[2 * i - 1] + mid[2 * i]) + west[i] * mid[2 * i + 1]) +
                ((se[i] * up[2 * i - 1] + south[i] * up[2 * i]) + sw[i] * up[2 * i + 1]);
    }
  }
};

}  // namespace

template <class T>
TransferView<T> Transfer<T>::Direction::view() const {
  if (left.empty()) return {nullptr, nullptr, origin, coarse_origin, periodic};
  return {left.view().data + 1, right.view().data + 1, origin, coarse_origin, periodic};
}

template <class T>
Transfer<T>::Transfer(Context& ctx, const TensorMesh& fine, const TensorMesh& coarse)
    : Transfer(ctx, fine, coarse, fine.unknowns(), coarse.unknowns()) {}

template <class T>
Transfer<T>::Transfer(Context& ctx, const TensorMesh& fine, const TensorMesh& coarse, const GridShape& fine_strip,
                      const GridShape& coarse_strip)
    : fine_(fine_strip), coarse_(coarse_strip), intervals_x_(coarse.x().size()), intervals_y_(coarse.y().size()),
      begins_after_sides_(fine.x().first_unknown() == 1 && fine.y().first_unknown() == 1),
      is_periodic_(fine.x().is_periodic() || fine.y().is_periodic()) {
  const auto build = [&](const Line& f, const Line& c, int origin, int coarse_origin, bool cut, Direction& direction) {
    direction.origin = origin;
    direction.coarse_origin = coarse_origin;
    direction.periodic = f.is_periodic() && !cut;
    if (f.size() == c.size()) return;
    expects((f.size() + 1) / 2 == c.size() && f.first_end() == c.first_end() && f.last_end() == c.last_end(),
            "a transfer needs as many intervals, or half as many rounded up, between the same ends, not ", c.size(),
            " below ", f.size());
    const bool alone = f.size() % 2 != 0;  // the last interval
    const std::size_t n = c.widths().size();
    std::vector<T> left(n + 2, T(0)), right(n + 2, T(0));  // from interval -1 on
    for (std::size_t k = 0; k < n; ++k) {
      if (alone && k + 1 == n) {
        right[k + 1] = 1;
        continue;
      }
      const double wl = f.widths()[2 * k], wr = f.widths()[2 * k + 1];
      left[k + 1] = static_cast<T>(wr / (wl + wr));
      right[k + 1] = static_cast<T>(wl / (wl + wr));
    }
    if (f.is_periodic()) {
      // Seen from its right end, an interval that stays alone ends in the coarse node at its left.
      left[0] = alone ? T(1) : left[n];
      right[0] = alone ? T(0) : right[n];
    }
    direction.left = Vector<T>(ctx, c.size() + 2);
    direction.right = Vector<T>(ctx, c.size() + 2);
    copy_from_host(ctx, left.data(), direction.left.view());
    copy_from_host(ctx, right.data(), direction.right.view());
  };
  build(fine.x(), coarse.x(), fine_.origin_x, coarse_.origin_x, false, x_);
  build(fine.y(), coarse.y(), fine_.origin_y, coarse_.origin_y, fine_.below || fine_.above, y_);
  // For the CPU two rows a thread, with a column before each and two behind, and one from the strip below.
  if (!ctx.on_gpu()) rows_ = Vector<T>(ctx, GridShape{fine_.nx + 3, 2 * ctx.threads() + (fine_.below ? 1 : 0)});
}

template <class T>
Transfer<T> Transfer<T>::weighted(Context& ctx, const TensorMesh& fine, const TensorMesh& coarse) {
  return weighted(ctx, fine, coarse, fine.unknowns(), coarse.unknowns());
}

template <class T>
Transfer<T> Transfer<T>::weighted(Context& ctx, const TensorMesh& fine, const TensorMesh& coarse,
                                  const GridShape& fine_strip, const GridShape& coarse_strip) {
  Transfer p(ctx, fine, coarse, fine_strip, coarse_strip);
  const bool x = !p.x_.left.empty(), y = !p.y_.left.empty(), both = x && y;
  GridShape cells{p.intervals_x_ + 3, 0};
  cells.below = fine_strip.below;
  cells.above = fine_strip.above;
  cells.ny = (cells.above ? coarse_strip.origin_y + coarse_strip.ny : p.intervals_y_ + 2) - p.first_weights();
  for (const bool there : {x, y, both, both, both, both})
    p.weights_.push_back(there ? Vector<T>(ctx, cells) : Vector<T>());
  if (!ctx.on_gpu() && both) p.rows_ = Vector<T>(ctx, GridShape{p.fine_.nx + 3, 3 * ctx.threads()});
  return p;
}

template <class T>
void Transfer<T>::assign_weights(Context& ctx, const Transfer<double>& other) {
  // With the rows beside a strip's own.
  const auto all_rows = [](auto view) {
    view.data -= view.pitch;
    view.ny += 2;
    return view;
  };
  for (std::size_t k = 0; k < weights_.size(); ++k)
    if (!weights_[k].empty()) copy<double, T>(ctx, all_rows(other.weights_[k].cview()), all_rows(weights_[k].view()));
}

template <class T>
void Transfer<T>::exchange_weights(Context& ctx, std::size_t first, std::size_t end) {
  for (std::size_t k = first; k < end; ++k)
    if (!weights_[k].empty()) exchange(ctx, weights_[k].view());
}

template <class T>
void Transfer<T>::check(const Context& ctx, GridView<const T> fine, GridView<const T> coarse) const {
  expects_fit(ctx, "the fine vector", fine, fine_);
  expects_fit(ctx, "the coarse vector", coarse, coarse_);
}

namespace {

template <bool add, class T>
void prolongate_impl(Context& ctx, const TransferView<T>& x, const TransferView<T>& y, [[maybe_unused]] bool can_march,
                     GridView<const T> coarse, GridView<T> fine, SomeRows rows) {
  exchange(ctx, coarse);
#if defined(__CUDACC__)
  if (ctx.on_gpu() && can_march && cuda::can_march(coarse, fine)) {
    const auto run = [&]<SomeRows wanted>(const auto& added) {
      march::prolongate<wanted>(ctx, x, y, coarse, added, fine);
    };
    if constexpr (!add)
      return run.template operator()<SomeRows::all>(march::Nothing<T>{});
    else if (rows == SomeRows::even)
      return run.template operator()<SomeRows::even>(march::InPlace<T>{});
    else if (rows == SomeRows::odd)
      return run.template operator()<SomeRows::odd>(march::InPlace<T>{});
    else
      return run.template operator()<SomeRows::all>(march::InPlace<T>{});
  }
#endif
  if (x.left == nullptr) return for_each_node(ctx, all_nodes(fine), ProlongateIdentity<add, T>{y, coarse, fine});
  const ProlongateCoarsened<add, T> node{x, y, coarse, fine};
  if (ctx.on_gpu()) return for_each_node_on_gpu(ctx, {node.begin(), node.end(), 1, 0, fine.ny, 1}, node);
#pragma omp parallel for schedule(static) num_threads(ctx.threads()) if (fine.nodes() > serial_limit)
  for (int j = 0; j < fine.ny; ++j) {
    const bool is_odd = ((j + y.origin) & 1) != 0;
    if (rows == SomeRows::all || is_odd == (rows == SomeRows::odd)) prolongate_row(node, j);
  }
}

}  // namespace

template <bool add, class T>
void prolongate_weighted(Context& ctx, const WeightsView<const T>& w, [[maybe_unused]] bool can_march,
                         GridView<const T> coarse, GridView<T> fine) {
  exchange(ctx, coarse);
  const ProlongateCell<add, T> cell{w, coarse, fine};
  NodeRange range = cell.range();
#if defined(__CUDACC__)
  if (ctx.on_gpu() && can_march && cuda::can_march(coarse, fine)) {
    range.begin_x = 0;
    range.end_x = fine.nx / cuda::chunk_width<T> + 1;
    return for_each_node(ctx, range, march::ProlongateCellChunk<add, T>{w, coarse, fine});
  }
#endif
  if (ctx.on_gpu() || w.sw == nullptr) return for_each_node(ctx, range, cell);
  if (ctx.plans()) return;
#pragma omp parallel for schedule(static) num_threads(ctx.threads()) if (fine.nodes() > serial_limit)
  for (int row = range.begin_y; row < range.end_y; ++row) prolongate_cells(cell, row);
}

template <class T>
void Transfer<T>::prolongate_add(Context& ctx, GridView<const T> coarse, GridView<T> fine, SomeRows some) const {
  check(ctx, fine, coarse);
  // The rows beside a strip take part, but those by weights of cells, and around the ends, where coarse rows may lie otherwise.
  const bool beside = fine.fresh && !is_weighted() && !fine.periodic_y;
  GridView<T> rows = fine;
  TransferView<T> y = y_.view();
  if (beside && fine.below) {
    rows.data -= rows.pitch;
    ++rows.ny;
    --y.origin;
  }
  if (beside && fine.above) ++rows.ny;
  if (is_weighted())
    prolongate_weighted<true>(ctx, weights(), can_march_by_cells(), coarse, fine);
  else
    prolongate_impl<true>(ctx, x_.view(), y, can_march(), coarse, rows, some);
  if (!fine.fresh) return;
  // Where x is periodic the columns beside these rows are left.
  if (beside) rows.below = rows.above = false;
  exchange(ctx, with_halo(rows, false));
}

template <class T>
void Transfer<T>::prolongate(Context& ctx, GridView<const T> coarse, GridView<T> fine) const {
  check(ctx, fine, coarse);
  if (is_weighted()) return prolongate_weighted<false>(ctx, weights(), can_march_by_cells(), coarse, fine);
  prolongate_impl<false>(ctx, x_.view(), y_.view(), can_march(), coarse, fine, SomeRows::all);
}

/// Coarse rows that a piece restricts to: its own, and where y is coarsened one of the next piece, which adds it to its own.
template <class T>
int restricted_rows(bool coarsened_y, const GridView<T>& coarse) {
  return coarse.ny + (coarsened_y && coarse.above ? 1 : 0);
}

/// Coarse rows 0 .. rows - 1. Without looking for fine nodes where they are all there, else with: which of the two a node takes
/// does not depend on where the grid is cut, nor do its bits.
template <class Defect, class T>
void restrict_nodes(Context& ctx, const TransferView<T>& x, const TransferView<T>& y, const Defect& defect, int fine_nx,
                    int fine_ny, GridView<T> coarse, int rows) {
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
    const NodeRange range{columns.begin, columns.end, 1, lines.begin, lines.end, 1};
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
void restrict_weighted(Context& ctx, const WeightsView<const T>& w, const Defect& defect, const GridShape& fine,
                       GridView<T> coarse) {
  for_each_node(ctx, {0, coarse.nx, 1, 0, restricted_rows(w.south != nullptr, coarse), 1},
                RestrictWeighted<Defect, T>{w, defect, fine.nx, fine.ny, coarse});
}

/// d, which begins with the row below it.
template <class T>
struct DefectFromBelow {
  const T* below;
  GridView<const T> d;
  STRATUM_HOST_DEVICE STRATUM_INLINE T operator()(int i, int j) const { return j == 0 ? below[i] : d(i, j - 1); }
};

/// One row for the strip above, and one from the strip below.
template <class T>
void pass_upward(Context& ctx, const GridView<T>& coarse, const T* to_above, T* from_below, int count) {
  if (!coarse.below && !coarse.above) return;
  Communicator::Rows rows;
  if (coarse.above) rows.to_above = to_above;
  if (coarse.below) rows.from_below = from_below;
  rows.bytes = static_cast<std::size_t>(count) * sizeof(T);
  ctx.communicator()->exchange(ctx, rows);
}

template <class T>
bool Transfer<T>::march_down([[maybe_unused]] Context& ctx, [[maybe_unused]] GridView<const T> fine,
                             [[maybe_unused]] GridView<T> coarse, [[maybe_unused]] double* square,
                             [[maybe_unused]] const std::function<void()>& meanwhile) const {
#if defined(__CUDACC__)
  if (!ctx.on_gpu() || !can_march() || !cuda::can_march(fine, coarse)) return false;
  GridView<T> wanted = coarse;
  wanted.ny = restricted_rows(true, coarse);
  const cuda::MarchGrid<T> most(fine.nx, wanted.ny, 1);
  const auto room = static_cast<std::size_t>(most.count());
  double* const partial = square != nullptr ? ctx.reduction_scratch(room) : nullptr;
  const march::Measured<T> rows{{fine}, partial, most.strips};
  const int count = march::run_restriction(ctx, x_.view(), y_.view(), rows, wanted, fine.nx, fine.ny);
  detail::add_from_below(ctx, coarse);
  if (square != nullptr) *square = sum_of_scratch(ctx, count, meanwhile);
  return true;
#else
  return false;
#endif
}

template <class T>
double Transfer<T>::restrict_and_measure(Context& ctx, GridView<const T> fine, GridView<T> coarse,
                                         const std::function<void()>& meanwhile) const {
  check(ctx, fine, coarse);
  double square = 0;
  if (march_down(ctx, fine, coarse, &square, meanwhile))
    return std::isnormal(square) ? std::sqrt(square) : norm2(ctx, fine);
  const double norm = norm2(ctx, fine);
  restrict_to(ctx, fine, coarse);
  return norm;
}

template <class T>
void Transfer<T>::restrict_to(Context& ctx, GridView<const T> fine, GridView<T> coarse) const {
  check(ctx, fine, coarse);
  if (march_down(ctx, fine, coarse, nullptr)) return;
  const GivenDefect<T> defect{fine};
  const bool coarsened_y = !y_.left.empty();
#if defined(__CUDACC__)
  if (ctx.on_gpu() && can_march_by_cells() && cuda::can_march(fine, coarse)) {
    GridView<T> rows = coarse;
    rows.ny = restricted_rows(true, coarse);
    march::restrict_by_cells(ctx, weights(), march::Measured<T>{{fine}, nullptr, 0}, rows, fine.nx, fine.ny);
    return detail::add_from_below(ctx, coarse);
  }
#endif
  if (is_weighted() || ctx.on_gpu()) {
    if (is_weighted())
      restrict_weighted(ctx, weights(), defect, fine_, coarse);
    else
      restrict_nodes(ctx, x_.view(), y_.view(), defect, fine_.nx, fine_.ny, coarse,
                     restricted_rows(coarsened_y, coarse));
    if (coarsened_y) detail::add_from_below(ctx, coarse);
    return;
  }
  TransferView<T> y = y_.view();
  if (coarsened_y) pass_upward(ctx, coarse, &fine(0, fine.ny - 1), row_from_below(), fine.nx);
  if (!coarsened_y || !coarse.below)
    return restrict_nodes(ctx, x_.view(), y, defect, fine_.nx, fine_.ny, coarse, coarse.ny);
  --y.origin;
  restrict_nodes(ctx, x_.view(), y, DefectFromBelow<T>{row_from_below(), fine}, fine_.nx, fine_.ny + 1, coarse,
                 coarse.ny);
}

template <class T>
void Transfer<T>::restrict_residual(Context& ctx, const GridOperator<T>& a, GridView<const T> b, GridView<const T> x,
                                    GridView<T> coarse) const {
  const bool beside = x.ny > fine_.ny;  // rows of neighbours
  expects(!beside || fine_.has_halo(), "the fine vector must have ", fine_.ny, " rows, not ", x.ny);
  TransferView<T> in_y = y_.view();
  WeightsView<const T> by_cells = weights();
  if (beside) {
    in_y.origin = by_cells.origin_y = x.origin_y;
    coarse.below = coarse.above = false;
    expects_fit(ctx, "the coarse vector", coarse, coarse_);
  } else {
    check(ctx, x, coarse);
  }
  expects_fit(ctx, "b", b, a.shape());
  expects_fit(ctx, "x", x, a.shape());
  const GridShape fine = beside ? a.shape() : fine_;
  exchange(ctx, x);
  const bool upward = !ctx.on_gpu() && !is_weighted() && !y_.left.empty();
  a.visit([&](const auto& view) {
    using View = std::decay_t<decltype(view)>;
    const ComputedDefect<View, T> defect{view, b, x};
#if defined(__CUDACC__)
    if constexpr (View::marches)
      if (ctx.on_gpu() && (can_march() || can_march_by_cells()) && cuda::can_march(b, x, coarse)) {
        GridView<T> rows = coarse;
        rows.ny = restricted_rows(true, coarse);
        // The coarse rows of all fine ones, the neighbours' among them, begin with others.
        const int first = beside ? coarse_.origin_y - (x.origin_y + 1) / 2 : 0;
        rows.data -= first * rows.pitch;
        rows.ny += first;
        TransferView<T> y = in_y;
        y.coarse_origin -= first;
        WeightsView<const T> cells = by_cells;
        cells.coarse_origin_y -= first;
        return cuda::with_rows_of<march::depth>(x, [&](const auto& given) {
          if (!is_weighted()) return march::restrict_rows(ctx, x_.view(), y, view, b, given, rows, first);
          using Defect = cuda::Stencil<View, std::decay_t<decltype(given)>, DefectFormula, march::depth>;
          march::restrict_by_cells(ctx, cells, Defect{view, {b}, given, {}}, rows, fine.nx, fine.ny, first);
        });
      }
#endif
    const bool keeps_rows = !ctx.on_gpu() && (!is_weighted() || coarsens_both());
    if (is_weighted() && !keeps_rows) return restrict_weighted(ctx, by_cells, defect, fine, coarse);
    const int coarse_rows = upward ? coarse.ny : restricted_rows(!y_.left.empty(), coarse);
#if defined(__CUDACC__)
    if (!keeps_rows) return restrict_nodes(ctx, x_.view(), in_y, defect, fine.nx, fine.ny, coarse, coarse_rows);
#endif
    const int kept = is_weighted() ? 3 : 2;
    const int team = std::min(ctx.threads(), rows_.shape().ny / kept);
    const GridView<T> rows = rows_.view();
    RestrictRows<View, T> some{defect, x_.view(), in_y, coarse, coarse.ny, coarse.ny + 1, &rows(1, 0), &rows(1, 1)};
    if (upward) {
      some.for_above = true;
      if (coarse.above) simd::run_widest(some);
      pass_upward(ctx, coarse, some.first_kept, row_from_below(), fine_.nx);
      some.for_above = false;
      if (coarse.below) some.from_below = row_from_below();
    }
#pragma omp parallel for schedule(static, 1) num_threads(ctx.threads()) if (b.nodes() > serial_limit)
    for (int part = 0; part < team; ++part) {
      const auto share = [&](int p) { return static_cast<int>(std::int64_t{coarse_rows} * p / team); };
      if (share(part) == share(part + 1)) continue;
      T* const own = &rows(1, kept * part);
      if (is_weighted()) {
        simd::run_widest(RestrictCells<View, T>{
            defect, by_cells, coarse, share(part), share(part + 1), {own, own + rows.pitch, own + 2 * rows.pitch}});
        continue;
      }
      RestrictRows<View, T> of_part = some;
      of_part.begin = share(part);
      of_part.end = share(part + 1);
      of_part.first_kept = own;
      of_part.second_kept = own + rows.pitch;
      simd::run_widest(of_part);
    }
  });
  if (!y_.left.empty() && !upward) detail::add_from_below(ctx, coarse);
}

#if defined(__CUDACC__)
namespace {

/// Calls f with the view of an operator that is known to be separable.
template <class T, class F>
void visit_separable(const GridOperator<T>& a, const F& f) {
  a.visit([&](const auto& view) {
    if constexpr (std::decay_t<decltype(view)>::is_separable) f(view);
  });
}

}  // namespace
#endif

template <class T>
bool Transfer<T>::fuses_interpolation([[maybe_unused]] const Context& ctx, [[maybe_unused]] const GridOperator<T>& a,
                                      [[maybe_unused]] GridView<const T> b) const {
#if defined(__CUDACC__)
  return ctx.on_gpu() && can_march() && a.traits().is_separable && cuda::can_march(b);
#else
  return false;
#endif
}

template <class T>
template <class R>
void Transfer<T>::interpolated_residual([[maybe_unused]] Context& ctx, [[maybe_unused]] const GridOperator<T>& a,
                                        [[maybe_unused]] double scale, [[maybe_unused]] GridView<const T> b,
                                        [[maybe_unused]] GridView<const T> coarse,
                                        [[maybe_unused]] GridView<R> r) const {
  expects(fuses_interpolation(ctx, a, b), "interpolated_residual: not for this operator, backend or memory");
#if defined(__CUDACC__)
  exchange(ctx, coarse);
  visit_separable(a, [&](const auto& view) {
    march::with_shift(x_.view(), [&](auto shifted_x) {
      march::with_shift(y_.view(), [&](auto shifted_y) {
        using Rows = cuda::InterpolatedDefect<std::decay_t<decltype(view)>, R, shifted_x, shifted_y>;
        // Intervals are counted from the strip's first one on.
        TransferView<T> y = y_.view();
        y.left += y.coarse_origin - (shifted_y ? 0 : 1);
        y.right += y.coarse_origin - (shifted_y ? 0 : 1);
        cuda::run_march(ctx, Rows{view, x_.view(), y, b, coarse, scale, r, fine_.below, fine_.above}, r.nx, r.ny);
      });
    });
  });
#endif
}

template <class T>
template <class Z>
void Transfer<T>::prolongate_plus(Context& ctx, GridView<const T> coarse, T alpha, GridView<const Z> z,
                                  GridView<T> x) const {
  check(ctx, x, coarse);
  expects_fit(ctx, "z", z, fine_);
#if defined(__CUDACC__)
  if (ctx.on_gpu() && can_march() && cuda::can_march(coarse, z, x)) {
    exchange(ctx, coarse);
    return march::prolongate(ctx, x_.view(), y_.view(), coarse, march::Scaled<T, Z>{alpha, z}, x);
  }
#endif
  prolongate(ctx, coarse, x);
  axpy<Z, T>(ctx, static_cast<double>(alpha), z, x);
}

}  // namespace stratum
