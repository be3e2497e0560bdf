#pragma once

// Lines along x of any operator, one a block or cluster of blocks; any damping, any order, cyclic lines. For CUDA sources only.
//
// A thread has a segment of S unknowns (solvers/lines/cuda/joined_chunks.hpp); segments join over the lanes of a warp, the
// warps of a block and the blocks of a cluster. Lines that no cluster holds, or no block where the GPU has no clusters, take
// three kernels (solvers/lines/cuda/three_steps.hpp). Words per unknown and sweep over both colours: 3 and the coefficients,
// with x twice, from the L2 cache; in three steps 5 and twice those.

#include <algorithm>

#include <stratum/core/device/cluster.hpp>
#include <stratum/solvers/lines/cuda/load.hpp>
#include <stratum/solvers/lines/cuda/three_steps.hpp>

namespace stratum::cuda {

/// Threads of a block, so that a thread has 128 registers.
constexpr int x_line_threads = 512;

template <int S, bool sums, class T>
std::size_t x_line_bytes(int threads) {
  return sizeof(T) * static_cast<std::size_t>((sums ? 4 : 3) * S * threads) +
         sizeof(ReducedChunk<T, sums>) * (threads / warp + 16);
}

/// What a thread still lacks of its segment's last unknown and of the one before the segment, once the ends of its warp's first
/// `count` segments are known; then all.
template <class T, class Segment, bool with_sum>
__device__ STRATUM_INLINE void substitute(Segment& segment, const Row<T, with_sum>& row,
                                          const InterfaceUnknowns<T>& ends, int lane, int count = warp) {
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
__device__ STRATUM_INLINE void store_nodes(const FieldView<T>& y, int n, int i, int j, const Pack<T>& numbers) {
  if (i >= 0 && i + pack_size<T> <= n) {
    store(&y(i, j), numbers);
  } else {
#pragma unroll
    for (int e = 0; e < pack_size<T>; ++e)
      if (i + e >= 0 && i + e < n) y(i + e, j) = numbers.v[e];
  }
}

/// A block, or the blocks of a cluster together, solve one line. A warp reads its own 32 segments along the row, divides the
/// equations by their diagonal and turns them over in shared memory. Position 0 is node -1: of a cyclic line that is the last
/// node, so that n positions hold all, one after the other. `ahead`: so many lines further lies the one that a block will have
/// next.
template <int S, bool coupled, bool is_cyclic, Step step, class View, class T,
          bool with_sums = is_cyclic || by_row_sums<View>>
__global__ void __launch_bounds__(x_line_threads)
    solve_x_lines(const View a, const FieldView<const T> b, const FieldView<const T> x, const Lines<T> lines,
                  const FieldView<T> y, const Interface<T, with_sums> parts, const int ahead) {
  extern __shared__ __align__(16) unsigned char memory[];
  constexpr int size = pack_size<T>, packs = S / size;
  constexpr bool sums = is_cyclic || by_row_sums<View>;
  const Cluster cluster;
  const int blocks = step == Step::solve ? cluster.blocks() : parts.count;
  const int number = static_cast<int>(blockIdx.x) / blocks;
  const int rank = step == Step::solve ? cluster.rank() : static_cast<int>(blockIdx.x) % blocks;
  const int threads = static_cast<int>(blockDim.x), t = static_cast<int>(threadIdx.x);
  const int lane = t % warp, my_warp = t / warp, warps = threads / warp;
  T *const lower = reinterpret_cast<T*>(memory), *const upper = lower + threads * S, *const right = upper + threads * S;
  T* const row_sums = right + threads * S;  // where there are any
  auto* const warp_chunks = reinterpret_cast<ReducedChunk<T, sums>*>(row_sums + (sums ? threads * S : 0));
  auto* const block_chunks = warp_chunks + warps;
  const int j = lines.line(number);
  const int n = is_cyclic ? y.nx - 1 : y.nx;              // nodes from position 1 on
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
    if (is_cyclic && k == 0 && i == -1) {
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

  // Of the cyclic line's segments those of this warp, of its warps those of this block, of its blocks those there are.
  const int cyclic_segments = divide_up(y.nx, S), cyclic_warps = divide_up(cyclic_segments, warp);
  const int my_lanes = is_cyclic ? there(cyclic_segments, (rank * warps + my_warp) * warp, warp) : warp;
  const int my_warps = is_cyclic ? there(cyclic_warps, rank * warps, warps) : warps;
  const int my_blocks = is_cyclic ? divide_up(cyclic_warps, warps) : blocks;
  Segment<T, S, false, sums, is_cyclic> segment(min(y.nx - 1 - (begin + 1 + t * S), S - 1));
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
  const ReducedChunk<T, sums> joined = join(segment.chunk(), lane, my_lanes, row);
  if (lane == 0) warp_chunks[my_warp] = joined;
  __syncthreads();
  const ReducedChunk<T, sums> chunk = warp_chunks[lane < warps ? lane : 0];
  InterfaceUnknowns<T> ends;
  if (step == Step::solve && blocks == 1) {
    ends = solve_whole<is_cyclic>(chunk, lane, my_warps, my_warp);
  } else {
    Row<T, sums> warp_row;
    const ReducedChunk<T, sums> whole = join(chunk, lane, my_warps, warp_row);
    if constexpr (step == Step::solve) {
      if (t < blocks) cluster.at(block_chunks, t)[rank] = whole;
      cluster.sync();
      ends = solve_whole<is_cyclic>(block_chunks[lane < blocks ? lane : 0], lane, my_blocks, rank);
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
      if (lines.keep != T(0) && i + e >= (is_cyclic ? -1 : 0) && i + e < n) solution.v[e] += lines.keep * x(i + e, j);
    }
    store_nodes(y, n, i, j, solution);
    if (is_cyclic && k == 0 && i == -1) y(n, j) = solution.v[0];
  }
}

}  // namespace stratum::cuda
