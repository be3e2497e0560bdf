#pragma once

// Both colours of a zebra sweep along y of a tensor operator or a scalar element-coefficient operator, in place and undamped,
// in clusters that go from tile to tile: 3 words per unknown, 4 with K by cells. For CUDA sources only.

#include <algorithm>

#include <stratum/solvers/lines/cuda/strided.hpp>
#include <stratum/solvers/lines/cuda/zebra.hpp>

namespace stratum::cuda {

/// Two neighbouring numbers of a row, of both colours.
template <class T>
struct alignas(2 * sizeof(T)) Pair {
  T even, odd;
};

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

// What persistent_y_lines asks of an operator is its tile: its numbers in shared memory, b, and the equations of lines. Lines a
// and b lie beside a line behind intervals 0, 1 or 2: before the even column of a thread's pair, between its two, behind the
// odd one.

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

template <class View, class W, class T = typename W::Number>
constexpr std::size_t persistent_y_bytes = sizeof(T) * (pack_size<T> + (W::rows + 2) * W::pitch +
                                                        YTile<View, W>::numbers + 2 * W::kept_numbers +
                                                        Turn<T, by_row_sums<View>>::numbers(W::pairs, W::segments)) +
                                           sizeof(ExchangeBuffer<T, most_blocks, by_row_sums<View>>) * 2 * W::pairs;

/// What one thread leaves in memory for one thread of a block that runs at the same time: numbers, and a flag behind them that
/// is zero before and after.
template <class T>
__device__ STRATUM_INLINE void raise_flag(T* flag) {
  asm volatile("st.release.gpu.global.u32 [%0], 1;" ::"l"(flag) : "memory");
}
template <class T>
__device__ STRATUM_INLINE void wait_for_flag(const T* flag) {
  unsigned raised = 0;
  do asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(raised) : "l"(flag) : "memory");
  while (raised == 0);
}

