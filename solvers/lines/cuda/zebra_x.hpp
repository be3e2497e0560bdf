#pragma once

// One colour of a zebra sweep along x of a tensor operator or a scalar element-coefficient operator, in place and undamped, in
// blocks or clusters that go from line to line: 3 words per unknown and sweep over both colours, 5 with K by cells. For CUDA
// sources only.

#include <stratum/solvers/lines/cuda/contiguous.hpp>
#include <stratum/solvers/lines/cuda/strided.hpp>
#include <stratum/solvers/lines/cuda/zebra.hpp>

namespace stratum::cuda {

/// Threads of a block of persistent_x_lines: a thread's segment and its arithmetic are in registers.
template <class View, class T = typename View::Number>
constexpr int persistent_x_threads = is_tensor<View> || sizeof(T) == 8 ? 256 : 512;

/// Chunks of a line that an exchange buffer of persistent_x_lines takes, of blocks or of their warps: two such are all that
/// fits beside the longest parts of lines.
template <class T, bool sums>
constexpr int persistent_records = static_cast<int>(768 / sizeof(ReducedChunk<T, sums>));

/// What a block of persistent_x_lines holds: a line in whole warps, or a part of one whose others are in the blocks of its
/// cluster.
enum class XPart : std::uint8_t { whole, several };

/// What persistent_x_lines keeps of x, b and the operator for each position, and numbers of it for a tail: with 12 doubles the
/// longest parts of lines leave no byte of shared memory.
constexpr int rows_of_share = 7, tail_numbers = 12;

/// How persistent_x_lines cuts a line: among `blocks` of a cluster, `segments` each. Neumann or Robin boundaries keep a node or
/// two more than a power of two less one: these positions are the `tail`, which the lane of the last segment solves for
/// besides.
struct XTiling {
  int blocks, segments, tail;
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE int warps() const { return divide_up(segments, warp); }
  template <class T, bool sums>
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE bool is_direct() const {
    return blocks > 1 && blocks * warps() <= persistent_records<T, sums>;
  }
  /// Shared memory: rows, and small things.
  template <int S, bool sums, class T>
  [[nodiscard]] std::size_t bytes() const {
    const std::size_t numbers = sizeof(T) * static_cast<std::size_t>(rows_of_share * S * segments + 6 * warps() +
                                                                     (tail > 0 ? tail_numbers : 0));
    const std::size_t boards =
        is_direct<T, sums>() ? 0 : sizeof(ReducedChunk<T, sums>) * 2 * static_cast<std::size_t>(warps());
    return numbers + boards + (blocks > 1 ? 2 * sizeof(ExchangeBuffer<T, persistent_records<T, sums>, sums>) : 0);
  }
};

/// The warps of the blocks of a cluster hold the chunks of a line, lane w of every warp that of warp w of its block: solves as
/// solve_chunks does, by one chunk a block.
template <class T, int records, bool sums>
__device__ STRATUM_INLINE InterfaceUnknowns<T>
solve_beyond(const ReducedChunk<T, sums>& chunk, int lane, int warps, int my_warp,
             ExchangeBuffer<T, records, sums>& exchange_buffer, int use) {
  const Cluster cluster;
  const int blocks = cluster.blocks(), rank = cluster.rank();
  Row<T, sums> row;
  const ReducedChunk<T, sums> whole = join(chunk, lane, warps, row);
  if (threadIdx.x == 0) exchange_buffer.expect(blocks);
  if (my_warp == 0 && lane < blocks) exchange_buffer.send(lane, rank, whole);
  exchange_buffer.wait(use);
  const InterfaceUnknowns<T> ends = solve_chunks(exchange_buffer.chunks[lane < blocks ? lane : 0], lane, blocks, rank);
  const T own = lane == warps - 1 ? ends.own : row.f - row.a * ends.left - row.c * ends.own;
  const T left = __shfl_sync(all_lanes, own, my_warp > 0 ? my_warp - 1 : 0);
  return {my_warp > 0 ? left : ends.left, __shfl_sync(all_lanes, own, my_warp), T(0)};
}

/// A warp's share of a line in persistent_x_lines, 32 segments at most from position `begin` to the one before `next`: the warp
/// fetches it and turns it over for its lanes, one segment each. Its part of the next row lies `stride` numbers further. Behind
/// the last share of a line is the tail.
template <int S, bool any_length>
struct XShare {
  int begin, next, lanes, lane, stride;
  bool has_tail;
  /// For 16 bytes after the other: their position and place.
  template <class T, class F>
  __device__ STRATUM_INLINE void each_pack(const F& f) const {
    constexpr int size = pack_size<T>, packs = S / size;
#pragma unroll
    for (int k = 0; k < packs; ++k) {
      const int pack = lane + k * warp;
      if (any_length && pack >= lanes * packs) break;
      f(begin + pack * size, pack_place<T, S>(pack / packs, pack % packs));
    }
  }
  /// Positions up to `last` of a row, from position 0 on.
  template <class T>
  __device__ STRATUM_INLINE void fetch(T* to, const T* row, int last) const {
    each_pack<T>([&](int position, int place) { copy_async<16>(to + place, row + position, position <= last); });
  }
  /// Positions of the tail, `to` having those of number `first` on, 0 or 1.
  template <class T>
  __device__ STRATUM_INLINE void fetch_tail(T* to, const T* row, int first, int last) const {
    const int position = next + first + lane;
    if (has_tail && first + lane < 2) copy_async<sizeof(T)>(to + lane, row + position, position <= last);
  }
  /// The number behind a lane's segment, which its neighbour holds at `place`, or `edge` behind the share.
  template <class T>
  [[nodiscard]] __device__ STRATUM_INLINE T behind(const T* numbers, int place, T edge) const {
    const T number = __shfl_down_sync(all_lanes, numbers[place], 1);
    return lane == lanes - 1 ? edge : number;
  }
};

// What persistent_x_lines asks of an operator is its row: numbers in shared memory and the equations of a line. Together with x
// and b they are seven rows, all that there is room for. `early`: the next row is fetched while one is eliminated, into rows of
// its own, and the solution takes the place of b; else as soon as that is done, in its place.

/// Of a tensor operator: intervals along x stay.
template <class View, int S, bool any_length>
class XRow {
  using T = typename View::Number;

