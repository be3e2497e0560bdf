#pragma once

// CUDA: both colours of a y sweep of stored bands in one pass: 16 words a node with nine bands, 11 with five. For
// smoothers/line_gpu.hpp.
//
// Rows lie in memory as they are, and a sector of it holds both colours: a pass for each would read everything twice. Here
// a thread has a segment of two neighbouring lines, one of either colour, and loads the numbers of both together. What
// couples the second line to those beside it waits in shared memory until they are solved; there is no room for more, and
// so its numbers along the line, 4 words, or 3, are read again.
//
//     tile         128 bytes of a row, `rows` rows in each block of a cluster, which walks from tile to tile. Rows of 64 bytes
//                  come at 59 % of a copy's speed
//     first line   equations formed as numbers come, segments eliminated, joined (solvers/lines/kernels.hpp) and substituted
//     second line  likewise, from shared memory, what is read again, and the first lines' unknowns

#include <type_traits>

#include <stratum/solvers/lines/kernels.hpp>

namespace stratum::cuda {

template <class View>
constexpr bool walks_bands = false;
template <class T>
constexpr bool walks_bands<NineBandView<T>> = true;
template <class T>
constexpr bool walks_bands<SymmetricNineBandView<T>> = true;

/// `once`: what is not read again need not displace what is.
template <bool once = false, class T>
__device__ STRATUM_INLINE Pair<T> load_pair(const T* aligned) {
  const auto* const two = reinterpret_cast<const std::conditional_t<sizeof(T) == 4, float2, double2>*>(aligned);
  const auto q = once ? __ldcs(two) : __ldg(two);
  return {q.x, q.y};
}
template <bool odd, class T>
__device__ STRATUM_INLINE T one_of(const Pair<T>& pair) {
  return odd ? pair.odd : pair.even;
}

/// A node's equation: along its line, and at rows j - 1, j, j + 1 towards the other line of its pair and towards the line on its
/// other side.
template <class T>
struct NodeEquation {
  T lower, centre, upper, own[3], other[3];
};

/// The equations of a pair of lines, row by row: `load` reads a row, `take` turns to it. Pair number `pair` of a tile begins at
/// position `even`. Numbers are zero where a pair is none of the grid's.
template <class View, int pairs, bool mirrored>
class PairOfLines;

template <class T, int pairs, bool mirrored>
class PairOfLines<NineBandView<T>, pairs, mirrored> {
 public:
  struct Row {
    Pair<T> band[9];
  };
  static constexpr int kept_numbers = 0;
  __device__ STRATUM_INLINE PairOfLines(const NineBandView<T>& a, int /*nx*/, T* /*kept*/, int /*rows*/) : a_(a) {}
  __device__ STRATUM_INLINE void turn_to(int even, int /*pair*/, bool there, bool /*is_first*/) {
    at_ = even - 1;
    there_ = there;
  }
  [[nodiscard]] __device__ STRATUM_INLINE Row load(int j, int ny) const {
    Row row{};
    if (there_ && j < ny) {
      const std::int64_t at = j * a_.pitch + at_;
#pragma unroll
      for (int k = 0; k < 9; ++k) {
        const bool along = k % 3 == 1;  // the line: read again
        row.band[k] = along ? load_pair(a_.band[k] + at) : load_pair<true>(a_.band[k] + at);
      }
    }
    return row;
  }
  __device__ STRATUM_INLINE void start(int /*j*/, int /*ny*/) {}
  __device__ STRATUM_INLINE void take(const Row& row, int /*k*/) { row_ = row; }
  template <bool odd>
  [[nodiscard]] __device__ STRATUM_INLINE NodeEquation<T> equation() const {
    constexpr int own = odd ? -1 : 1;
    const auto band = [&](int dx, int dy) { return one_of<odd>(row_.band[band_index(dx, dy)]); };
    return {band(0, -1),  band(0, 0),     band(0, 1),    band(own, -1), band(own, 0),
            band(own, 1), band(-own, -1), band(-own, 0), band(-own, 1)};
  }