/// Both colours of a sweep along y. In a tile the lines of the first colour are solved, then those of the second, between
/// which they lie; the second colour's line at the tile's beginning has one neighbour in the tile before, which is kept. The
/// first such line of a cluster has it in another cluster's last tile, and is left to a later launch of solve_y_lines; or,
/// where every cluster has one tile and all run at once, the cluster before leaves it in `passed`, kept_numbers a block. In
/// place: what a first-colour line reads of the next tile is second-colour and not written yet. The next tile is on its way to
/// shared memory while one is solved. Mirrored: even columns first, tiles from right to left. Thread (c, s) has pair c of
/// columns in the order of the persistent kernel, segment s.
template <bool coupled, bool mirrored, class View, class W, class T = typename W::Number>
__global__ void __launch_bounds__(W::threads)
    persistent_y_lines(const View a, const FieldView<const T> b, const W tiling, const FieldView<T> y,
                       T* const passed) {
#if defined(STRATUM_CLUSTERS)
  constexpr bool sums = by_row_sums<View>, differs = solves_for_difference<View>;
  constexpr int S = W::segment, R = W::rows, pairs = W::pairs, chunk = W::chunk, chunks = W::chunks;
  extern __shared__ __align__(16) unsigned char memory[];
  const Cluster cluster;
  const int blocks = cluster.blocks(), rank = cluster.rank();
  const int t = static_cast<int>(threadIdx.x), c = t % pairs, s = t / pairs, nx = y.nx, ny = y.ny;
  auto* const exchange_buffers = reinterpret_cast<ExchangeBuffer<T, most_blocks, sums>*>(memory);
  T* const x_tile = reinterpret_cast<T*>(exchange_buffers + 2 * pairs) + chunk + W::pitch;
  T* const numbers = x_tile + (R + 1) * W::pitch;
  T* const kept = numbers + YTile<View, W>::numbers;  // the last first-colour column of this tile and of the one before
  const Turn<T, sums> turn{kept + 2 * W::kept_numbers, pairs, W::segments};

  const int base = rank * R;  // position of row 0 of the block's part of a tile
  YTile<View, W> tile_of(a, b, numbers, base);
  const auto begin_of = [&](int tile) { return (mirrored ? tiling.tiles - 1 - tile : tile) * W::width; };
  const auto fetch = [&](int tile) {
    const int p = begin_of(tile), part = t % chunks * chunk;
    const int last = last_column(y) + 1;  // position of the last column that is read
    tile_of.fetch(p);
    if constexpr (coupled) {
      W::fetch(x_tile, W::pitch, &y(p - 1, base - 1), y.pitch, p + part <= last ? ny + 2 - base : 0);
      // The column behind the tile, or before it, and the rows beside the block's.
      const int behind = mirrored ? p - 1 : p + W::width, place = mirrored ? -1 : W::width;
      const auto fetch_behind = [&](int r) {
        copy_async<sizeof(T)>(x_tile + r * W::pitch + place, &y(behind - 1, base + r - 1),
                              behind >= 0 && behind <= last && base + r >= 0 && base + r <= ny + 1);
      };
#pragma unroll
      for (int r = t; r < R; r += W::threads) fetch_behind(r);
      if (t < 2) fetch_behind(t == 0 ? -1 : R);
      const int r = t < chunks ? -1 : R;
      if (t < 2 * chunks)
        copy_async<16>(x_tile + r * W::pitch + part, &y(p + part - 1, base + r - 1),
                       p + part <= last && base + r >= 0 && base + r <= ny + 1);
    }
  };

  for (int r = t; r < 2 * W::kept_numbers; r += W::threads) kept[r] = 0;
  const int first_tile = static_cast<int>(blockIdx.x) / blocks * tiling.tiles_each;
  const int last_tile = min(first_tile + tiling.tiles_each, tiling.tiles);
  open_exchange_buffers(cluster, exchange_buffers, 2 * pairs);
  after_previous();
  fetch(first_tile);
  tile_of.fetch_late(begin_of(first_tile));
  const int position = base + s * S, pair = mirrored ? pairs - 1 - c : c;

#pragma unroll 1
  for (int tile = first_tile; tile < last_tile; ++tile) {
    const int even = begin_of(tile) + 2 * pair;  // position of the pair's columns
    const bool even_used = even > 0 && even <= nx, odd_used = even < nx;
    const bool first_used = mirrored ? even_used : odd_used, second_used = mirrored ? odd_used : even_used;
    const bool previous_used = mirrored ? even + 2 <= nx : even > 0;
    tile_of.turn_to(even, pair, s * S);
    wait_for_copies();
    __syncthreads();
    tile_of.begin();

    T b_second[S], x_first[S];
    T* const kept_now = kept + tile % 2 * W::kept_numbers + s * W::kept + 1;
    T* const kept_before = kept + (tile + 1) % 2 * W::kept_numbers + s * W::kept + 1;
    const T* const x_pair = x_tile + s * S * W::pitch + 2 * pair;
    Segment<T, S, true, sums> segment;
    T near_before = 0, near_behind = 0;  // beside the unknowns before and behind the segment
    {
      // Neighbours: the second-colour lines of the pair itself and of the next pair.
      constexpr int own_side = 1, next_side = mirrored ? 0 : 2;
      const T* const x = x_pair + (mirrored ? 1 : 0);
      const auto second_of = [&](int k, T& own, T& next) {
        own = coupled ? x[k * W::pitch] : T(0);
        next = coupled ? x[k * W::pitch + (mirrored ? -2 : 2)] : T(0);
      };
      push_first_line<mirrored, differs>(
          tile_of.template line<coupled>(own_side, next_side, !mirrored, first_used, true, true), segment, second_of,
          [&](int k) { return tile_of.right(k); },
          [&](int k) { return tile_of.interval_before(k, own_side, next_side); }, b_second, x_first, near_before,
          near_behind);
    }
    turn.put(c, s, segment.chunk());
    __syncthreads();
    solve_turned<false>(cluster, turn, exchange_buffers, tile - first_tile);
    if (tile + 1 < last_tile) fetch(tile + 1);
    __syncthreads();
    segment.substitute(turn.left(c, s), turn.own(c, s));
    const T before = near_before + turn.left(c, s), behind = near_behind + turn.right(c, s);
#pragma unroll
    for (int k = 0; k < S; ++k) x_first[k] = differs ? x_first[k] + segment[k] : segment[k];
    const auto passed_by = [&](int tile) {
      return passed + (tile * blocks + rank) * W::kept_numbers + s * W::kept + 1;
    };
    if (c == pairs - 1 && (passed == nullptr || tile + 1 < tiling.tiles)) {
      T* const to = passed == nullptr ? kept_now : passed_by(tile);
      to[-1] = before;
#pragma unroll
      for (int k = 0; k < S; ++k) to[k] = x_first[k];
      to[S] = behind;
      if (passed != nullptr) raise_flag(to + S + 1);
    }
    if (passed != nullptr && c == 0 && tile > 0) {
      T* const from = passed_by(tile - 1);
      wait_for_flag(from + S + 1);
      T numbers[S + 2];
#pragma unroll
      for (int k = 0; k < S + 2; ++k) numbers[k] = from[k - 1];
#pragma unroll
      for (int k = 0; k < S + 2; ++k) kept_before[k - 1] = numbers[k];
#pragma unroll
      for (int k = 0; k < S + 3; ++k) from[k - 1] = 0;  // another kernel may have its flags there
    }

    const auto previous = [&](T own, int k) {
      const T x = __shfl_up_sync(all_lanes, own, 1, pairs);
      return c == 0 ? kept_before[k] : x;
    };
    // Neighbours: the first-colour lines of the pair before and of the pair itself.
    constexpr int previous_side = mirrored ? 2 : 0, own_side = 1;
    auto second =
        tile_of.template line<true>(previous_side, own_side, mirrored, second_used, previous_used, first_used);
    second.start(previous(before, -1), before);
#pragma unroll
    for (int k = 0; k <= S; ++k) {
      const T own = k < S ? x_first[k < S ? k : 0] : behind;
      second.step(segment, k, tile_of.interval_before(k, previous_side, own_side), previous(own, k), own,
                  k < S ? b_second[k < S ? k : 0] : T(0));
    }
    turn.put(c, s, segment.chunk());
    __syncthreads();
    if (tile + 1 < last_tile) tile_of.fetch_late(begin_of(tile + 1));
    solve_turned<false>(cluster, turn, exchange_buffers + pairs, tile - first_tile);
    __syncthreads();
    segment.substitute(turn.left(c, s), turn.own(c, s));
    if constexpr (differs) {
#pragma unroll
      for (int k = 0; k < S; ++k) segment[k] += second.beside().near(previous(x_first[k], k), x_first[k]);
    }
    const bool second_done = c > 0 || tile > first_tile || tile == 0 || passed != nullptr;
    const bool even_done = even_used && (mirrored || second_done);
    const bool odd_done = odd_used && (!mirrored || second_done);
    T* to = &y(even - 1, position - 1);
    if (even_done && odd_done && position > 0 && position + S <= ny + 1) {
#pragma unroll
      for (int k = 0; k < S; ++k, to += y.pitch)
        *reinterpret_cast<Pair<T>*>(to) = mirrored ? Pair<T>{x_first[k], segment[k]} : Pair<T>{segment[k], x_first[k]};
    } else {
#pragma unroll
      for (int k = 0; k < S; ++k, to += y.pitch) {
        if (position + k < 1 || position + k > ny) continue;
        if (even_done) to[0] = mirrored ? x_first[k] : segment[k];
        if (odd_done) to[1] = mirrored ? segment[k] : x_first[k];
      }
    }
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
/// cluster a tile before. No cluster that waits for another one keeps it from a place, in whatever order they are dispatched.
/// Returns the lines between two of them, which are left, all of the second colour.
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
