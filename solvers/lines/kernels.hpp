#pragma once

// CUDA form of the line solves, for smoothers/line.cu. All kernels cut lines into segments of S unknowns, one a thread, and
// join them (solvers/lines/partition.hpp): over the lanes of a warp, over the warps of a block, and over the blocks of a
// cluster, which talk through each other's shared memory. Needs compute capability 9.0.
//
//   kernel          lines                                  words a node and sweep over both colours
//   solve_x_lines   any, along x; one a block or cluster   3 and the coefficients; x twice, from the L2 cache
//   walk_x_lines    tensor operator; a block walks down    3
//   solve_y_lines   any, along y; 1 to 16 a block          6 and twice the coefficients: cache lines hold both colours
//   walk_y_lines    tensor operator; both colours at once  3
//
// The first and third take any length up to 36864, any damping and any order. In walks position p = i + 1 of a line holds
// node i: column -1 is where rows are aligned.

#include <cooperative_groups.h>
#include <cuda_runtime.h>

#include <algorithm>

#include <stratum/core/device/launch.hpp>
#include <stratum/solvers/lines/equations.hpp>
#include <stratum/solvers/lines/partition.hpp>

namespace stratum::cuda {

namespace cg = cooperative_groups;

/// The lines first, first + stride, ... of a sweep, and how their solution enters.
template <class T>
struct Lines {
  int first, stride, count;
  T omega, keep;  // y = keep x + omega solution
};

/// True where a_(dx,dy)(i, j) = a_(-dx,-dy)(i + dx, j + dy), so that line matrices are symmetric.
template <class View>
constexpr bool is_symmetric = true;
template <class T>
constexpr bool is_symmetric<NineBandView<T>> = false;

using line::by_sums;
using line::solves_for_difference;

// --- memory in units of 16 bytes -----------------------------------------------------------------------------------------

template <class T>
constexpr int pack_size = static_cast<int>(16 / sizeof(T));

template <class T>
struct alignas(16) Pack {
  T v[pack_size<T>];
};

template <class T>
__device__ STRATUM_INLINE Pack<T> load(const T* aligned) {
  return *reinterpret_cast<const Pack<T>*>(aligned);
}
template <class T>
__device__ STRATUM_INLINE void store(T* aligned, const Pack<T>& pack) {
  *reinterpret_cast<Pack<T>*>(aligned) = pack;
}
/// For what is read once: it need not displace anything from the L2 cache.
__device__ STRATUM_INLINE Pack<float> load_once(const float* aligned) {
  const float4 q = __ldcs(reinterpret_cast<const float4*>(aligned));
  return {{q.x, q.y, q.z, q.w}};
}
__device__ STRATUM_INLINE Pack<double> load_once(const double* aligned) {
  const double2 q = __ldcs(reinterpret_cast<const double2*>(aligned));
  return {{q.x, q.y}};
}

/// A pack and the numbers beside it.
template <class T>
struct Span {
  T v[pack_size<T> + 2];
  __device__ STRATUM_INLINE explicit Span(const T* aligned) {
    const Pack<T> pack = load(aligned);
    v[0] = aligned[-1];
#pragma unroll
    for (int e = 0; e < pack_size<T>; ++e) v[e + 1] = pack.v[e];
    v[pack_size<T> + 1] = aligned[pack_size<T>];
  }
  [[nodiscard]] __device__ STRATUM_INLINE T operator[](int e) const { return v[e + 1]; }
};

/// Where pack c of segment s lies in shared memory: packs of a segment are exchanged such that both consecutive packs and
/// the same pack of consecutive segments meet different banks.
template <class T, int S>
__device__ STRATUM_INLINE int pack_place(int s, int c) {
  constexpr int n = S / pack_size<T>, group = n >= 8 ? 1 : 8 / n, mask = (n < 8 ? n : 8) - 1;
  return (s * n + (c ^ ((s / group) & mask))) * pack_size<T>;
}

/// Copies 16 bytes, or one number, to shared memory without waiting; zeros where `inside` is false.
template <int bytes>
__device__ STRATUM_INLINE void copy_async(void* shared, const void* global, bool inside) {
  const auto to = static_cast<unsigned>(__cvta_generic_to_shared(shared));
  const int size = inside ? bytes : 0;
  if constexpr (bytes == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(global), "r"(size) : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(to), "l"(global), "n"(bytes), "r"(size)
                 : "memory");
}
__device__ STRATUM_INLINE void wait_for_copies() { asm volatile("cp.async.wait_all;" ::: "memory"); }

// --- lines along x, one a block ------------------------------------------------------------------------------------------

/// The equations of 16 bytes of a row: coefficients along the line, and the right-hand side.
template <class T>
struct Equations {
  T lower[pack_size<T>], centre[pack_size<T>], upper[pack_size<T>], right[pack_size<T>];
  T sum[pack_size<T>];  // over the row, where lines are solved by sums
};

template <bool coupled, class T>
__device__ STRATUM_INLINE Equations<T> load_equations(const NineBandView<T>& a, const GridView<const T>& b,
                                                      const GridView<const T>& x, int i, int j) {
  const std::int64_t at = j * a.pitch + i;
  const auto band = [&](int dx, int dy) { return load_once(a.band[band_index(dx, dy)] + at); };
  const Pack<T> lower = band(-1, 0), centre = band(0, 0), upper = band(1, 0), right = load_once(&b(i, j));
  Equations<T> q;
#pragma unroll
  for (int e = 0; e < pack_size<T>; ++e) {
    q.lower[e] = lower.v[e];
    q.centre[e] = centre.v[e];
    q.upper[e] = upper.v[e];
    q.right[e] = right.v[e];
  }
  if constexpr (coupled) {
#pragma unroll
    for (int dy = -1; dy <= 1; dy += 2) {
      const Span<T> row(&x(i, j + dy));
      const Pack<T> west = band(-1, dy), middle = band(0, dy), east = band(1, dy);
#pragma unroll
      for (int e = 0; e < pack_size<T>; ++e)
        q.right[e] -= west.v[e] * row[e - 1] + middle.v[e] * row[e] + east.v[e] * row[e + 1];
    }
  }
  return q;
}

template <bool coupled, class T>
__device__ STRATUM_INLINE Equations<T> load_equations(const SymmetricNineBandView<T>& a, const GridView<const T>& b,
                                                      const GridView<const T>& x, int i, int j) {
  const std::int64_t at = j * a.pitch + i;
  const Pack<T> centre = load_once(a.band[0] + at), right = load_once(&b(i, j));
  const Span<T> east(a.band[1] + at);
  Equations<T> q;
#pragma unroll
  for (int e = 0; e < pack_size<T>; ++e) {
    q.lower[e] = east[e - 1];
    q.centre[e] = centre.v[e];
    q.upper[e] = east[e];
    q.right[e] = right.v[e];
  }
  if constexpr (coupled) {
    const Span<T> south(&x(i, j - 1)), north(&x(i, j + 1));
    const Span<T> north_west_below(a.band[2] + at - a.pitch), north_east_below(a.band[4] + at - a.pitch);
    const Pack<T> north_below = load(a.band[3] + at - a.pitch);
    const Pack<T> north_west = load(a.band[2] + at), above = load(a.band[3] + at), north_east = load(a.band[4] + at);
#pragma unroll
    for (int e = 0; e < pack_size<T>; ++e) {
      q.right[e] -=
          north_east_below[e - 1] * south[e - 1] + north_below.v[e] * south[e] + north_west_below[e + 1] * south[e + 1];
      q.right[e] -= north_west.v[e] * north[e - 1] + above.v[e] * north[e] + north_east.v[e] * north[e + 1];
    }
  }
  return q;
}

template <bool coupled, class T, bool reaction>
__device__ STRATUM_INLINE Equations<T> load_equations(const TensorView<T, reaction>& a, const GridView<const T>& b,
                                                      const GridView<const T>& x, int i, int j) {
  const T stiffness = a.with_e(a.ky[j] + a.ky[j + 1], j), mass = 2 * (a.my[j] + a.my[j + 1]);
  const Span<T> k(a.kx + i), m(a.mx + i);
  const Pack<T> right = load_once(&b(i, j));
  Equations<T> q;
#pragma unroll
  for (int e = 0; e < pack_size<T>; ++e) {
    q.lower[e] = interval_coupling(k[e], m[e], mass, stiffness);
    q.upper[e] = interval_coupling(k[e + 1], m[e + 1], mass, stiffness);
    if constexpr (reaction) {
      q.sum[e] = interval_excess(m[e] + m[e + 1], stiffness);
      q.centre[e] = q.sum[e] - q.lower[e] - q.upper[e];
    } else {
      q.centre[e] = interval_weight(k[e] + k[e + 1], m[e] + m[e + 1], mass, stiffness);
    }
    q.right[e] = right.v[e];
  }
  if constexpr (coupled) {
    const auto beside = line::lines_beside<Direction::x, solves_for_difference<TensorView<T, reaction>>>(a, j);
    const Span<T> south(&x(i, j - 1)), north(&x(i, j + 1));
    T u = beside.mass(south[-1], north[-1]), v = beside.stiffness(south[-1], north[-1]);
#pragma unroll
    for (int e = 0; e <= pack_size<T>; ++e) {
      const T next_u = beside.mass(south[e], north[e]), next_v = beside.stiffness(south[e], north[e]);
      const AtEnds<T> add = interval_product(k[e], m[e], u, next_u, v, next_v);
      if (e > 0) q.right[e > 0 ? e - 1 : 0] -= add.left;
      if (e < pack_size<T>) q.right[e < pack_size<T> ? e : 0] -= add.right;
      u = next_u;
      v = next_v;
    }
  }
  return q;
}

/// Cells i .. i + n of a row of n = pack_size; zeros behind the last column of cells, of which there are nx + 1.
template <class T>
struct CellSpan {
  T v[pack_size<T> + 1];
  __device__ STRATUM_INLINE CellSpan(const T* aligned, int i, int nx) {
    const Pack<T> pack = load(aligned);
#pragma unroll
    for (int e = 0; e < pack_size<T>; ++e) v[e] = pack.v[e];
    v[pack_size<T>] = i + pack_size<T> <= nx ? aligned[pack_size<T>] : T(0);
  }
};

template <bool coupled, class T, bool scalar>
__device__ STRATUM_INLINE Equations<T> load_equations(const CellView<T, scalar>& a, const GridView<const T>& b,
                                                      const GridView<const T>& x, int i, int j) {
  const std::int64_t at = j * a.pitch + i;
  const CellSpan<T> p_south(a.p + at, i, b.nx), p_north(a.p + at + a.pitch, i, b.nx);
  const CellSpan<T> q_south(a.q + at, i, b.nx), q_north(a.q + at + a.pitch, i, b.nx);  // of scalar K loaded once
  const Pack<T> right = load_once(&b(i, j));
  const Span<T> south(coupled ? &x(i, j - 1) : &b(i, j)), north(coupled ? &x(i, j + 1) : &b(i, j));
  Equations<T> q;
#pragma unroll
  for (int e = 0; e < pack_size<T>; ++e) q.right[e] = right.v[e];
  T sum_before = 0, coupling_before = 0;
#pragma unroll
  for (int e = 0; e <= pack_size<T>; ++e) {
    CellPair<T> pair{p_south.v[e], p_north.v[e], q_south.v[e], q_north.v[e]};
    const bool there = i + e >= 0 && i + e <= b.nx;
    if constexpr (scalar) {
      const T rx2 = there ? a.rx2[i + e] : T(0);
      pair.p_south *= rx2, pair.p_north *= rx2;
      pair.q_south *= a.ry2[j], pair.q_north *= a.ry2[j + 1];
    } else {
      const std::int64_t others = j * a.others_pitch + i + e;
      pair.has_s = a.has_s;
      pair.has_m = a.has_m;
      if (a.has_s)
        pair.s_south = there ? a.s[others] : T(0), pair.s_north = there ? a.s[others + a.others_pitch] : T(0);
      if (a.has_m)
        pair.m_south = there ? a.m[others] : T(0), pair.m_north = there ? a.m[others + a.others_pitch] : T(0);
    }
    const AtEnds<T> excess = pair.row_excess();
    const T coupling = pair.coupling();
    AtEnds<T> add{};
    if constexpr (coupled) add = pair.product({south[e - 1], T(0), north[e - 1]}, {south[e], T(0), north[e]});
    if (e > 0) {
      const int own = e - 1;
      q.lower[own] = coupling_before;
      q.upper[own] = coupling;
      q.sum[own] = sum_before + excess.left;
      q.centre[own] = q.sum[own] - q.lower[own] - q.upper[own];
      q.right[own] -= add.left;
    }
    if (e < pack_size<T>) q.right[e < pack_size<T> ? e : 0] -= add.right;
    sum_before = excess.right;
    coupling_before = coupling;
  }
  return q;
}

/// Threads of a block, so that a thread has 128 registers.
constexpr int x_line_threads = 512;

template <int S, bool sums, class T>
std::size_t x_line_bytes(int threads) {
  return sizeof(T) * static_cast<std::size_t>((sums ? 4 : 3) * S * threads) +
         sizeof(Piece<T, sums>) * (threads / warp + 16);
}

/// What a thread still lacks of its segment's last unknown and of the one before the segment, once its warp's ends are known;
/// then all.
template <class T, class Segment, bool with_sum>
__device__ STRATUM_INLINE void substitute(Segment& segment, const Row<T, with_sum>& row, const Ends<T>& ends,
                                          int lane) {
  const T last = lane == warp - 1 ? ends.own : row.f - row.a * ends.left - row.c * ends.own;
  T left = __shfl_up_sync(all_lanes, last, 1);
  if (lane == 0) left = ends.left;
  segment.substitute(left, last);
}

/// Puts the unknowns of segment t to shared memory. `near`: what is added to them, laid out in the same way, if anything is.
template <int S, class T, class Segment>
__device__ STRATUM_INLINE void put_packs(T* to, const Segment& segment, int t, const T* near) {
  constexpr int size = pack_size<T>;
#pragma unroll
  for (int c = 0; c < S / size; ++c) {
    const int place = pack_place<T, S>(t, c);
    Pack<T> solution;
#pragma unroll
    for (int e = 0; e < size; ++e) solution.v[e] = segment[c * size + e];
    if (near != nullptr) {
      const Pack<T> more = load(near + place);
#pragma unroll
      for (int e = 0; e < size; ++e) solution.v[e] += more.v[e];
    }
    store(to + place, solution);
  }
}

/// Stores the nodes i, i + 1, ... of a row, those of them that there are.
template <class T>
__device__ STRATUM_INLINE void store_nodes(const GridView<T>& y, int i, int j, const Pack<T>& numbers) {
  if (i >= 0 && i + pack_size<T> <= y.nx) {
    store(&y(i, j), numbers);
  } else {
#pragma unroll
    for (int e = 0; e < pack_size<T>; ++e)
      if (i + e >= 0 && i + e < y.nx) y(i + e, j) = numbers.v[e];
  }
}

/// A block, or the blocks of a cluster together, solve one line. A warp reads its own 32 segments along the row, divides the
/// equations by their diagonal and turns them over in shared memory.
template <int S, bool coupled, class View, class T>
__global__ void __launch_bounds__(x_line_threads)
    solve_x_lines(const View a, const GridView<const T> b, const GridView<const T> x, const Lines<T> lines,
                  const GridView<T> y) {
  extern __shared__ __align__(16) unsigned char memory[];
  constexpr int size = pack_size<T>, packs = S / size;
  constexpr bool sums = by_sums<View>;
  const cg::cluster_group cluster = cg::this_cluster();
  const int blocks = static_cast<int>(cluster.num_blocks()), rank = static_cast<int>(cluster.block_rank());
  const int threads = static_cast<int>(blockDim.x), t = static_cast<int>(threadIdx.x);
  const int lane = t % warp, my_warp = t / warp, warps = threads / warp;
  T *const lower = reinterpret_cast<T*>(memory), *const upper = lower + threads * S, *const right = upper + threads * S;
  T* const row_sums = right + threads * S;  // where there are any
  auto* const warp_pieces = reinterpret_cast<Piece<T, sums>*>(row_sums + (sums ? threads * S : 0));
  auto* const block_pieces = warp_pieces + warps;
  const int j = lines.first + static_cast<int>(blockIdx.x) / blocks * lines.stride, n = y.nx;
  const int begin = rank * threads * S - 1;  // the node at position 0 of this block
  if (blocks > 1) cluster.sync();            // all run: they may write to each other
  after_previous();
  const int my_packs = my_warp * warp * packs + lane;

#pragma unroll
  for (int k = 0; k < packs; ++k) {
    const int pack = my_packs + k * warp, i = begin + pack * size;
    Pack<T> l{}, u{}, f{}, sum;
#pragma unroll
    for (int e = 0; e < size; ++e) sum.v[e] = 1;
    if (i < n) {
      const Equations<T> q = load_equations<coupled>(a, b, x, i, j);
#pragma unroll
      for (int e = 0; e < size; ++e) {
        if (i + e < 0 || i + e >= n) continue;
        const T pivot = reciprocal(q.centre[e]);
        l.v[e] = q.lower[e] * pivot;
        u.v[e] = q.upper[e] * pivot;
        f.v[e] = q.right[e] * pivot;
        if constexpr (sums) sum.v[e] = q.sum[e] * pivot;
      }
    }
    const int place = pack_place<T, S>(pack / packs, pack % packs);
    store(lower + place, l);
    store(upper + place, u);
    store(right + place, f);
    if constexpr (sums) store(row_sums + place, sum);
  }
  __syncwarp();

  Segment<T, S, false, sums> segment;
#pragma unroll
  for (int c = 0; c < packs; ++c) {
    const int place = pack_place<T, S>(t, c);
    const Pack<T> l = load(lower + place), u = load(upper + place), f = load(right + place);
#pragma unroll
    for (int e = 0; e < size; ++e) {
      T diagonal = 1;
      if constexpr (sums) diagonal = row_sums[place + e];
      segment.push(c * size + e, l.v[e], diagonal, u.v[e], f.v[e]);
    }
  }
  Row<T, sums> row;
  const Piece<T, sums> joined = join(segment.piece(), lane, warp, row);
  if (lane == 0) warp_pieces[my_warp] = joined;
  __syncthreads();
  const Piece<T, sums> piece = warp_pieces[lane < warps ? lane : 0];
  Ends<T> ends;
  if (blocks == 1) {
    ends = solve_pieces(piece, lane, warps, my_warp);
  } else {
    Row<T, sums> warp_row;
    const Piece<T, sums> whole = join(piece, lane, warps, warp_row);
    if (t < blocks) cluster.map_shared_rank(block_pieces, t)[rank] = whole;
    cluster.sync();
    ends = solve_pieces(block_pieces[lane < blocks ? lane : 0], lane, blocks, rank);
    T own = lane == warps - 1 ? ends.own : warp_row.f - warp_row.a * ends.left - warp_row.c * ends.own;
    const T left = __shfl_sync(all_lanes, own, my_warp > 0 ? my_warp - 1 : 0);
    ends = {my_warp > 0 ? left : ends.left, __shfl_sync(all_lanes, own, my_warp), T(0)};
  }
  substitute(segment, row, ends, lane);
  put_packs<S>(right, segment, t, static_cast<const T*>(nullptr));
  __syncwarp();
#pragma unroll
  for (int k = 0; k < packs; ++k) {
    const int pack = my_packs + k * warp, i = begin + pack * size;
    Pack<T> solution = load(right + pack_place<T, S>(pack / packs, pack % packs));
    if (i >= n) continue;
    if constexpr (solves_for_difference<View> && coupled) {
      const Pack<T> near = load(&x(i, j + nearer(a.ky[j], a.ky[j + 1])));
#pragma unroll
      for (int e = 0; e < size; ++e) solution.v[e] += near.v[e];
    }
#pragma unroll
    for (int e = 0; e < size; ++e) {
      solution.v[e] *= lines.omega;
      if (lines.keep != T(0) && i + e >= 0 && i + e < n) solution.v[e] += lines.keep * x(i + e, j);
    }
    store_nodes(y, i, j, solution);
  }
}

// --- lines along y, a few a block ----------------------------------------------------------------------------------------

/// Exchanges what threads know of `across` lines: thread (c, s) = c + s * across holds segment s of line c before, lane s of a
/// warp after. A warp takes 32 segments of one line; lines of more segments take several warps.
template <class T, bool sums>
struct Turn {
  T* memory;
  int across, segments;
  [[nodiscard]] __device__ STRATUM_INLINE T& at(int number, int c, int s) const {
    return memory[(number * segments + s) * (across + 1) + c];
  }
  static constexpr int numbers(int across, int segments) { return (sums ? 11 : 9) * segments * (across + 1); }
  __device__ STRATUM_INLINE void put(int c, int s, const Piece<T, sums>& p) const {
    put_row(0, c, s, p.last);
    put_row(3, c, s, p.first);
    if constexpr (sums) {
      at(9, c, s) = p.last.s;
      at(10, c, s) = p.first.s;
    }
  }
  [[nodiscard]] __device__ STRATUM_INLINE Piece<T, sums> piece(int c, int s) const {
    Piece<T, sums> p{row(0, c, s), row(3, c, s)};
    if constexpr (sums) {
      p.last.s = at(9, c, s);
      p.first.s = at(10, c, s);
    }
    return p;
  }
  /// Once the line is solved: the unknown before the segment, its last one, and the one behind it.
  [[nodiscard]] __device__ STRATUM_INLINE T& left(int c, int s) const { return at(6, c, s); }
  [[nodiscard]] __device__ STRATUM_INLINE T& own(int c, int s) const { return at(7, c, s); }
  [[nodiscard]] __device__ STRATUM_INLINE T& right(int c, int s) const { return at(8, c, s); }

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

constexpr int most_records = 32;  // pieces of a line that the last stage takes: blocks of a cluster times warps a line
constexpr int most_blocks = 16;   // of a cluster

/// Where the blocks of a cluster leave the pieces of one line for each other. The barrier counts the bytes that arrive, so
/// that nobody waits for anything else in flight, as a barrier of the cluster would.
template <class T, int records, bool sums>
struct Mailbox {
  Piece<T, sums> pieces[records];
  std::uint64_t barrier, unused;

