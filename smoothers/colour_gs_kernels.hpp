#pragma once

// Four-colour Gauss-Seidel. A nine-point operator does not couple nodes of the same colour (x % 2, y % 2), so that
//
//     x_ij <- x_ij + omega (b - A x)_ij / a_(0,0)(i, j)
//
// runs in parallel over a colour, one colour after another, in place. Source: Goeddeke, Strzodka 2011, Section 3.2.
//
// Forward order of the global indices (x, y): (odd, odd), (even, odd), (odd, even), (even, even). omega = 1 by default. The two
// colours of a row only need the rows beside it, which have other colours; hence a row does both while it is in the cache.
// Memory traffic: 3 words per unknown and the coefficients.
//
// On a GPU one kernel does all four colours, out of place, between x and a scratch vector: a warp streams down a panel
// (core/field/streaming_stencil.hpp) and relaxes a row of the first two colours as soon as it has the rows around it, then the
// row of the other colours above it. Four kernels in place would touch every sector of memory four times.
//
// Distributed grids: a streaming kernel relaxes a subdomain as if it were alone, and then repeats the rows at its boundary that
// are relaxed second, with the neighbour's relaxed rows: two exchanges per sweep. Other kernels exchange before every colour.
//
// The build generates one source per number type.

#include <algorithm>
#include <memory>
#include <vector>

#include <stratum/core/field/blas.hpp>
#include <stratum/core/field/for_each_node.hpp>
#include <stratum/core/operators/residual_row.hpp>
#include <stratum/core/operators/stencil_formulas.hpp>
#include <stratum/smoothers/smoother.hpp>
#if defined(__CUDACC__)
#include <stratum/core/field/streaming_stencil.hpp>
#endif

namespace stratum {

namespace {

template <class View, class T>
struct ColourStep {
  static constexpr bool hot = true, strided = true;
  View a;
  FieldView<const T> b;
  FieldView<T> x;
  T omega;
  STRATUM_HOST_DEVICE STRATUM_INLINE T value(int i, int j) const { return RelaxFormula<T>{omega}(a, b, x, i, j); }
  STRATUM_HOST_DEVICE STRATUM_INLINE void store(int i, int j, T value) const { x(i, j) = value; }
};

/// Both colours of a row on the CPU, the columns of parity `first_column` first, from one residual: the second colour's changes
/// by its two neighbours' updates. A pack is written when the next one is known. `alone`: this row and those beside it are
/// zero, whatever they hold.
template <bool alone, class View, class T>
struct RelaxRow {
  ColourStep<View, T> step;
  int j, first_column;
  template <int bytes>
  STRATUM_INLINE void run() const {
    using Row = ResidualRow<bytes, View>;
    using Pack = typename Row::Pack;
    constexpr int width = Row::width;
    const FieldView<const T> b = step.b, x = step.x;
    const T* const from = &x(0, j);
    T* const to = &step.x(0, j);
    Row row(step.a, b, x, j, 2);  // the row after next follows, then the one between
    alignas(bytes) T of_first[width];
    for (int k = 0; k < width; ++k) of_first[k] = (k - 1 - first_column) % 2 == 0 ? T(1) : T(0);
    const Pack first_colour = simd::pack<bytes>(of_first);
    struct Known {
      Pack update{}, residual{}, factor{}, west{}, east{};
    };
    Pack update_before{};
    Known known;
    const auto write = [&](int first, Pack next_update) __attribute__((always_inline)) {
      const Pack change = known.residual - known.west * simd::one_back<T, bytes>(update_before, known.update) -
                          known.east * simd::one_ahead<T, bytes>(known.update, next_update);
      row.store((alone ? Pack{} : simd::pack<bytes>(from + first)) + known.factor * change, first, to);
    };
    int i = row.begin;
    for (; i < row.end; i += width) {
      Known next;
      next.residual = alone ? row.next_of_zero(i) : row.next(i);
      next.factor = step.omega / row.centre();
      next.west = row.west();
      next.east = row.east();
      next.update = row.clipped(first_colour * next.factor * next.residual, i - width);
      if (i > row.begin) write(i - 2 * width, next.update);
      update_before = known.update;
      known = next;
    }
    write(i - 2 * width, Pack{});
  }
};

/// On a GPU, the first colour from a zero guess; sets all others to zero.
template <class View, class T>
struct FirstColourFromZero {
  View a;
  FieldView<const T> b;
  FieldView<T> x;
  T omega;
  int begin_x, begin_y;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int i, int j) const {
    const bool mine = ((i ^ begin_x) & 1) == 0 && ((j ^ begin_y) & 1) == 0;
    x(i, j) = mine ? omega * b(i, j) / a.template coefficient<0, 0>(i, j) : T(0);
  }
};

#if defined(__CUDACC__)

/// A is put together from intervals of a row, each of which gives to the rows' nodes at both its ends.
template <class View>
concept HasIntervals = requires(const View& a) {
  a.pair(0, 0);
};

/// Both colours of a row of a lane, the columns whose place in a chunk has parity `first_column` first: node by node.
template <int first_column, class View>
struct RelaxNodes {
  using T = typename View::Number;
  using Row = cuda::Chunk<T>;
  T omega;

