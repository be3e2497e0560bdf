#pragma once

// Stored bands for persistent_y_lines (solvers/lines/cuda/zebra_y.hpp): 8 words per unknown with five bands in float, and 12
// else. For CUDA sources only.
//
// Entries are read from a copy that has them in the order of the persistent kernel (solvers/lines/cuda/tiled_bands.hpp), whose
// tiles it has.
//
//     couplings    of the second line, and of five bands in float those of the first, too: the copy engine brings them to
//                  shared memory as soon as the second lines of the tile before have formed their equations
//     first line   equations formed as numbers come from memory
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

/// The records of a matrix (line::records_shape), as persistent_y_lines takes them; `once`: line::couplings_once.
template <class T, bool couplings_once>
struct BandRecords {
  using Number = T;
  const T* numbers;
  std::int64_t pitch;
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

template <class T>
__device__ STRATUM_INLINE Pair<T> load_pair_once(const T* aligned) {
  const auto q = __ldcs(reinterpret_cast<const std::conditional_t<sizeof(T) == 4, float2, double2>*>(aligned));
  return {q.x, q.y};
}

template <bool coupled, bool mirrored, class T, bool once, class W>
class LinesOfTile<coupled, mirrored, BandRecords<T, once>, W> {
  using Record = BandRecord<T, once>;
  static_assert(W::segment == BandTile<T>::segment && W::width == BandTile<T>::width && W::rows == BandTile<T>::rows);
  static constexpr int S = W::segment, pairs = W::pairs, in_row = W::segments * pairs;
  static constexpr int odd_first = mirrored ? 0 : 1, odd_second = 1 - odd_first;
  static constexpr int along_first = Record::along + odd_first * Record::along_size;
  static constexpr int along_second = Record::along + odd_second * Record::along_size;
  // Of nine bands each colour has its couplings.
  static constexpr int couplings_first = once ? 0 : odd_first * Record::couplings_size;
  static constexpr int couplings_second = once ? 0 : odd_second * Record::couplings_size;
  // Rows on their way: of the first lines, as far as registers go, and of the second.
  static constexpr int ahead = once ? 4 : 2, together = 4;
  static constexpr bool waits_early = coupled && once;  // the first lines need what the copy engine brings
  static constexpr int signal_numbers = static_cast<int>(128 / sizeof(T));  // so that couplings begin on 128 bytes

 public:
  static constexpr bool symmetric = once;
  static constexpr int node = 0;
  static constexpr bool keeps_two = false;
  static constexpr int numbers = signal_numbers + Record::couplings_size;

  __device__ STRATUM_INLINE LinesOfTile(const BandRecords<T, once>& records, const FieldView<const T>& b,
                                        const FieldView<T>& y, T* memory, const PlaceInTile& at)
      : records_(records), b_(b), y_(y), at_(at), j_(at.rank * W::rows + at.segment * S),
        come_(*reinterpret_cast<Signal*>(memory)), couplings_(memory + signal_numbers) {
    if (threadIdx.x == 0) come_.open(1);
  }
  __device__ STRATUM_INLINE void fetch(int /*tile*/) const {}
  __device__ STRATUM_INLINE void fetch_late(int tile) const {
    if (threadIdx.x != 0) return;
    constexpr int bytes = static_cast<int>(sizeof(T)) * Record::couplings_size;
    come_.expect(bytes);
    come_.fetch(couplings_, record_of(tile) + couplings_second, bytes);
  }

  template <class Segment>
  __device__ STRATUM_INLINE void push_first(int tile, int use, const PairUse<mirrored>& used, Segment& segment,
                                            T (&b_second)[S], T (&/*near*/)[S], T& /*near_before*/,
                                            T& /*near_behind*/) {
    const int even = tile * W::width + 2 * at_.pair, nx = y_.nx, ny = y_.ny;
    numbers_ = record_of(tile) + at_.segment * pairs + at_.pair;
    const T* const numbers = numbers_;
    const bool is_last = at_.pair == (mirrored ? 0 : pairs - 1);  // in the order of the persistent kernel
    // Of the second colour: the line of the pair, and that beyond the tile's last pair.
    const int second = mirrored ? even + 1 : even, beside = mirrored ? even - 1 : even + 2;
    const bool there = even <= nx, x_there = second <= nx + 1;
    const bool beside_there = is_last && beside >= 0 && beside <= nx + 1;
    const T *b_at = &b_(even - 1, j_), *x_at = &y_(second - 1, j_ - 1), *beside_at = &y_(beside - 1, j_ - 1);
    // The next row, to be called in order: from j - 1 on.
    const auto load_x = [&](int row, T& own, T& next) {
      own = next = 0;
      if constexpr (coupled) {
        if (x_there && row <= ny) own = *x_at;
        if (beside_there && row <= ny) next = *beside_at;
        x_at += y_.pitch;
        beside_at += y_.pitch;
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
      if (there && j_ + k < ny) given.right = load_pair_once(b_at);
      b_at += b_.pitch;
      load_x(j_ + k + 1, given.x, given.x_beside);
      if constexpr (coupled && !once) {
#pragma unroll
        for (int d = 0; d < 3; ++d) {
          given.own[d] = __ldcs(numbers + couplings_first + d * BandTile<T>::nodes + k * in_row);
          given.other[d] = __ldcs(numbers + couplings_first + (3 + d) * BandTile<T>::nodes + k * in_row);
        }
      }
      return given;
    };
    const auto next_of = [&](T own, T next) {
      if constexpr (!coupled) return T(0);
      const T x = __shfl_down_sync(all_lanes, own, 1, pairs);
      return is_last ? next : x;
    };

    T own[3], next[3];
    load_x(j_ - 1, own[0], next[0]);
    load_x(j_, own[1], next[1]);
    T lower = 0;
    if constexpr (once) lower = lower_of(numbers + along_first);
    Given given[ahead];
#pragma unroll
    for (int k = 0; k < ahead; ++k) given[k] = load_row(k);
    next[0] = next_of(own[0], next[0]);
    next[1] = next_of(own[1], next[1]);
    if constexpr (waits_early) come_.wait(use);
    const CouplingsOfLine<once, odd_first == 1, T> held(couplings_, at_.segment, at_.pair);
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
      segment.push(k, used.first ? lower : T(0), used.first ? now.along.centre : T(1),
                   used.first ? now.along.upper : T(0), used.first && j_ + k < ny ? right : T(0));
      lower = now.along.upper;
#pragma unroll
      for (int d = 0; d < 2; ++d) {
        own[d] = own[d + 1];
        next[d] = next[d + 1];
      }
    }
    if constexpr (once) lower_ = lower_of(numbers + along_second);
#pragma unroll
    for (int k = 0; k < together; ++k) given_[k] = load_along(numbers + along_second, k);
  }

