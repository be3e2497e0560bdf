#pragma once

// CUDA form of the line solves, for smoothers/line_gpu.hpp. All kernels cut lines into segments of S unknowns, one a thread,
// and join them (solvers/lines/partition.hpp): over the lanes of a warp, over the warps of a block, and over the blocks of a
// cluster, which talk through each other's shared memory. Lines that no cluster holds, or no block where the GPU has no
// clusters, take three kernels (solvers/lines/line_parts.hpp).
//
//   kernel          lines                                  words a node and sweep over both colours       in three steps
//   solve_x_lines   any, along x; one a block or cluster   3 and the coefficients; x twice, from the L2   5 and twice those
//   walk_x_lines    tensor operator; a block or cluster    3                                              -
//                   walks down
//                   scalar cell operator, likewise         5
//   solve_y_lines   any, along y; 1 to 16 a block          6 and twice the coefficients: cache lines      10 and four times
//                                                          hold both colours
//   walk_y_lines    tensor operator; both colours at once  3                                              -
//                   scalar cell operator, likewise         4                                              -
//   walk_columns    tensor operator in float, likewise     3                                              -
//                   (solvers/lines/column_walk.hpp)
//   walk_bands      stored bands, likewise, by a copy of   8 with five in float, else 12                  -
//                   them (solvers/lines/band_walk.hpp)
//
// The first and third take any damping and any order, and lines that are `rings`: on a grid that is periodic along them. In
// walks position p = i + 1 of a line holds node i: column -1 is where rows are aligned.

#include <cuda_runtime.h>

#include <algorithm>

#include <stratum/core/device/cluster.hpp>
#include <stratum/core/device/launch.hpp>
#include <stratum/core/device/signal.hpp>
#include <stratum/solvers/lines/equations.hpp>
#include <stratum/solvers/lines/line_parts.hpp>
#include <stratum/solvers/lines/partition.hpp>

