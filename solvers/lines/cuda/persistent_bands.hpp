#pragma once

// CUDA: both colours of a y sweep of stored bands in one pass, 8 words per unknown with five bands in float and 12 else, where
// a cluster of blocks holds the lines. For solvers/lines/cuda/dispatch.hpp.
//
// Entries are read from a copy that has them in the order of the persistent kernel (solvers/lines/cuda/tiled_bands.hpp). A
// thread has a segment of two neighbouring lines, one of either colour.
//
//     tile         128 bytes of a row, 512 rows in each block of a cluster, which goes from tile to tile
//     couplings    of the second line, and of five bands in float those of the first, too: the copy engine brings them to shared
//                  memory as soon as the second lines of the tile before have formed their equations
//     first line   equations formed as numbers come, segments eliminated, joined (solvers/lines/cuda/strided.hpp) and substituted
//     second line  likewise, from right-hand sides that came with the first line's and the first lines' unknowns

#include <type_traits>

#include <stratum/core/device/signal.hpp>
#include <stratum/solvers/lines/cuda/tiled_bands.hpp>
#include <stratum/solvers/lines/cuda/zebra_y.hpp>

namespace stratum::cuda {

using line::BandRecord;
using line::BandTile;

template <class View>
constexpr bool has_persistent_bands = false;
template <class T>
constexpr bool has_persistent_bands<NineBandView<T>> = true;
template <class T>
constexpr bool has_persistent_bands<SymmetricNineBandView<T>> = true;

/// Which clusters go where; thread (c, s) has pair c of lines in the order of the persistent kernel, segment s.
template <class T>
struct BandTiling : BandTile<T> {
  static constexpr int threads = BandTiling::pairs * BandTiling::segments;
  /// What is passed has for each segment its numbers, those beside it, and a flag.
  static constexpr int passed_each = BandTiling::segment + 3, passed_numbers = BandTiling::segments * passed_each;
  int tiles, tiles_each;
};

/// What couples row k of a thread's segment of one line to row k + d beside it, d = -1, 0, 1: on its pair's other line and on
/// the line on its other side. `couplings`: as a record has them; `once`: for both colours together (line::couplings_once).
template <bool once, bool odd, class T>
class CouplingsOfLine;

template <bool odd, class T>
class CouplingsOfLine<false, odd, T> {
 public:
  __device__ STRATUM_INLINE CouplingsOfLine(const T* couplings, int segment, int pair)
      : mine_(couplings + segment * Tile::pairs + pair) {}
  [[nodiscard]] __device__ STRATUM_INLINE T own(int d, int k) const { return number(d + 1, k); }
  [[nodiscard]] __device__ STRATUM_INLINE T other(int d, int k) const { return number(d + 4, k); }

 private:
  using Tile = BandTile<T>;
  [[nodiscard]] __device__ STRATUM_INLINE T number(int n, int k) const {
    return mine_[(n * Tile::segment + k) * Tile::segments * Tile::pairs];
  }
  const T* mine_;
};

template <bool odd, class T>
class CouplingsOfLine<true, odd, T> {
 public:
  __device__ STRATUM_INLINE CouplingsOfLine(const T* couplings, int segment, int pair)
      : own_(couplings + Record::own + segment * P + pair),
        beside_(couplings + Record::beside + segment * (P + 1) + pair + odd) {}
  [[nodiscard]] __device__ STRATUM_INLINE T own(int d, int k) const { return number<P>(own_, d, k); }
  [[nodiscard]] __device__ STRATUM_INLINE T other(int d, int k) const { return number<P + 1>(beside_, d, k); }