  /// By one thread, before the blocks of the cluster meet.
  __device__ void open() {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(address(&barrier)) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  /// Announces `count` pieces; by one thread.
  __device__ STRATUM_INLINE void expect(int count) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address(&barrier)),
                 "r"(count * static_cast<int>(sizeof(Piece<T, sums>)))
                 : "memory");
  }
  /// Leaves a piece in this mailbox of block `rank`.
  __device__ STRATUM_INLINE void send(int rank, int number, const Piece<T, sums>& p) {
    unsigned to = 0, bell = 0;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(to) : "r"(address(pieces + number)), "r"(rank));
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(bell) : "r"(address(&barrier)), "r"(rank));
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
  /// Waits for all pieces of use number 0, 1, ...
  __device__ STRATUM_INLINE void wait(int use) {
    asm volatile("{\n.reg .pred done;\nwaiting:\n"
                 "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [%0], %1;\n"
                 "@!done bra waiting;\n}" ::"r"(address(&barrier)),
                 "r"(use & 1)
                 : "memory");
  }

 private:
  static __device__ STRATUM_INLINE unsigned address(const void* shared) {
    return static_cast<unsigned>(__cvta_generic_to_shared(shared));
  }
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
};

/// By all threads of all blocks of a cluster; a block alone needs no mail.
template <class T, int records, bool sums>
__device__ STRATUM_INLINE void open_mailboxes(const cg::cluster_group& cluster, Mailbox<T, records, sums>* mailboxes,
                                              int count) {
  if (cluster.num_blocks() == 1) return;
  if (static_cast<int>(threadIdx.x) < count) mailboxes[threadIdx.x].open();
  cluster.sync();
}

