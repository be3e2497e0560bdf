#pragma once

// CUDA: both colours of a sweep along y of a tensor operator in one pass, in float, where a cluster of blocks holds the
// lines: 3 words per unknown. For solvers/lines/cuda/dispatch.hpp.
//
// Tiles, lines and their order are those of persistent_y_lines (solvers/lines/cuda/zebra_y.hpp), and so is the algorithm. What
// bounds such a kernel is latency: a tile has to come, and the chunks of its lines have to meet, twice. Here warps wait for
// what they need, and for nobody else.
//
//     warps   16, each with 8 segments of 4 pairs of lines, one of either colour; a pair a lane. The pairs of a tile are 4
//             sets, in the order of the persistent kernel, the segments of a block 4 parts
//     sets    begin a tile one after the other: some form equations while others wait for the ends of their lines. A set
//             needs the last first-colour line of the set before, or of the last set in the tile before
//     tiles   come by the copy engine: a part as soon as its last set has formed the first colour's equations
//     lines   segments join in the lanes of a warp. Every line of a tile has an owner among the blocks, to whom all warps
//             send what they have of it; one of the owner's warps solves for the ends of all chunks, and answers. Of 16
//             blocks each sends 192 messages a colour so; all to all it would be 768
//     seams   the last first-colour line before a cluster's tiles, which its first second-colour line needs, is another cluster's:
//             solved here as well, at the start, while the last set has nothing else to do. The second-colour line itself is
//             passed to that cluster through memory, which stores it at its end: till then it reads what was there before

#include <stratum/core/device/tile_map.hpp>
#include <stratum/solvers/lines/cuda/zebra_y.hpp>

namespace stratum::cuda {

template <class View>
constexpr bool has_persistent_columns = false;
template <bool reaction>
constexpr bool has_persistent_columns<TensorView<float, reaction>> = true;

/// How persistent_columns cuts the grid: as YTiling, and among warps.
template <int S>
struct ColumnTile : YTiling<float, S> {
  using Tiling = YTiling<float, S>;
  static constexpr int warps = Tiling::threads / warp;
  /// Of a warp, of a tile's pairs and a block's segments. So many lines has a set as warps.
  static constexpr int lines = 4, warp_segments = warp / lines, sets = Tiling::pairs / lines, parts = warps / sets;
  static_assert(lines == parts);
  static constexpr int part_rows = warp_segments * S;
  /// Rows of a segment in shared memory: with those beside it, and of an even number, for the sake of banks.
  static constexpr int held_rows = (S + 3) / 2 * 2, row_bytes = 128, held_bytes = held_rows * row_bytes;
  static constexpr int tile_bytes = Tiling::segments * held_bytes;
  /// Rows of the column beside the tile: 16 bytes each, a multiple of 128.
  static constexpr int beside_rows = (part_rows + 2 + 7) / 8 * 8, beside_bytes = beside_rows * 16;
  /// A kept line has for each segment the number before it, its own, and the one behind.
  static constexpr int kept = S + 3, kept_numbers = 2 * sets * Tiling::segments * kept;
  /// Of what lies near a thread's line so many numbers wait in shared memory, where lines are solved for differences.
  static constexpr int parked = 10;
  /// What a cluster passes has for each segment its numbers and a flag.
  static constexpr int passed = S + 1, passed_numbers = Tiling::segments * passed;
};

/// Of a function of the grid: tiles of its segments, with the rows beside them or without; of the column beside the tile.
struct ColumnMaps {
  CUtensorMap x, b, beside;
};

/// Which pair and segment a thread has, of its block in a cluster.
template <class Tile>
struct ColumnPlace {
  int lane, line, segment;  // in its warp
  int part, set, rank, blocks;
  __device__ STRATUM_INLINE ColumnPlace(int t, int rank, int blocks)
      : lane(t % warp), line(lane % Tile::lines), segment(lane / Tile::lines), part(t / warp % Tile::parts),
        set(t / warp / Tile::parts), rank(rank), blocks(blocks) {}
  [[nodiscard]] __device__ STRATUM_INLINE int number() const { return set * Tile::parts + part; }  // of the warp
  [[nodiscard]] __device__ STRATUM_INLINE int segment_of_block() const { return part * Tile::warp_segments + segment; }
  [[nodiscard]] __device__ STRATUM_INLINE int pairs_before() const {
    return set * Tile::lines + line;
  }  // pairs before it
};

/// What a pair of lines has across it: intervals before its even column, between its two, behind the odd one.
template <class View, int S, bool mirrored>
struct ColumnPair {
  static constexpr bool sums = by_row_sums<View>;
  bool even_used, odd_used, first_used, second_used, previous_used;
  Interval<float> across[3];
  float e[2] = {0, 0};