 private:
  using Record = BandRecord<T, true>;
  static constexpr int S = BandTile<T>::segment, P = BandTile<T>::pairs;
  /// An odd node's are those of the even node d rows further, in the opposite direction.
  template <int pairs>
  [[nodiscard]] __device__ STRATUM_INLINE static T number(const T* mine, int d, int k) {
    if constexpr (!odd) return mine[Record::template row<pairs>(d + 1, k)];
    if (k + d < 0) return mine[Record::template row<pairs>(2, S - 1) - pairs];
    if (k + d == S) return mine[Record::template row<pairs>(0, 0) + pairs];
    return mine[Record::template row<pairs>(1 - d, k + d)];
  }
  const T *own_, *beside_;
};

/// Before everything else in shared memory, where the copy engine's signal lies.
constexpr int persistent_band_head = 128;

template <bool once, class T>
constexpr std::size_t persistent_band_bytes = persistent_band_head +
                                              sizeof(T) *
                                                  (BandRecord<T, once>::couplings_size +
                                                   BandTile<T>::segments * (BandTile<T>::segment + 2) +
                                                   Turn<T, false>::numbers(BandTile<T>::pairs, BandTile<T>::segments)) +
                                              sizeof(ExchangeBuffer<T, most_blocks, false>) * 2 * BandTile<T>::pairs;

template <class T>
__device__ STRATUM_INLINE Pair<T> load_pair_once(const T* aligned) {
  const auto q = __ldcs(reinterpret_cast<const std::conditional_t<sizeof(T) == 4, float2, double2>*>(aligned));
  return {q.x, q.y};
}

/// Both colours of a sweep along y, in place: as persistent_y_lines, whose order of tiles and lines it has. Lines between the
/// parts of two clusters are left to a later launch; or, where every cluster has one tile and all run at once, the cluster
/// before passes on its last first-colour line in `passed`, BandTiling::passed_numbers zeros for each block.
template <bool coupled, bool mirrored, bool once, class T>
__global__ void __launch_bounds__(BandTiling<T>::threads)
    persistent_bands(const T* const records, const std::int64_t pitch, const FieldView<const T> b,
                     const BandTiling<T> tiling, const FieldView<T> y, T* const passed) {
#if defined(STRATUM_CLUSTERS)
  using Tile = BandTiling<T>;
  using Record = BandRecord<T, once>;
  constexpr int S = Tile::segment, pairs = Tile::pairs, in_row = Tile::segments * pairs;
  constexpr int odd_first = mirrored ? 0 : 1, odd_second = 1 - odd_first;
  constexpr int along_first = Record::along + odd_first * Record::along_size;
  constexpr int along_second = Record::along + odd_second * Record::along_size;
  // Of nine bands each colour has its couplings.
  constexpr int couplings_first = once ? 0 : odd_first * Record::couplings_size;
  constexpr int couplings_second = once ? 0 : odd_second * Record::couplings_size;
  // Rows on their way: of the first lines, as far as registers go, and of the second.
  constexpr int ahead = once ? 4 : 2, together = 4;
  constexpr bool waits_early = coupled && once;  // the first lines need what the copy engine brings

  extern __shared__ __align__(16) unsigned char memory[];
  const Cluster cluster;
  const int blocks = cluster.blocks(), rank = cluster.rank();
  const int t = static_cast<int>(threadIdx.x), c = t % pairs, s = t / pairs, nx = y.nx, ny = y.ny;
  Signal& come = *reinterpret_cast<Signal*>(memory);
  T* const couplings = reinterpret_cast<T*>(memory + persistent_band_head);
  auto* const exchange_buffers =
      reinterpret_cast<ExchangeBuffer<T, most_blocks, false>*>(couplings + Record::couplings_size);
  // The last first-colour line of the tile before, by segments and with what lies beside them.
  constexpr int kept_numbers = Tile::segments * (S + 2);
  T* const kept = reinterpret_cast<T*>(exchange_buffers + 2 * pairs);
  T* const my_kept = kept + s * (S + 2);
  const Turn<T, false> turn{kept + kept_numbers, pairs, Tile::segments};

  for (int r = t; r < kept_numbers; r += Tile::threads) kept[r] = 0;
  const int first_tile = static_cast<int>(blockIdx.x) / blocks * tiling.tiles_each;
  const int last_tile = min(first_tile + tiling.tiles_each, tiling.tiles);
  const int j = rank * Tile::rows + s * S, pair = mirrored ? pairs - 1 - c : c;
  const auto tile_of = [&](int tile) { return mirrored ? tiling.tiles - 1 - tile : tile; };
  const auto record_of = [&](int tile) {
    return records + (static_cast<std::int64_t>(tile_of(tile)) * blocks + rank) * pitch;
  };
  const auto fetch = [&](int tile) {
    constexpr int bytes = static_cast<int>(sizeof(T)) * Record::couplings_size;
    come.expect(bytes);
    come.fetch(couplings, record_of(tile) + couplings_second, bytes);
  };
  const auto passed_to = [&](int tile) {
    return passed + ((tile * blocks + rank) * Tile::segments + s) * Tile::passed_each;
  };
  if (t == 0) come.open(1);
  if (blocks == 1) __syncthreads();  // else the blocks meet
  open_exchange_buffers(cluster, exchange_buffers, 2 * pairs);
  after_previous();
  if (t == 0) fetch(first_tile);
  // Entries of row k along a line, of which `along` are the segment's.
  struct Along {
    T lower, centre, upper;
  };
  const auto load_along = [&](const T* along, int k) {
    Along row{};
    if constexpr (!once) row.lower = __ldcs(along + Record::south + k * in_row);
    row.centre = __ldcs(along + Record::centre + k * in_row);
    row.upper = __ldcs(along + Record::north + k * in_row);
    return row;
  };
  // The entry below the diagonal in a segment's first row; that of another block lies in its record.
  const auto lower_of = [&](const T* along) {
    if (j == 0) return T(0);
    return along[Record::north + (S - 1) * in_row + (s > 0 ? -pairs : (Tile::segments - 1) * pairs - pitch)];
  };

#pragma unroll 1
  for (int tile = first_tile; tile < last_tile; ++tile) {
    const int use = tile - first_tile;
    const int even = tile_of(tile) * Tile::width + 2 * pair;  // position of the pair
    const bool there = even <= nx, even_used = even > 0 && even <= nx, odd_used = even < nx;
    const bool first_used = mirrored ? even_used : odd_used, second_used = mirrored ? odd_used : even_used;
    const T* const numbers = record_of(tile) + s * pairs + pair;  // of the pair and segment

    Segment<T, S, once> segment;
    T b_second[S];
    {
      // Of the second colour: the line of the pair, and that beyond the tile's last pair.
      const int second = mirrored ? even + 1 : even, beside = mirrored ? even - 1 : even + 2;
      const bool x_there = second <= nx + 1, beside_there = c == pairs - 1 && beside >= 0 && beside <= nx + 1;
      const T *b_at = &b(even - 1, j), *x_at = &y(second - 1, j - 1), *beside_at = &y(beside - 1, j - 1);
      // The next row, to be called in order: from j - 1 on.
      const auto load_x = [&](int row, T& own, T& next) {
        own = next = 0;
        if constexpr (coupled) {
          if (x_there && row <= ny) own = *x_at;
          if (beside_there && row <= ny) next = *beside_at;
          x_at += y.pitch;
          beside_at += y.pitch;
        }
      };
      // Row k of the segment, and x one row further.
      struct Given {
        Along along;
        Pair<T> right;
        T own[3], other[3];  // with nine bands
        T x, x_beside;
      };
      const auto load_row = [&](int k) {
        Given given{};
        given.along = load_along(numbers + along_first, k);
        if (there && j + k < ny) given.right = load_pair_once(b_at);
        b_at += b.pitch;
        load_x(j + k + 1, given.x, given.x_beside);
        if constexpr (coupled && !once) {
#pragma unroll
          for (int d = 0; d < 3; ++d) {
            given.own[d] = __ldcs(numbers + couplings_first + d * Tile::nodes + k * in_row);
            given.other[d] = __ldcs(numbers + couplings_first + (3 + d) * Tile::nodes + k * in_row);
          }
        }
        return given;
      };
      const auto next_of = [&](T own, T next) {
        if constexpr (!coupled) return T(0);
        const T x = __shfl_down_sync(all_lanes, own, 1, pairs);
        return c == pairs - 1 ? next : x;
      };

      T own[3], next[3];
      load_x(j - 1, own[0], next[0]);
      load_x(j, own[1], next[1]);
      T lower = 0;
      if constexpr (once) lower = lower_of(numbers + along_first);
      Given given[ahead];
#pragma unroll
      for (int k = 0; k < ahead; ++k) given[k] = load_row(k);
      next[0] = next_of(own[0], next[0]);
      next[1] = next_of(own[1], next[1]);
      if constexpr (waits_early) come.wait(use);
      const CouplingsOfLine<once, odd_first == 1, T> held(couplings, s, pair);
#pragma unroll
      for (int k = 0; k < S; ++k) {
        __syncwarp();  // one row after the other: several at once want more registers than there are
        const Given now = given[k % ahead];
        if (k + ahead < S) given[k % ahead] = load_row(k + ahead);
        own[2] = now.x;
        next[2] = next_of(now.x, now.x_beside);
        T right = mirrored ? now.right.even : now.right.odd;
        b_second[k] = mirrored ? now.right.odd : now.right.even;
        if constexpr (coupled) {
#pragma unroll
          for (int d = 0; d < 3; ++d) {
            if constexpr (once)
              right -= held.own(d - 1, k) * own[d] + held.other(d - 1, k) * next[d];
            else
              right -= now.own[d] * own[d] + now.other[d] * next[d];
          }
        }
        if constexpr (!once) lower = now.along.lower;
        segment.push(k, first_used ? lower : T(0), first_used ? now.along.centre : T(1),
                     first_used ? now.along.upper : T(0), first_used && j + k < ny ? right : T(0));
        lower = now.along.upper;
#pragma unroll
        for (int d = 0; d < 2; ++d) {
          own[d] = own[d + 1];
          next[d] = next[d + 1];
        }
      }
    }

    Along given[together];
    T lower = 0;
    if constexpr (once) lower = lower_of(numbers + along_second);
#pragma unroll
    for (int k = 0; k < together; ++k) given[k] = load_along(numbers + along_second, k);
    turn.put(c, s, segment.chunk());
    __syncthreads();
    solve_turned<false>(cluster, turn, exchange_buffers, use);
    __syncthreads();
    segment.substitute(turn.left(c, s), turn.own(c, s));
    T x_first[S + 2];
    x_first[0] = turn.left(c, s);
    x_first[S + 1] = turn.right(c, s);
#pragma unroll
    for (int k = 0; k < S; ++k) x_first[k + 1] = segment[k];

    if (passed != nullptr) {
      if (c == pairs - 1 && tile + 1 < tiling.tiles) {
        T* const to = passed_to(tile + 1);
#pragma unroll
        for (int k = 0; k < S + 2; ++k) to[k] = x_first[k];
        raise_flag(to + S + 2);
      }
      if (c == 0 && tile > 0) {
        T* const from = passed_to(tile);
        wait_for_flag(from + S + 2);
#pragma unroll
        for (int k = 0; k < S + 2; ++k) my_kept[k] = from[k];
#pragma unroll
        for (int k = 0; k < Tile::passed_each; ++k) from[k] = 0;
      }
    }
    if constexpr (!waits_early) come.wait(use);
    {
      const CouplingsOfLine<once, odd_second == 1, T> held(couplings, s, pair);
      const auto previous = [&](int k) {
        const T x = __shfl_up_sync(all_lanes, x_first[k], 1, pairs);
        return c == 0 ? my_kept[k] : x;
      };
      T before[3] = {previous(0), previous(1), T(0)};
#pragma unroll
      for (int k = 0; k < S; ++k) {
        const Along now = given[k % together];
        if (k + together < S) given[k % together] = load_along(numbers + along_second, k + together);
        before[2] = previous(k + 2);
        T right = b_second[k];
#pragma unroll
        for (int d = 0; d < 3; ++d) right -= held.own(d - 1, k) * x_first[k + d] + held.other(d - 1, k) * before[d];
        if constexpr (!once) lower = now.lower;
        segment.push(k, second_used ? lower : T(0), second_used ? now.centre : T(1), second_used ? now.upper : T(0),
                     second_used && j + k < ny ? right : T(0));
        lower = now.upper;
        before[0] = before[1];
        before[1] = before[2];
        __syncwarp();  // the first pair has read what the last one's line takes the place of
        if (c == pairs - 1) my_kept[k] = x_first[k];
      }
      if (c == pairs - 1) {
        my_kept[S] = x_first[S];
        my_kept[S + 1] = x_first[S + 1];
      }
    }
    turn.put(c, s, segment.chunk());
    __syncthreads();
    if (t == 0 && tile + 1 < last_tile) fetch(tile + 1);
    solve_turned<false>(cluster, turn, exchange_buffers + pairs, use);
    __syncthreads();
    segment.substitute(turn.left(c, s), turn.own(c, s));

    const bool second_done = c > 0 || tile > first_tile || tile == 0 || passed != nullptr;
    const bool even_done = even_used && (mirrored || second_done);
    const bool odd_done = odd_used && (!mirrored || second_done);
    T* to = &y(even - 1, j);
    if (even_done && odd_done && j + S <= ny) {
#pragma unroll
      for (int k = 0; k < S; ++k, to += y.pitch)
        *reinterpret_cast<Pair<T>*>(to) =
            mirrored ? Pair<T>{x_first[k + 1], segment[k]} : Pair<T>{segment[k], x_first[k + 1]};
    } else {
#pragma unroll
      for (int k = 0; k < S; ++k, to += y.pitch) {
        if (j + k >= ny) continue;
        if (even_done) to[0] = mirrored ? x_first[k + 1] : segment[k];
        if (odd_done) to[1] = mirrored ? segment[k] : x_first[k + 1];
      }
    }
  }
#endif
}

/// Both colours of y lines, in place, odd columns first unless mirrored, by the records of their matrix (line::records_shape).
/// `passed`: zeros, in which clusters pass lines to each other where there are enough. Returns the lines that are left, all of
/// the second colour.
template <bool coupled, bool mirrored, bool once, class T>
[[nodiscard]] Lines<T> launch_persistent_bands(const Context& ctx, FieldView<const T> records, FieldView<const T> b,
                                               FieldView<T> y, FieldView<T> passed) {
  const int cluster = divide_up(y.ny, BandTiling<T>::rows);
  const auto kernel = persistent_bands<coupled, mirrored, once, T>;
  BandTiling<T> tiling{{}, divide_up(y.nx + 1, BandTiling<T>::width), 1};
  Launch launch{tiling.tiles * cluster, BandTiling<T>::threads, persistent_band_bytes<once, T>, cluster};
  Lines<T> left = share_tiles<mirrored, T>(launch, tiling, launch.resident(ctx, kernel));
  const bool passes =
      tiling.tiles_each == 1 && passed.nx >= static_cast<int>(launch.grid.x) * BandTiling<T>::passed_numbers;
  if (passes) left.count = 0;
  launch(ctx, kernel, line::first_record(records), records.pitch, b, tiling, y, passes ? passed.data : nullptr);
  return left;
}

}  // namespace stratum::cuda