/// Solves the lines whose pieces lie in `turn`: joins 32 segments in a warp, tells all blocks of the cluster, solves. Called
/// by all threads between two barriers of the block, for the use-th time with these mailboxes, one a line. Another exchange of
/// the same lines must lie between two uses of a mailbox.
template <class T, int records, bool sums>
__device__ STRATUM_INLINE void solve_turned(const cg::cluster_group& cluster, const Turn<T, sums>& turn,
                                            Mailbox<T, records, sums>* mailboxes, int use) {
  const int blocks = static_cast<int>(cluster.num_blocks()), rank = static_cast<int>(cluster.block_rank());
  const int lane = static_cast<int>(threadIdx.x) % warp, my_warp = static_cast<int>(threadIdx.x) / warp;
  const int line = my_warp % turn.across, part = my_warp / turn.across, parts = turn.segments / warp;
  const int segment = part * warp + lane, count = blocks * parts, me = rank * parts + part;
  const Piece<T, sums> mine = turn.piece(line, segment);
  Row<T, sums> row;
  const Piece<T, sums> joined = join(mine, lane, warp, row);
  Mailbox<T, records, sums>& mailbox = mailboxes[line];
  if (blocks > 1) {
    if (part == 0 && lane == 0) mailbox.expect(count);
    if (lane < blocks) mailbox.send(lane, me, joined);
    mailbox.wait(use);
  } else {
    if (lane == 0) mailbox.pieces[me] = joined;
    __syncthreads();
  }
  const Ends<T> warp_ends = solve_pieces(mailbox.pieces[lane < count ? lane : 0], lane, count, me);
  const T own = lane == warp - 1 ? warp_ends.own : row.f - row.a * warp_ends.left - row.c * warp_ends.own;
  T left = __shfl_up_sync(all_lanes, own, 1);
  if (lane == 0) left = warp_ends.left;
  T right = __shfl_down_sync(all_lanes, mine.first.f - mine.first.a * left - mine.first.c * own, 1);
  if (lane == warp - 1) right = warp_ends.right_first;
  turn.left(line, segment) = left;
  turn.own(line, segment) = own;
  turn.right(line, segment) = right;
}