  static __device__ STRATUM_INLINE Row row(const cuda::Chunk<T>& numbers) { return numbers; }
  static __device__ STRATUM_INLINE const cuda::Chunk<T>& numbers(const Row& row) { return row; }
  __device__ STRATUM_INLINE cuda::Chunk<T> operator()(const cuda::Lane<T>& lane, const View& a, const Row& south,
                                                      const Row& centre, const Row& north,
                                                      const cuda::Chunk<T>& right) const {
    cuda::Window<T> w;
    w.set(-1, south);
    w.set(1, north);
    cuda::Chunk<T> c = centre;
#pragma unroll
    for (int colour = 0; colour < 2; ++colour) {
      w.set(0, c);
#pragma unroll
      for (int e = (first_column + colour) % 2; e < lane.n; e += 2) c.v[e] = RelaxFormula<T>{omega}(a, right, w, e, 0);
      lane.clear_outside(c);
    }
    return c;
  }
};

/// The same from one residual, as on the CPU: the second colour's changes by its two neighbours' updates. What an interval
/// gives to both its ends is formed once, that of the first interval of the next lane there.
template <int first_column, class View>
struct RelaxIntervals {
  using T = typename View::Number;
  static constexpr int n = cuda::chunk_width<T>;
  struct Row {
    cuda::Chunk<T> own;
    T west;  // of the column before
  };
  T omega;

  static __device__ STRATUM_INLINE Row row(const cuda::Chunk<T>& numbers) {
    return {numbers, __shfl_up_sync(cuda::whole_warp, numbers.v[n - 1], 1)};
  }
  static __device__ STRATUM_INLINE const cuda::Chunk<T>& numbers(const Row& row) { return row.own; }
  __device__ STRATUM_INLINE cuda::Chunk<T> operator()(const cuda::Lane<T>& lane, const View& a, const Row& south,
                                                      const Row& centre, const Row& north,
                                                      const cuda::Chunk<T>& right) const {
    T to_left[n + 1], residual[n], weight[n], coupling[n + 1], update[n];
    AtEnds<T> weights[n + 1];
    ColumnOfThree<T> west{south.west, centre.west, north.west};
#pragma unroll
    for (int e = 0; e <= n; ++e) {
      const auto interval = a.pair(e, 0);
      weights[e] = interval.weight();
      coupling[e] = interval.coupling();
      if (e == n) continue;
      const ColumnOfThree<T> east{south.own.v[e], centre.own.v[e], north.own.v[e]};
      const auto product = interval.product(west, east);
      to_left[e] = product.left;
      residual[e] = right.v[e] - product.right;
      west = east;
    }
    to_left[n] = __shfl_down_sync(cuda::whole_warp, to_left[0], 1);
#pragma unroll
    for (int e = 0; e < n; ++e) {
      residual[e] -= to_left[e + 1];
      weight[e] = quotient(omega, weights[e].right + weights[e + 1].left);
    }
#pragma unroll
    for (int e = first_column; e < n; e += 2) update[e] = lane.whole || lane.has(e) ? weight[e] * residual[e] : T(0);
    const T beyond = first_column == 0 ? __shfl_down_sync(cuda::whole_warp, update[0], 1)
                                       : __shfl_up_sync(cuda::whole_warp, update[n - 1], 1);
#pragma unroll
    for (int e = 1 - first_column; e < n; e += 2) {
      const T before = e > 0 ? update[e > 0 ? e - 1 : 0] : beyond,
              after = e + 1 < n ? update[e + 1 < n ? e + 1 : 0] : beyond;
      update[e] = weight[e] * (residual[e] - coupling[e] * before - coupling[e + 1] * after);
    }
    cuda::Chunk<T> c;
#pragma unroll
    for (int e = 0; e < n; ++e) c.v[e] = centre.own.v[e] + update[e];
    lane.clear_outside(c);
    return c;
  }
};

/// y is x after one step: rows of parity `first_row` are relaxed first. Two rows a turn, one of the second colours and the
/// next, of the first ones: no row asks for its colour, and the registers of rows asked for need no moves.
template <int first_column, class View, class Source>
struct ColourStream {
  using Number = typename View::Number;
  using T = Number;
  using Relax =
      std::conditional_t<HasIntervals<View>, RelaxIntervals<first_column, View>, RelaxNodes<first_column, View>>;
  using Row = typename Relax::Row;
  using LaneOperator = cuda::LaneOperator<View, 2>;
  static constexpr bool in_order = LaneOperator::in_order;
  View a;
  cuda::Given<T, 2> b;  // a turn takes two rows
  Source x;
  FieldView<T> y;
  Relax relax;
  int first_row;

