#pragma once

// Lines along y of any operator, 1 to 16 a block or cluster of blocks; any damping, any order, cyclic lines. For CUDA sources
// only.
//
// Segments join as those of lines along x do (solvers/lines/cuda/contiguous.hpp), after what is known of them has been turned
// over in shared memory. Words per unknown and sweep over both colours: 6 and twice the coefficients, as cache lines hold both
// colours; in three steps 10 and four times those.

#include <algorithm>

#include <stratum/core/device/cluster.hpp>
#include <stratum/core/device/signal.hpp>
#include <stratum/solvers/lines/cuda/load.hpp>
#include <stratum/solvers/lines/cuda/three_steps.hpp>

namespace stratum::cuda {

/// Of a cluster; one where there are none.
inline int blocks_at_most() { return has_clusters() ? most_blocks : 1; }

/// Exchanges what threads know of `across` lines: thread (c, s) = c + s * across holds segment s of line c before, lane s of a
/// warp after. A warp takes 32 segments of one line; lines of more segments take several warps.
template <class T, bool sums>
struct Turn {
  T* memory;
  int across, segments;
  [[nodiscard]] __device__ STRATUM_INLINE T& at(int number, int c, int s) const {
    return memory[(number * segments + s) * (across + 1) + c];
  }
  static constexpr int numbers(int across, int segments) { return (sums ? 8 : 6) * segments * (across + 1); }
  __device__ STRATUM_INLINE void put(int c, int s, const ReducedChunk<T, sums>& p) const {
    put_row(0, c, s, p.last);
    put_row(3, c, s, p.first);
    if constexpr (sums) {
      at(6, c, s) = p.last.s;
      at(7, c, s) = p.first.s;
    }
  }
  [[nodiscard]] __device__ STRATUM_INLINE ReducedChunk<T, sums> chunk(int c, int s) const {
    ReducedChunk<T, sums> p{row(0, c, s), row(3, c, s)};
    if constexpr (sums) {
      p.last.s = at(6, c, s);
      p.first.s = at(7, c, s);
    }
    return p;
  }
  /// Once the line is solved: the unknown before the segment, its last one, and the one behind it. They take the place of
  /// what the same lane of a warp has read.
  [[nodiscard]] __device__ STRATUM_INLINE T& left(int c, int s) const { return at(0, c, s); }
  [[nodiscard]] __device__ STRATUM_INLINE T& own(int c, int s) const { return at(1, c, s); }
  [[nodiscard]] __device__ STRATUM_INLINE T& right(int c, int s) const { return at(2, c, s); }

 private:
  __device__ STRATUM_INLINE void put_row(int number, int c, int s, const Row<T, sums>& row) const {
    at(number, c, s) = row.a;
    at(number + 1, c, s) = row.c;
    at(number + 2, c, s) = row.f;
  }
  [[nodiscard]] __device__ STRATUM_INLINE Row<T, sums> row(int number, int c, int s) const {
    Row<T, sums> r;
    r.a = at(number, c, s);
    r.c = at(number + 1, c, s);
    r.f = at(number + 2, c, s);
    return r;
  }
};

constexpr int most_records = 32;  // chunks of a line that the last stage takes: blocks of a cluster times warps a line

/// Where the blocks of a cluster leave the chunks of one line for each other. The barrier counts the bytes that arrive, so
/// that nobody waits for anything else in flight, as a barrier of the cluster would.
template <class T, int records, bool sums>
struct ExchangeBuffer {
  ReducedChunk<T, sums> chunks[records];
  Signal signal;
  std::uint64_t unused;

  /// By one thread, before the blocks of the cluster meet.
  __device__ void open() { signal.open(1); }
  /// Announces `count` chunks; by one thread.
  __device__ STRATUM_INLINE void expect(int count) {
    signal.expect(count * static_cast<int>(sizeof(ReducedChunk<T, sums>)));
  }
  /// Waits for all chunks of use number 0, 1, ...
  __device__ STRATUM_INLINE void wait(int use) { signal.wait_for_cluster(use); }

#if defined(STRATUM_CLUSTERS)
  /// Leaves a chunk in this exchange buffer of block `rank`.
  __device__ STRATUM_INLINE void send(int rank, int number, const ReducedChunk<T, sums>& p) {
    const unsigned to = Signal::address(chunks + number, rank), bell = Signal::address(&signal, rank);
    send_two(to, p.last.a, p.last.c, bell);
    if constexpr (sums) {
      send_two(to + 2 * sizeof(T), p.last.f, p.last.s, bell);
      send_two(to + 4 * sizeof(T), p.first.a, p.first.c, bell);
      send_two(to + 6 * sizeof(T), p.first.f, p.first.s, bell);
    } else {
      send_two(to + 2 * sizeof(T), p.last.f, p.first.a, bell);
      send_two(to + 4 * sizeof(T), p.first.c, p.first.f, bell);
    }
  }

