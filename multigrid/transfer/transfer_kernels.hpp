#pragma once

// The members of Transfer and their kernels, for transfer_float.cpp and transfer_double.cpp, which are compiled beside each
// other; but for those of transfer_{residual,cell_residual,interpolated}.hpp, for which the build writes sources.

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <vector>

#include <stratum/core/device/simd.hpp>
#include <stratum/multigrid/transfer/transfer_shared.hpp>

namespace stratum {

namespace {

#if defined(__CUDACC__)
namespace stream {

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
#endif

/// CPU: one fine row of a coarsened x direction, in blocks that stay in the nearest cache.
template <bool add, class T>
STRATUM_SIMD_CLONES void prolongate_row(const ProlongateCoarsened<add, T> p, const int j) {
  constexpr int block = 256;
  const auto rows = coarse_rows(p.y, j);
  T edge[block + 1],
      middle[block];  // the coarse rows combined, from the left end of the first interval on; the new nodes
  // An interval that stays alone beside a Neumann or Robin boundary has one fine node of its own, not two.
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

/// CPU: the fine rows of a row of coarse cells, both directions coarsened, in blocks that stay in the nearest cache.
template <bool add, class T>
STRATUM_SIMD_CLONES void prolongate_cells(const ProlongateCell<add, T> p, const int row) {
  constexpr int block = 256;
  T edge[block], middle[block];
  const auto& w = p.w;
  const NodeRange<2> range = p.range();
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

}  // namespace

template <class T>
TransferView<T> Transfer<T>::Direction::view() const {
  if (left.empty()) return {nullptr, nullptr, origin, coarse_origin, periodic};
  return {left.view().data + 1, right.view().data + 1, origin, coarse_origin, periodic};
}

template <class T>
Transfer<T>::Transfer(Context& ctx, const TensorMesh<2>& fine, const TensorMesh<2>& coarse)
    : Transfer(ctx, fine, coarse, fine.unknowns(), coarse.unknowns()) {}

template <class T>
Transfer<T>::Transfer(Context& ctx, const TensorMesh<2>& fine, const TensorMesh<2>& coarse,
                      const GridLayout<2>& fine_subdomain, const GridLayout<2>& coarse_subdomain)
    : fine_(fine_subdomain), coarse_(coarse_subdomain), intervals_x_(coarse.x().size()),
      intervals_y_(coarse.y().size()),
      begins_after_sides_(fine.x().first_unknown() == 1 && fine.y().first_unknown() == 1),
      is_periodic_(fine.x().is_periodic() || fine.y().is_periodic()) {
  const auto build = [&](const Axis& f, const Axis& c, int origin, int coarse_origin, bool cut, Direction& direction) {
    direction.origin = origin;
    direction.coarse_origin = coarse_origin;
    direction.periodic = f.is_periodic() && !cut;
    if (f.size() == c.size()) return;
    expects((f.size() + 1) / 2 == c.size() && f.first_boundary() == c.first_boundary() &&
                f.last_boundary() == c.last_boundary(),
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
    direction.left = Field<T>(ctx, c.size() + 2);
    direction.right = Field<T>(ctx, c.size() + 2);
    copy_from_host(ctx, left.data(), direction.left.view());
    copy_from_host(ctx, right.data(), direction.right.view());
  };
  build(fine.x(), coarse.x(), fine_.origin_x, coarse_.origin_x, false, x_);
  build(fine.y(), coarse.y(), fine_.origin_y, coarse_.origin_y, fine_.below || fine_.above, y_);
  // For the CPU two rows a thread, with a column before each and two behind, and one from the subdomain below.
  if (!ctx.on_gpu()) rows_ = Field<T>(ctx, GridLayout<2>{fine_.nx + 3, 2 * ctx.threads() + (fine_.below ? 1 : 0)});
}

template <class T>
Transfer<T> Transfer<T>::weighted(Context& ctx, const TensorMesh<2>& fine, const TensorMesh<2>& coarse) {
  return weighted(ctx, fine, coarse, fine.unknowns(), coarse.unknowns());
}

template <class T>
Transfer<T> Transfer<T>::weighted(Context& ctx, const TensorMesh<2>& fine, const TensorMesh<2>& coarse,
                                  const GridLayout<2>& fine_subdomain, const GridLayout<2>& coarse_subdomain) {
  Transfer p(ctx, fine, coarse, fine_subdomain, coarse_subdomain);
  const bool x = !p.x_.left.empty(), y = !p.y_.left.empty(), both = x && y;
  GridLayout<2> cells{p.intervals_x_ + 3, 0};
  cells.below = fine_subdomain.below;
  cells.above = fine_subdomain.above;
  cells.ny = (cells.above ? coarse_subdomain.origin_y + coarse_subdomain.ny : p.intervals_y_ + 2) - p.first_weights();
  for (const bool there : {x, y, both, both, both, both})
    p.weights_.push_back(there ? Field<T>(ctx, cells) : Field<T>());
  if (!ctx.on_gpu() && both) p.rows_ = Field<T>(ctx, GridLayout<2>{p.fine_.nx + 3, 3 * ctx.threads()});
  return p;
}

template <class T>
void Transfer<T>::assign_weights(Context& ctx, const Transfer<double>& other) {
  // With the rows beside a subdomain's own.
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
    if (!weights_[k].empty()) exchange(ctx, weights_[k]);
}

template <class T>
void Transfer<T>::check(const Context& ctx, FieldView<const T> fine, FieldView<const T> coarse) const {
  expects_fit(ctx, "the fine vector", fine, fine_);
  expects_fit(ctx, "the coarse vector", coarse, coarse_);
}

namespace {

template <bool add, class T>
void prolongate_impl(Context& ctx, const TransferView<T>& x, const TransferView<T>& y, [[maybe_unused]] bool can_stream,
                     FieldView<const T> coarse, FieldView<T> fine, SomeRows rows) {
#if defined(__CUDACC__)
  if (ctx.on_gpu() && can_stream && cuda::has_chunks(coarse, fine)) {
    const auto run = [&]<SomeRows wanted>(const auto& added) {
      stream::prolongate<wanted>(ctx, x, y, coarse, added, fine);
    };
    if constexpr (!add)
      return run.template operator()<SomeRows::all>(stream::Nothing<T>{});
    else if (rows == SomeRows::even)
      return run.template operator()<SomeRows::even>(stream::InPlace<T>{});
    else if (rows == SomeRows::odd)
      return run.template operator()<SomeRows::odd>(stream::InPlace<T>{});
    else
      return run.template operator()<SomeRows::all>(stream::InPlace<T>{});
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
void prolongate_weighted(Context& ctx, const WeightsView<const T>& w, [[maybe_unused]] bool can_stream,
                         FieldView<const T> coarse, FieldView<T> fine) {
  const ProlongateCell<add, T> cell{w, coarse, fine};
  NodeRange<2> range = cell.range();
#if defined(__CUDACC__)
  if (ctx.on_gpu() && can_stream && cuda::has_chunks(coarse, fine)) {
    range.begin_x = 0;
    range.end_x = fine.nx / cuda::chunk_width<T> + 1;
    return for_each_node(ctx, range, stream::ProlongateCellChunk<add, T>{w, coarse, fine});
  }
#endif
  if (ctx.on_gpu() || w.sw == nullptr) return for_each_node(ctx, range, cell);
  if (ctx.is_dry_run()) return;
#pragma omp parallel for schedule(static) num_threads(ctx.threads()) if (fine.nodes() > serial_limit)
  for (int row = range.begin_y; row < range.end_y; ++row) prolongate_cells(cell, row);
}

template <class T>
void Transfer<T>::prolongate_add(Context& ctx, FieldView<const T> coarse, FieldView<T> fine, SomeRows some,
                                 Ghosts of_coarse, Ghosts of_fine) const {
  check(ctx, fine, coarse);
  exchange(ctx, coarse_, coarse, of_coarse);
  // The rows beside a subdomain take part, but those by weights of cells, and around the ends, where coarse rows may lie
  // otherwise.
  const bool beside = of_fine == Ghosts::current && !is_weighted() && !fine_.periodic_y;
  FieldView<T> rows = fine;
  TransferView<T> y = y_.view();
  if (beside && fine_.below) {
    rows.data -= rows.pitch;
    ++rows.ny;
    --y.origin;
  }
  if (beside && fine_.above) ++rows.ny;
  if (is_weighted())
    prolongate_weighted<true>(ctx, weights(), can_stream_by_cells(), coarse, fine);
  else
    prolongate_impl<true>(ctx, x_.view(), y, can_stream(), coarse, rows, some);
  if (of_fine == Ghosts::stale) return;
  // Where x is periodic the columns beside these rows are left.
  GridLayout<2> around = fine_;
  if (beside) around.below = around.above = false;
  exchange(ctx, around, rows);
}

template <class T>
void Transfer<T>::prolongate(Context& ctx, FieldView<const T> coarse, FieldView<T> fine, Ghosts of_coarse) const {
  check(ctx, fine, coarse);
  exchange(ctx, coarse_, coarse, of_coarse);
  if (is_weighted()) return prolongate_weighted<false>(ctx, weights(), can_stream_by_cells(), coarse, fine);
  prolongate_impl<false>(ctx, x_.view(), y_.view(), can_stream(), coarse, fine, SomeRows::all);
}

/// d, which begins with the row below it.
template <class T>
struct DefectFromBelow {
  const T* below;
  FieldView<const T> d;
  STRATUM_HOST_DEVICE STRATUM_INLINE T operator()(int i, int j) const { return j == 0 ? below[i] : d(i, j - 1); }
};

template <class T>
bool Transfer<T>::stream_down([[maybe_unused]] Context& ctx, [[maybe_unused]] FieldView<const T> fine,
                              [[maybe_unused]] FieldView<T> coarse, [[maybe_unused]] double* square,
                              [[maybe_unused]] const std::function<void()>& meanwhile) const {
#if defined(__CUDACC__)
  if (!ctx.on_gpu() || !can_stream() || !cuda::has_chunks(fine, coarse)) return false;
  FieldView<T> wanted = coarse;
  wanted.ny = restricted_rows(true, coarse_);
  const cuda::StreamGrid<T> most(fine.nx, wanted.ny, 1);
  const auto room = static_cast<std::size_t>(most.count());
  double* const partial = square != nullptr ? ctx.reduction_scratch(room) : nullptr;
  const stream::Measured<T> rows{{fine}, partial, most.panels};
  const int count = stream::run_restriction(ctx, x_.view(), y_.view(), rows, wanted, fine.nx, fine.ny);
  detail::add_from_below(ctx, coarse_, coarse);
  if (square != nullptr) *square = sum_of_scratch(ctx, count, meanwhile);
  return true;
#else
  return false;
#endif
}

template <class T>
double Transfer<T>::restrict_and_measure(Context& ctx, FieldView<const T> fine, FieldView<T> coarse,
                                         const std::function<void()>& meanwhile) const {
  check(ctx, fine, coarse);
  double square = 0;
  if (stream_down(ctx, fine, coarse, &square, meanwhile))
    return std::isnormal(square) ? std::sqrt(square) : norm2(ctx, fine);
  const double norm = norm2(ctx, fine);
  restrict_to(ctx, fine, coarse);
  return norm;
}

template <class T>
void Transfer<T>::restrict_to(Context& ctx, FieldView<const T> fine, FieldView<T> coarse) const {
  check(ctx, fine, coarse);
  if (stream_down(ctx, fine, coarse, nullptr)) return;
  const GivenDefect<T> defect{fine};
  const bool coarsened_y = !y_.left.empty();
#if defined(__CUDACC__)
  if (ctx.on_gpu() && can_stream_by_cells() && cuda::has_chunks(fine, coarse)) {
    FieldView<T> rows = coarse;
    rows.ny = restricted_rows(true, coarse_);
    stream::restrict_by_cells(ctx, weights(), stream::Measured<T>{{fine}, nullptr, 0}, rows, fine.nx, fine.ny);
    return detail::add_from_below(ctx, coarse_, coarse);
  }
#endif
  if (is_weighted() || ctx.on_gpu()) {
    if (is_weighted())
      restrict_weighted(ctx, weights(), defect, fine_, coarse_, coarse);
    else
      restrict_nodes(ctx, x_.view(), y_.view(), defect, fine_.nx, fine_.ny, coarse,
                     restricted_rows(coarsened_y, coarse_));
    if (coarsened_y) detail::add_from_below(ctx, coarse_, coarse);
    return;
  }
  TransferView<T> y = y_.view();
  if (coarsened_y) pass_upward(ctx, coarse_, &fine(0, fine.ny - 1), row_from_below(), fine.nx);
  if (!coarsened_y || !coarse_.below)
    return restrict_nodes(ctx, x_.view(), y, defect, fine_.nx, fine_.ny, coarse, coarse.ny);
  --y.origin;
  restrict_nodes(ctx, x_.view(), y, DefectFromBelow<T>{row_from_below(), fine}, fine_.nx, fine_.ny + 1, coarse,
                 coarse.ny);
}

template <class T>
void Transfer<T>::restrict_residual(Context& ctx, const GridOperator<T>& a, FieldView<const T> b, FieldView<const T> x,
                                    FieldView<T> coarse, Ghosts of_x) const {
  const bool beside = x.ny > fine_.ny;  // rows of neighbours
  expects(!beside || fine_.has_halo(), "the fine vector must have ", fine_.ny, " rows, not ", x.ny);
  if (beside)
    expects_fit(ctx, "the coarse vector", coarse, coarse_);
  else
    check(ctx, x, coarse);
  expects_fit(ctx, "b", b, a.shape());
  expects_fit(ctx, "x", x, a.shape());
  exchange(ctx, a.shape(), x, of_x);
  // The coarse rows of all fine ones, the neighbours' among them, begin with others.
  const int origin = beside ? a.shape().origin_y : fine_.origin_y;
  const int first = beside ? coarse_.origin_y - (origin + 1) / 2 : 0;
  if (is_weighted())
    restrict_residual_by_cells(ctx, a, b, x, coarse, origin, first);
  else if (a.traits().has_bands)
    restrict_residual_by_lines<true>(ctx, a, b, x, coarse, origin, first);
  else
    restrict_residual_by_lines<false>(ctx, a, b, x, coarse, origin, first);
}

template <class T>
bool Transfer<T>::fuses_interpolation([[maybe_unused]] const Context& ctx, [[maybe_unused]] const GridOperator<T>& a,
                                      [[maybe_unused]] FieldView<const T> b) const {
#if defined(__CUDACC__)
  return ctx.on_gpu() && can_stream() && a.traits().is_separable && cuda::has_chunks(b);
#else
  return false;
#endif
}

template <class T>
template <class Z>
void Transfer<T>::prolongate_plus(Context& ctx, FieldView<const T> coarse, T alpha, FieldView<const Z> z,
                                  FieldView<T> x, Ghosts of_coarse) const {
  check(ctx, x, coarse);
  expects_fit(ctx, "z", z, fine_);
#if defined(__CUDACC__)
  if (ctx.on_gpu() && can_stream() && cuda::has_chunks(coarse, z, x)) {
    exchange(ctx, coarse_, coarse, of_coarse);
    return stream::prolongate(ctx, x_.view(), y_.view(), coarse, stream::Scaled<T, Z>{alpha, z}, x);
  }
#endif
  prolongate(ctx, coarse, x, of_coarse);
  axpy<Z, T>(ctx, static_cast<double>(alpha), z, x);
}

}  // namespace stratum