  [[nodiscard]] int rows() const { return y.ny; }
  /// The last row of the second colours up to row j.
  [[nodiscard]] __device__ STRATUM_INLINE int second_before(int j) const { return j - ((j ^ first_row ^ 1) & 1); }

  __device__ STRATUM_INLINE Row relaxed(const cuda::Lane<T>& lane, LaneOperator& a_lane, const Row& south,
                                        const Row& centre, const Row& north, const cuda::Chunk<T>& right, int j) const {
    if (j < 0 || j >= lane.ny) return {};
    if constexpr (!in_order) a_lane.row(lane, j);
    return Relax::row(relax(lane, a_lane.view(), south, centre, north, right));
  }
  __device__ STRATUM_INLINE void run(const cuda::Lane<T>& lane, int begin, int end) const {
    int j = second_before(begin);
    const int last = end == lane.ny ? end : second_before(end);
    LaneOperator a_lane(a, lane, j - 1);
    typename cuda::Given<T, 2>::Rows given_b(b, lane, j - 1);
    typename Source::Rows given_x(x, lane, j - 2);
    const Row south = Relax::row(given_x.next()), first = Relax::row(given_x.next());
    Row own = Relax::row(given_x.next());
    if constexpr (in_order) a_lane.row(lane, j - 1);
    Row below = relaxed(lane, a_lane, south, first, own, given_b.next(), j - 1);
    for (; j < last; j += 2) {
      const auto right_own = given_b.next(), right_above = given_b.next();
      const Row centre = Relax::row(given_x.next()), north = Relax::row(given_x.next());
      if constexpr (in_order) a_lane.row(lane, j);
      auto a_own = a_lane;
      if constexpr (in_order) a_lane.row(lane, j + 1);
      const Row above = relaxed(lane, a_lane, own, centre, north, right_above, j + 1);
      const Row result = relaxed(lane, a_own, below, own, above, right_own, j);
      if (j >= 0) lane.store(y, j, Relax::numbers(result));
      if (j + 1 < last) lane.store(y, j + 1, Relax::numbers(above));
      below = above;
      own = north;
    }
  }
};

#endif

template <class T>
class ColourGaussSeidel final : public Smoother<T> {
 public:
  ColourGaussSeidel(Context& ctx, const GridLayout<2>& shape, const SmootherParams& params)
      : Smoother<T>(shape), omega_(static_cast<T>(damping_or(params, 1.0))), in_chunks_(!params.chunks.empty()) {
    if (ctx.on_gpu()) scratch_ = Field<T>(ctx, shape);
  }