 public:
  static constexpr bool early = true;
  static constexpr int rows = 2, edges = 0, of_tail = 4;

  __device__ STRATUM_INLINE XRow(const View& a, T* memory, T* /*edges*/, T* tail, int n,
                                 const XShare<S, any_length>& share)
      : a_(a), k_(memory), m_(memory + share.stride), tail_(tail) {
    share.template each_pack<T>([&](int position, int place) {
#pragma unroll
      for (int e = 0; e < pack_size<T>; ++e) {
        k_[place + e] = interval(a.kx, position + e, n);
        m_[place + e] = interval(a.mx, position + e, n);
      }
    });
    edge_ = {interval(a.kx, share.next, n), interval(a.mx, share.next, n)};
    if (share.has_tail && share.lane < 2) {
      tail[2 * share.lane] = interval(a.kx, share.next + 1 + share.lane, n);
      tail[2 * share.lane + 1] = interval(a.mx, share.next + 1 + share.lane, n);
    }
  }
  __device__ STRATUM_INLINE void fetch(int /*j*/, const XShare<S, any_length>& /*share*/) const {}
  /// What row j has across it.
  __device__ STRATUM_INLINE void ask(int j) {
    south_ = {a_.ky[j], a_.my[j]};
    north_ = {a_.ky[j + 1], a_.my[j + 1]};
    if constexpr (View::has_reaction) e_ = a_.e[j];
  }
  template <int positions, bool coupled>
  [[nodiscard]] __device__ STRATUM_INLINE auto equations(int position) const {
    return TensorEquations<positions, coupled, by_row_sums<View>, T>(south_.k, south_.m, north_.k, north_.m, e_,
                                                                     position == 0);
  }
  [[nodiscard]] __device__ STRATUM_INLINE bool near_south() const { return nearer(south_.k, north_.k) < 0; }
  /// Of 16 bytes of positions.
  struct Intervals {
    Pack<T> k, m;
    __device__ STRATUM_INLINE Interval<T> operator[](int e) const { return {k.v[e], m.v[e]}; }
  };
  [[nodiscard]] __device__ STRATUM_INLINE Intervals intervals(int place) const {
    return {load(k_ + place), load(m_ + place)};
  }
  [[nodiscard]] __device__ STRATUM_INLINE Interval<T> behind(int place, const XShare<S, any_length>& share) const {
    return {share.behind(k_, place, edge_.k), share.behind(m_, place, edge_.m)};
  }
  /// Before position 0, 1, 2 of the tail.
  [[nodiscard]] __device__ STRATUM_INLINE Interval<T> before_tail(int k) const {
    return k == 0 ? edge_ : Interval<T>{tail_[2 * k - 2], tail_[2 * k - 1]};
  }