  /// `even`: position of its even column.
  __device__ STRATUM_INLINE ColumnPair(const View& a, int even, int nx)
      : even_used(even > 0 && even <= nx), odd_used(even < nx), first_used(mirrored ? even_used : odd_used),
        second_used(mirrored ? odd_used : even_used), previous_used(mirrored ? even + 2 <= nx : even > 0) {
#pragma unroll
    for (int n = 0; n < 3; ++n) {
      const int i = even - 1 + n;
      const bool inside = i >= 0 && i <= nx;
      across[n] = {inside ? __ldg(a.kx + i) : 0.0F, inside ? __ldg(a.mx + i) : 0.0F};
    }
    if constexpr (View::has_reaction) {
      e[0] = even_used ? __ldg(a.e + even - 1) : 0.0F;
      e[1] = odd_used ? __ldg(a.e + even) : 0.0F;
    }
  }
  /// Between the second-colour lines of the pair itself and of the next one.
  template <bool coupled>
  [[nodiscard]] __device__ STRATUM_INLINE auto first_line(bool begins_line) const {
    return line<coupled>(1, mirrored ? 0 : 2, !mirrored, begins_line, {first_used, true, true});
  }
  /// Between the first-colour lines of the pair before and of the pair itself.
  [[nodiscard]] __device__ STRATUM_INLINE auto second_line(bool begins_line) const {
    return line<true>(mirrored ? 2 : 0, 1, mirrored, begins_line, {second_used, previous_used, first_used});
  }

 private:
  template <bool coupled>
  [[nodiscard]] __device__ STRATUM_INLINE auto
  line(int from, int to, bool odd, bool begins_line,
       typename TensorEquations<S, coupled, sums, float>::Used used) const {
    return TensorEquations<S, coupled, sums, float>(across[from].k, across[from].m, across[to].k, across[to].m, e[odd],
                                                    begins_line, used);
  }
};

/// The thread's number, read anew: what follows from it need not be kept in registers meanwhile.
__device__ STRATUM_INLINE int thread_anew() {
  int t = 0;
  asm volatile("mov.u32 %0, %%tid.x;" : "=r"(t));
  return t;
}

/// What the blocks of a cluster send each other, and for what the warps of a block wait.
template <class Tile>
struct ColumnPost {
  static constexpr int most_chunks = (Tile::pairs + most_blocks - 1) * Tile::parts;  // of the lines that a block owns
  /// Of a colour: what warps have of lines, last and first row, in the order of blocks and parts; what owners answer a warp.
  float4 chunks[2][most_chunks][2], answers[2][Tile::warps][Tile::lines];
  Signal sent[2][Tile::pairs], answered[2][Tile::warps];
  Signal come[Tile::parts];    // a part of a tile
  Signal formed[Tile::warps];  // a warp's equations of the first colour; nobody waits for the last set
  Signal solved[Tile::warps];  // its last line of the first colour, by all segments

  /// By all threads of a block, before the blocks of the cluster meet.
  __device__ STRATUM_INLINE void open() {
    const int t = static_cast<int>(threadIdx.x);
    if (t >= Tile::warps) return;
    for (int colour = 0; colour < 2; ++colour) {
      sent[colour][t].open(1);
      answered[colour][t].open(1);
    }
    formed[t].open(1);
    solved[t].open(Tile::warp_segments);
    if (t < Tile::parts) come[t].open(1);
  }
};

#if defined(STRATUM_CLUSTERS)

/// To the same place of block `rank`.
__device__ STRATUM_INLINE void send(const float4& four, const float4& place, const Signal& signal, int rank) {
  asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 [%0], {%1, %2, %3, %4}, [%5];" ::"r"(
                   Signal::address(&place, rank)),
               "f"(four.x), "f"(four.y), "f"(four.z), "f"(four.w), "r"(Signal::address(&signal, rank))
               : "memory");
}

