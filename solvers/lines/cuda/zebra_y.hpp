#pragma once

// Both colours of a zebra sweep along y in one pass, in place and undamped, in clusters that go from tile to tile:
// persistent_y_lines, which asks a LinesOfTile for the equations. Here are those of a tensor operator (3 words per unknown) and
// of a scalar element-coefficient operator (4); those of stored bands are in solvers/lines/cuda/persistent_bands.hpp. Tensor
// operators in float have a kernel of their own where clusters have several tiles, whose warps need not meet
// (solvers/lines/cuda/persistent_columns.hpp). For CUDA sources only.

#include <algorithm>

#include <stratum/solvers/lines/cuda/strided.hpp>
#include <stratum/solvers/lines/cuda/zebra.hpp>

namespace stratum::cuda {

/// Two neighbouring numbers of a row, of both colours.
template <class T>
struct alignas(2 * sizeof(T)) Pair {
  T even, odd;
};

/// Which lines of a pair are unknowns, by column and by colour, and whether the first-colour line of the pair before is one.
/// `even`: position of its even column.
template <bool mirrored>
struct PairUse {
  bool even, odd, first, second, previous;
  __device__ STRATUM_INLINE PairUse(int even_column, int nx)
      : even(even_column > 0 && even_column <= nx), odd(even_column < nx), first(mirrored ? even : odd),
        second(mirrored ? odd : even), previous(mirrored ? even_column + 2 <= nx : even_column > 0) {}
};

/// Stores a segment of a pair of lines, from node `row` on: of `first` and `second` colour, those columns that are `done`.
template <bool mirrored, int S, class T, class First, class Second>
__device__ STRATUM_INLINE void store_pair(const FieldView<T>& y, int even, int row, bool even_done, bool odd_done,
                                          const First& first, const Second& second) {
  T* to = &y(even - 1, row);
  if (even_done && odd_done && row >= 0 && row + S <= y.ny) {
#pragma unroll
    for (int k = 0; k < S; ++k, to += y.pitch)
      *reinterpret_cast<Pair<T>*>(to) = mirrored ? Pair<T>{first[k], second[k]} : Pair<T>{second[k], first[k]};
  } else {
#pragma unroll
    for (int k = 0; k < S; ++k, to += y.pitch) {
      if (row + k < 0 || row + k >= y.ny) continue;
      if (even_done) to[0] = mirrored ? first[k] : second[k];
      if (odd_done) to[1] = mirrored ? second[k] : first[k];
    }
  }
}

/// Pushes the equations of a first-colour line to its segment. At position k = -1 .. S `second_of` gives the second-colour
/// lines beside it, at 0 .. S - 1 `right_of` b on both lines of the pair. Leaves b of the second line, and for a line that is
/// solved for differences what is near it, at the segment and beside.
template <bool mirrored, bool differs, class T, int S, class Axis, class Segment, class SecondOf, class RightOf,
          class IntervalBefore, class Near>
__device__ STRATUM_INLINE void push_first_line(Axis line, Segment& segment, const SecondOf& second_of,
                                               const RightOf& right_of, const IntervalBefore& interval_before,
                                               T (&b_second)[S], Near& near, T& near_before, T& near_behind) {
  T own, next;
  second_of(-1, own, next);
  if constexpr (differs) near_before = line.beside().near(own, next);
  line.start(own, next);
#pragma unroll
  for (int k = 0; k <= S; ++k) {
    second_of(k, own, next);
    if constexpr (differs) (k < S ? near[k < S ? k : 0] : near_behind) = line.beside().near(own, next);
    T right = 0;
    if (k < S) {
      const Pair<T> both = right_of(k < S ? k : 0);
      right = mirrored ? both.even : both.odd;
      b_second[k < S ? k : 0] = mirrored ? both.odd : both.even;
    }
    line.step(segment, k, interval_before(k), own, next, right);
  }
}

/// How persistent_y_lines cuts the grid. A tile is `bytes` wide, 128 where the lines are short enough since narrower ones do
/// not reach the memory's speed, and `rows` high in every block, S a thread; a column is as high as the cluster, which goes
/// over `tiles_each` tiles.
template <class T, int S = 16, int bytes = 128>
struct YTiling {
  using Number = T;
  static constexpr int segment = S, segments = warp, rows = segments * segment;
  static constexpr int width = bytes / static_cast<int>(sizeof(T)), pairs = width / 2, threads = pairs * segments;
  static constexpr int chunk = pack_size<T>, chunks = width / chunk;
  static constexpr int pitch = width + chunk;         // room for the column behind the tile
  static constexpr int column = rows + segments + 4;  // a column, with a number between segments
  // A line that is kept: for each segment the number before it, its own, the one behind, and room for a flag.
  static constexpr int kept = S + 3, kept_numbers = segments * kept;
  int tiles, tiles_each;