template <class T, bool sums>
std::size_t y_line_bytes(int threads, int across) {
  return sizeof(T) * static_cast<std::size_t>(Turn<T, sums>::numbers(across, threads / across)) +
         sizeof(Mailbox<T, most_records, sums>) * static_cast<std::size_t>(across);
}

/// A block, or the blocks of a cluster together, solve `across` lines; thread (c, s) has segment s of line c.
template <int S, int threads, class Rhs, class View, class T>
__global__ void __launch_bounds__(threads)
    solve_y_lines(const Rhs rhs, const Lines<T> lines, const GridView<T> y, const int across) {
  extern __shared__ __align__(16) unsigned char memory[];
  const cg::cluster_group cluster = cg::this_cluster();
  const int blocks = static_cast<int>(cluster.num_blocks()), rank = static_cast<int>(cluster.block_rank());
  const int t = static_cast<int>(threadIdx.x), segments = threads / across;
  constexpr bool sums = by_sums<View>;
  auto* const mailboxes = reinterpret_cast<Mailbox<T, most_records, sums>*>(memory);
  const Turn<T, sums> turn{reinterpret_cast<T*>(mailboxes + across), across, segments};
  open_mailboxes(cluster, mailboxes, across);
  after_previous();

  const int c = t % across, s = t / across, n = y.ny;
  const int line = static_cast<int>(blockIdx.x) / blocks * across + c, i = lines.first + line * lines.stride;
  const int begin = (rank * segments + s) * S;
  Segment<T, S, is_symmetric<View>, sums> segment;
#pragma unroll
  for (int k = 0; k < S; ++k) {
    const int j = begin + k;
    T l = 0, d = 1, u = 0, f = 0;
    if (line < lines.count && j < n) {
      const auto row = line::line_row<Direction::y, sums>(rhs.a, i, j);
      l = row.lower;
      d = row.diagonal;
      u = row.upper;
      f = rhs(i, j);
      // The weights of a symmetric segment know no unknown behind the line: nothing may couple it, not even to zero.
      if (sums && j == n - 1) {
        d -= u;
        u = 0;
      }
    }
    segment.push(k, l, d, u, f);
  }
  turn.put(c, s, segment.piece());
  __syncthreads();
  solve_turned(cluster, turn, mailboxes, 0);
  __syncthreads();
  segment.substitute(turn.left(c, s), turn.own(c, s));
  if (line >= lines.count) return;
#pragma unroll
  for (int k = 0; k < S; ++k) {
    const int j = begin + k;
    if (j >= n) continue;
    T solution = segment[k];
    if constexpr (sums) solution += rhs.near(i, j);
    y(i, j) = lines.keep == T(0) ? lines.omega * solution : lines.keep * rhs.x(i, j) + lines.omega * solution;
  }
}