template <bool sums>
__device__ STRATUM_INLINE float4 to_four(const Row<float, sums>& row) {
  if constexpr (sums)
    return {row.a, row.c, row.f, row.s};
  else
    return {row.a, row.c, row.f, 0};
}
template <bool sums>
__device__ STRATUM_INLINE ReducedChunk<float, sums> to_chunk(const float4 (&last_and_first)[2]) {
  const auto row = [](const float4& four) {
    Row<float, sums> r;
    r.a = four.x;
    r.c = four.y;
    r.f = four.z;
    if constexpr (sums) r.s = four.w;
    return r;
  };
  return {row(last_and_first[0]), row(last_and_first[1])};
}

/// An owner's warp: solves for the ends of a line's chunks, and answers the warps that have them. A lane takes half a
/// block's.
template <bool sums, class Tile>
__device__ STRATUM_INLINE void solve_owned(ColumnPost<Tile>& post, int colour, int first_chunk,
                                           const ColumnPlace<Tile>& at) {
  static_assert(Tile::parts == 4);  // of which a lane takes two
  const int lane = at.lane, count = 2 * at.blocks;
  const auto* const mine = post.chunks[colour] + first_chunk + 2 * (lane < count ? lane : 0);
  ReducedChunk<float, sums> whole = to_chunk<sums>(mine[0]);
  const ReducedChunk<float, sums> second = to_chunk<sums>(mine[1]);
  const Row<float, sums> between = line::append(whole, second);
  const InterfaceUnknowns<float> ends = solve_chunks(whole, lane, count, lane);
  if (lane >= count) return;
  const float middle = between.f - between.a * ends.left - between.c * ends.own;
  const int number = at.set * Tile::parts + lane % 2 * 2;
  const auto answer = [&](int k, const InterfaceUnknowns<float>& x) {
    send({x.left, x.own, x.right_first, 0}, post.answers[colour][number + k][at.part],
         post.answered[colour][number + k], lane / 2);
  };
  answer(0, {ends.left, middle, second.first.f - second.first.a * middle - second.first.c * ends.own});
  answer(1, {middle, ends.own, ends.right_first});
}

/// Solves the lines of `colour` of which the lanes of all warps of the cluster have chunks; what a lane is told are the ends
/// of its own and what lies beside them. Meanwhile `ask` is called.
template <class Tile, bool sums, class Ask>
__device__ STRATUM_INLINE InterfaceUnknowns<float> solve_sent(ColumnPost<Tile>& post, int colour, int use,
                                                              const ColumnPlace<Tile>& at,
                                                              const ReducedChunk<float, sums>& mine, const Ask& ask) {
  constexpr int lines = Tile::lines, last = Tile::warp_segments - 1;
  const bool begins = at.segment == 0, ends = at.segment == last;
  const Row<float, sums> next = from_above(mine.first, lines);
  const Row<float, sums> row =
      reduce_lanes<lines>(ends ? line::zero_row<float, sums>() : line::with_right(mine.last, next), at.segment, last);
  const Row<float, sums> before = from_below(row, lines);
  const int me = at.number(), chunks = Tile::parts * at.blocks;
  {
    const int number = at.pairs_before(), place = number / at.blocks;
    const Row<float, sums> chunk = begins ? line::beyond_right(mine.first, row) : line::with_left(mine.last, before);
    if (begins || ends)
      send(to_four(chunk), post.chunks[colour][place * chunks + at.rank * Tile::parts + at.part][begins],
           post.sent[colour][place], number % at.blocks);
  }
  if (at.lane == 0) post.answered[colour][me].expect(lines * static_cast<int>(sizeof(float4)));
  const int owned = at.set * lines + at.part;  // by this block, or not
  if (owned % at.blocks == at.rank) {
    const int place = owned / at.blocks;
    Signal& sent = post.sent[colour][place];
    if (at.lane == 0) sent.expect(chunks * static_cast<int>(2 * sizeof(float4)));
    sent.wait_for_cluster(use);
    solve_owned<sums>(post, colour, place * chunks, at);
  }
  ask();
  __syncwarp();
  post.answered[colour][me].wait_for_cluster(use);
  const float4 outer = post.answers[colour][me][at.line];
  return interface_within<lines>(mine, row, InterfaceUnknowns<float>{outer.x, outer.y, outer.z}, at.segment,
                                 Tile::warp_segments);
}