  template <class Segment, class Own, class Previous, class Keep>
  __device__ STRATUM_INLINE int push_second(int use, const PairUse<mirrored>& used, Segment& segment,
                                            const T (&b_second)[S], const Own& own, const Previous& previous,
                                            const Keep& keep) {
    if constexpr (!waits_early) come_.wait(use);
    const CouplingsOfLine<once, odd_second == 1, T> held(couplings_, at_.segment, at_.pair);
    T before[3] = {previous(-1), previous(0), T(0)};
    T lower = lower_;
#pragma unroll
    for (int k = 0; k < S; ++k) {
      const Along now = given_[k % together];
      if (k + together < S) given_[k % together] = load_along(numbers_ + along_second, k + together);
      before[2] = previous(k + 1);
      T right = b_second[k];
#pragma unroll
      for (int d = 0; d < 3; ++d) right -= held.own(d - 1, k) * own(k + d - 1) + held.other(d - 1, k) * before[d];
      if constexpr (!once) lower = now.lower;
      segment.push(k, used.second ? lower : T(0), used.second ? now.centre : T(1), used.second ? now.upper : T(0),
                   used.second && j_ + k < y_.ny ? right : T(0));
      lower = now.upper;
      before[0] = before[1];
      before[1] = before[2];
      __syncwarp();  // the first pair has read what the last one's line takes the place of
      keep(k - 1);
    }
    keep(S - 1);
    keep(S);
    return 0;
  }

 private:
  /// Entries of row k along a line, of which `along` are the segment's.
  struct Along {
    T lower, centre, upper;
  };
  __device__ STRATUM_INLINE static Along load_along(const T* along, int k) {
    Along row{};
    if constexpr (!once) row.lower = __ldcs(along + Record::south + k * in_row);
    row.centre = __ldcs(along + Record::centre + k * in_row);
    row.upper = __ldcs(along + Record::north + k * in_row);
    return row;
  }
  /// The entry below the diagonal in a segment's first row; that of another block lies in its record.
  [[nodiscard]] __device__ STRATUM_INLINE T lower_of(const T* along) const {
    if (j_ == 0) return T(0);
    return along[Record::north + (S - 1) * in_row +
                 (at_.segment > 0 ? -pairs : (W::segments - 1) * pairs - records_.pitch)];
  }
  [[nodiscard]] __device__ STRATUM_INLINE const T* record_of(int tile) const {
    return records_.numbers + (static_cast<std::int64_t>(tile) * at_.blocks + at_.rank) * records_.pitch;
  }

  const BandRecords<T, once>& records_;
  const FieldView<const T>& b_;
  const FieldView<T>& y_;
  const PlaceInTile at_;
  int j_;
  Signal& come_;
  T* couplings_;
  const T* numbers_ = nullptr;  // of the pair and segment
  Along given_[together];
  T lower_ = 0;
};

/// Both colours of y lines, in place, odd columns first unless mirrored, by the records of their matrix. `passed`: zeros, in
/// which clusters pass lines to each other where there are enough. Returns the lines that are left, all of the second colour.
template <bool coupled, bool mirrored, bool once, class T>
[[nodiscard]] Lines<T> launch_persistent_bands(const Context& ctx, FieldView<const T> records, FieldView<const T> b,
                                               FieldView<T> y, FieldView<T> passed) {
  using W = YTiling<T>;
  using View = BandRecords<T, once>;
  const int cluster = divide_up(y.ny, W::rows);
  const auto kernel = persistent_y_lines<coupled, mirrored, View, W>;
  W tiling{divide_up(y.nx + 1, W::width), 1};
  Launch launch{tiling.tiles * cluster, W::threads, persistent_y_bytes<View, W>, cluster};
  Lines<T> left = share_tiles<mirrored, T>(launch, tiling, launch.resident(ctx, kernel));
  const bool passes =
      tiling.tiles_each == 1 && passed.nx >= ticket_numbers<T> + static_cast<int>(launch.grid.x) * W::kept_numbers;
  if (passes) left.count = 0;
  launch(ctx, kernel, View{line::first_record(records), records.pitch}, b, tiling, y, passes ? passed.data : nullptr);
  return left;
}

}  // namespace stratum::cuda