 private:
  static __device__ STRATUM_INLINE void send_two(unsigned to, float a, float b, unsigned bell) {
    asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.f32 [%0], {%1, %2}, [%3];" ::"r"(to),
                 "f"(a), "f"(b), "r"(bell)
                 : "memory");
  }
  static __device__ STRATUM_INLINE void send_two(unsigned to, double a, double b, unsigned bell) {
    asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.f64 [%0], {%1, %2}, [%3];" ::"r"(to),
                 "d"(a), "d"(b), "r"(bell)
                 : "memory");
  }
#else
  __device__ void send(int /*rank*/, int /*number*/, const ReducedChunk<T, sums>& /*p*/) {}
#endif
};

/// By all threads of all blocks of a cluster; a block alone needs no mail.
template <class T, int records, bool sums>
__device__ STRATUM_INLINE void open_exchange_buffers(const Cluster& cluster,
                                                     ExchangeBuffer<T, records, sums>* exchange_buffers, int count) {
  if (cluster.blocks() == 1) return;
  if (static_cast<int>(threadIdx.x) < count) exchange_buffers[threadIdx.x].open();
  cluster.sync();
}

/// Leaves to every segment of a line in `turn` what is known of it, once the ends of the chunk that 32 of them join to are.
template <class T, bool sums>
__device__ STRATUM_INLINE void turn_back(const Turn<T, sums>& turn, int line, int segment,
                                         const ReducedChunk<T, sums>& mine, const Row<T, sums>& row,
                                         const InterfaceUnknowns<T>& ends, int my_lanes) {
  const InterfaceUnknowns<T> x = interface_within(mine, row, ends, segment % warp, my_lanes);
  turn.left(line, segment) = x.left;
  turn.own(line, segment) = x.own;
  turn.right(line, segment) = x.right_first;
}

/// One of the three steps for the lines in `turn`, of 32 segments each: part `part` of lines first_line, ... .
template <Step step, class T, bool sums>
__device__ STRATUM_INLINE void step_turned(const Turn<T, sums>& turn, const Interface<T, sums>& parts,
                                           std::int64_t first_line, int part, int total = warp) {
  const int lane = static_cast<int>(threadIdx.x) % warp, line = static_cast<int>(threadIdx.x) / warp;
  const ReducedChunk<T, sums> mine = turn.chunk(line, lane);
  Row<T, sums> row;
  const ReducedChunk<T, sums> joined = join(mine, lane, total, row);
  if constexpr (step == Step::eliminate) {
    if (lane == 0) parts.put(first_line + line, part, joined);
  } else {
    turn_back(turn, line, lane, mine, row, parts.ends(first_line + line, part), total);
  }
}

/// Solves the lines whose chunks lie in `turn`: joins 32 segments in a warp, tells all blocks of the cluster, solves. Called
/// by all threads between two barriers of the block, for the use-th time with these exchange buffers, one a line. Another
/// exchange of the same lines must lie between two uses of an exchange buffer. `is_cyclic`: the first `total` segments of a
/// line are one.
template <bool is_cyclic, class T, int records, bool sums>
__device__ STRATUM_INLINE void solve_turned(const Cluster& cluster, const Turn<T, sums>& turn,
                                            ExchangeBuffer<T, records, sums>* exchange_buffers, int use,
                                            int total = 0) {
  const int blocks = cluster.blocks(), rank = cluster.rank();
  const int lane = static_cast<int>(threadIdx.x) % warp, my_warp = static_cast<int>(threadIdx.x) / warp;
  const int line = my_warp % turn.across, part = my_warp / turn.across, parts = turn.segments / warp;
  const int segment = part * warp + lane, count = blocks * parts, me = rank * parts + part;
  const int my_lanes = is_cyclic ? there(total, me * warp, warp) : warp,
            chunks = is_cyclic ? divide_up(total, warp) : count;
  const ReducedChunk<T, sums> mine = turn.chunk(line, segment);
  Row<T, sums> row;
  const ReducedChunk<T, sums> joined = join(mine, lane, my_lanes, row);
  ExchangeBuffer<T, records, sums>& exchange_buffer = exchange_buffers[line];
  if (blocks > 1) {
    if (part == 0 && lane == 0) exchange_buffer.expect(count);
    if (lane < blocks) exchange_buffer.send(lane, me, joined);
    exchange_buffer.wait(use);
  } else {
    if (lane == 0) exchange_buffer.chunks[me] = joined;
    __syncthreads();
  }
  const InterfaceUnknowns<T> warp_ends =
      solve_whole<is_cyclic>(exchange_buffer.chunks[lane < chunks ? lane : 0], lane, chunks, me);
  turn_back(turn, line, segment, mine, row, warp_ends, my_lanes);
}