  static __device__ STRATUM_INLINE int in_column(int r) { return r + 1 + (r + segment) / segment; }

  /// Fetches `rows` rows of a tile, those with r < inside.
  static __device__ STRATUM_INLINE void fetch(T* to, int to_pitch, const T* from, std::int64_t from_pitch, int inside) {
    constexpr int step = threads / chunks;
    const int t = static_cast<int>(threadIdx.x), row = t / chunks, part = t % chunks * chunk;
    to += row * to_pitch + part;
    from += row * from_pitch + part;
#pragma unroll
    for (int r = 0; r < rows; r += step) {
      if (r + step > rows && r + row >= rows) break;
      copy_async<16>(to + r * to_pitch, from, r + row < inside);
      from += step * from_pitch;
    }
  }
};

// What LinesOfTile asks of a tensor or element-coefficient operator is its tile: its numbers in shared memory, b, and the
// equations of lines. Lines a and b lie beside a line behind intervals 0, 1 or 2: before the even column of a thread's pair,
// between its two, behind the odd one.

/// Of a tensor operator.
template <class View, class W>
class YTile {
  using T = typename W::Number;
  static constexpr bool sums = by_row_sums<View>;

 public:
  static constexpr int numbers = W::rows * W::width + 2 * W::column + 2 * (W::width + 2);

  __device__ STRATUM_INLINE YTile(const View& a, const FieldView<const T>& b, T* memory, int base)
      : a_(a), b_(b), base_(base), b_tile_(memory), intervals_(memory + W::rows * W::width),
        between_(intervals_ + 2 * W::column) {
    for (int r = static_cast<int>(threadIdx.x); r <= W::rows; r += W::threads) {
      intervals_[2 * W::in_column(r)] = interval(a.ky, base + r, b.ny);
      intervals_[2 * W::in_column(r) + 1] = interval(a.my, base + r, b.ny);
    }
  }
  /// Asks for what the tile from position p on has. `fetch_late`: for what the second colour of the tile before still reads.
  __device__ STRATUM_INLINE void fetch_late(int /*p*/) const {}
  __device__ STRATUM_INLINE void fetch(int p) const {
    const int t = static_cast<int>(threadIdx.x), part = t % W::chunks * W::chunk, q = t % (W::width + 2);
    W::fetch(b_tile_, W::width, &b_(p - 1, base_ - 1), b_.pitch, p + part <= b_.nx ? b_.ny + 2 - base_ : 0);
    // Intervals p - 1 .. p + width between the columns.
    const T* const factors = t < W::width + 2 ? a_.kx : a_.mx;
    if (t < 2 * (W::width + 2)) copy_async<sizeof(T)>(between_ + t, factors + p + q - 1, p + q <= b_.nx + 1);
  }
  /// Turns to columns `even` and the next, the thread's pair in the tile, before the tile has come; `row` of the block begins
  /// the thread's segment.
  __device__ STRATUM_INLINE void turn_to(int even, int pair, int row) {
    e_[0] = e_[1] = 0;
    if constexpr (View::has_reaction) {
      e_[0] = even > 0 && even <= b_.nx ? __ldg(a_.e + even - 1) : T(0);
      e_[1] = even < b_.nx ? __ldg(a_.e + even) : T(0);
    }
    begins_line_ = base_ + row == 0;
    right_ = b_tile_ + row * W::width + 2 * pair;
    along_ = reinterpret_cast<const Interval<T>*>(intervals_) + W::in_column(row);
    across_ = between_ + 2 * pair;
  }
  /// When it has.
  __device__ STRATUM_INLINE void begin() {
#pragma unroll
    for (int n = 0; n < 3; ++n) beside_[n] = {across_[n], across_[n + W::width + 2]};
  }
  [[nodiscard]] __device__ STRATUM_INLINE Pair<T> right(int k) const {
    return *reinterpret_cast<const Pair<T>*>(right_ + k * W::width);
  }
  template <bool coupled>
  [[nodiscard]] __device__ STRATUM_INLINE auto line(int a, int b, bool odd, bool itself, bool is_a, bool is_b) const {
    return TensorEquations<W::segment, coupled, sums, T>(beside_[a].k, beside_[a].m, beside_[b].k, beside_[b].m,
                                                         e_[odd], begins_line_, {itself, is_a, is_b});
  }
  /// Before position k of the segment.
  [[nodiscard]] __device__ STRATUM_INLINE Interval<T> interval_before(int k, int /*a*/, int /*b*/) const {
    return along_[k < W::segment ? k : k + 1];
  }