 private:
  const NineBandView<T>& a_;
  Row row_;
  int at_ = 0;
  bool there_ = false;
};

/// Couplings are stored with the node further south or west: lanes beside each other tell what the other lacks. What lies
/// beside a tile is kept from the tile before, where there is room for it, or loaded.
template <class T, int pairs, bool mirrored>
class PairOfLines<SymmetricNineBandView<T>, pairs, mirrored> {
 public:
  struct Row {
    Pair<T> centre, east, north_west, north, north_east;
    T west_east, west_north_east, east_north_west;  // of the lines beside the tile
  };
  /// For each row of the block, at row k of the segment kept[k] and kept[rows + k].
  static constexpr int kept_numbers = sizeof(T) == 4 ? 2 : 0;
  __device__ STRATUM_INLINE PairOfLines(const SymmetricNineBandView<T>& a, int nx, T* kept, int rows)
      : a_(a), nx_(nx), kept_(kept), rows_(rows) {}
  __device__ STRATUM_INLINE void turn_to(int even, int pair, bool there, bool is_first) {
    at_ = even - 1;
    there_ = there;
    begins_ = pair == 0;
    ends_ = pair == pairs - 1;
    keeps_ = kept_numbers > 0 && !is_first;
  }
  [[nodiscard]] __device__ STRATUM_INLINE Row load(int j, int ny) const {
    Row row{};
    if (j < ny) {
      const std::int64_t at = j * a_.pitch + at_;
      if (there_) {
        row.centre = load_pair(a_.band[0] + at);
        row.east = load_pair<true>(a_.band[1] + at);
      }
      load_north(row, at);
      if (begins_ && there_ && at_ > 0 && !keeps_west()) row.west_east = __ldg(a_.band[1] + at - 1);
    }
    return row;
  }
  /// Before row j.
  __device__ STRATUM_INLINE void start(int j, int ny) {
    Row row{};
    if (j <= ny) load_north(row, (j - 1) * a_.pitch + at_);
    const T edge = mirrored ? row.north_west.even : row.north_east.odd;
    const T before = __shfl_sync(all_lanes, edge_, pairs - 1, pairs);
    if (keeps_) (mirrored ? row.east_north_west : row.west_north_east) = before;
    edge_ = edge;
    advance(row);
  }
  /// Row k of the segment.
  __device__ STRATUM_INLINE void take(Row row, int k) {
    if constexpr (kept_numbers > 0) {
      if (keeps_east() && ends_) row.east_north_west = kept_[k];
      if (keeps_west() && begins_) {
        row.west_north_east = kept_[k];
        row.west_east = kept_[rows_ + k];
      }
      __syncwarp();
      if (mirrored ? begins_ : ends_) {
        kept_[k] = mirrored ? row.north_west.even : row.north_east.odd;
        if (!mirrored) kept_[rows_ + k] = row.east.odd;
      }
    }
    advance(row);
  }
  template <bool odd>
  [[nodiscard]] __device__ STRATUM_INLINE NodeEquation<T> equation() const {
    const T lower = one_of<odd>(before_.north), centre = one_of<odd>(row_.centre), upper = one_of<odd>(row_.north);
    if constexpr (odd)
      return {lower,
              centre,
              upper,
              before_.north_east.even,
              row_.east.even,
              row_.north_west.odd,
              before_.east_north_west,
              row_.east.odd,
              row_.north_east.odd};
    else
      return {lower,
              centre,
              upper,
              before_.north_west.odd,
              row_.east.even,
              row_.north_east.even,
              before_.west_north_east,
              row_.west_east,
              row_.north_west.even};
  }