  void smooth(Context& ctx, const GridOperator<T>& a, FieldView<const T> b, FieldView<T> x, int sweeps, Guess guess,
              SweepOrder order, Ghosts ghosts_of_x) override {
    const auto hold = this->begin(ctx, a, b, x);
    if (guess == Guess::zero && sweeps == 0) return set(ctx, T(0), x);
    // Local index of the first odd line.
    const GridLayout<2>& grid = this->layout();
    const int odd_x = 1 - (grid.origin_x & 1), odd_y = 1 - (grid.origin_y & 1);
    const bool forward = order == SweepOrder::forward;
    Ghosts ghosts = guess == Guess::zero ? Ghosts::stale : ghosts_of_x;
    a.visit([&](const auto& view) {
      using View = std::decay_t<decltype(view)>;
#if defined(__CUDACC__)
      if constexpr (View::streams)
        if (ctx.on_gpu() && cuda::can_stream(grid, b, x) && !grid.periodic_y) {
          // A chunk starts one column before the grid.
          const int column = forward ? 1 - odd_x : odd_x, row = forward ? odd_y : 1 - odd_y;
          FieldView<T> current = x, other = scratch_.view();
          if (guess == Guess::zero && sweeps % 2 == 1) std::swap(current, other);
          for (int s = 0; s < sweeps; ++s) {
            const bool from_zero = s == 0 && guess == Guess::zero;
            if (from_zero) {
              stream<View>(ctx, view, b, cuda::Zero<T>{}, other, column, row);
            } else {
              exchange(ctx, grid, current, std::exchange(ghosts, Ghosts::stale));
              cuda::with_rows_of<2>(grid, FieldView<const T>(current),
                                    [&](const auto& rows) { stream<View>(ctx, view, b, rows, other, column, row); });
            }
            if (grid.below || grid.above)
              relax_on_cuts(ctx, grid, ColourStep<View, T>{view, b, other, omega_},
                            from_zero ? FieldView<T>() : current, 1 - column, row);
            std::swap(current, other);
          }
          if (current.data != x.data) copy<T, T>(ctx, current, x);
          return;
        }
#endif
      const ColourStep<View, T> step{view, b, x, omega_};
      if (grid.has_halo() || in_chunks_) return by_colours(ctx, grid, step, sweeps, guess, ghosts, forward);
      bool skip_first = false;
      if (guess == Guess::zero && ctx.on_gpu()) {
        const int begin_x = forward ? odd_x : 1 - odd_x, begin_y = forward ? odd_y : 1 - odd_y;
        for_each_node_on_gpu(ctx, all_nodes(x), FirstColourFromZero<View, T>{view, b, x, omega_, begin_x, begin_y});
        skip_first = true;
      }
      const int first_column = forward ? odd_x : 1 - odd_x, first_row = forward ? odd_y : 1 - odd_y;
      for (int s = 0; s < sweeps; ++s) {
        if (!ctx.on_gpu()) {
          step_on_cpu(ctx, step, first_row, first_column, guess == Guess::zero && s == 0);
          continue;
        }
        for (int half = 0; half < 2; ++half) {
          rows_on_gpu(ctx, step, half == 0 ? first_row : 1 - first_row, first_column, skip_first);
          skip_first = false;
        }
      }
    });
  }

  [[nodiscard]] std::optional<typename Smoother<T>::Reach> reach(int sweeps) const override {
    return {{2 * sweeps, false}};
  }
  [[nodiscard]] double words_per_step(int coefficient_words) const override { return 3.0 + coefficient_words; }