/// The last first-colour line of every set, which the next one reads, in Tile::kept_numbers: two of each suffice, since sets
/// begin tiles in order. A segment's numbers lie at 0 .. S - 1, what lies beside it at -1 and S.
template <class Tile>
struct KeptLines {
  float* memory;

  __device__ STRATUM_INLINE float* of(int set, int use, int segment) const {
    return memory + ((2 * set + (use & 1)) * Tile::segments + segment) * Tile::kept + 1;
  }
  /// Keeps what the set's last pair has solved, by one lane a segment.
  __device__ STRATUM_INLINE void put(ColumnPost<Tile>& post, int use, const ColumnPlace<Tile>& at, float before,
                                     const float (&x)[Tile::segment], float behind) const {
    if (at.line != Tile::lines - 1) return;
    float* const mine = of(at.set, use, at.segment_of_block());
    mine[-1] = before;
#pragma unroll
    for (int k = 0; k < Tile::segment; ++k) mine[k] = x[k];
    mine[Tile::segment] = behind;
    post.solved[at.number()].arrive();
  }
  /// The same when the set before has done so. Returns what the first pair lacks. `late`: 1 where the last set has put a line
  /// of use -1, else 0.
  __device__ STRATUM_INLINE const float* keep(ColumnPost<Tile>& post, int use, int late, const ColumnPlace<Tile>& at,
                                              float before, const float (&x)[Tile::segment], float behind) const {
    const bool first_set = at.set == 0;
    const int segment = at.segment_of_block(), last_set = Tile::sets - 1;
    // In a ring of sets, so that nobody overtakes whom it waits for, nor a lane that lags.
    if (!first_set) post.solved[at.number() - Tile::parts].wait(use);
    if (first_set && use + late > 0) post.solved[last_set * Tile::parts + at.part].wait(use + late - 1);
    __syncwarp();
    put(post, use, at, before, x, behind);
    return first_set ? of(last_set, use + 1, segment) : of(at.set - 1, use, segment);
  }
};

/// S numbers of a thread, the first of them in shared memory.
template <class Tile>
struct ParkedNumbers {
  float* memory;  // the thread's own
  float rest[Tile::segment - Tile::parked];
  __device__ STRATUM_INLINE float& operator[](int k) {
    return k < Tile::parked ? memory[k * Tile::threads] : rest[k < Tile::parked ? 0 : k - Tile::parked];
  }
};

/// Once what stands left of a segment and its last unknown are known.
template <bool keeps, class T, int S, bool sums, class Axis, class IntervalBefore>
__device__ STRATUM_INLINE void substitute(Segment<T, S, true, sums, false, keeps>& segment, const Axis& line,
                                          const InterfaceUnknowns<T>& ends, const IntervalBefore& interval_before) {
  if constexpr (keeps)
    segment.substitute(ends.left, ends.own);
  else
    segment.substitute(ends.left, ends.own, [&](int k) { return line.coupling(k, interval_before(k)); });
}

#endif