 private:
  const View& a_;
  const FieldView<const T>& b_;
  int base_;
  T *b_tile_, *intervals_, *between_;  // the last: k, then m, between the columns of the tile
  const T *right_ = nullptr, *across_ = nullptr;
  const Interval<T>* along_ = nullptr;
  Interval<T> beside_[3];
  T e_[2];
  bool begins_line_ = false;
};

/// Of a scalar element-coefficient operator: its cells take the room of b, which is read when it is needed, the first time from
/// the L2 cache.
template <class T, class W>
class YTile<ElementView<T, true>, W> {
  using View = ElementView<T, true>;

 public:
  static constexpr int numbers = (W::rows + 1) * W::pitch + W::column;

  __device__ STRATUM_INLINE YTile(const View& a, const FieldView<const T>& b, T* memory, int base)
      : a_(a), b_(b), base_(base), cells_(memory), along_(memory + (W::rows + 1) * W::pitch) {
    for (int r = static_cast<int>(threadIdx.x); r <= W::rows; r += W::threads)
      along_[W::in_column(r)] = base + r > 0 && base + r <= b.ny + 1 ? a.ry2[base + r - 1] : T(0);
  }
  __device__ STRATUM_INLINE void fetch_late(int p) const {
    // Cells p - 1 .. p + width - 1 of rows base - 1 .. base + rows - 1; there are nx + 1 by ny + 1.
    const int t = static_cast<int>(threadIdx.x), part = t % W::chunks * W::chunk;
    const T* const from = a_.p + (base_ - 1) * a_.pitch + p - 1;
    const int inside = b_.ny + 2 - base_;
    W::fetch(cells_, W::pitch, from, a_.pitch, p + part <= b_.nx + 1 ? inside : 0);
    if (t < W::chunks)
      copy_async<16>(cells_ + W::rows * W::pitch + part, from + W::rows * a_.pitch + part,
                     W::rows < inside && p + part <= b_.nx + 1);
    for (int r = t; r <= W::rows; r += W::threads)
      copy_async<sizeof(T)>(cells_ + r * W::pitch + W::width, from + r * a_.pitch + W::width,
                            r < inside && p + W::width <= b_.nx + 1);
  }
  __device__ STRATUM_INLINE void fetch(int p) const {
    for (int r = static_cast<int>(threadIdx.x); r < W::rows; r += W::threads)
      if (base_ + r > 0 && base_ + r <= b_.ny)
        asm volatile("prefetch.global.L2 [%0];" ::"l"(&b_(p - 1, base_ + r - 1)));
  }
  __device__ STRATUM_INLINE void turn_to(int even, int pair, int row) {
    const int position = base_ + row;
    even_ = even;
    first_ = 1 - position;
    last_ = b_.ny + 1 - position;
    mine_ = cells_ + row * W::pitch + 2 * pair;
    my_along_ = along_ + W::in_column(row);
#pragma unroll
    for (int n = 0; n < 3; ++n)
      across_[n] = even + n > 0 && even + n <= b_.nx + 1 ? __ldg(a_.rx2 + even + n - 1) : T(0);
#pragma unroll
    for (int k = 0; k < W::segment; ++k) {
      right_[k] = {0, 0};
      if (position + k > 0 && position + k <= b_.ny && even <= b_.nx) {
        const auto* const from = &b_(even - 1, position + k - 1);
        right_[k] = *reinterpret_cast<const Pair<T>*>(from);
      }
    }
  }
  __device__ STRATUM_INLINE void begin() {}
  [[nodiscard]] __device__ STRATUM_INLINE Pair<T> right(int k) const { return right_[k]; }
  template <bool coupled>
  [[nodiscard]] __device__ STRATUM_INLINE auto line(int a, int b, bool /*odd*/, bool itself, bool /*is_a*/,
                                                    bool /*is_b*/) const {
    return ElementEquations<W::segment, coupled, T>(across_[a], across_[b], itself ? first_ : W::segment + 1, last_);
  }
  [[nodiscard]] __device__ STRATUM_INLINE CellsBeside<T> interval_before(int k, int a, int b) const {
    return {mine_[k * W::pitch + a], mine_[k * W::pitch + b], my_along_[k < W::segment ? k : k + 1]};
  }