// --- tensor operators: lines walked over ---------------------------------------------------------------------------------

/// Forms the equations of a line of a tensor operator from interval to interval and pushes them to a segment
/// (core/operators/tensor_formulas.hpp). Beside the line lie two others behind intervals (k, m) each; the line's own stiffness
/// is the sum of theirs and what a reaction term adds. At position 0, the boundary, 1 x = 0 is solved. Behind the last interval
/// of a line stands one that is `wall` times as stiff: the unknown there, and all behind it, are zero to rounding. `sums`: by
/// row sums, and for differences to the nearer line where lines are coupled.
template <int S, bool coupled, bool sums, class T>
class TensorWalk {
 public:
  /// Lines that are there: a line that is no unknown itself, or one beside it, which reads zeros then.
  struct Used {
    bool itself = true, a = true, b = true;
  };
  __device__ STRATUM_INLINE TensorWalk(T ka, T ma, T kb, T mb, T e, bool begins_line, Used used = {})
      : mass_(2 * (ma + mb)), stiffness_(ka + kb), begins_line_(begins_line) {
    stiffness_ += e;
    if constexpr (sums) {
      beside_ = {ka, ma, kb, mb, e, used.a, used.b};
    } else {
      beside_ = {used.a ? ka : T(0), used.a ? ma : T(0), used.b ? kb : T(0), used.b ? mb : T(0)};
    }
    if (!used.itself) {  // a mass matrix: behind the wall a stiffness alone would be singular to rounding
      stiffness_ = 1;
      mass_ = 0;
    }
  }
  /// Neighbours at the position before the segment.
  __device__ STRATUM_INLINE void start(T xa, T xb) {
    u_ = beside_.mass(xa, xb);
    v_ = beside_.stiffness(xa, xb);
  }
  /// Interval (k, m) before position number c of the segment, c = 0 .. S; the neighbours and b there.
  __device__ STRATUM_INLINE void step(Segment<T, S, true, sums>& segment, int c, T k, T m, T xa, T xb, T b) {
    AtEnds<T> add{};
    if constexpr (coupled) {
      const T u = beside_.mass(xa, xb), v = beside_.stiffness(xa, xb);
      add = interval_product(k, m, u_, u, v_, v);
      u_ = u;
      v_ = v;
    }
    const T own = sums ? interval_excess(m, stiffness_) : interval_weight(k, m, mass_, stiffness_);
    T coupling = interval_coupling(k, m, mass_, stiffness_), diagonal = diagonal_ + own, f = right_ - add.left;
    diagonal_ = own;
    if (c == 1 && begins_line_) {
      if constexpr (sums) diagonal_ -= coupling;
      coupling = f = 0;
      diagonal = 1;
    }
    if (c > 0) segment.push(c - 1, coupling_, diagonal, coupling, f);
    coupling_ = coupling;
    right_ = b - add.right;
  }
  [[nodiscard]] __device__ STRATUM_INLINE const LinesBeside<T, sums>& beside() const { return beside_; }

 private:
  LinesBeside<T, sums> beside_;
  T mass_, stiffness_;
  bool begins_line_;
  T u_ = 0, v_ = 0, diagonal_ = 0, coupling_ = 0, right_ = 0;
};

template <class T>
constexpr T wall = sizeof(T) == 4 ? T(1e15) : T(1e30);

/// Factor of interval p, before position p of a line of n unknowns, behind the line too.
template <class T>
__device__ STRATUM_INLINE T interval(const T* factors, int p, int n) {
  if (p <= n + 1) return factors[p - 1];
  const T last = factors[n] > 0 ? factors[n] : T(1);
  return p == n + 2 ? wall<T> * last : last;
}

constexpr int walk_x_threads = 256;

/// Shared memory of walk_x_lines, in numbers: k and m, a ring of three rows of x, one of two rows of b, and small things.
template <int S, bool sums, class T>
std::size_t walk_x_bytes(int threads) {
  const int warps = threads / warp;
  return sizeof(T) * static_cast<std::size_t>(7 * S * threads + 6 * warps) + sizeof(Piece<T, sums>) * 2 * warps;
}