namespace stratum::cuda {

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
    q.sum[e] = q.lower[e] + q.centre[e] + q.upper[e];
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
    q.sum[e] = q.lower[e] + q.centre[e] + q.upper[e];
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

/// Where the equations of a row take so much arithmetic that the memory would wait for it: all packs of a thread are loaded
/// without a branch, and the L2 cache is asked for the row that a block will have next.
template <class View>
constexpr bool loads_ahead = false;
template <class T, bool scalar>
constexpr bool loads_ahead<CellView<T, scalar>> = true;

/// Asks the L2 cache for the 128 bytes of a row from i on that load_equations reads.
template <bool coupled, class T, bool scalar>
__device__ STRATUM_INLINE void ask_for_row(const CellView<T, scalar>& a, const GridView<const T>& b,
                                           const GridView<const T>& x, int i, int j) {
  const auto ask = [](const T* numbers) { asm volatile("prefetch.global.L2 [%0];" ::"l"(numbers)); };
  const std::int64_t at = j * a.pitch + i;
  ask(&b(i, j));
  ask(a.p + at);
  ask(a.p + at + a.pitch);
  if constexpr (!scalar) {
    ask(a.q + at);
    ask(a.q + at + a.pitch);
  }
  if constexpr (coupled) {
    ask(&x(i, j - 1));
    ask(&x(i, j + 1));
  }
}

/// Threads of a block, so that a thread has 128 registers.
constexpr int x_line_threads = 512;

template <int S, bool sums, class T>
std::size_t x_line_bytes(int threads) {
  return sizeof(T) * static_cast<std::size_t>((sums ? 4 : 3) * S * threads) +
         sizeof(Piece<T, sums>) * (threads / warp + 16);
}

/// What a thread still lacks of its segment's last unknown and of the one before the segment, once the ends of its warp's first
/// `count` segments are known; then all.
template <class T, class Segment, bool with_sum>
__device__ STRATUM_INLINE void substitute(Segment& segment, const Row<T, with_sum>& row, const Ends<T>& ends, int lane,
                                          int count = warp) {
  const T last = lane == count - 1 ? ends.own : row.f - row.a * ends.left - row.c * ends.own;
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

/// Stores the nodes i, i + 1, ... of a row, those of them that are among the first n.
template <class T>
__device__ STRATUM_INLINE void store_nodes(const GridView<T>& y, int n, int i, int j, const Pack<T>& numbers) {
  if (i >= 0 && i + pack_size<T> <= n) {
    store(&y(i, j), numbers);
  } else {
#pragma unroll
    for (int e = 0; e < pack_size<T>; ++e)
      if (i + e >= 0 && i + e < n) y(i + e, j) = numbers.v[e];
  }
}

/// A block, or the blocks of a cluster together, solve one line. A warp reads its own 32 segments along the row, divides the
/// equations by their diagonal and turns them over in shared memory. Position 0 is node -1: of a ring that is the last node, so
/// that n positions hold all, one after the other. `ahead`: so many lines further lies the one that a block will have next.
template <int S, bool coupled, bool ring, Step step, class View, class T, bool with_sums = ring || by_sums<View>>
__global__ void __launch_bounds__(x_line_threads)
    solve_x_lines(const View a, const GridView<const T> b, const GridView<const T> x, const Lines<T> lines,
                  const GridView<T> y, const Interface<T, with_sums> parts, const int ahead) {
  extern __shared__ __align__(16) unsigned char memory[];
  constexpr int size = pack_size<T>, packs = S / size;
  constexpr bool sums = ring || by_sums<View>;
  const Cluster cluster;
  const int blocks = step == Step::solve ? cluster.blocks() : parts.count;
  const int number = static_cast<int>(blockIdx.x) / blocks;
  const int rank = step == Step::solve ? cluster.rank() : static_cast<int>(blockIdx.x) % blocks;
  const int threads = static_cast<int>(blockDim.x), t = static_cast<int>(threadIdx.x);
  const int lane = t % warp, my_warp = t / warp, warps = threads / warp;
  T *const lower = reinterpret_cast<T*>(memory), *const upper = lower + threads * S, *const right = upper + threads * S;
  T* const row_sums = right + threads * S;  // where there are any
  auto* const warp_pieces = reinterpret_cast<Piece<T, sums>*>(row_sums + (sums ? threads * S : 0));
  auto* const block_pieces = warp_pieces + warps;
  const int j = lines.first + number * lines.stride;
  const int n = ring ? y.nx - 1 : y.nx;                   // nodes from position 1 on
  const int begin = rank * threads * S - 1;               // the node at position 0 of this block
  if (step == Step::solve && blocks > 1) cluster.sync();  // all run: they may write to each other
  after_previous();
  const int my_packs = my_warp * warp * packs + lane;

#pragma unroll
  for (int k = 0; k < packs; ++k) {
    const int pack = my_packs + k * warp, i = begin + pack * size;
    Pack<T> l{}, u{}, f{}, sum;
#pragma unroll
    for (int e = 0; e < size; ++e) sum.v[e] = 1;
    if (loads_ahead<View> || i < n) {  // what lies behind the line loads its first pack
      const Equations<T> q = load_equations<coupled>(a, b, x, i < n ? i : -1, j);
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
    if (ring && k == 0 && i == -1) {
      const auto q = line::line_row<Direction::x, true>(a, n, j);
      const T pivot = reciprocal(q.diagonal - q.lower - q.upper);
      l.v[0] = q.lower * pivot;
      u.v[0] = q.upper * pivot;
      f.v[0] = line::LineRhs<Direction::x, coupled, View, T>{a, b, x}(n, j) * pivot;
      sum.v[0] = q.diagonal * pivot;
    }
    const int place = pack_place<T, S>(pack / packs, pack % packs);
    store(lower + place, l);
    store(upper + place, u);
    store(right + place, f);
    if constexpr (sums) store(row_sums + place, sum);
  }
  __syncwarp();
  if constexpr (loads_ahead<View> && step == Step::solve) {
    const int i = begin + t * static_cast<int>(128 / sizeof(T));
    if (number + ahead < lines.count && i < min(n, begin + threads * S))
      ask_for_row<coupled>(a, b, x, i, j + ahead * lines.stride);
  }

  // Of the ring's segments those of this warp, of its warps those of this block, of its blocks those there are.
  const int ring_segments = divide_up(y.nx, S), ring_warps = divide_up(ring_segments, warp);
  const int my_lanes = ring ? there(ring_segments, (rank * warps + my_warp) * warp, warp) : warp;
  const int my_warps = ring ? there(ring_warps, rank * warps, warps) : warps;
  const int my_blocks = ring ? divide_up(ring_warps, warps) : blocks;
  Segment<T, S, false, sums, ring> segment(min(y.nx - 1 - (begin + 1 + t * S), S - 1));
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
  const Piece<T, sums> joined = join(segment.piece(), lane, my_lanes, row);
  if (lane == 0) warp_pieces[my_warp] = joined;
  __syncthreads();
  const Piece<T, sums> piece = warp_pieces[lane < warps ? lane : 0];
  Ends<T> ends;
  if (step == Step::solve && blocks == 1) {
    ends = solve_whole<ring>(piece, lane, my_warps, my_warp);
  } else {
    Row<T, sums> warp_row;
    const Piece<T, sums> whole = join(piece, lane, my_warps, warp_row);
    if constexpr (step == Step::solve) {
      if (t < blocks) cluster.at(block_pieces, t)[rank] = whole;
      cluster.sync();
      ends = solve_whole<ring>(block_pieces[lane < blocks ? lane : 0], lane, my_blocks, rank);
    } else if constexpr (step == Step::eliminate) {
      if (t == 0) parts.put(number, rank, whole);
      return;
    } else {
      ends = parts.ends(number, rank);
    }
    T own = lane == my_warps - 1 ? ends.own : warp_row.f - warp_row.a * ends.left - warp_row.c * ends.own;
    const T left = __shfl_sync(all_lanes, own, my_warp > 0 ? my_warp - 1 : 0);
    ends = {my_warp > 0 ? left : ends.left, __shfl_sync(all_lanes, own, my_warp), T(0)};
  }
  substitute(segment, row, ends, lane, my_lanes);
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
      if (lines.keep != T(0) && i + e >= (ring ? -1 : 0) && i + e < n) solution.v[e] += lines.keep * x(i + e, j);
    }
    store_nodes(y, n, i, j, solution);
    if (ring && k == 0 && i == -1) y(n, j) = solution.v[0];
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
  static constexpr int numbers(int across, int segments) { return (sums ? 8 : 6) * segments * (across + 1); }
  __device__ STRATUM_INLINE void put(int c, int s, const Piece<T, sums>& p) const {
    put_row(0, c, s, p.last);
    put_row(3, c, s, p.first);
    if constexpr (sums) {
      at(6, c, s) = p.last.s;
      at(7, c, s) = p.first.s;
    }
  }
  [[nodiscard]] __device__ STRATUM_INLINE Piece<T, sums> piece(int c, int s) const {
    Piece<T, sums> p{row(0, c, s), row(3, c, s)};
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

constexpr int most_records = 32;  // pieces of a line that the last stage takes: blocks of a cluster times warps a line

/// Where the blocks of a cluster leave the pieces of one line for each other. The barrier counts the bytes that arrive, so
/// that nobody waits for anything else in flight, as a barrier of the cluster would.
template <class T, int records, bool sums>
struct Mailbox {
  Piece<T, sums> pieces[records];
  Signal signal;
  std::uint64_t unused;

  /// By one thread, before the blocks of the cluster meet.
  __device__ void open() { signal.open(1); }
  /// Announces `count` pieces; by one thread.
  __device__ STRATUM_INLINE void expect(int count) { signal.expect(count * static_cast<int>(sizeof(Piece<T, sums>))); }
  /// Waits for all pieces of use number 0, 1, ...
  __device__ STRATUM_INLINE void wait(int use) { signal.wait_for_cluster(use); }

#if defined(STRATUM_CLUSTERS)
  /// Leaves a piece in this mailbox of block `rank`.
  __device__ STRATUM_INLINE void send(int rank, int number, const Piece<T, sums>& p) {
    const unsigned to = Signal::address(pieces + number, rank), bell = Signal::address(&signal, rank);
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
  __device__ void send(int /*rank*/, int /*number*/, const Piece<T, sums>& /*p*/) {}
#endif
};

/// By all threads of all blocks of a cluster; a block alone needs no mail.
template <class T, int records, bool sums>
__device__ STRATUM_INLINE void open_mailboxes(const Cluster& cluster, Mailbox<T, records, sums>* mailboxes, int count) {
  if (cluster.blocks() == 1) return;
  if (static_cast<int>(threadIdx.x) < count) mailboxes[threadIdx.x].open();
  cluster.sync();
}

/// Leaves to every segment of a line in `turn` what is known of it, once the ends of the piece that 32 of them join to are.
template <class T, bool sums>
__device__ STRATUM_INLINE void turn_back(const Turn<T, sums>& turn, int line, int segment, const Piece<T, sums>& mine,
                                         const Row<T, sums>& row, const Ends<T>& ends, int my_lanes) {
  const Ends<T> x = ends_within(mine, row, ends, segment % warp, my_lanes);
  turn.left(line, segment) = x.left;
  turn.own(line, segment) = x.own;
  turn.right(line, segment) = x.right_first;
}

/// One of the three steps for the lines in `turn`, of 32 segments each: part `part` of lines first_line, ... .
template <Step step, class T, bool sums>
__device__ STRATUM_INLINE void step_turned(const Turn<T, sums>& turn, const Interface<T, sums>& parts,
                                           std::int64_t first_line, int part, int total = warp) {
  const int lane = static_cast<int>(threadIdx.x) % warp, line = static_cast<int>(threadIdx.x) / warp;
  const Piece<T, sums> mine = turn.piece(line, lane);
  Row<T, sums> row;
  const Piece<T, sums> joined = join(mine, lane, total, row);
  if constexpr (step == Step::eliminate) {
    if (lane == 0) parts.put(first_line + line, part, joined);
  } else {
    turn_back(turn, line, lane, mine, row, parts.ends(first_line + line, part), total);
  }
}

/// Solves the lines whose pieces lie in `turn`: joins 32 segments in a warp, tells all blocks of the cluster, solves. Called
/// by all threads between two barriers of the block, for the use-th time with these mailboxes, one a line. Another exchange of
/// the same lines must lie between two uses of a mailbox. `ring`: the first `total` segments of a line are one.
template <bool ring, class T, int records, bool sums>
__device__ STRATUM_INLINE void solve_turned(const Cluster& cluster, const Turn<T, sums>& turn,
                                            Mailbox<T, records, sums>* mailboxes, int use, int total = 0) {
  const int blocks = cluster.blocks(), rank = cluster.rank();
  const int lane = static_cast<int>(threadIdx.x) % warp, my_warp = static_cast<int>(threadIdx.x) / warp;
  const int line = my_warp % turn.across, part = my_warp / turn.across, parts = turn.segments / warp;
  const int segment = part * warp + lane, count = blocks * parts, me = rank * parts + part;
  const int my_lanes = ring ? there(total, me * warp, warp) : warp, pieces = ring ? divide_up(total, warp) : count;
  const Piece<T, sums> mine = turn.piece(line, segment);
  Row<T, sums> row;
  const Piece<T, sums> joined = join(mine, lane, my_lanes, row);
  Mailbox<T, records, sums>& mailbox = mailboxes[line];
  if (blocks > 1) {
    if (part == 0 && lane == 0) mailbox.expect(count);
    if (lane < blocks) mailbox.send(lane, me, joined);
    mailbox.wait(use);
  } else {
    if (lane == 0) mailbox.pieces[me] = joined;
    __syncthreads();
  }
  const Ends<T> warp_ends = solve_whole<ring>(mailbox.pieces[lane < pieces ? lane : 0], lane, pieces, me);
  turn_back(turn, line, segment, mine, row, warp_ends, my_lanes);
}

template <class T, bool sums>
std::size_t y_line_bytes(int threads, int across) {
  return sizeof(T) * static_cast<std::size_t>(Turn<T, sums>::numbers(across, threads / across)) +
         sizeof(Mailbox<T, most_records, sums>) * static_cast<std::size_t>(across);
}

/// A block, or the blocks of a cluster together, solve `across` lines; thread (c, s) has segment s of line c. In three steps
/// a line has 32 segments in a block.
template <int S, int threads, bool ring, Step step, class Rhs, class View, class T,
          bool with_sums = ring || by_sums<View>>
__global__ void __launch_bounds__(threads) solve_y_lines(const Rhs rhs, const Lines<T> lines, const GridView<T> y,
                                                         const int across, const Interface<T, with_sums> parts) {
  extern __shared__ __align__(16) unsigned char memory[];
  const Cluster cluster;
  const int blocks = step == Step::solve ? cluster.blocks() : parts.count;
  const int rank = step == Step::solve ? cluster.rank() : static_cast<int>(blockIdx.x) % blocks;
  const int t = static_cast<int>(threadIdx.x), segments = threads / across;
  constexpr bool sums = ring || by_sums<View>;
  auto* const mailboxes = reinterpret_cast<Mailbox<T, most_records, sums>*>(memory);
  const Turn<T, sums> turn{reinterpret_cast<T*>(mailboxes + across), across, segments};
  if constexpr (step == Step::solve) open_mailboxes(cluster, mailboxes, across);
  after_previous();

  const int c = t % across, s = t / across, n = y.ny;
  const int line = static_cast<int>(blockIdx.x) / blocks * across + c, i = lines.first + line * lines.stride;
  const int begin = (rank * segments + s) * S;
  Segment<T, S, is_symmetric<View>, sums, ring> segment(min(n - 1 - begin, S - 1));
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
      if (sums && !ring && j == n - 1) {
        d -= u;
        u = 0;
      }
    }
    segment.push(k, l, d, u, f);
  }
  turn.put(c, s, segment.piece());
  __syncthreads();
  if constexpr (step == Step::solve)
    solve_turned<ring>(cluster, turn, mailboxes, 0, divide_up(n, S));
  else
    step_turned<step>(turn, parts, static_cast<int>(blockIdx.x) / blocks * across, rank,
                      ring ? there(divide_up(n, S), rank * segments, segments) : segments);
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
    if constexpr (by_sums<View>) solution += rhs.near(i, j);
    y(i, j) = lines.keep == T(0) ? lines.omega * solution : lines.keep * before[k] + lines.omega * solution;
  }
}

// --- lines walked over ---------------------------------------------------------------------------------------------------

template <class T>
struct alignas(2 * sizeof(T)) Interval {
  T k, m;
};

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
  /// The interval before position number c of the segment, c = 0 .. S; the neighbours and b there.
  template <class Segment>
  __device__ STRATUM_INLINE void step(Segment& segment, int c, Interval<T> interval, T xa, T xb, T b) {
    const T k = interval.k, m = interval.m;
    AtEnds<T> right{right_, b};
    if constexpr (coupled) {
      const T u = beside_.mass(xa, xb), v = beside_.stiffness(xa, xb);
      subtract_interval_product(right, k, m, u_, u, v_, v);
      u_ = u;
      v_ = v;
    }
    const T own = sums ? interval_excess(m, stiffness_) : interval_weight(k, m, mass_, stiffness_);
    T coupling = interval_coupling(k, m, mass_, stiffness_), diagonal = diagonal_ + own, f = right.left;
    diagonal_ = own;
    if (c == 1 && begins_line_) {
      if constexpr (sums) diagonal_ -= coupling;
      coupling = f = 0;
      diagonal = 1;
    }
    if (c > 0) segment.push(c - 1, coupling_, diagonal, coupling, f);
    coupling_ = coupling;
    right_ = right.right;
  }
  /// The entry between positions c - 1 and c of the segment, c >= 1, as it was pushed.
  [[nodiscard]] __device__ STRATUM_INLINE T coupling(int c, Interval<T> interval) const {
    return c == 1 && begins_line_ ? T(0) : interval_coupling(interval.k, interval.m, mass_, stiffness_);
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

/// Scalar K of the cells on both sides of a line, towards lines a and b, and 1 / h^2 of their interval.
template <class T>
struct CellsBeside {
  T a, b, r_along;
};

/// Forms the equations of a line of a scalar cell operator from interval to interval, as TensorWalk does. An interval has two
/// cells, towards line a and line b. Nodes before interval number `first` and behind number `last` are no unknowns: there 1 x =
/// 0 is solved.
template <int S, bool coupled, class T>
class CellWalk {
 public:
  /// `ra` and `rb`: 1 / h^2 across the line.
  __device__ STRATUM_INLINE CellWalk(T ra, T rb, int first, int last) : ra_(ra), rb_(rb), first_(first), last_(last) {}
  __device__ STRATUM_INLINE void start(T xa, T xb) { before_ = {xa, T(0), xb}; }
  /// The cells of the interval before position number c of the segment, c = 0 .. S; the neighbours and b there.
  __device__ STRATUM_INLINE void step(Segment<T, S, true, true>& segment, int c, const CellsBeside<T>& k, T xa, T xb,
                                      T b) {
    const CellPair<T> pair{k.a * k.r_along, k.b * k.r_along, k.a * ra_, k.b * rb_};
    AtEnds<T> add{};
    if constexpr (coupled) {
      const ColumnOfThree<T> here{xa, T(0), xb};
      add = pair.product(before_, here);
      before_ = here;
    }
    // What couples an unknown to what is none stays in its sum.
    const bool joins = first_ < c && c < last_, unknown = first_ < c && c <= last_;
    const T coupling = pair.coupling(), excess = pair.row_excess().left, own = joins ? excess : excess - coupling;
    if (c > 0) {
      const T diagonal = unknown ? sum_ + own : T(1), right = unknown ? right_ - add.left : T(0);
      segment.push(c - 1, coupling_, diagonal, joins ? coupling : T(0), right);
    }
    sum_ = own;
    coupling_ = joins ? coupling : T(0);
    right_ = b - add.right;
  }

 private:
  T ra_, rb_;
  int first_, last_;
  ColumnOfThree<T> before_{};
  T sum_ = 0, coupling_ = 0, right_ = 0;
};

/// Threads of a block of walk_x_lines: a thread's segment and its arithmetic are in registers.
template <class View, class T = typename View::Number>
constexpr int walk_x_threads = is_tensor<View> || sizeof(T) == 8 ? 256 : 512;

/// Pieces of a line that a mailbox of walk_x_lines takes, of blocks or of their warps: two such are all that fits beside the
/// longest parts of lines.
template <class T, bool sums>
constexpr int walk_records = static_cast<int>(768 / sizeof(Piece<T, sums>));

/// What a block of walk_x_lines holds: a line in whole warps, or a part of one whose others are in the blocks of its cluster.
enum class XPart : std::uint8_t { whole, several };

/// What walk_x_lines keeps of x, b and the operator for each position, and numbers of it for a tail: with 12 doubles the longest
/// parts of lines leave no byte of shared memory.
constexpr int rows_of_share = 7, tail_numbers = 12;

/// How walk_x_lines cuts a line: among `blocks` of a cluster, `segments` each. Natural sides keep a node or two more than a power
/// of two less one: these positions are the `tail`, which the lane of the last segment solves for besides.
struct XWalk {
  int blocks, segments, tail;
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE int warps() const { return divide_up(segments, warp); }
  template <class T, bool sums>
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE bool is_direct() const {
    return blocks > 1 && blocks * warps() <= walk_records<T, sums>;
  }
  /// Shared memory: rows, and small things.
  template <int S, bool sums, class T>
  [[nodiscard]] std::size_t bytes() const {
    const std::size_t numbers = sizeof(T) * static_cast<std::size_t>(rows_of_share * S * segments + 6 * warps() +
                                                                     (tail > 0 ? tail_numbers : 0));
    const std::size_t boards =
        is_direct<T, sums>() ? 0 : sizeof(Piece<T, sums>) * 2 * static_cast<std::size_t>(warps());
    return numbers + boards + (blocks > 1 ? 2 * sizeof(Mailbox<T, walk_records<T, sums>, sums>) : 0);
  }
};

/// The warps of the blocks of a cluster hold the pieces of a line, lane w of every warp that of warp w of its block: solves as
/// solve_pieces does, by one piece a block.
template <class T, int records, bool sums>
__device__ STRATUM_INLINE Ends<T> solve_beyond(const Piece<T, sums>& piece, int lane, int warps, int my_warp,
                                               Mailbox<T, records, sums>& mailbox, int use) {
  const Cluster cluster;
  const int blocks = cluster.blocks(), rank = cluster.rank();
  Row<T, sums> row;
  const Piece<T, sums> whole = join(piece, lane, warps, row);
  if (threadIdx.x == 0) mailbox.expect(blocks);
  if (my_warp == 0 && lane < blocks) mailbox.send(lane, rank, whole);
  mailbox.wait(use);
  const Ends<T> ends = solve_pieces(mailbox.pieces[lane < blocks ? lane : 0], lane, blocks, rank);
  const T own = lane == warps - 1 ? ends.own : row.f - row.a * ends.left - row.c * ends.own;
  const T left = __shfl_sync(all_lanes, own, my_warp > 0 ? my_warp - 1 : 0);
  return {my_warp > 0 ? left : ends.left, __shfl_sync(all_lanes, own, my_warp), T(0)};
}

/// A warp's share of a line in walk_x_lines, 32 segments at most from position `begin` to the one before `next`: the warp
/// fetches it and turns it over for its lanes, one segment each. Its part of the next row lies `stride` numbers further. Behind the
/// last share of a line is the tail.
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

// What walk_x_lines asks of an operator is its row: numbers in shared memory and the equations of a line. Together with x and b
// they are seven rows, all that there is room for. `early`: the next row is fetched while one is eliminated, into rows of
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
  [[nodiscard]] __device__ STRATUM_INLINE auto walk(int position) const {
    return TensorWalk<positions, coupled, by_sums<View>, T>(south_.k, south_.m, north_.k, north_.m, e_, position == 0);
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

/// Of a scalar cell operator: 1 / h^2 along x stays, the cells on both sides come with each row.
template <class T, int S, bool any_length>
class XRow<CellView<T, true>, S, any_length> {
 public:
  static constexpr bool early = false;
  static constexpr int rows = 3, edges = 2, of_tail = 6;

  __device__ STRATUM_INLINE XRow(const CellView<T, true>& a, T* memory, T* edges, T* tail, int n,
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
  [[nodiscard]] __device__ STRATUM_INLINE auto walk(int position) const {
    return CellWalk<positions, coupled, T>(across_south_, across_north_, 1 - position, n_ + 1 - position);
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
  const CellView<T, true>& a_;
  T *along_, *south_, *north_, *edges_, *tail_;
  T edge_, across_south_ = 0, across_north_ = 0;
  int n_;
};

template <class View>
constexpr bool walks_x_lines = is_tensor<View>;
template <class T>
constexpr bool walks_x_lines<CellView<T, true>> = true;

/// A block solves every second row of `rows` rows in turn. The next row of b and of x are on their way to shared memory
/// meanwhile; a row of x serves the lines on both sides. A warp fetches and turns over what its own 32 segments need, so
/// that the block meets once a line. In place: 3 words a node of the colour, 5 with K by cells.
template <int S, bool coupled, XPart part, bool tailed, class View, class T>
__global__ void __launch_bounds__(walk_x_threads<View>)
    walk_x_lines(const View a, const GridView<const T> b, const Lines<T> lines, const int rows, const XWalk cut,
                 const GridView<T> y) {
  extern __shared__ __align__(16) unsigned char memory[];
  constexpr int size = pack_size<T>, packs = S / size;
  constexpr bool sums = by_sums<View>, any_length = part != XPart::whole;
  constexpr bool differs = coupled && solves_for_difference<View>;
  using OperatorRow = XRow<View, S, any_length>;
  using Mail = Mailbox<T, walk_records<T, sums>, sums>;
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
  auto* const mailboxes = reinterpret_cast<Mail*>(x_tail + (tailed ? tail_numbers : 0));  // of clusters
  auto* const boards = reinterpret_cast<Piece<T, sums>*>(mailboxes + (blocks > 1 ? 2 : 0));
  const int line_begin = static_cast<int>(blockIdx.x) / blocks * rows, line_end = min(line_begin + rows, lines.count);

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
  if constexpr (any_length) open_mailboxes(Cluster(), mailboxes, 2);
  const int j_begin = lines.first + line_begin * lines.stride;
  after_previous();
  fetch_x(line_begin, j_begin - 1);
  fetch_x(line_begin + 1, j_begin + 1);
  fetch_b(line_begin, j_begin);
  of_operator.fetch(j_begin, share);
  of_operator.ask(j_begin);
  const int my_place = any_length ? min(lane, my_lanes - 1) : lane;  // idle lanes read what another one has

#pragma unroll 1
  for (int line = line_begin; line < line_end; ++line) {
    const int j = lines.first + line * lines.stride;
    auto walk = of_operator.template walk<S, coupled>(my_begin + lane * S);
    auto walk_on = of_operator.template walk<2, coupled>(share.next);  // to the tail
    bool near_south = false;
    if constexpr (solves_for_difference<View>) near_south = of_operator.near_south();
    wait_for_copies();
    __syncwarp();
    const auto fetch_next = [&] {
      if (line + 1 >= line_end) return;
      // Addresses are worked out anew: kept from row to row they would take the registers of segments.
      if constexpr (!early) asm volatile("" : "+r"(share.begin), "+r"(share.lane));
      fetch_x(line + 2, j + 3);
      fetch_b(line + 1, j + 2);
      of_operator.fetch(j + 2, share);
    };
    if (line + 1 < line_end) of_operator.ask(j + 2);
    if constexpr (early) fetch_next();
    const T* const south = x_ring + line % x_rows * share.stride;
    const T* const north = x_ring + (line + 1) % x_rows * share.stride;
    T *const b_row = b_ring + line % b_rows * share.stride, *const solution = early ? b_row : b_row + share.stride;

    Segment<T, S, true, sums> segment;
    Piece<T, sums> tail{};
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
        walk.start(south_left, north_left);
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
        for (int e = 0; e < size; ++e) walk.step(segment, c * size + e, intervals[e], xs.v[e], xn.v[e], right.v[e]);
      }
      walk.step(segment, S, behind, south_next, north_next, T(0));
      if (has_tail && lane == my_lanes - 1) {
        Segment<T, 2, true, sums> two;
        const T* const right = b_tail + line % b_rows * 2;
        T south_tail = 0, north_tail = 0;
        if constexpr (coupled) {
          south_tail = x_tail[line % x_rows];
          north_tail = x_tail[(line + 1) % x_rows];
          walk_on.start(south[last], north[last]);
        }
        if constexpr (differs) {
          near_tail[0] = near_south ? south_next : north_next;
          near_tail[1] = near_south ? south_tail : north_tail;
        }
        walk_on.step(two, 0, of_operator.before_tail(0), south_next, north_next, right[0]);
        walk_on.step(two, 1, of_operator.before_tail(1), south_tail, north_tail, right[1]);
        walk_on.step(two, 2, of_operator.before_tail(2), T(0), T(0), T(0));
        tail = two.piece();
      }
    }
    if constexpr (!early) {
      __syncwarp();
      fetch_next();
    }
    Row<T, sums> row;
    Piece<T, sums> mine = segment.piece();
    // The tail by what stands before it.
    if (has_tail && lane == my_lanes - 1)
      mine.last = line::with_right(mine.last, line::beyond_right(tail.first, tail.last));
    const Piece<T, sums> joined = join(mine, lane, my_lanes, row);
    Ends<T> ends;
    if (any_length && cut.is_direct<T, sums>()) {
      Mail& mailbox = mailboxes[(line - line_begin) % 2];
      if (t == 0) mailbox.expect(blocks * warps);
      if (lane < blocks) mailbox.send(lane, rank * warps + my_warp, joined);
      mailbox.wait((line - line_begin) / 2);
      ends =
          solve_pieces(mailbox.pieces[lane < blocks * warps ? lane : 0], lane, blocks * warps, rank * warps + my_warp);
    } else {
      Piece<T, sums>* const board = boards + line % 2 * warps;
      if (lane == 0) board[my_warp] = joined;
      __syncthreads();
      const Piece<T, sums> piece = board[lane < warps ? lane : 0];
      ends = any_length && blocks > 1 ? solve_beyond(piece, lane, warps, my_warp, mailboxes[(line - line_begin) % 2],
                                                     (line - line_begin) / 2)
                                      : solve_pieces(piece, lane, warps, my_warp);
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

/// Two neighbouring numbers of a row, of both colours.
template <class T>
struct alignas(2 * sizeof(T)) Pair {
  T even, odd;
};

/// Pushes the equations of a first-colour line to its segment. At position k = -1 .. S `second_of` gives the second-colour lines
/// beside it, at 0 .. S - 1 `right_of` b on both lines of the pair. Leaves b of the second line, and for a line that is solved
/// for differences what is near it, at the segment and beside.
template <bool mirrored, bool differs, class T, int S, class Line, class Segment, class SecondOf, class RightOf,
          class IntervalBefore, class Near>
__device__ STRATUM_INLINE void push_first_line(Line line, Segment& segment, const SecondOf& second_of,
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

/// How walk_y_lines cuts the grid. A tile is `bytes` wide, 128 where the lines are short enough since narrower ones do not
/// reach the memory's speed, and `rows` high in every block, S a thread; a column is as high as the cluster, which walks over
/// `tiles_each` tiles.
template <class T, int S = 16, int bytes = 128>
struct YWalk {
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

// What walk_y_lines asks of an operator is its tile: its numbers in shared memory, b, and the equations of lines. Lines a and b
// lie beside a line behind intervals 0, 1 or 2: before the even column of a thread's pair, between its two, behind the odd one.

/// Of a tensor operator.
template <class View, class W>
class YTile {
  using T = typename W::Number;
  static constexpr bool sums = by_sums<View>;

 public:
  static constexpr int numbers = W::rows * W::width + 2 * W::column + 2 * (W::width + 2);

  __device__ STRATUM_INLINE YTile(const View& a, const GridView<const T>& b, T* memory, int base)
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
    return TensorWalk<W::segment, coupled, sums, T>(beside_[a].k, beside_[a].m, beside_[b].k, beside_[b].m, e_[odd],
                                                    begins_line_, {itself, is_a, is_b});
  }
  /// Before position k of the segment.
  [[nodiscard]] __device__ STRATUM_INLINE Interval<T> interval_before(int k, int /*a*/, int /*b*/) const {
    return along_[k < W::segment ? k : k + 1];
  }

 private:
  const View& a_;
  const GridView<const T>& b_;
  int base_;
  T *b_tile_, *intervals_, *between_;  // the last: k, then m, between the columns of the tile
  const T *right_ = nullptr, *across_ = nullptr;
  const Interval<T>* along_ = nullptr;
  Interval<T> beside_[3];
  T e_[2];
  bool begins_line_ = false;
};

/// Of a scalar cell operator: its cells take the room of b, which is read when it is needed, the first time from the L2 cache.
template <class T, class W>
class YTile<CellView<T, true>, W> {
  using View = CellView<T, true>;

 public:
  static constexpr int numbers = (W::rows + 1) * W::pitch + W::column;

  __device__ STRATUM_INLINE YTile(const View& a, const GridView<const T>& b, T* memory, int base)
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
    return CellWalk<W::segment, coupled, T>(across_[a], across_[b], itself ? first_ : W::segment + 1, last_);
  }
  [[nodiscard]] __device__ STRATUM_INLINE CellsBeside<T> interval_before(int k, int a, int b) const {
    return {mine_[k * W::pitch + a], mine_[k * W::pitch + b], my_along_[k < W::segment ? k : k + 1]};
  }

 private:
  const View& a_;
  const GridView<const T>& b_;
  int base_;
  T *cells_, *along_;  // along_: 1 / h^2
  const T *mine_ = nullptr, *my_along_ = nullptr;
  int even_ = 0, first_ = 0, last_ = 0;
  T across_[3];
  Pair<T> right_[W::segment];
};

template <class View>
constexpr bool walks_y_lines = is_tensor<View>;
template <class T>
constexpr bool walks_y_lines<CellView<T, true>> = true;

template <class View, class W, class T = typename W::Number>
constexpr std::size_t y_walk_bytes = sizeof(T) * (pack_size<T> + (W::rows + 2) * W::pitch + YTile<View, W>::numbers +
                                                  2 * W::kept_numbers +
                                                  Turn<T, by_sums<View>>::numbers(W::pairs, W::segments)) +
                                     sizeof(Mailbox<T, most_blocks, by_sums<View>>) * 2 * W::pairs;

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
/// first such line of a cluster has it in another cluster's last tile, and is left to a later launch of solve_y_lines; or, where
/// every cluster has one tile and all run at once, the cluster before leaves it in `passed`, kept_numbers a block. In place:
/// what a first-colour line reads of the next tile is second-colour and not written yet. The next tile is on its way to shared
/// memory while one is solved. Mirrored: even columns first, tiles from right to left. Thread (c, s) has pair c of columns in
/// the order of the walk, segment s.
template <bool coupled, bool mirrored, class View, class W, class T = typename W::Number>
__global__ void __launch_bounds__(W::threads)
    walk_y_lines(const View a, const GridView<const T> b, const W walk, const GridView<T> y, T* const passed) {
#if defined(STRATUM_CLUSTERS)
  constexpr bool sums = by_sums<View>, differs = solves_for_difference<View>;
  constexpr int S = W::segment, R = W::rows, pairs = W::pairs, chunk = W::chunk, chunks = W::chunks;
  extern __shared__ __align__(16) unsigned char memory[];
  const Cluster cluster;
  const int blocks = cluster.blocks(), rank = cluster.rank();
  const int t = static_cast<int>(threadIdx.x), c = t % pairs, s = t / pairs, nx = y.nx, ny = y.ny;
  auto* const mailboxes = reinterpret_cast<Mailbox<T, most_blocks, sums>*>(memory);
  T* const x_tile = reinterpret_cast<T*>(mailboxes + 2 * pairs) + chunk + W::pitch;
  T* const numbers = x_tile + (R + 1) * W::pitch;
  T* const kept = numbers + YTile<View, W>::numbers;  // the last first-colour column of this tile and of the one before
  const Turn<T, sums> turn{kept + 2 * W::kept_numbers, pairs, W::segments};

  const int base = rank * R;  // position of row 0 of the block's part of a tile
  YTile<View, W> tile_of(a, b, numbers, base);
  const auto begin_of = [&](int tile) { return (mirrored ? walk.tiles - 1 - tile : tile) * W::width; };
  const auto fetch = [&](int tile) {
    const int p = begin_of(tile), part = t % chunks * chunk;
    const int last = y.periodic_x ? nx + 1 : nx;  // position of the last column that is not zero
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
  const int first_tile = static_cast<int>(blockIdx.x) / blocks * walk.tiles_each;
  const int last_tile = min(first_tile + walk.tiles_each, walk.tiles);
  open_mailboxes(cluster, mailboxes, 2 * pairs);
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
    turn.put(c, s, segment.piece());
    __syncthreads();
    solve_turned<false>(cluster, turn, mailboxes, tile - first_tile);
    if (tile + 1 < last_tile) fetch(tile + 1);
    __syncthreads();
    segment.substitute(turn.left(c, s), turn.own(c, s));
    const T before = near_before + turn.left(c, s), behind = near_behind + turn.right(c, s);
#pragma unroll
    for (int k = 0; k < S; ++k) x_first[k] = differs ? x_first[k] + segment[k] : segment[k];
    const auto passed_by = [&](int tile) {
      return passed + (tile * blocks + rank) * W::kept_numbers + s * W::kept + 1;
    };
    if (c == pairs - 1 && (passed == nullptr || tile + 1 < walk.tiles)) {
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
    turn.put(c, s, segment.piece());
    __syncthreads();
    if (tile + 1 < last_tile) tile_of.fetch_late(begin_of(tile + 1));
    solve_turned<false>(cluster, turn, mailboxes + pairs, tile - first_tile);
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

// --- launching -----------------------------------------------------------------------------------------------------------

/// Natural sides keep two nodes more than a power of two less one: there a little longer segments save a block of a cluster.
constexpr int longer_segment = 17;

/// Of a cluster; one where there are none.
inline int blocks_at_most() { return has_clusters() ? most_blocks : 1; }

/// `ring`: of a grid that is periodic along them. `memory`: for the pieces of lines that no cluster holds.
template <bool coupled, bool ring, class View, class T>
void launch_x_lines(const Context& ctx, const View& a, GridView<const T> b, GridView<const T> x, const Lines<T>& lines,
                    GridView<T> y, T* memory) {
  constexpr bool sums = ring || by_sums<View>;
  const auto launch = [&]<int S>() {
    const int segments = divide_up(ring ? y.nx : y.nx + 1, S);
    Launch launch;
    int blocks = divide_up(segments, x_line_threads);
    for (;; ++blocks) {
      const int threads = divide_up(divide_up(segments, blocks), warp) * warp;
      launch = {lines.count * blocks, threads, x_line_bytes<S, sums, T>(threads), blocks};
      if (launch.fits()) break;
    }
    const auto run = [&]<Step step>(const Interface<T, sums>& parts) {
      const auto kernel = solve_x_lines<S, coupled, ring, step, View, T>;
      const int ahead = loads_ahead<View> && step == Step::solve ? launch.resident(ctx, kernel) : lines.count;
      launch(ctx, kernel, a, b, x, lines, y, parts, ahead);
    };
    if (blocks <= blocks_at_most()) {
      run.template operator()<Step::solve>({});
      return true;
    }
    if constexpr (S == 8) {
      blocks = divide_up(segments, static_cast<int>(launch.block.x));
      launch.grid = lines.count * blocks;
      launch.cluster = 1;
      const Interface<T, sums> parts{reinterpret_cast<Piece<T, sums>*>(memory), blocks};
      run.template operator()<Step::eliminate>(parts);
      launch_interface<ring>(ctx, parts, lines.count);
      run.template operator()<Step::substitute>(parts);
    }
    return false;
  };
  if (y.nx < 512 && launch.template operator()<4>()) return;
  // Without neighbours a multiprocessor has registers for two blocks of short segments.
  if constexpr (sizeof(T) == 4 && coupled && !walks_x_lines<View>)
    if (y.nx >= 2048 && launch.template operator()<16>()) return;
  launch.template operator()<8>();
}

template <int S, int threads, bool ring, class View, class T, class Rhs>
void launch_y_lines(const Context& ctx, const Rhs& rhs, const Lines<T>& lines, GridView<T> y, int across,
                    bool early = true) {
  constexpr bool sums = ring || by_sums<View>;
  const int cluster = divide_up(y.ny, threads / across * S);
  Launch{divide_up(lines.count, across) * cluster, threads, y_line_bytes<T, sums>(threads, across), cluster, early}(
      ctx, solve_y_lines<S, threads, ring, Step::solve, Rhs, View, T>, rhs, lines, y, across, Interface<T, sums>{});
}

/// In three steps.
template <bool ring, class View, class T, class Rhs>
void launch_y_lines_in_steps(const Context& ctx, const Rhs& rhs, const Lines<T>& lines, GridView<T> y, T* memory) {
  constexpr bool sums = ring || by_sums<View>;
  constexpr int S = 16, across = static_cast<int>(64 / sizeof(T)), threads = across * warp;
  const int groups = divide_up(lines.count, across);
  const Interface<T, sums> parts{reinterpret_cast<Piece<T, sums>*>(memory), divide_up(y.ny, warp * S)};
  const auto run = [&]<Step step>() {
    Launch{groups * parts.count, threads, y_line_bytes<T, sums>(threads, across)}(
        ctx, solve_y_lines<S, threads, ring, step, Rhs, View, T>, rhs, lines, y, across, parts);
  };
  run.template operator()<Step::eliminate>();
  launch_interface<ring>(ctx, parts, groups * across);
  run.template operator()<Step::substitute>();
}

template <bool ring, class View, class T, class Rhs>
void launch_y_lines(const Context& ctx, const Rhs& rhs, const Lines<T>& lines, GridView<T> y, T* memory) {
  if (y.ny <= 128) return launch_y_lines<4, 256, ring, View>(ctx, rhs, lines, y, 8);
  if (y.ny <= 256) return launch_y_lines<4, 256, ring, View>(ctx, rhs, lines, y, 4);
  if (y.ny <= 2048 && blocks_at_most() > 1) return launch_y_lines<8, 256, ring, View>(ctx, rhs, lines, y, 8);
  // Every second column of 128 bytes, a warp a line; of 64 or 32 bytes where longer lines take two or four.
  constexpr int wide = static_cast<int>(64 / sizeof(T));
  for (int warps = 1; warps <= 4 && warps * blocks_at_most() <= most_records; warps *= 2)
    if (y.ny <= longer_segment * warps * warp * blocks_at_most())
      return launch_y_lines<longer_segment, wide * warp, ring, View>(ctx, rhs, lines, y, wide / warps);
  launch_y_lines_in_steps<ring, View>(ctx, rhs, lines, y, memory);
}

/// A few lines far apart, of up to 17408 nodes and no rings. Every number is in a cache line of its own: a line is shared among
/// as many multiprocessors as blocks reach it.
template <class View, class T, class Rhs>
void launch_few_y_lines(const Context& ctx, const Rhs& rhs, const Lines<T>& lines, GridView<T> y) {
  if (y.ny <= 8192) return launch_y_lines<8, 64, false, View>(ctx, rhs, lines, y, 1, false);
  launch_y_lines<17, 64, false, View>(ctx, rhs, lines, y, 1, false);
}

/// Lines of one colour of an operator that `walks_x_lines`, in place; false where they are too short, or too long for a
/// cluster.
template <bool coupled, class View, class T>
bool launch_x_walk(const Context& ctx, const View& a, GridView<const T> b, const Lines<T>& lines, GridView<T> y) {
  constexpr bool sums = by_sums<View>;
  constexpr int threads = walk_x_threads<View>;
  const auto launch_cut = [&]<int S, XPart part, bool tailed>(const XWalk& cut) {
    const auto kernel = walk_x_lines<S, coupled, part, tailed, View, T>;
    Launch launch{lines.count * cut.blocks, cut.warps() * warp, cut.bytes<S, sums, T>(), cut.blocks};
    if (!launch.fits()) return false;
    const int rows = divide_up(lines.count, launch.resident(ctx, kernel));
    launch.early = cut.blocks == 1 || rows == 1;  // where all clusters walk, early ones come to lie badly
    launch.grid = divide_up(lines.count, rows) * cut.blocks;
    launch(ctx, kernel, a, b, lines, rows, cut, y);
    return true;
  };
  const auto launch = [&]<int S, XPart part>(const XWalk& cut) {
    if constexpr (sums)
      if (cut.tail > 0) return launch_cut.template operator()<S, part, true>(cut);
    return launch_cut.template operator()<S, part, false>(cut);
  };
  const auto take = [&]<int S>() {
    const int positions = y.nx + 1, tail = sums && positions % S <= 2 ? positions % S : 0;
    const int segments = divide_up(positions - tail, S);
    const bool fills = tail > 0 && segments % warp == 0;
    const int whole = fills ? segments : divide_up(divide_up(positions, S), warp) * warp;
    if (whole <= threads && launch.template operator()<S, XPart::whole>({1, whole, fills ? tail : 0})) return true;
    if constexpr (is_tensor<View> && sizeof(T) == 4 && S == 16) return false;  // of short lines
    const int most = std::min(blocks_at_most(), walk_records<T, sums>);
    for (int blocks = 1; blocks <= most; ++blocks) {
      const bool ends_together = segments % blocks == 0;  // else the last block's segments go on behind the line
      const XWalk cut{blocks, divide_up(ends_together ? segments : divide_up(positions, S), blocks),
                      ends_together ? tail : 0};
      if (cut.segments <= threads && launch.template operator()<S, XPart::several>(cut)) return true;
    }
    return false;
  };
  if (y.nx < 1536 || lines.count == 0) return false;
  if constexpr (is_tensor<View> && sizeof(T) == 4)
    if (y.nx >= 3072) return take.template operator()<32>();
  return take.template operator()<16>();
}

/// Whether clusters walk over lines along y of a grid: where these are long, and where they are shorter but so many that every
/// multiprocessor has two tiles or more. Solved one by one they are read in rows of 32 bytes.
template <class W>
bool is_worth_a_walk(int nx, int ny) {
  constexpr int long_lines = 768, short_lines = 257, many_tiles = 264;
  if (ny >= long_lines) return true;
  return ny >= short_lines && divide_up(nx + 1, W::width) * divide_up(ny + 1, W::rows) >= many_tiles;
}

inline bool longer_segments_save_a_block(int ny) {
  return divide_up(ny + 1, YWalk<float, longer_segment>::rows) < divide_up(ny + 1, YWalk<float>::rows);
}

/// Has the `resident` clusters that run at the same time walk over the tiles of `walk`; the grid of `launch` is that of a cluster
/// a tile before. Returns the lines between two of them, which are left, all of the second colour.
template <bool mirrored, class T, class Walk>
Lines<T> walk_on(Launch& launch, Walk& walk, int resident) {
  const int cluster = static_cast<int>(launch.grid.x) / walk.tiles;
  walk.tiles_each = divide_up(walk.tiles, resident);
  launch.early = walk.tiles_each == 1;  // small grids; where all clusters walk, early ones come to lie badly
  const int clusters = divide_up(walk.tiles, walk.tiles_each), stride = walk.tiles_each * Walk::width;
  launch.grid = clusters * cluster;
  return {mirrored ? walk.tiles * Walk::width - 2 - stride : stride - 1, mirrored ? -stride : stride, clusters - 1,
          T(1), T(0)};
}

/// Both colours of y lines of an operator that `walks_y_lines`, in place, odd columns first unless mirrored; false where they
/// are too short, or too long for a cluster. Lines that are left are given back, all of the second colour. `passed`: zeros, in
/// which clusters pass columns to each other where there are enough.
template <bool coupled, bool mirrored, class View, class T>
bool launch_y_walk(const Context& ctx, const View& a, GridView<const T> b, GridView<T> y, Lines<T>& left,
                   GridView<T> passed) {
  const auto launch = [&]<class W>(W walk, bool must_pass = false) {
    const int cluster = divide_up(y.ny + 1, W::rows);
    const auto kernel = walk_y_lines<coupled, mirrored, View, W>;
    walk.tiles = divide_up(y.nx + 1, W::width);
    Launch launch{walk.tiles * cluster, W::threads, y_walk_bytes<View, W>, cluster};
    const bool has_room = passed.nx >= static_cast<int>(launch.grid.x) * W::kept_numbers;
    if (cluster > blocks_at_most() || (must_pass && !has_room) || !launch.fits()) return false;
    const int resident = launch.resident(ctx, kernel);
    const bool passes = has_room && walk.tiles <= resident;
    if (must_pass && !passes) return false;
    left = walk_on<mirrored, T>(launch, walk, resident);
    if (passes) left.count = 0;
    launch(ctx, kernel, line::along<Direction::y>(a), b, walk, y, passes ? passed.data : nullptr);
    return true;
  };
  using Usual = YWalk<T>;
  if (!has_clusters() || !is_worth_a_walk<Usual>(y.nx, y.ny)) return false;
  // More blocks of fewer rows, where the device has a place for each.
  if constexpr (is_tensor<View>)
    if (launch(YWalk<T, 8>{}, true)) return true;
  if constexpr (is_tensor<View> && by_sums<View> && sizeof(T) == 8)  // floats have walk_columns
    if (longer_segments_save_a_block(y.ny) && launch(YWalk<T, longer_segment>{})) return true;
  if constexpr (is_tensor<View> && sizeof(T) == 4)
    if (divide_up(y.ny + 1, Usual::rows) > most_blocks && launch(YWalk<T, 33, 64>{})) return true;
  return launch(Usual{});
}

}  // namespace stratum::cuda