 private:
  const View& a_;
  const FieldView<const T>& b_;
  int base_;
  T *cells_, *along_;  // along_: 1 / h^2
  const T *mine_ = nullptr, *my_along_ = nullptr;
  int even_ = 0, first_ = 0, last_ = 0;
  T across_[3];
  Pair<T> right_[W::segment];
};

template <class View>
constexpr bool has_persistent_y_lines = is_tensor<View>;
template <class T>
constexpr bool has_persistent_y_lines<ElementView<T, true>> = true;

/// What a thread of persistent_y_lines solves for: in a tile pair `pair` of columns, segment `segment` of the block's part.
struct PlaceInTile {
  int rank, blocks, segment, pair;
};

/// What persistent_y_lines asks of an operator: equations of both colours in a tile, pushed to a thread's segments. In place:
/// what a first-colour line reads of the next tile is second-colour and not written yet.
template <bool coupled, bool mirrored, class View, class W>
class LinesOfTile {
  using T = typename W::Number;
  static constexpr bool differs = solves_for_difference<View>;
  static constexpr int S = W::segment, R = W::rows, chunk = W::chunk, chunks = W::chunks;

 public:
  static constexpr bool symmetric = true;  // their matrices
  static constexpr int node = 1;           // position of node 0
  /// Whether the line that is kept of the tile before is read when that of this tile is put there.
  static constexpr bool keeps_two = true;
  static constexpr int numbers = chunk + (R + 2) * W::pitch + YTile<View, W>::numbers;

  __device__ STRATUM_INLINE LinesOfTile(const View& a, const FieldView<const T>& b, const FieldView<T>& y, T* memory,
                                        const PlaceInTile& at)
      : y_(y), at_(at), base_(at.rank * R), x_tile_(memory + chunk + W::pitch),
        tile_(a, b, x_tile_ + (R + 1) * W::pitch, base_) {}
  /// Asks for what tile number `tile` from the left has, as soon as that of the first colour is not needed any more, and
  /// `fetch_late` as soon as that of the second is not.
  __device__ STRATUM_INLINE void fetch(int tile) const {
    const int t = static_cast<int>(threadIdx.x), p = tile * W::width, part = t % chunks * chunk;
    const int last = last_column(y_) + 1;  // position of the last column that is read
    tile_.fetch(p);
    if constexpr (coupled) {
      W::fetch(x_tile_, W::pitch, &y_(p - 1, base_ - 1), y_.pitch, p + part <= last ? y_.ny + 2 - base_ : 0);
      // The column behind the tile, or before it, and the rows beside the block's.
      const int behind = mirrored ? p - 1 : p + W::width, place = mirrored ? -1 : W::width;
      const auto fetch_behind = [&](int r) {
        copy_async<sizeof(T)>(x_tile_ + r * W::pitch + place, &y_(behind - 1, base_ + r - 1),
                              behind >= 0 && behind <= last && base_ + r >= 0 && base_ + r <= y_.ny + 1);
      };
#pragma unroll
      for (int r = t; r < R; r += W::threads) fetch_behind(r);
      if (t < 2) fetch_behind(t == 0 ? -1 : R);
      const int r = t < chunks ? -1 : R;
      if (t < 2 * chunks)
        copy_async<16>(x_tile_ + r * W::pitch + part, &y_(p + part - 1, base_ + r - 1),
                       p + part <= last && base_ + r >= 0 && base_ + r <= y_.ny + 1);
    }
  }
  __device__ STRATUM_INLINE void fetch_late(int tile) const { tile_.fetch_late(tile * W::width); }