 private:
  [[nodiscard]] __device__ STRATUM_INLINE bool keeps_west() const { return keeps_ && !mirrored; }
  [[nodiscard]] __device__ STRATUM_INLINE bool keeps_east() const { return keeps_ && mirrored; }
  __device__ STRATUM_INLINE void advance(const Row& row) {
    before_ = row_;
    row_ = row;
    const auto from_west = [&](T number, T beside) {
      const T x =
          mirrored ? __shfl_down_sync(all_lanes, number, 1, pairs) : __shfl_up_sync(all_lanes, number, 1, pairs);
      return begins_ ? beside : x;
    };
    const auto from_east = [&](T number, T beside) {
      const T x =
          mirrored ? __shfl_up_sync(all_lanes, number, 1, pairs) : __shfl_down_sync(all_lanes, number, 1, pairs);
      return ends_ ? beside : x;
    };
    row_.west_east = from_west(row.east.odd, row.west_east);
    row_.west_north_east = from_west(row.north_east.odd, row.west_north_east);
    row_.east_north_west = from_east(row.north_west.even, row.east_north_west);
  }
  __device__ STRATUM_INLINE void load_north(Row& row, std::int64_t at) const {
    if (!there_) return;
    row.north_west = load_pair<true>(a_.band[2] + at);
    row.north = load_pair(a_.band[3] + at);
    row.north_east = load_pair<true>(a_.band[4] + at);
    if (begins_ && at_ > 0 && !keeps_west()) row.west_north_east = __ldg(a_.band[4] + at - 1);
    if (ends_ && at_ + 2 <= nx_ && !keeps_east()) row.east_north_west = __ldg(a_.band[2] + at + 2);
  }