/// Both colours of a sweep along y, in place. `passed`: zeros, Tile::passed_numbers for each block.
template <bool coupled, bool mirrored, class View, int S>
__global__ void __launch_bounds__(ColumnTile<S>::threads)
    persistent_columns(const View a, const FieldView<const float> b, const ColumnTile<S> tiling,
                       const FieldView<float> y, const __grid_constant__ ColumnMaps maps, float* const passed) {
#if defined(STRATUM_CLUSTERS)
  using Tile = ColumnTile<S>;
  constexpr bool sums = by_row_sums<View>, differs = solves_for_difference<View>;
  // What lies near a first-colour line takes the registers of multipliers, and shared memory: what registers do not hold goes
  // to the L2 cache here, as the L1 is nearly all shared memory.
  constexpr bool keeps = !differs;
  constexpr int R = Tile::rows, pairs = Tile::pairs, row_bytes = Tile::row_bytes, held_bytes = Tile::held_bytes;
  constexpr int first_colour = 0, second_colour = 1, last_set = Tile::sets - 1;
  // In the dynamic shared memory from a multiple of 1024 on: x, b, the column beside; what is sent; the intervals along y;
  // the last first-colour line of each set, in this tile and the one before; what is parked.
  extern __shared__ __align__(16) unsigned char memory[];
  unsigned char* const x_tile = memory + (-Signal::address(memory) & 1023U);
  unsigned char* const b_tile = x_tile + Tile::tile_bytes;
  unsigned char* const beside_tile = b_tile + Tile::tile_bytes;
  auto& post = *reinterpret_cast<ColumnPost<Tile>*>(beside_tile + Tile::parts * Tile::beside_bytes);
  float* const intervals = reinterpret_cast<float*>(&post + 1);
  const KeptLines<Tile> kept{intervals + 2 * Tile::column};

  const Cluster cluster;
  const int blocks = cluster.blocks(), rank = cluster.rank(), nx = y.nx, ny = y.ny;
  const auto begin_of = [&](int tile) { return (mirrored ? tiling.tiles - 1 - tile : tile) * Tile::width; };
  // By the first lane of the last set's warps, each for its part of the rows.
  const auto fetch = [&](int tile, const ColumnPlace<Tile>& at) {
    if (at.lane != 0) return;
    const int p = begin_of(tile), base = rank * R + at.part * Tile::part_rows;
    Signal& come = post.come[at.part];
    constexpr int x_bytes = Tile::warp_segments * held_bytes + Tile::beside_bytes;
    come.expect((coupled ? x_bytes : 0) + Tile::part_rows * row_bytes);
#pragma unroll
    for (int s = 0; s < Tile::warp_segments; ++s) {
      const int place = (at.part * Tile::warp_segments + s) * held_bytes;
      if constexpr (coupled) ask_for_tile(x_tile + place, maps.x, p, base + s * S - 1, come);
      ask_for_tile(b_tile + place + row_bytes, maps.b, p, base + s * S, come);
    }
    if constexpr (coupled)
      ask_for_tile(beside_tile + at.part * Tile::beside_bytes, maps.beside, mirrored ? p - 4 : p + Tile::width,
                   base - 1, come);
  };

  for (int r = static_cast<int>(threadIdx.x); r <= R; r += Tile::threads) {
    intervals[2 * Tile::in_column(r)] = interval(a.ky, rank * R + r, ny);
    intervals[2 * Tile::in_column(r) + 1] = interval(a.my, rank * R + r, ny);
  }
  for (int r = static_cast<int>(threadIdx.x); r < Tile::kept_numbers; r += Tile::threads) kept.memory[r] = 0;
  post.open();
  if (blocks > 1)
    cluster.sync();
  else
    __syncthreads();
  after_previous();
  // A cluster waits for the next one, whose blocks have lower numbers. All have a place at once (share_tiles).
  const int cluster_number = (static_cast<int>(gridDim.x) - 1 - static_cast<int>(blockIdx.x)) / blocks;
  const int first_tile = cluster_number * tiling.tiles_each;
  const int last_tile = min(first_tile + tiling.tiles_each, tiling.tiles);
  const int late = first_tile > 0 ? 1 : 0;  // uses of the last set's signals of the first colour, before the first tile
  const auto passed_by = [&](int number, int segment) {
    return passed + ((number * blocks + rank) * Tile::segments + segment) * Tile::passed;
  };
  if (const ColumnPlace<Tile> at(static_cast<int>(threadIdx.x), rank, blocks); at.set == last_set) {
    fetch(first_tile, at);
    if (late != 0) {
      // The last first-colour line before: by all lanes, as if each of a warp's four lines were it.
      const int even = begin_of(first_tile - 1) + (mirrored ? 0 : 2 * (pairs - 1));
      const int position = rank * R + at.segment_of_block() * S;
      const int own_column = mirrored ? even : even - 1, first_column = mirrored ? even - 1 : even;
      const int next_column = mirrored ? even - 2 : even + 1;
      // Loaded before anything waits: every number is in a cache line of its own.
      float own[S + 2] = {}, next[S + 2] = {}, right[S] = {};
#pragma unroll
      for (int k = -1; k <= S; ++k) {
        const int row = position + k - 1;
        if (row < 0 || row >= ny) continue;
        if (coupled) own[k + 1] = y(own_column, row);
        if (coupled) next[k + 1] = y(next_column, row);
        if (k >= 0 && k < S) right[k < 0 ? 0 : k < S ? k : 0] = b(first_column, row);
      }
      const auto second_of = [&](int k, float& of_own, float& of_next) {
        of_own = own[k + 1];
        of_next = next[k + 1];
      };
      const auto right_of = [&](int k) { return Pair<float>{right[k], right[k]}; };
      const auto* const along =
          reinterpret_cast<const Interval<float>*>(intervals) + Tile::in_column(at.segment_of_block() * S);
      Segment<float, S, true, sums> segment;
      float b_second[S], x[S];
      float before = 0, behind = 0;
      push_first_line<mirrored, differs>(
          ColumnPair<View, S, mirrored>(a, even, nx).template first_line<coupled>(position == 0), segment, second_of,
          right_of, [&](int k) { return along[k < S ? k : k + 1]; }, b_second, x, before, behind);
      const InterfaceUnknowns<float> found = solve_sent<Tile>(post, first_colour, 0, at, segment.chunk(), [] {});
      segment.substitute(found.left, found.own);
#pragma unroll
      for (int k = 0; k < S; ++k) x[k] = differs ? x[k] + segment[k] : segment[k];
      kept.put(post, -1, at, before + found.left, x, behind + found.right_first);
    }
  }

#pragma unroll 1
  for (int tile = first_tile; tile < last_tile; ++tile) {
    const int use = tile - first_tile;
    const ColumnPlace<Tile> at(thread_anew(), rank, blocks);
    const int me = at.number(), segment_of_block = at.segment_of_block();
    const int position = rank * R + segment_of_block * S;
    const int pairs_before = at.pairs_before(), pair = mirrored ? pairs - 1 - pairs_before : pairs_before;
    const int even = begin_of(tile) + 2 * pair;  // position of the pair's columns
    const bool begins_line = position == 0;
    const auto* const along =
        reinterpret_cast<const Interval<float>*>(intervals) + Tile::in_column(segment_of_block * S);
    const auto interval_before = [&](int k) { return along[k < S ? k : k + 1]; };
    const ColumnPair<View, S, mirrored> of(a, even, nx);

    // Row r = 0 .. S + 1 is the one before the segment, its own, and the one behind.
    constexpr int four_rows = 4;
    int own_at[four_rows], next_at[four_rows];
    const int next_pair = mirrored ? (pair + pairs - 1) % pairs : (pair + 1) % pairs;
#pragma unroll
    for (int n = 0; n < four_rows; ++n) {
      const int begin = segment_of_block * Tile::held_rows, turn = (begin + 2 * n) % 8;
      own_at[n] = begin * row_bytes + ((pair / 2 ^ turn) * 16 + pair % 2 * 8);
      next_at[n] = begin * row_bytes + ((next_pair / 2 ^ turn) * 16 + next_pair % 2 * 8);
    }
    const auto in_tile = [](const unsigned char* from, const int(&places)[four_rows], int r) {
      return from + ((places[r / 2 % 4] ^ (r % 2 * 16)) + r * row_bytes);
    };
    const bool beside_tile_is_next = pairs_before == pairs - 1;
    const float* const beside = reinterpret_cast<const float*>(beside_tile + at.part * Tile::beside_bytes) +
                                (at.segment * S * 4 + (mirrored ? 3 : 0));

    post.come[at.part].wait(use);
    if (at.set > 0) post.formed[me - Tile::parts].wait(use);
    float b_second[S];
    ParkedNumbers<Tile> near{kept.memory + Tile::kept_numbers + thread_anew()};
    float near_before = 0, near_behind = 0;  // beside the unknowns before and behind the segment
    Segment<float, S, true, sums, false, keeps> segment;
    {
      constexpr int second = mirrored ? 1 : 0;  // of a pair
      const auto second_of = [&](int k, float& own, float& next) {
        own = next = 0;
        if constexpr (coupled) {
          own = reinterpret_cast<const float*>(in_tile(x_tile, own_at, k + 1))[second];
          next = reinterpret_cast<const float*>(in_tile(x_tile, next_at, k + 1))[second];
          if (beside_tile_is_next) next = beside[(k + 1) * 4];
        }
      };
      const auto right_of = [&](int k) {
        return *reinterpret_cast<const Pair<float>*>(in_tile(b_tile, own_at, k + 1));
      };
      push_first_line<mirrored, differs>(of.template first_line<coupled>(begins_line), segment, second_of, right_of,
                                         interval_before, b_second, near, near_before, near_behind);
    }
    __syncwarp();
    if (at.lane == 0 && at.set < last_set) post.formed[me].arrive();
    const auto ask = [&] {
      if (at.set == last_set && tile + 1 < last_tile) fetch(tile + 1, at);
    };
    const int first_use = at.set == last_set ? use + late : use;
    const InterfaceUnknowns<float> found = solve_sent<Tile>(post, first_colour, first_use, at, segment.chunk(), ask);
    substitute(segment, of.template first_line<coupled>(begins_line), found, interval_before);
    const float before = near_before + found.left, behind = near_behind + found.right_first;
    float x_first[S];
#pragma unroll
    for (int k = 0; k < S; ++k) x_first[k] = differs ? near[k] + segment[k] : segment[k];

    // What the next cluster has passed, which has read the last columns of this one before it raised the flag, by a lane every
    // fourth row of its segment; in this cluster nobody reads the column any more that it goes to.
    const auto store_passed = [&] {
      if (at.set != last_set || tile + 1 < last_tile || last_tile == tiling.tiles) return;
      float* const from = passed_by(cluster_number + 1, segment_of_block);
      wait_for_flag(from + S);
      const int column = begin_of(last_tile) + (mirrored ? Tile::width - 2 : -1);
#pragma unroll
      for (int n = 0; n < S; n += Tile::lines) {
        const int k = n + at.line;
        if (k < S && position + k > 0 && position + k <= ny) y(column, position + k - 1) = from[k];
      }
      __syncwarp();
#pragma unroll
      for (int n = 0; n < Tile::passed; n += Tile::lines)
        if (n + at.line < Tile::passed) from[n + at.line] = 0;
    };
    const float* const kept_before = kept.keep(post, use, late, at, before, x_first, behind);
    const auto previous = [&](float own, int k) {
      const float x = __shfl_up_sync(all_lanes, own, 1, Tile::lines);
      return at.line == 0 ? kept_before[k] : x;
    };
    {
      auto line = of.second_line(begins_line);
      line.start(previous(before, -1), before);
#pragma unroll
      for (int k = 0; k <= S; ++k) {
        const float own = k < S ? x_first[k < S ? k : 0] : behind;
        line.step(segment, k, interval_before(k), previous(own, k), own, k < S ? b_second[k < S ? k : 0] : 0.0F);
      }
      const InterfaceUnknowns<float> ends =
          solve_sent<Tile>(post, second_colour, use, at, segment.chunk(), store_passed);
      substitute(segment, line, ends, interval_before);
      if constexpr (differs) {
#pragma unroll
        for (int k = 0; k < S; ++k) segment[k] += line.beside().near(previous(x_first[k], k), x_first[k]);
      }
    }

    const bool passes = late != 0 && use == 0 && pairs_before == 0;
    if (passes) {
      float* const to = passed_by(cluster_number, segment_of_block);
#pragma unroll
      for (int k = 0; k < S; ++k) to[k] = segment[k];
      raise_flag(to + S);
    }
    const bool even_done = of.even_used && (mirrored || !passes);
    const bool odd_done = of.odd_used && (!mirrored || !passes);
    float* to = &y(even - 1, position - 1);
    if (even_done && odd_done && position > 0 && position + S <= ny + 1) {
#pragma unroll
      for (int k = 0; k < S; ++k, to += y.pitch)
        *reinterpret_cast<Pair<float>*>(to) =
            mirrored ? Pair<float>{x_first[k], segment[k]} : Pair<float>{segment[k], x_first[k]};
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

template <class Tile, bool differs>
constexpr std::size_t persistent_column_bytes = 1024 + 2 * Tile::tile_bytes + (Tile::parts * Tile::beside_bytes) +
                                                sizeof(ColumnPost<Tile>) +
                                                sizeof(float) * (2 * Tile::column + Tile::kept_numbers +
                                                                 (differs ? Tile::parked * Tile::threads : 0));

/// Longer segments are slower, but where they save the ninth block of a cluster, or the seventeenth, which no cluster has. 8191
/// columns on one H100, microseconds a sweep with segments of 16 and of 17: 2099 rows 116 and 127, 4149 237 and 218, 8241 only
/// by the slower kernel and 440. Solved by row sums, a block less pays whatever their number.
template <class View>
bool longer_segments_pay(int ny) {
  const int blocks = divide_up(ny + 1, ColumnTile<16>::rows);
  const bool many = blocks == most_blocks / 2 + 1 || blocks == most_blocks + 1;
  return longer_segments_save_a_block(ny) && (by_row_sums<View> || many);
}

/// Both colours of y lines in place, odd columns first unless mirrored; false where no cluster holds them, or clusters would
/// not go on. `passed`: zeros, in which clusters pass lines to each other.
template <bool coupled, bool mirrored, class View>
bool launch_persistent_columns(const Context& ctx, const View& a, FieldView<const float> b, FieldView<float> y,
                               FieldView<float> passed) {
  const auto launch = [&]<int S>() {
    using Tile = ColumnTile<S>;
    const int cluster = divide_up(y.ny + 1, Tile::rows);
    const auto kernel = persistent_columns<coupled, mirrored, View, S>;
    Tile tiling{{divide_up(y.nx + 1, Tile::width), 1}};
    Launch launch{tiling.tiles * cluster, Tile::threads, persistent_column_bytes<Tile, solves_for_difference<View>>,
                  cluster};
    if (cluster == 1 || cluster > most_blocks || !launch.fits()) return false;  // blocks alone cannot send
    (void)share_tiles<mirrored, float>(launch, tiling, launch.resident(ctx, kernel));
    if (tiling.tiles_each == 1 || passed.nx < static_cast<int>(launch.grid.x) * Tile::passed_numbers) return false;
    const auto map = [&](FieldView<const float> v, int columns, TileShape shape) {
      return tile_map(&v(-1, -1), columns, v.ny + 2, v.pitch, shape);
    };
    const int columns = last_column(y) + 2;  // from the ghost on
    const auto x = map(y, columns, {Tile::width, Tile::held_rows, true});
    const auto beside = map(y, columns, {4, Tile::beside_rows});
    const auto right = map(b, b.nx + 1, {Tile::width, S, true});
    if (!x || !beside || !right) return false;
    launch(ctx, kernel, line::along<Direction::y>(a), b, tiling, y, ColumnMaps{*x, *right, *beside}, passed.data);
    return true;
  };
  if (!is_worth_persistence<ColumnTile<16>>(y.nx, y.ny) || !has_clusters()) return false;
  if (longer_segments_pay<View>(y.ny) && launch.template operator()<longer_segment>()) return true;
  return launch.template operator()<16>();
}

}  // namespace stratum::cuda
