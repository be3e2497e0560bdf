#pragma once

// CUDA building blocks of the line solves: a tridiagonal system is cut into chunks (solvers/lines/algebra/chunks.hpp), and the
// chunks that lie in the lanes of a warp are joined to longer ones. For CUDA sources only.
//
// The right neighbour's x_first goes into the equation of x_last, and parallel cyclic reduction (Hockney, Jesshope, Parallel
// Computers, 1981) eliminates all x_last but one. A thread's segment is a chunk, so is a warp's and a block's; the last join
// has zeros on both sides and is solved.

#include <cuda_runtime.h>

#include <stratum/solvers/lines/algebra/chunks.hpp>

namespace stratum::cuda {

using line::reciprocal;
using line::ReducedChunk;
using line::Row;
using line::Segment;

constexpr unsigned all_lanes = 0xffffffffU;
constexpr int warp = 32;

template <class T, bool with_sum>
__device__ STRATUM_INLINE Row<T, with_sum> from_lane(const Row<T, with_sum>& row, int lane) {
  Row<T, with_sum> other;
  other.a = __shfl_sync(all_lanes, row.a, lane);
  other.c = __shfl_sync(all_lanes, row.c, lane);
  other.f = __shfl_sync(all_lanes, row.f, lane);
  if constexpr (with_sum) other.s = __shfl_sync(all_lanes, row.s, lane);
  return other;
}
/// Of the lane `h` below and of the lane `h` above.
template <class T, bool with_sum>
__device__ STRATUM_INLINE Row<T, with_sum> from_below(const Row<T, with_sum>& row, int h) {
  Row<T, with_sum> other;
  other.a = __shfl_up_sync(all_lanes, row.a, h);
  other.c = __shfl_up_sync(all_lanes, row.c, h);
  other.f = __shfl_up_sync(all_lanes, row.f, h);
  if constexpr (with_sum) other.s = __shfl_up_sync(all_lanes, row.s, h);
  return other;
}
template <class T, bool with_sum>
__device__ STRATUM_INLINE Row<T, with_sum> from_above(const Row<T, with_sum>& row, int h) {
  Row<T, with_sum> other;
  other.a = __shfl_down_sync(all_lanes, row.a, h);
  other.c = __shfl_down_sync(all_lanes, row.c, h);
  other.f = __shfl_down_sync(all_lanes, row.f, h);
  if constexpr (with_sum) other.s = __shfl_down_sync(all_lanes, row.s, h);
  return other;
}

/// Parallel cyclic reduction over the first `count` lanes of a warp, or of several systems at once, neighbours `stride` lanes
/// apart; `place` is a lane's number in its own. On return x = f - a P - c N, with P what stands left of place 0 and N what
/// stands right of place count - 1.
template <int stride = 1, class T, bool with_sum>
__device__ STRATUM_INLINE Row<T, with_sum> reduce_lanes(Row<T, with_sum> row, int place, int count) {
#pragma unroll
  for (int h = 1; h < warp / stride; h *= 2) {
    if (h >= count) break;
    const Row<T, with_sum> below = from_below(row, h * stride), above = from_above(row, h * stride);
    const bool left = place >= h, right = place + h < count;
    if constexpr (with_sum) {
      row =
          with_both(row, left ? below : line::same_as_left<T, true>(), right ? above : line::same_as_right<T, true>());
    } else {
      T d = 1, f = row.f;
      if (left) {
        d -= row.a * below.c;
        f -= row.a * below.f;
      }
      if (right) {
        d -= row.c * above.a;
        f -= row.c * above.f;
      }
      const T pivot = reciprocal(d);
      row.a = (left ? -row.a * below.a : row.a) * pivot;
      row.c = (right ? -row.c * above.c : row.c) * pivot;
      row.f = f * pivot;
    }
  }
  return row;
}

/// Joins the chunks of the first `count` lanes to one, returned to all lanes. Lane k < count - 1 gets its x_last by what is
/// unknown still: x_last = row.f - row.a x_left - row.c x_own, with x_own the last unknown of the joined chunk.
template <class T, bool with_sum>
__device__ STRATUM_INLINE ReducedChunk<T, with_sum> join(const ReducedChunk<T, with_sum>& mine, int lane, int count,
                                                         Row<T, with_sum>& row) {
  const Row<T, with_sum> next = from_above(mine.first, 1);
  row = lane < count - 1 ? with_right(mine.last, next) : line::zero_row<T, with_sum>();
  row = reduce_lanes(row, lane, count - 1);
  const Row<T, with_sum> last = from_lane(mine.last, count - 1), first = from_lane(mine.first, 0);
  Row<T, with_sum> before = from_lane(row, count > 1 ? count - 2 : 0), begin = from_lane(row, 0);
  if (count == 1) {
    before = line::same_as_left<T, with_sum>();
    begin = line::same_as_right<T, with_sum>();  // x_own itself
  }
  return {with_left(last, before), beyond_right(first, begin)};
}

/// Last unknowns of neighbouring chunks, and the first one of the right neighbour.
template <class T>
struct InterfaceUnknowns {
  T left, own, right_first;
};

/// Of `count` chunks that are joined to one, neighbours `stride` lanes apart, the ends of chunk number `place`, once those of
/// the whole are known: with `row`, its last unknown by the whole's ends, where it is not the last chunk.
template <int stride = 1, class T, bool with_sum>
__device__ STRATUM_INLINE InterfaceUnknowns<T>
interface_within(const ReducedChunk<T, with_sum>& mine, const Row<T, with_sum>& row, const InterfaceUnknowns<T>& whole,
                 int place, int count) {
  const T own = place == count - 1 ? whole.own : row.f - row.a * whole.left - row.c * whole.own;
  T left = __shfl_up_sync(all_lanes, own, stride);
  if (place == 0) left = whole.left;
  T right = __shfl_down_sync(all_lanes, mine.first.f - mine.first.a * left - mine.first.c * own, stride);
  if (place == count - 1) right = whole.right_first;
  return {left, own, right};
}

/// Solves the system of `count` <= 32 chunks, one a lane, with zeros on both sides; all lanes get what concerns chunk `me`.
template <class T, bool with_sum>
__device__ STRATUM_INLINE InterfaceUnknowns<T> solve_chunks(const ReducedChunk<T, with_sum>& mine, int lane, int count,
                                                            int me) {
  Row<T, with_sum> next = from_above(mine.first, 1);
  if (lane >= count - 1) next = line::zero_row<T, with_sum>();
  const Row<T, with_sum> row =
      reduce_lanes(lane < count ? with_right(mine.last, next) : line::zero_row<T, with_sum>(), lane, count);
  const T own = __shfl_sync(all_lanes, row.f, me);
  T left = __shfl_sync(all_lanes, row.f, me > 0 ? me - 1 : 0), right = __shfl_sync(all_lanes, row.f, (me + 1) % warp);
  if (me == 0) left = 0;
  if (me + 1 >= count) right = 0;
  const Row<T, with_sum> first = from_lane(next, me);
  return {left, own, first.f - first.a * own - first.c * right};
}

/// The same for chunks that form a cyclic line.
template <class T>
__device__ STRATUM_INLINE InterfaceUnknowns<T> solve_cyclic_line(const ReducedChunk<T, true>& mine, int lane, int count,
                                                                 int me) {
  Row<T, true> row;
  const T last = line::last_of_cyclic_line(join(mine, lane, count, row));
  const T x = lane == count - 1 ? last : row.f - (row.a + row.c) * last;
  const int after = me + 1 < count ? me + 1 : 0;
  const T own = __shfl_sync(all_lanes, x, me), left = __shfl_sync(all_lanes, x, me > 0 ? me - 1 : count - 1);
  const T right = __shfl_sync(all_lanes, x, after);
  const Row<T, true> first = from_lane(mine.first, after);
  return {left, own, first.f - first.a * own - first.c * right};
}

template <bool is_cyclic, class T, bool with_sum>
__device__ STRATUM_INLINE InterfaceUnknowns<T> solve_whole(const ReducedChunk<T, with_sum>& mine, int lane, int count,
                                                           int me) {
  if constexpr (is_cyclic)
    return solve_cyclic_line(mine, lane, count, me);
  else
    return solve_chunks(mine, lane, count, me);
}

/// How many of `mine` segments or chunks, of which `before` lie before them, are among the first `total`.
__device__ STRATUM_INLINE int there(int total, int before, int mine) { return max(0, min(total - before, mine)); }

}  // namespace stratum::cuda