template <class T, bool sums>
std::size_t y_line_bytes(int threads, int across) {
  return sizeof(T) * static_cast<std::size_t>(Turn<T, sums>::numbers(across, threads / across)) +
         sizeof(ExchangeBuffer<T, most_records, sums>) * static_cast<std::size_t>(across);
}

/// A block, or the blocks of a cluster together, solve `across` lines; thread (c, s) has segment s of line c. In three steps
/// a line has 32 segments in a block.
template <int S, int threads, bool is_cyclic, Step step, class Rhs, class View, class T,
          bool with_sums = is_cyclic || by_row_sums<View>>
__global__ void __launch_bounds__(threads) solve_y_lines(const Rhs rhs, const Lines<T> lines, const FieldView<T> y,
                                                         const int across, const Interface<T, with_sums> parts) {
  extern __shared__ __align__(16) unsigned char memory[];
  const Cluster cluster;
  const int blocks = step == Step::solve ? cluster.blocks() : parts.count;
  const int rank = step == Step::solve ? cluster.rank() : static_cast<int>(blockIdx.x) % blocks;
  const int t = static_cast<int>(threadIdx.x), segments = threads / across;
  constexpr bool sums = is_cyclic || by_row_sums<View>;
  auto* const exchange_buffers = reinterpret_cast<ExchangeBuffer<T, most_records, sums>*>(memory);
  const Turn<T, sums> turn{reinterpret_cast<T*>(exchange_buffers + across), across, segments};
  if constexpr (step == Step::solve) open_exchange_buffers(cluster, exchange_buffers, across);
  after_previous();

  const int c = t % across, s = t / across, n = y.ny;
  const int line = static_cast<int>(blockIdx.x) / blocks * across + c, i = lines.line(line);
  const int begin = (rank * segments + s) * S;
  Segment<T, S, is_symmetric<View>, sums, is_cyclic> segment(min(n - 1 - begin, S - 1));
  // Without a branch around every node the loads of several are in flight together: what lies beyond reads the first node.
  constexpr bool reads_beyond = is_tensor<View>;
#pragma unroll
  for (int k = 0; k < S; ++k) {
    const int j = begin + k;
    T l = 0, d = 1, u = 0, f = 0;
    const bool inside = line < lines.count && j < n;
    if (reads_beyond || inside) {
      const int column = inside ? i : lines.first, from = inside ? j : 0;
      const auto row = line::line_row<Direction::y, sums>(rhs.a, column, from);
      const T right = rhs(column, from);
      l = inside ? row.lower : l;
      d = inside ? row.diagonal : d;
      u = inside ? row.upper : u;
      f = inside ? right : f;
      // The weights of a symmetric segment know no unknown behind the line: nothing may couple it, not even to zero.
      if (sums && !is_cyclic && j == n - 1) {
        d -= u;
        u = 0;
      }
    }
    segment.push(k, l, d, u, f);
  }
  turn.put(c, s, segment.chunk());
  __syncthreads();
  if constexpr (step == Step::solve)
    solve_turned<is_cyclic>(cluster, turn, exchange_buffers, 0, divide_up(n, S));
  else
    step_turned<step>(turn, parts, static_cast<int>(blockIdx.x) / blocks * across, rank,
                      is_cyclic ? there(divide_up(n, S), rank * segments, segments) : segments);
  if (step == Step::eliminate) return;
  __syncthreads();
  segment.substitute(turn.left(c, s), turn.own(c, s));
  if (line >= lines.count) return;
  T before[S] = {};  // all loaded before anything is stored: they need not wait for each other
  if (lines.keep != T(0)) {
#pragma unroll
    for (int k = 0; k < S; ++k) before[k] = rhs.x(i, min(begin + k, n - 1));
  }
#pragma unroll
  for (int k = 0; k < S; ++k) {
    const int j = begin + k;
    if (j >= n) continue;
    T solution = segment[k];
    if constexpr (by_row_sums<View>) solution += rhs.near(i, j);
    y(i, j) = lines.keep == T(0) ? lines.omega * solution : lines.keep * before[k] + lines.omega * solution;
  }
}

}  // namespace stratum::cuda