 private:
  const View& a_;
  T *k_, *m_, *tail_;
  Interval<T> edge_, south_, north_;
  T e_ = 0;
};

/// Of a scalar element-coefficient operator: 1 / h^2 along x stays, the cells on both sides come with each row.
template <class T, int S, bool any_length>
class XRow<ElementView<T, true>, S, any_length> {
 public:
  static constexpr bool early = false;
  static constexpr int rows = 3, edges = 2, of_tail = 6;

  __device__ STRATUM_INLINE XRow(const ElementView<T, true>& a, T* memory, T* edges, T* tail, int n,
                                 const XShare<S, any_length>& share)
      : a_(a), along_(memory), south_(memory + share.stride), north_(south_ + share.stride), edges_(edges), tail_(tail),
        n_(n) {
    const auto of = [&](int p) { return p > 0 && p <= n + 1 ? a.rx2[p - 1] : T(0); };
    share.template each_pack<T>([&](int position, int place) {
#pragma unroll
      for (int e = 0; e < pack_size<T>; ++e) along_[place + e] = of(position + e);
    });
    edge_ = of(share.next);
    if (share.has_tail && share.lane < 2) tail[4 + share.lane] = of(share.next + 1 + share.lane);
  }
  __device__ STRATUM_INLINE void fetch(int j, const XShare<S, any_length>& share) const {
#pragma unroll
    for (int side = 0; side < 2; ++side) {
      const T* const row = a_.p + (j + side) * a_.pitch - 1;
      share.fetch(side == 0 ? south_ : north_, row, n_ + 1);
      if (share.lane == side) copy_async<sizeof(T)>(edges_ + side, row + share.next, share.next <= n_ + 1);
      share.fetch_tail(tail_ + 2 * side, row + 1, 0, n_);
    }
  }
  __device__ STRATUM_INLINE void ask(int j) {
    across_south_ = a_.ry2[j];
    across_north_ = a_.ry2[j + 1];
  }
  template <int positions, bool coupled>
  [[nodiscard]] __device__ STRATUM_INLINE auto equations(int position) const {
    return ElementEquations<positions, coupled, T>(across_south_, across_north_, 1 - position, n_ + 1 - position);
  }
  struct Intervals {
    Pack<T> south, north, along;
    __device__ STRATUM_INLINE CellsBeside<T> operator[](int e) const { return {south.v[e], north.v[e], along.v[e]}; }
  };
  [[nodiscard]] __device__ STRATUM_INLINE Intervals intervals(int place) const {
    return {load(south_ + place), load(north_ + place), load(along_ + place)};
  }
  [[nodiscard]] __device__ STRATUM_INLINE CellsBeside<T> behind(int place, const XShare<S, any_length>& share) const {
    return {share.behind(south_, place, edges_[0]), share.behind(north_, place, edges_[1]),
            share.behind(along_, place, edge_)};
  }
  [[nodiscard]] __device__ STRATUM_INLINE CellsBeside<T> before_tail(int k) const {
    return k == 0 ? CellsBeside<T>{edges_[0], edges_[1], edge_}
                  : CellsBeside<T>{tail_[k - 1], tail_[1 + k], tail_[3 + k]};
  }