/// A block solves every second row of `rows` rows in turn. The next row of b and of x are on their way to shared memory
/// meanwhile; a row of x serves the lines on both sides. A warp fetches and turns over what its own 32 segments need, so
/// that the block meets once a line. In place: 3 words a node of the colour.
template <int S, bool coupled, class View, class T>
__global__ void __launch_bounds__(walk_x_threads)
    walk_x_lines(const View a, const GridView<const T> b, const Lines<T> lines, const int rows, const GridView<T> y) {
  extern __shared__ __align__(16) unsigned char memory[];
  constexpr int size = pack_size<T>, packs = S / size;
  const int threads = static_cast<int>(blockDim.x), t = static_cast<int>(threadIdx.x), length = threads * S;
  const int lane = t % warp, my_warp = t / warp, warps = threads / warp, n = y.nx;
  T *const ks = reinterpret_cast<T*>(memory), *const ms = ks + length, *const x_ring = ms + length;
  T *const b_ring = x_ring + 3 * length, *const edges = b_ring + 2 * length;  // edges: what lies beside a warp's part
  constexpr bool sums = by_sums<View>;
  auto* const boards = reinterpret_cast<Piece<T, sums>*>(edges + 6 * warps);
  const int my_packs = my_warp * warp * packs + lane;
  const int line_begin = static_cast<int>(blockIdx.x) * rows, line_end = min(line_begin + rows, lines.count);

  const auto fetch = [&](T* to, const T* row) {
#pragma unroll
    for (int k = 0; k < packs; ++k) {
      const int pack = my_packs + k * warp;
      copy_async<16>(to + pack_place<T, S>(pack / packs, pack % packs), row + pack * size, pack * size <= n);
    }
  };
  const auto fetch_x = [&](int number, int j) {
    if constexpr (coupled) {
      const T* const row = &y(-1, j);
      fetch(x_ring + number % 3 * length, row);
      const int p = lane == 0 ? my_warp * warp * S - 1 : (my_warp + 1) * warp * S;
      if (lane < 2) copy_async<sizeof(T)>(edges + (number % 3 * warps + my_warp) * 2 + lane, row + p, p >= 0 && p <= n);
    }
  };
#pragma unroll
  for (int k = 0; k < packs; ++k) {
    const int pack = my_packs + k * warp, place = pack_place<T, S>(pack / packs, pack % packs);
#pragma unroll
    for (int e = 0; e < size; ++e) {
      ks[place + e] = interval(a.kx, pack * size + e, n);
      ms[place + e] = interval(a.mx, pack * size + e, n);
    }
  }
  const int j_begin = lines.first + line_begin * lines.stride;
  after_previous();
  fetch_x(line_begin, j_begin - 1);
  fetch_x(line_begin + 1, j_begin + 1);
  fetch(b_ring + line_begin % 2 * length, &b(-1, j_begin));
  const int p_next = (my_warp + 1) * warp * S;
  const T k_edge = interval(a.kx, p_next, n), m_edge = interval(a.mx, p_next, n);

  T ks_next = a.ky[j_begin], kn_next = a.ky[j_begin + 1], ms_next = a.my[j_begin], mn_next = a.my[j_begin + 1];
  T e_next = 0;
  if constexpr (View::has_reaction) e_next = a.e[j_begin];

#pragma unroll 1
  for (int line = line_begin; line < line_end; ++line) {
    const int j = lines.first + line * lines.stride;
    TensorWalk<S, coupled, sums, T> walk(ks_next, ms_next, kn_next, mn_next, e_next, t == 0);
    const bool near_south = nearer(ks_next, kn_next) < 0;
    wait_for_copies();
    __syncwarp();
    if (line + 1 < line_end) {
      ks_next = a.ky[j + 2];
      kn_next = a.ky[j + 3];
      ms_next = a.my[j + 2];
      mn_next = a.my[j + 3];
      if constexpr (View::has_reaction) e_next = a.e[j + 2];
      fetch_x(line + 2, j + 3);
      fetch(b_ring + (line + 1) % 2 * length, &b(-1, j + 2));
    }
    const T *const south = x_ring + line % 3 * length, *const north = x_ring + (line + 1) % 3 * length;
    T* const own_row = b_ring + line % 2 * length;

    Segment<T, S, true, sums> segment;
    {
      const int first = pack_place<T, S>(t, 0);
      T k_next = __shfl_down_sync(all_lanes, ks[first], 1), m_next = __shfl_down_sync(all_lanes, ms[first], 1);
      T south_next = 0, north_next = 0;
      if constexpr (coupled) {
        const T* const south_edge = edges + (line % 3 * warps + my_warp) * 2;
        const T* const north_edge = edges + ((line + 1) % 3 * warps + my_warp) * 2;
        const int last = pack_place<T, S>(t, packs - 1) + size - 1;
        T south_left = __shfl_up_sync(all_lanes, south[last], 1),
          north_left = __shfl_up_sync(all_lanes, north[last], 1);
        south_next = __shfl_down_sync(all_lanes, south[first], 1);
        north_next = __shfl_down_sync(all_lanes, north[first], 1);
        if (lane == 0) {
          south_left = south_edge[0];
          north_left = north_edge[0];
        }
        if (lane == warp - 1) {
          south_next = south_edge[1];
          north_next = north_edge[1];
        }
        walk.start(south_left, north_left);
      }
      if (lane == warp - 1) {
        k_next = k_edge;
        m_next = m_edge;
      }
#pragma unroll
      for (int c = 0; c < packs; ++c) {
        const int place = pack_place<T, S>(t, c);
        const Pack<T> k = load(ks + place), m = load(ms + place), right = load(own_row + place);
        Pack<T> xs{}, xn{};
        if constexpr (coupled) {
          xs = load(south + place);
          xn = load(north + place);
        }
#pragma unroll
        for (int e = 0; e < size; ++e) walk.step(segment, c * size + e, k.v[e], m.v[e], xs.v[e], xn.v[e], right.v[e]);
      }
      walk.step(segment, S, k_next, m_next, south_next, north_next, T(0));
    }
    Row<T, sums> row;
    const Piece<T, sums> joined = join(segment.piece(), lane, warp, row);
    Piece<T, sums>* const board = boards + line % 2 * warps;
    if (lane == 0) board[my_warp] = joined;
    __syncthreads();
    substitute(segment, row, solve_pieces(board[lane < warps ? lane : 0], lane, warps, my_warp), lane);
    put_packs<S>(own_row, segment, t, sums && coupled ? (near_south ? south : north) : nullptr);
    __syncwarp();
#pragma unroll
    for (int k = 0; k < packs; ++k) {
      const int pack = my_packs + k * warp;
      store_nodes(y, pack * size - 1, j, load(own_row + pack_place<T, S>(pack / packs, pack % packs)));
    }
    __syncwarp();
  }
}

/// Two neighbouring numbers of a row, of both colours.
template <class T>
struct alignas(2 * sizeof(T)) Pair {
  T even, odd;
};

/// How walk_y_lines cuts the grid. A tile is 128 bytes wide, narrower ones do not reach the memory's speed, and `rows` high
/// in every block; a column is as high as the cluster, which walks over `tiles_each` tiles.
template <class T, bool sums>
struct YWalk {
  static constexpr int segment = 16, segments = warp, rows = segments * segment;
  static constexpr int width = static_cast<int>(128 / sizeof(T)), pairs = width / 2, threads = pairs * segments;
  static constexpr int x_pitch = width + pack_size<T>;  // room for the column behind the tile
  static constexpr int column = rows + segments + 4;    // a column, with a number between segments
  static constexpr int numbers = pack_size<T> + (rows + 2) * x_pitch + rows * width + 4 * column + 2 * (width + 2) +
                                 Turn<T, sums>::numbers(pairs, segments);
  static constexpr std::size_t bytes = sizeof(T) * numbers + sizeof(Mailbox<T, most_blocks, sums>) * 2 * pairs;
  int tiles, tiles_each;

  static __device__ STRATUM_INLINE int in_column(int r) { return r + 1 + (r + segment) / segment; }
};