  const SymmetricNineBandView<T>& a_;
  int nx_;
  T* kept_;
  int rows_;
  Row row_, before_;
  T edge_ = 0;  // of the row before the segment, of the tile before
  int at_ = 0;
  bool there_ = false, begins_ = false, ends_ = false, keeps_ = false;
};

/// How walk_bands cuts the grid: a column is as high as the cluster, which walks over `tiles_each` tiles. Thread (c, s) has
/// pair c of lines in the order of the walk, segment s.
template <class T>
struct BandTile {
  static constexpr int segment = 16, segments = warp, rows = segments * segment;
  static constexpr int width = static_cast<int>(128 / sizeof(T)), pairs = width / 2, threads = pairs * segments;
  int tiles, tiles_each;
};

/// What waits for the second colour: own and other couplings.
constexpr int waiting_numbers = 6;

template <class View, class T, class Tile = BandTile<T>>
constexpr std::size_t band_walk_bytes = sizeof(T) *
                                            (waiting_numbers * Tile::segment * Tile::threads + 2 * (Tile::rows + 2) +
                                             PairOfLines<View, Tile::pairs, false>::kept_numbers * Tile::rows +
                                             Turn<T, false>::numbers(Tile::pairs, Tile::segments)) +
                                        sizeof(Mailbox<T, most_blocks, false>) * 2 * Tile::pairs;

/// Both colours of a sweep along y, in place: as walk_y_lines, whose order of tiles and lines it has. Lines between the parts of
/// two clusters are left to a later launch.
template <bool coupled, bool mirrored, class View, class T>
__global__ void __launch_bounds__(BandTile<T>::threads)
    walk_bands(const View a, const GridView<const T> b, const BandTile<T> walk, const GridView<T> y) {
  using Tile = BandTile<T>;
  constexpr int S = Tile::segment, R = Tile::rows, pairs = Tile::pairs, ahead = 2, together = 4;
  constexpr bool symmetric = is_symmetric<View>;
  extern __shared__ __align__(16) unsigned char memory[];
  const Cluster cluster;
  const int blocks = cluster.blocks(), rank = cluster.rank();
  const int t = static_cast<int>(threadIdx.x), c = t % pairs, s = t / pairs, nx = y.nx, ny = y.ny;
  auto* const mailboxes = reinterpret_cast<Mailbox<T, most_blocks, false>*>(memory);
  T* const kept =
      reinterpret_cast<T*>(mailboxes + 2 * pairs);  // the last first-colour line, and that of the tile before
  T* const waiting = kept + 2 * (R + 2) + t;
  T* const beside_tile = waiting - t + waiting_numbers * S * Tile::threads;
  using Pairs = PairOfLines<View, pairs, mirrored>;
  const Turn<T, false> turn{beside_tile + Pairs::kept_numbers * R, pairs, Tile::segments};
  const auto wait = [&](int number, int k) -> T& { return waiting[(number * S + k) * Tile::threads]; };

  for (int r = t; r < 2 * (R + 2); r += Tile::threads) kept[r] = 0;
  const int first_tile = static_cast<int>(blockIdx.x) / blocks * walk.tiles_each;
  const int last_tile = min(first_tile + walk.tiles_each, walk.tiles);
  const int j = rank * R + s * S, pair = mirrored ? pairs - 1 - c : c;
  const auto begin_of = [&](int tile) { return (mirrored ? walk.tiles - 1 - tile : tile) * Tile::width; };
  Pairs lines(a, nx, beside_tile + s * S, R);
  open_mailboxes(cluster, mailboxes, 2 * pairs);
  after_previous();

#pragma unroll 1
  for (int tile = first_tile; tile < last_tile; ++tile) {
    const int even = begin_of(tile) + 2 * pair;  // position of the pair
    const bool there = even <= nx, even_used = even > 0 && even <= nx, odd_used = even < nx;
    const bool first_used = mirrored ? even_used : odd_used, second_used = mirrored ? odd_used : even_used;
    lines.turn_to(even, pair, there, tile == first_tile);

    // Row k of the segment, and x one row further.
    struct Given {
      typename Pairs::Row row;
      T right, x, x_beside;
    };
    const int second = mirrored ? even + 1 : even, beside = mirrored ? even - 1 : even + 2;
    const bool x_there = second <= nx + 1, beside_there = c == pairs - 1 && beside >= 0 && beside <= nx + 1;
    const auto load_x = [&](int row, T& own, T& next) {
      own = next = 0;
      if constexpr (coupled) {
        if (x_there && row <= ny) own = y(second - 1, row);
        if (beside_there && row <= ny) next = y(beside - 1, row);
      }
    };
    const auto load_row = [&](int k) {
      Given given;
      given.row = lines.load(j + k, ny);
      given.right = first_used && j + k < ny ? b((mirrored ? even : even + 1) - 1, j + k) : T(0);
      load_x(j + k + 1, given.x, given.x_beside);
      return given;
    };
    const auto next_of = [&](T own, T next) {
      if constexpr (!coupled) return T(0);
      const T x = __shfl_down_sync(all_lanes, own, 1, pairs);
      return c == pairs - 1 ? next : x;
    };

    Segment<T, S, symmetric> segment;
    {
      T own[3], next[3];
      load_x(j - 1, own[0], next[0]);
      load_x(j, own[1], next[1]);
      lines.start(j, ny);
      Given given[ahead];
#pragma unroll
      for (int k = 0; k < ahead; ++k) given[k] = load_row(k);
      next[0] = next_of(own[0], next[0]);
      next[1] = next_of(own[1], next[1]);
#pragma unroll
      for (int k = 0; k < S; ++k) {
        __syncwarp();  // one row after the other: several at once want more registers than there are
        const Given now = given[k % ahead];
        if (k + ahead < S) given[k % ahead] = load_row(k + ahead);
        lines.take(now.row, k);
        own[2] = now.x;
        next[2] = next_of(now.x, now.x_beside);
        {
          const auto q = lines.template equation<!mirrored>();
          T right = now.right;
          if constexpr (coupled) {
#pragma unroll
            for (int d = 0; d < 3; ++d) right -= q.own[d] * own[d] + q.other[d] * next[d];
          }
          const bool unknown = j + k < ny && first_used;
          segment.push(k, unknown && j + k > 0 ? q.lower : T(0), unknown ? q.centre : T(1),
                       unknown && j + k < ny - 1 ? q.upper : T(0), unknown ? right : T(0));
        }
        const auto q = lines.template equation<mirrored>();
#pragma unroll
        for (int d = 0; d < 3; ++d) {
          wait(d, k) = q.own[d];
          wait(3 + d, k) = q.other[d];
        }
#pragma unroll
        for (int d = 0; d < 2; ++d) {
          own[d] = own[d + 1];
          next[d] = next[d + 1];
        }
      }
    }
    turn.put(c, s, segment.piece());
    __syncthreads();
    solve_turned<false>(cluster, turn, mailboxes, tile - first_tile);
    __syncthreads();
    segment.substitute(turn.left(c, s), turn.own(c, s));
    T x_first[S + 2];
    x_first[0] = turn.left(c, s);
    x_first[S + 1] = turn.right(c, s);
#pragma unroll
    for (int k = 0; k < S; ++k) x_first[k + 1] = segment[k];
    T* const kept_now = kept + tile % 2 * (R + 2) + s * S;
    const T* const kept_before = kept + (tile + 1) % 2 * (R + 2) + s * S;
    if (c == pairs - 1) {
#pragma unroll
      for (int k = 0; k < S + 2; ++k)
        if ((k > 0 || s == 0) && (k <= S || s == Tile::segments - 1)) kept_now[k] = x_first[k];
    }

    // Of the second colour's equations what is read again, without branches, so that several rows are on their way together.
    struct Rest {
      T lower, centre, upper, right;
    };
    const int column = second_used ? second - 1 : 0;
    const auto rest_of = [&](int k) {
      const int row = min(j + k, ny - 1);
      Rest rest{};
      if constexpr (!symmetric) rest.lower = a.template coefficient<0, -1>(column, row);
      rest.centre = a.template coefficient<0, 0>(column, row);
      rest.upper = a.template coefficient<0, 1>(column, row);
      rest.right = b(column, row);
      return rest;
    };
    Rest rests[together];
    T symmetric_lower = 0;
    if constexpr (symmetric) symmetric_lower = a.template coefficient<0, -1>(column, min(j, ny - 1));
#pragma unroll
    for (int k = 0; k < together; ++k) rests[k] = rest_of(k);
    {
      const auto previous = [&](int k) {
        const T x = __shfl_up_sync(all_lanes, x_first[k], 1, pairs);
        return c == 0 ? kept_before[k] : x;
      };
      T before[3] = {previous(0), previous(1), T(0)};
#pragma unroll
      for (int k = 0; k < S; ++k) {
        const Rest rest = rests[k % together];
        if (k + together < S) rests[k % together] = rest_of(k + together);
        before[2] = previous(k + 2);
        T right = rest.right;
#pragma unroll
        for (int d = 0; d < 3; ++d) right -= wait(d, k) * x_first[k + d] + wait(3 + d, k) * before[d];
        const bool unknown = second_used && j + k < ny;
        const T lower = symmetric ? symmetric_lower : rest.lower;
        segment.push(k, unknown && j + k > 0 ? lower : T(0), unknown ? rest.centre : T(1),
                     unknown && j + k < ny - 1 ? rest.upper : T(0), unknown ? right : T(0));
        symmetric_lower = rest.upper;
        before[0] = before[1];
        before[1] = before[2];
      }
    }
    turn.put(c, s, segment.piece());
    __syncthreads();
    solve_turned<false>(cluster, turn, mailboxes + pairs, tile - first_tile);
    __syncthreads();
    segment.substitute(turn.left(c, s), turn.own(c, s));

    const bool second_done = c > 0 || tile > first_tile || tile == 0;
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
}

/// Both colours of y lines of stored bands, in place, odd columns first unless mirrored; false where two passes are faster, as
/// while the caches hold the grid, and where lines are too long. Lines that are left are given back, all of the second colour.
template <bool coupled, bool mirrored, class View, class T>
bool launch_band_walk(const Context& ctx, const View& a, GridView<const T> b, GridView<T> y, Lines<T>& left) {
  using Tile = BandTile<T>;
  const int cluster = divide_up(y.ny, Tile::rows);
  constexpr int long_enough = sizeof(T) == 4 ? 1536 : 2048;
  if (y.ny <= long_enough || cluster > blocks_at_most()) return false;
  const auto kernel = walk_bands<coupled, mirrored, View, T>;
  Tile walk{divide_up(y.nx + 1, Tile::width), 1};
  Launch launch{walk.tiles * cluster, Tile::threads, band_walk_bytes<View, T>, cluster};
  if (!launch.fits()) return false;
  left = walk_on<mirrored, T>(launch, walk, launch.resident(ctx, kernel));
  launch(ctx, kernel, a, b, walk, y);
  return true;
}

}  // namespace stratum::cuda