  /// Waits for the tile, number `use` of the cluster, and pushes the first-colour line. Leaves what push_first_line leaves.
  template <class Segment>
  __device__ STRATUM_INLINE void push_first(int tile, int /*use*/, const PairUse<mirrored>& used, Segment& segment,
                                            T (&b_second)[S], T (&near)[S], T& near_before, T& near_behind) {
    tile_.turn_to(tile * W::width + 2 * at_.pair, at_.pair, at_.segment * S);
    wait_for_copies();
    __syncthreads();
    tile_.begin();
    // Neighbours: the second-colour lines of the pair itself and of the next pair.
    constexpr int own_side = 1, next_side = mirrored ? 0 : 2;
    const T* const x = x_tile_ + at_.segment * S * W::pitch + 2 * at_.pair + (mirrored ? 1 : 0);
    const auto second_of = [&](int k, T& own, T& next) {
      own = coupled ? x[k * W::pitch] : T(0);
      next = coupled ? x[k * W::pitch + (mirrored ? -2 : 2)] : T(0);
    };
    push_first_line<mirrored, differs>(
        tile_.template line<coupled>(own_side, next_side, !mirrored, used.first, true, true), segment, second_of,
        [&](int k) { return tile_.right(k); }, [&](int k) { return tile_.interval_before(k, own_side, next_side); },
        b_second, near, near_before, near_behind);
  }
  /// Pushes the second-colour line, from the first-colour lines of the pair itself, `own(k)`, and of the pair before,
  /// `previous(k)`, at k = -1 .. S; calls keep(k). Returns the line.
  template <class Segment, class Own, class Previous, class Keep>
  __device__ STRATUM_INLINE auto push_second(int /*use*/, const PairUse<mirrored>& used, Segment& segment,
                                             const T (&b_second)[S], const Own& own, const Previous& previous,
                                             const Keep& keep) const {
#pragma unroll
    for (int k = -1; k <= S; ++k) keep(k);
    constexpr int previous_side = mirrored ? 2 : 0, own_side = 1;
    auto line = tile_.template line<true>(previous_side, own_side, mirrored, used.second, used.previous, used.first);
    line.start(previous(-1), own(-1));
#pragma unroll
    for (int k = 0; k <= S; ++k)
      line.step(segment, k, tile_.interval_before(k, previous_side, own_side), previous(k), own(k),
                k < S ? b_second[k < S ? k : 0] : T(0));
    return line;
  }