/// Both colours of a sweep along y. In a tile the lines of the first colour are solved, then those of the second, between
/// which they lie; the second colour's line at the tile's beginning has one neighbour in the tile before, which is kept. The
/// first such line of a cluster has it in another cluster's last tile, and is left to a later launch of solve_y_lines. In
/// place: what a first-colour line reads of the next tile is second-colour and not written yet. The next tile is on its way
/// to shared memory while one is solved. Mirrored: even columns first, tiles from right to left. Thread (c, s) has pair c of
/// columns in the order of the walk, segment s. 3 words a node.
template <bool coupled, bool mirrored, class View, class T>
__global__ void __launch_bounds__(YWalk<T, by_sums<View>>::threads)
    walk_y_lines(const View a, const GridView<const T> b, const YWalk<T, by_sums<View>> walk, const GridView<T> y) {
  constexpr bool sums = by_sums<View>;
  using W = YWalk<T, sums>;
  constexpr int S = W::segment, R = W::rows, chunk = pack_size<T>, chunks = W::width / chunk;
  extern __shared__ __align__(16) unsigned char memory[];
  const cg::cluster_group cluster = cg::this_cluster();
  const int blocks = static_cast<int>(cluster.num_blocks()), rank = static_cast<int>(cluster.block_rank());
  const int t = static_cast<int>(threadIdx.x), c = t % W::pairs, s = t / W::pairs, nx = y.nx, ny = y.ny;
  auto* const mailboxes = reinterpret_cast<Mailbox<T, most_blocks, sums>*>(memory);
  T* const x_tile = reinterpret_cast<T*>(mailboxes + 2 * W::pairs) + chunk + W::x_pitch;
  T* const b_tile = x_tile + (R + 1) * W::x_pitch;
  T* const kept = b_tile + R * W::width;         // the last first-colour column of this tile and of the one before
  T* const intervals = kept + 2 * W::column;     // k and m
  T* const between = intervals + 2 * W::column;  // k, then m, between the columns of the tile
  const Turn<T, sums> turn{between + 2 * (W::width + 2), W::pairs, W::segments};

  const int base = rank * R;  // position of row 0 of the block's part of a tile
  const auto fetch = [&](int tile) {
    constexpr int step = W::threads / chunks;
    const int p = (mirrored ? walk.tiles - 1 - tile : tile) * W::width, row = t / chunks, part = t % chunks * chunk;
    const int inside = p + part <= nx ? ny + 2 - base : 0;  // rows of the block that lie in the grid
    const T *from_x = &y(p + part - 1, base + row - 1), *from_b = &b(p + part - 1, base + row - 1);
#pragma unroll
    for (int r = 0; r < R; r += step) {
      if (coupled) copy_async<16>(x_tile + (r + row) * W::x_pitch + part, from_x, r + row < inside);
      copy_async<16>(b_tile + (r + row) * W::width + part, from_b, r + row < inside);
      from_x += step * y.pitch;
      from_b += step * b.pitch;
    }
    if constexpr (coupled) {
      // The column behind the tile, and the rows beside the block's.
      const int behind = mirrored ? p - 1 : p + W::width, place = mirrored ? -1 : W::width;
      const auto fetch_behind = [&](int r) {
        copy_async<sizeof(T)>(x_tile + r * W::x_pitch + place, &y(behind - 1, base + r - 1),
                              behind >= 0 && behind <= nx && base + r >= 0 && base + r <= ny + 1);
      };
#pragma unroll
      for (int r = t; r < R; r += W::threads) fetch_behind(r);
      if (t < 2) fetch_behind(t == 0 ? -1 : R);
      const int r = t < chunks ? -1 : R;
      if (t < 2 * chunks)
        copy_async<16>(x_tile + r * W::x_pitch + part, &y(p + part - 1, base + r - 1),
                       p + part <= nx && base + r >= 0 && base + r <= ny + 1);
    }
    // Intervals p - 1 .. p + width between the columns.
    const int q = t % (W::width + 2);
    const T* const factors = t < W::width + 2 ? a.kx : a.mx;
    if (t < 2 * (W::width + 2)) copy_async<sizeof(T)>(between + t, factors + p + q - 1, p + q <= nx + 1);
  };

  for (int r = t; r <= R; r += W::threads) {
    intervals[2 * W::in_column(r)] = interval(a.ky, base + r, ny);
    intervals[2 * W::in_column(r) + 1] = interval(a.my, base + r, ny);
  }
  for (int r = t; r < 2 * W::column; r += W::threads) kept[r] = 0;
  const int first_tile = static_cast<int>(blockIdx.x) / blocks * walk.tiles_each;
  const int last_tile = min(first_tile + walk.tiles_each, walk.tiles);
  open_mailboxes(cluster, mailboxes, 2 * W::pairs);
  after_previous();
  fetch(first_tile);
  const auto* const my_intervals = reinterpret_cast<const Pair<T>*>(intervals) + W::in_column(s * S);
  const int position = base + s * S, pair = mirrored ? W::pairs - 1 - c : c;

#pragma unroll 1
  for (int tile = first_tile; tile < last_tile; ++tile) {
    const int even = (mirrored ? walk.tiles - 1 - tile : tile) * W::width + 2 * pair;  // position of the pair's columns
    const bool even_used = even > 0 && even <= nx, odd_used = even < nx;
    const bool first_used = mirrored ? even_used : odd_used, second_used = mirrored ? odd_used : even_used;
    const bool previous_used = mirrored ? even + 2 <= nx : even > 0;
    T e_even = 0, e_odd = 0;
    if constexpr (View::has_reaction) {
      e_even = even_used ? __ldg(a.e + even - 1) : T(0);
      e_odd = odd_used ? __ldg(a.e + even) : T(0);
    }
    wait_for_copies();
    __syncthreads();
    const T *const k = between + 2 * pair, *const m = k + W::width + 2;
    const T k0 = k[0], m0 = m[0], k1 = k[1], m1 = m[1], k2 = k[2], m2 = m[2];

    T b_second[S], x_first[S];
    T near_before = 0, near_behind = 0;  // beside the unknowns before and behind the segment
    Segment<T, S, true, sums> segment;
    {
      // Neighbours: the second-colour lines of the pair itself and of the next pair.
      TensorWalk<S, coupled, sums, T> line(k1, m1, mirrored ? k0 : k2, mirrored ? m0 : m2, mirrored ? e_even : e_odd,
                                           position == 0, {first_used, true, true});
      const T* const x = x_tile + s * S * W::x_pitch + 2 * pair + (mirrored ? 1 : 0);
      const auto second_of = [&](int k, T& own, T& next) {
        own = coupled ? x[k * W::x_pitch] : T(0);
        next = coupled ? x[k * W::x_pitch + (mirrored ? -2 : 2)] : T(0);
      };
      T own, next;
      second_of(-1, own, next);
      if constexpr (sums) near_before = line.beside().near(own, next);
      line.start(own, next);
#pragma unroll
      for (int k = 0; k <= S; ++k) {
        second_of(k, own, next);
        if constexpr (sums) (k < S ? x_first[k < S ? k : 0] : near_behind) = line.beside().near(own, next);
        T right = 0;
        if (k < S) {
          const auto both = *reinterpret_cast<const Pair<T>*>(b_tile + (s * S + k) * W::width + 2 * pair);
          right = mirrored ? both.even : both.odd;
          b_second[k < S ? k : 0] = mirrored ? both.odd : both.even;
        }
        line.step(segment, k, my_intervals[k < S ? k : S + 1].even, my_intervals[k < S ? k : S + 1].odd, own, next,
                  right);
      }
    }
    turn.put(c, s, segment.piece());
    __syncthreads();
    solve_turned(cluster, turn, mailboxes, tile - first_tile);
    if (tile + 1 < last_tile) fetch(tile + 1);
    __syncthreads();
    segment.substitute(turn.left(c, s), turn.own(c, s));
    const T before = near_before + turn.left(c, s), behind = near_behind + turn.right(c, s);
#pragma unroll
    for (int k = 0; k < S; ++k) x_first[k] = sums ? x_first[k] + segment[k] : segment[k];
    T* const kept_now = kept + tile % 2 * W::column + W::in_column(s * S);
    const T* const kept_before = kept + (tile + 1) % 2 * W::column + W::in_column(s * S);
    if (c == W::pairs - 1) {
#pragma unroll
      for (int k = 0; k < S; ++k) kept_now[k] = x_first[k];
      if (s == 0) kept_now[-2] = before;
      if (s == W::segments - 1) kept_now[S + 1] = behind;
    }

    const auto previous = [&](T own, int k) {
      const T x = __shfl_up_sync(all_lanes, own, 1, W::pairs);
      return c == 0 ? kept_before[k < 0 ? -2 : k < S ? k : S + 1] : x;  // a number lies between segments
    };
    LinesBeside<T, sums> beside_second;
    {
      // Neighbours: the first-colour lines of the pair before and of the pair itself.
      TensorWalk<S, true, sums, T> line(mirrored ? k2 : k0, mirrored ? m2 : m0, k1, m1, mirrored ? e_odd : e_even,
                                        position == 0, {second_used, previous_used, first_used});
      beside_second = line.beside();
      line.start(previous(before, -1), before);
#pragma unroll
      for (int k = 0; k <= S; ++k) {
        const T own = k < S ? x_first[k < S ? k : 0] : behind;
        line.step(segment, k, my_intervals[k < S ? k : S + 1].even, my_intervals[k < S ? k : S + 1].odd,
                  previous(own, k), own, k < S ? b_second[k < S ? k : 0] : T(0));
      }
    }
    turn.put(c, s, segment.piece());
    __syncthreads();
    solve_turned(cluster, turn, mailboxes + W::pairs, tile - first_tile);
    __syncthreads();
    segment.substitute(turn.left(c, s), turn.own(c, s));
    if constexpr (sums) {
#pragma unroll
      for (int k = 0; k < S; ++k) segment[k] += beside_second.near(previous(x_first[k], k), x_first[k]);
    }
    const bool second_done = c > 0 || tile > first_tile || tile == 0;
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
}

// --- launching -----------------------------------------------------------------------------------------------------------

template <bool coupled, class View, class T>
void launch_x_lines(const Context& ctx, const View& a, GridView<const T> b, GridView<const T> x, const Lines<T>& lines,
                    GridView<T> y) {
  const auto launch = [&]<int S>() {
    const int segments = divide_up(y.nx + 1, S), cluster = divide_up(segments, x_line_threads);
    const int threads = divide_up(divide_up(segments, cluster), warp) * warp;
    Launch{lines.count * cluster, threads, x_line_bytes<S, by_sums<View>, T>(threads),
           cluster}(ctx, solve_x_lines<S, coupled, View, T>, a, b, x, lines, y);
  };
  if (y.nx < 512) return launch.template operator()<4>();
  // Without neighbours a multiprocessor has registers for two blocks of short segments.
  if (y.nx < 2048 || sizeof(T) == 8 || !coupled) return launch.template operator()<8>();
  return launch.template operator()<16>();
}

template <int S, int threads, class View, class T, class Rhs>
void launch_y_lines(const Context& ctx, const Rhs& rhs, const Lines<T>& lines, GridView<T> y, int across,
                    bool early = true) {
  const int cluster = divide_up(y.ny, threads / across * S);
  Launch{divide_up(lines.count, across) * cluster, threads, y_line_bytes<T, by_sums<View>>(threads, across), cluster,
         early}(ctx, solve_y_lines<S, threads, Rhs, View, T>, rhs, lines, y, across);
}

template <class View, class T, class Rhs>
void launch_y_lines(const Context& ctx, const Rhs& rhs, const Lines<T>& lines, GridView<T> y) {
  // Every second column of 128 bytes where the memory counts; the longest lines take two warps each.
  constexpr int wide = static_cast<int>(64 / sizeof(T));
  if (y.ny <= 128) return launch_y_lines<4, 256, View>(ctx, rhs, lines, y, 8);
  if (y.ny <= 256) return launch_y_lines<4, 256, View>(ctx, rhs, lines, y, 4);
  if (y.ny <= 512) return launch_y_lines<4, 512, View>(ctx, rhs, lines, y, 8);
  if (y.ny <= 2048) return launch_y_lines<8, 256, View>(ctx, rhs, lines, y, 8);
  if (y.ny <= 8192) return launch_y_lines<16, wide * warp, View>(ctx, rhs, lines, y, wide);
  return launch_y_lines<36, 256, View>(ctx, rhs, lines, y, y.ny <= 36 * warp * 16 ? 8 : 4);
}

/// A few lines far apart, of up to 8192 nodes. Every number is in a cache line of its own: a line is shared among as many
/// multiprocessors as blocks reach it.
template <class View, class T, class Rhs>
void launch_few_y_lines(const Context& ctx, const Rhs& rhs, const Lines<T>& lines, GridView<T> y) {
  if (y.ny <= 4096) return launch_y_lines<8, 32, View>(ctx, rhs, lines, y, 1, false);
  launch_y_lines<8, 64, View>(ctx, rhs, lines, y, 1, false);
}

/// Lines of one colour of a tensor operator, in place; false where they are too short, or too long for a block's shared memory.
template <bool coupled, class View, class T>
bool launch_x_walk(const Context& ctx, const View& a, GridView<const T> b, const Lines<T>& lines, GridView<T> y) {
  const auto launch = [&]<int S>() {
    const int threads = divide_up(divide_up(y.nx + 1, S), warp) * warp;
    const auto kernel = walk_x_lines<S, coupled, View, T>;
    Launch launch{1, threads, walk_x_bytes<S, by_sums<View>, T>(threads)};
    if (threads > walk_x_threads || !launch.fits()) return false;
    const int rows = divide_up(lines.count, launch.resident(ctx, kernel));
    launch.grid = divide_up(lines.count, rows);
    launch(ctx, kernel, a, b, lines, rows, y);
    return true;
  };
  if (y.nx < 1536 || lines.count == 0) return false;
  if (sizeof(T) == 8 || y.nx < 3072) return launch.template operator()<16>();
  return launch.template operator()<32>();
}

/// Both colours of y lines of a tensor operator, in place, odd columns first unless mirrored; false where they are too short
/// or too long. Lines that are left are given back, all of the second colour.
template <bool coupled, bool mirrored, class View, class T>
bool launch_y_walk(const Context& ctx, const View& a, GridView<const T> b, GridView<T> y, Lines<T>& left) {
  using W = YWalk<T, by_sums<View>>;
  const int cluster = divide_up(y.ny + 1, W::rows);
  if (y.ny < 768 || cluster > most_blocks) return false;
  const auto kernel = walk_y_lines<coupled, mirrored, View, T>;
  W walk{divide_up(y.nx + 1, W::width), 1};
  Launch launch{walk.tiles * cluster, W::threads, W::bytes, cluster};
  if (!launch.fits()) return false;
  walk.tiles_each = divide_up(walk.tiles, launch.resident(ctx, kernel));
  launch.early = walk.tiles_each == 1;  // small grids; where all clusters walk, early ones come to lie badly
  const int clusters = divide_up(walk.tiles, walk.tiles_each);
  launch.grid = clusters * cluster;
  launch(ctx, kernel, a.columns(), b, walk, y);
  const int stride = walk.tiles_each * W::width;
  left = {mirrored ? walk.tiles * W::width - 2 - stride : stride - 1, mirrored ? -stride : stride, clusters - 1, T(1),
          T(0)};
  return true;
}

}  // namespace stratum::cuda