 private:
  const ElementView<T, true>& a_;
  T *along_, *south_, *north_, *edges_, *tail_;
  T edge_, across_south_ = 0, across_north_ = 0;
  int n_;
};

template <class View>
constexpr bool has_persistent_x_lines = is_tensor<View>;
template <class T>
constexpr bool has_persistent_x_lines<ElementView<T, true>> = true;

/// A block solves every second row of `rows` rows in turn. The next row of b and of x are on their way to shared memory
/// meanwhile; a row of x serves the lines on both sides. A warp fetches and turns over what its own 32 segments need, so
/// that the block meets once a line. In place: 3 words per unknown of the colour, 5 with K by cells.
template <int S, bool coupled, XPart part, bool tailed, class View, class T>
__global__ void __launch_bounds__(persistent_x_threads<View>)
    persistent_x_lines(const View a, const FieldView<const T> b, const Lines<T> lines, const int rows,
                       const XTiling cut, const FieldView<T> y) {
  extern __shared__ __align__(16) unsigned char memory[];
  constexpr int size = pack_size<T>, packs = S / size;
  constexpr bool sums = by_row_sums<View>, any_length = part != XPart::whole;
  constexpr bool differs = coupled && solves_for_difference<View>;
  using OperatorRow = XRow<View, S, any_length>;
  using Buffer = ExchangeBuffer<T, persistent_records<T, sums>, sums>;
  constexpr bool early = OperatorRow::early;
  constexpr int x_rows = early ? 3 : 2, b_rows = early ? 2 : 1, edges_of_share = 2 * x_rows + OperatorRow::edges;
  static_assert(OperatorRow::rows + x_rows + 2 == rows_of_share && edges_of_share == 6);
  static_assert(x_rows + 2 * b_rows + OperatorRow::of_tail <= tail_numbers);
  const int t = static_cast<int>(threadIdx.x), lane = t % warp, my_warp = t / warp;
  const int warps = static_cast<int>(blockDim.x) / warp, n = y.nx;
  const int segments = any_length ? cut.segments : warps * warp;
  const int blocks = any_length ? cut.blocks : 1, rank = any_length ? static_cast<int>(blockIdx.x) % blocks : 0;
  const int my_lanes = any_length ? there(segments, my_warp * warp, warp) : warp;
  const int my_begin = (rank * segments + my_warp * warp) * S;  // position
  const bool has_tail = tailed && rank == blocks - 1 && my_warp == warps - 1;
  // Rows of the block are as fast as can be; rows of a share, a constant apart, leave more registers.
  XShare<S, any_length> share{my_begin, my_begin + my_lanes * S,           my_lanes,
                              lane,     (early ? segments : my_lanes) * S, has_tail};
  T* const numbers = reinterpret_cast<T*>(memory) + (early ? 1 : rows_of_share) * S * my_warp * warp;
  T* const all_edges = reinterpret_cast<T*>(memory) + rows_of_share * S * segments;
  T* const x_ring = numbers + OperatorRow::rows * share.stride;
  T* const b_ring = x_ring + x_rows * share.stride;  // behind its only row the solution has one of its own
  T* const edges = all_edges + edges_of_share * my_warp;
  T* const x_tail = all_edges + edges_of_share * warps;  // its second position, of every row
  T* const b_tail = x_tail + x_rows;
  auto* const exchange_buffers = reinterpret_cast<Buffer*>(x_tail + (tailed ? tail_numbers : 0));  // of clusters
  auto* const boards = reinterpret_cast<ReducedChunk<T, sums>*>(exchange_buffers + (blocks > 1 ? 2 : 0));
  const int line_begin = static_cast<int>(blockIdx.x) / blocks * rows,
            boundary_type = min(line_begin + rows, lines.count);

  const auto fetch_x = [&](int number, int j) {
    if constexpr (coupled) {
      const T* const row = &y(-1, j);
      share.fetch(x_ring + number % x_rows * share.stride, row, n);
      const int p = lane == 0 ? my_begin - 1 : share.next;
      if (lane < 2) copy_async<sizeof(T)>(edges + number % x_rows * 2 + lane, row + p, p >= 0 && p <= n);
      if constexpr (tailed) share.fetch_tail(x_tail + number % x_rows, row, 1, n);
    }
  };
  const auto fetch_b = [&](int number, int j) {
    const T* const row = &b(-1, j);
    share.fetch(b_ring + number % b_rows * share.stride, row, n);
    if constexpr (tailed) share.fetch_tail(b_tail + number % b_rows * 2, row, 0, n);
  };
  OperatorRow of_operator(a, numbers, edges + 2 * x_rows, b_tail + 2 * b_rows, n, share);
  if constexpr (any_length) open_exchange_buffers(Cluster(), exchange_buffers, 2);
  const int j_begin = lines.line(line_begin);
  after_previous();
  fetch_x(line_begin, j_begin - 1);
  fetch_x(line_begin + 1, j_begin + 1);
  fetch_b(line_begin, j_begin);
  of_operator.fetch(j_begin, share);
  of_operator.ask(j_begin);
  const int my_place = any_length ? min(lane, my_lanes - 1) : lane;  // idle lanes read what another one has

#pragma unroll 1
  for (int line = line_begin; line < boundary_type; ++line) {
    const int j = lines.line(line);
    auto equations = of_operator.template equations<S, coupled>(my_begin + lane * S);
    auto equations_on = of_operator.template equations<2, coupled>(share.next);  // to the tail
    bool near_south = false;
    if constexpr (solves_for_difference<View>) near_south = of_operator.near_south();
    wait_for_copies();
    __syncwarp();
    const auto fetch_next = [&] {
      if (line + 1 >= boundary_type) return;
      // Addresses are worked out anew: kept from row to row they would take the registers of segments.
      if constexpr (!early) asm volatile("" : "+r"(share.begin), "+r"(share.lane));
      fetch_x(line + 2, j + 3);
      fetch_b(line + 1, j + 2);
      of_operator.fetch(j + 2, share);
    };
    if (line + 1 < boundary_type) of_operator.ask(j + 2);
    if constexpr (early) fetch_next();
    const T* const south = x_ring + line % x_rows * share.stride;
    const T* const north = x_ring + (line + 1) % x_rows * share.stride;
    T *const b_row = b_ring + line % b_rows * share.stride, *const solution = early ? b_row : b_row + share.stride;

    Segment<T, S, true, sums> segment;
    ReducedChunk<T, sums> tail{};
    T near_tail[2] = {0, 0};
    {
      const int first = pack_place<T, S>(my_place, 0), last = pack_place<T, S>(my_place, packs - 1) + size - 1;
      const auto behind = of_operator.behind(first, share);
      const T *const south_edge = edges + line % x_rows * 2, *const north_edge = edges + (line + 1) % x_rows * 2;
      T south_next = 0, north_next = 0;
      if constexpr (coupled) {
        T south_left = __shfl_up_sync(all_lanes, south[last], 1),
          north_left = __shfl_up_sync(all_lanes, north[last], 1);
        south_next = share.behind(south, first, south_edge[1]);
        north_next = share.behind(north, first, north_edge[1]);
        if (lane == 0) {
          south_left = south_edge[0];
          north_left = north_edge[0];
        }
        equations.start(south_left, north_left);
      }
#pragma unroll
      for (int c = 0; c < packs; ++c) {
        const int place = pack_place<T, S>(my_place, c);
        const auto intervals = of_operator.intervals(place);
        const Pack<T> right = load(b_row + place);
        Pack<T> xs{}, xn{};
        if constexpr (coupled) {
          xs = load(south + place);
          xn = load(north + place);
        }
#pragma unroll
        for (int e = 0; e < size; ++e)
          equations.step(segment, c * size + e, intervals[e], xs.v[e], xn.v[e], right.v[e]);
      }
      equations.step(segment, S, behind, south_next, north_next, T(0));
      if (has_tail && lane == my_lanes - 1) {
        Segment<T, 2, true, sums> two;
        const T* const right = b_tail + line % b_rows * 2;
        T south_tail = 0, north_tail = 0;
        if constexpr (coupled) {
          south_tail = x_tail[line % x_rows];
          north_tail = x_tail[(line + 1) % x_rows];
          equations_on.start(south[last], north[last]);
        }
        if constexpr (differs) {
          near_tail[0] = near_south ? south_next : north_next;
          near_tail[1] = near_south ? south_tail : north_tail;
        }
        equations_on.step(two, 0, of_operator.before_tail(0), south_next, north_next, right[0]);
        equations_on.step(two, 1, of_operator.before_tail(1), south_tail, north_tail, right[1]);
        equations_on.step(two, 2, of_operator.before_tail(2), T(0), T(0), T(0));
        tail = two.chunk();
      }
    }
    if constexpr (!early) {
      __syncwarp();
      fetch_next();
    }
    Row<T, sums> row;
    ReducedChunk<T, sums> mine = segment.chunk();
    // The tail by what stands before it.
    if (has_tail && lane == my_lanes - 1)
      mine.last = line::with_right(mine.last, line::beyond_right(tail.first, tail.last));
    const ReducedChunk<T, sums> joined = join(mine, lane, my_lanes, row);
    InterfaceUnknowns<T> ends;
    if (any_length && cut.is_direct<T, sums>()) {
      Buffer& exchange_buffer = exchange_buffers[(line - line_begin) % 2];
      if (t == 0) exchange_buffer.expect(blocks * warps);
      if (lane < blocks) exchange_buffer.send(lane, rank * warps + my_warp, joined);
      exchange_buffer.wait((line - line_begin) / 2);
      ends = solve_chunks(exchange_buffer.chunks[lane < blocks * warps ? lane : 0], lane, blocks * warps,
                          rank * warps + my_warp);
    } else {
      ReducedChunk<T, sums>* const board = boards + line % 2 * warps;
      if (lane == 0) board[my_warp] = joined;
      __syncthreads();
      const ReducedChunk<T, sums> chunk = board[lane < warps ? lane : 0];
      ends = any_length && blocks > 1 ? solve_beyond(chunk, lane, warps, my_warp,
                                                     exchange_buffers[(line - line_begin) % 2], (line - line_begin) / 2)
                                      : solve_chunks(chunk, lane, warps, my_warp);
    }
    substitute(segment, row, ends, lane, my_lanes);
    if (has_tail && lane == my_lanes - 1) {
      const T before = segment[S - 1], last = tail.last.f - tail.last.a * before;
      const T first = tail.first.f - tail.first.a * before - tail.first.c * last;
      y(share.next - 1, j) = differs ? first + near_tail[0] : first;
      if (cut.tail > 1) y(share.next, j) = differs ? last + near_tail[1] : last;
    }
    if (lane < my_lanes) put_packs<S>(solution, segment, lane, differs ? (near_south ? south : north) : nullptr);
    __syncwarp();
    share.template each_pack<T>(
        [&](int position, int place) { store_nodes(y, n, position - 1, j, load(solution + place)); });
    __syncwarp();
  }
}

}  // namespace stratum::cuda