 private:
  const FieldView<T>& y_;
  const PlaceInTile at_;
  int base_;  // position of row 0 of the block's part of a tile
  T* x_tile_;
  YTile<View, W> tile_;
};

/// Of a block of persistent_y_lines: exchange buffers, what LinesOfTile has, kept lines, what is turned over.
template <class View, class W, class T = typename W::Number>
constexpr std::size_t persistent_y_bytes = sizeof(ExchangeBuffer<T, most_blocks, by_row_sums<View>>) * 2 * W::pairs +
                                           sizeof(T) * (LinesOfTile<true, false, View, W>::numbers +
                                                        (LinesOfTile<true, false, View, W>::keeps_two ? 2 : 1) *
                                                            W::kept_numbers +
                                                        Turn<T, by_row_sums<View>>::numbers(W::pairs, W::segments));

/// Both colours of a sweep along y. In a tile the lines of the first colour are solved, then those of the second, between
/// which they lie; the second colour's line at the tile's beginning has one neighbour in the tile before, which is kept. The
/// first such line of a cluster has it in another cluster's last tile, and is left to a later launch of solve_y_lines; or,
/// where every cluster has one tile and all run at once, the cluster before leaves it in `passed`, which has ticket_numbers and
/// then kept_numbers a block; a cluster waits for one whose ticket is lower (core/device/hand_off.hpp). The next tile is on its
/// way to shared memory while one is solved. Mirrored: even columns first, tiles from right to left. Thread (c, s) has pair c
/// of columns in the order of the persistent kernel, segment s.
template <bool coupled, bool mirrored, class View, class W, class T = typename W::Number>
__global__ void __launch_bounds__(W::threads)
    persistent_y_lines(const View a, const FieldView<const T> b, const W tiling, const FieldView<T> y,
                       T* const passed) {
#if defined(STRATUM_CLUSTERS)
  using Lines = LinesOfTile<coupled, mirrored, View, W>;
  constexpr bool sums = by_row_sums<View>, differs = solves_for_difference<View>;
  constexpr int S = W::segment, pairs = W::pairs;
  extern __shared__ __align__(16) unsigned char memory[];
  const Cluster cluster;
  const int blocks = cluster.blocks(), rank = cluster.rank();
  const int t = static_cast<int>(threadIdx.x), c = t % pairs, s = t / pairs;
  auto* const exchange_buffers = reinterpret_cast<ExchangeBuffer<T, most_blocks, sums>*>(memory);
  T* const numbers = reinterpret_cast<T*>(exchange_buffers + 2 * pairs);
  T* const kept = numbers + Lines::numbers;  // the last first-colour column of this tile and of the one before
  constexpr int kept_numbers = (Lines::keeps_two ? 2 : 1) * W::kept_numbers;
  const Turn<T, sums> turn{kept + kept_numbers, pairs, W::segments};

  Lines lines(a, b, y, numbers, {rank, blocks, s, mirrored ? pairs - 1 - c : c});
  const auto number_of = [&](int tile) { return mirrored ? tiling.tiles - 1 - tile : tile; };
  for (int r = t; r < kept_numbers; r += W::threads) kept[r] = 0;
  const int number = open_exchange_buffers(cluster, exchange_buffers, 2 * pairs, passed);
  const int first_tile = number * tiling.tiles_each, last_tile = min(first_tile + tiling.tiles_each, tiling.tiles);
  after_previous();
  lines.fetch(number_of(first_tile));
  lines.fetch_late(number_of(first_tile));

#pragma unroll 1
  for (int tile = first_tile; tile < last_tile; ++tile) {
    const int even = number_of(tile) * W::width + 2 * (mirrored ? pairs - 1 - c : c);  // position of the pair's columns
    const PairUse<mirrored> used(even, y.nx);
    const int use = tile - first_tile;
    T* const kept_now = kept + (Lines::keeps_two ? tile % 2 * W::kept_numbers : 0) + s * W::kept + 1;
    T* const kept_before = kept + (Lines::keeps_two ? (tile + 1) % 2 * W::kept_numbers : 0) + s * W::kept + 1;
    Segment<T, S, Lines::symmetric, sums> segment;
    T b_second[S], x_first[S];
    T near_before = 0, near_behind = 0;  // beside the unknowns before and behind the segment
    lines.push_first(number_of(tile), use, used, segment, b_second, x_first, near_before, near_behind);
    turn.put(c, s, segment.chunk());
    __syncthreads();
    solve_turned<false>(cluster, turn, exchange_buffers, use);
    if (tile + 1 < last_tile) lines.fetch(number_of(tile + 1));
    __syncthreads();
    segment.substitute(turn.left(c, s), turn.own(c, s));
    T before = turn.left(c, s), behind = turn.right(c, s);
    if constexpr (differs) before += near_before, behind += near_behind;
#pragma unroll
    for (int k = 0; k < S; ++k) x_first[k] = differs ? x_first[k] + segment[k] : segment[k];
    const auto own = [&](int k) { return k < 0 ? before : k < S ? x_first[k < 0 || k >= S ? 0 : k] : behind; };
    if (passed != nullptr) {
      const auto passed_by = [&](int tile) {
        return passed + ticket_numbers<T> + (tile * blocks + rank) * W::kept_numbers + s * W::kept + 1;
      };
      if (c == pairs - 1 && tile + 1 < tiling.tiles) {
        T* const to = passed_by(tile);
#pragma unroll
        for (int k = -1; k <= S; ++k) to[k] = own(k);
        raise_flag(to + S + 1);
      }
      if (c == 0 && tile > 0) {
        T* const from = passed_by(tile - 1);
        wait_for_flag(from + S + 1);
#pragma unroll
        for (int k = -1; k <= S; ++k) kept_before[k] = from[k];
#pragma unroll
        for (int k = 0; k < S + 3; ++k) from[k - 1] = 0;  // another kernel may have its flags there
      }
    }

    const auto previous = [&](int k) {
      const T x = __shfl_up_sync(all_lanes, own(k), 1, pairs);
      return c == 0 ? kept_before[k] : x;
    };
    const auto keep = [&](int k) {
      if (c == pairs - 1) kept_now[k] = own(k);
    };
    const auto second = lines.push_second(use, used, segment, b_second, own, previous, keep);
    turn.put(c, s, segment.chunk());
    __syncthreads();
    if (tile + 1 < last_tile) lines.fetch_late(number_of(tile + 1));
    solve_turned<false>(cluster, turn, exchange_buffers + pairs, use);
    __syncthreads();
    segment.substitute(turn.left(c, s), turn.own(c, s));
    if constexpr (differs) {
#pragma unroll
      for (int k = 0; k < S; ++k) segment[k] += second.beside().near(previous(k), own(k));
    }
    const bool second_done = c > 0 || tile > first_tile || tile == 0 || passed != nullptr;
    store_pair<mirrored, S>(y, even, rank * W::rows + s * S - Lines::node, used.even && (mirrored || second_done),
                            used.odd && (!mirrored || second_done), x_first, segment);
  }
#endif
}

/// Neumann or Robin boundaries keep two nodes more than a power of two less one: there a little longer segments save a block of
/// a cluster.
constexpr int longer_segment = 17;

/// Whether clusters go over lines along y of a grid: where these are long, and where they are shorter but so many that every
/// multiprocessor has two tiles or more. Solved one by one they are read in rows of 32 bytes.
template <class W>
bool is_worth_persistence(int nx, int ny) {
  constexpr int long_lines = 768, short_lines = 257, many_tiles = 264;
  if (ny >= long_lines) return true;
  return ny >= short_lines && divide_up(nx + 1, W::width) * divide_up(ny + 1, W::rows) >= many_tiles;
}

inline bool longer_segments_save_a_block(int ny) {
  return divide_up(ny + 1, YTiling<float, longer_segment>::rows) < divide_up(ny + 1, YTiling<float>::rows);
}

/// Has the `resident` clusters that run at the same time go over the tiles of `tiling`; the grid of `launch` is that of a
/// cluster a tile before. Returns the lines between two of them, which are left, all of the second colour.
template <bool mirrored, class T, class Tiling>
Lines<T> share_tiles(Launch& launch, Tiling& tiling, int resident) {
  const int cluster = static_cast<int>(launch.grid.x) / tiling.tiles;
  tiling.tiles_each = divide_up(tiling.tiles, resident);
  launch.early = tiling.tiles_each == 1;  // small grids; where all clusters go on, early ones come to lie badly
  const int clusters = divide_up(tiling.tiles, tiling.tiles_each), stride = tiling.tiles_each * Tiling::width;
  launch.grid = clusters * cluster;
  return {{Direction::y, mirrored ? tiling.tiles * Tiling::width - 2 - stride : stride - 1, mirrored ? -stride : stride,
           clusters - 1, line::LineColour::second}};
}

}  // namespace stratum::cuda