 private:
#if defined(__CUDACC__)
  template <class View, class Source>
  void stream(Context& ctx, const View& a, FieldView<const T> b, const Source& x, FieldView<T> y, int column,
              int row) const {
    // What a row takes from its neighbours reaches four columns.
    constexpr int margin = 4 / cuda::chunk_width<T>;
    if (column == 0)
      cuda::run_stream(ctx, ColourStream<0, View, Source>{a, {b}, x, y, {omega_}, row}, b.nx, b.ny, margin);
    else
      cuda::run_stream(ctx, ColourStream<1, View, Source>{a, {b}, x, y, {omega_}, row}, b.nx, b.ny, margin);
  }
  /// Rows on cuts whose colours come second, again from what they had before, nothing where that was zero: the stream did not
  /// know the relaxed row beside them.
  template <class Step>
  static void relax_on_cuts(Context& ctx, const GridLayout<2>& grid, const Step& step, FieldView<T> before,
                            int first_column, int first_row) {
    const FieldView<T>& x = step.x;
    exchange(ctx, grid, x);
    const auto again = [&](int j) {
      if ((j ^ first_row) % 2 == 0) return;
      const auto row = [j](FieldView<T> of) {
        of.data = &of(0, j);
        of.ny = 1;
        return of;
      };
      if (before.data == nullptr)
        set(ctx, T(0), row(x));
      else
        copy<T, T>(ctx, row(before), row(x));
      for (const int column : {first_column, 1 - first_column})
        for_each_node(ctx, {column, x.nx, 2, j, j + 1, 1}, step);
    };
    if (grid.below) again(0);
    if (grid.above && !(grid.below && x.ny == 1)) again(x.ny - 1);
  }
#endif
  /// An exchange before every colour. Where the grid is periodic with an odd number of nodes, the last one lies beside the
  /// first, both even: a third colour.
  template <class Step>
  static void by_colours(Context& ctx, const GridLayout<2>& grid, const Step& step, int sweeps, Guess guess,
                         Ghosts ghosts, bool forward) {
    const FieldView<T> x = step.x;
    if (guess == Guess::zero) {
      set_zero_with_halo(ctx, x);
      ghosts = Ghosts::current;
    }
    struct Class {
      int begin, end, step;
    };
    // The grid ends at an odd number where its number of nodes is odd, of subdomains the last one; all have as many colours.
    const bool cut = grid.below || grid.above;
    const bool uppermost = !cut || ctx.communicator()->rank() + 1 == ctx.communicator()->size();
    const auto classes = [](int n, int origin, bool wraps, bool ends = true) {
      const int odd = 1 - (origin & 1), alone = wraps && ends && (origin + n) % 2 != 0 ? 1 : 0;
      std::vector<Class> found{{odd, n - alone, 2}, {1 - odd, n - alone, 2}};
      if (wraps) found.push_back({n - alone, n, 1});
      return found;
    };
    std::vector<NodeRange<2>> colours;
    for (const Class& in_y : classes(x.ny, grid.origin_y, grid.periodic_y, uppermost))
      for (const Class& in_x : classes(x.nx, grid.origin_x, grid.periodic_x))
        colours.push_back({in_x.begin, in_x.end, in_x.step, in_y.begin, in_y.end, in_y.step});
    if (!forward) std::reverse(colours.begin(), colours.end());
    for (int s = 0; s < sweeps; ++s)
      for (const NodeRange<2>& colour : colours) {
        exchange(ctx, grid, x, std::exchange(ghosts, Ghosts::stale));
        for_each_node(ctx, colour, step);
      }
  }
  /// Both colours of every second row from begin_y on, the columns of begin_x first.
  template <class Step>
  static void rows_on_gpu(Context& ctx, const Step& step, int begin_y, int begin_x, bool skip_first) {
    const auto& x = step.x;
    for (int colour = skip_first ? 1 : 0; colour < 2; ++colour)
      for_each_node_on_gpu(ctx, {colour == 0 ? begin_x : 1 - begin_x, x.nx, 2, begin_y, x.ny, 2}, step);
  }
  /// A row of the second colours follows as soon as the rows beside it are relaxed, so that x comes from memory once. Those
  /// between the parts of two threads wait for both.
  template <class View>
  static void step_on_cpu(const Context& ctx, const ColourStep<View, T>& step, int first_row, int first_column,
                          bool from_zero) {
    const FieldView<T> x = step.x;
    const auto relax_first = [&](int j) {
      if (from_zero)
        simd::run_widest(RelaxRow<true, View, T>{step, j, first_column});
      else
        simd::run_widest(RelaxRow<false, View, T>{step, j, first_column});
    };
    const auto relax_second = [&](int j) {
      if (from_zero) std::fill_n(&x(0, j), x.nx, T(0));
      simd::run_widest(RelaxRow<false, View, T>{step, j, first_column});
    };
    const int rows = (x.ny - first_row + 1) / 2;  // of the first colours
    if (rows == 0) return relax_second(0);
    const int parts = x.nodes() > serial_limit ? std::min(ctx.threads(), rows) : 1;
    const auto begin = [&](int part) { return static_cast<int>(std::int64_t{rows} * part / parts); };
#pragma omp parallel num_threads(ctx.threads()) if (parts > 1)
    {
#pragma omp for schedule(static, 1)
      for (int part = 0; part < parts; ++part)
        for (int k = begin(part); k < begin(part + 1); ++k) {
          relax_first(first_row + 2 * k);
          if (k > begin(part)) relax_second(first_row + 2 * k - 1);
        }
#pragma omp for schedule(static, 1)
      for (int part = 0; part <= parts; ++part) {
        const int j = first_row + 2 * begin(part) - 1;
        if (j >= 0 && j < x.ny) relax_second(j);
      }
    }
  }

  T omega_;
  bool in_chunks_;    // one subdomain goes colour by colour as several do
  Field<T> scratch_;  // on a GPU only
};

}  // namespace

/// The class stays in the anonymous namespace: at packs of numbers in a class with a name outside its source nvcc 13.0 fails,
/// by an internal error.
template <class T>
std::unique_ptr<Smoother<T>> make_colour_gs(Context& ctx, const GridLayout<2>& shape, const SmootherParams& params) {
  return std::make_unique<ColourGaussSeidel<T>>(ctx, shape, params);
}

}  // namespace stratum
