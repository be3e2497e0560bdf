#pragma once

// CUDA building blocks of the line solves: a tridiagonal system is cut into pieces, and pieces are joined to longer ones.
// For CUDA sources only.
//
// A piece is a run of consecutive equations  l_k x_(k-1) + d_k x_k + u_k x_(k+1) = f_k  whose inner unknowns are eliminated.
// What its neighbours need to know of it are six numbers: its last unknown by what stands left and right of the piece, and
// its first unknown by what stands left of it and by its last one,
//
//     x_last  = f - a x_left - c x_right            x_first = f' - a' x_left - c' x_last .
//
// Pieces of one size join to one of the same form (`join`): the right neighbour's x_first goes into the equation of x_last,
// and parallel cyclic reduction (Hockney, Jesshope, Parallel Computers, 1981) eliminates all x_last but one. A thread's
// segment is a piece, so is a warp's and a block's; the last join has zeros on both sides and is solved.
//
// Inside a segment (`Segment`) one forward elimination keeps m_k = l_k / pivot_(k-1) and r_k = 1 / pivot_k:
//
//     y_k = f_k - m_k y_(k-1) ,   p_k = -m_k p_(k-1) ,   w_k = -u_(k-1) w_(k-1) r_k ,    y_0 = f_0, p_0 = 1, w_0 = r_0 ,
//     x_first = sum w_k y_k - l_0 x_left sum w_k p_k - u w x_last ,
//
// where w_k = p_k r_k if the matrix is symmetric. Once x_left and x_last are known, y is formed anew with f_0 - l_0 x_left
// and x_k = r_k y_k - u_k r_k x_(k+1) goes back.

#include <cuda_runtime.h>

#include <stratum/core/config.hpp>

namespace stratum::cuda {

constexpr unsigned all_lanes = 0xffffffffU;
constexpr int warp = 32;

/// 1 / x, to one unit in the last place. Pivots are of order one or more: entries of A are ratios of widths.
__device__ STRATUM_INLINE float reciprocal(float x) {
  float r;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  return r;
}
__device__ STRATUM_INLINE double reciprocal(double x) {
  double r;
  asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(r) : "d"(x));
  r = fma(fma(-x, r, 1.0), r, r);
  return fma(fma(-x, r, 1.0), r, r);
}

/// A row  x + a x_left + c x_right = f  of a tridiagonal system.
template <class T>
struct Row {
  T a, c, f;
};

template <class T>
__device__ STRATUM_INLINE Row<T> from_lane(const Row<T>& row, int lane) {
  return {__shfl_sync(all_lanes, row.a, lane), __shfl_sync(all_lanes, row.c, lane),
          __shfl_sync(all_lanes, row.f, lane)};
}

/// Parallel cyclic reduction over the first `count` lanes of a warp. On return x = f - a P - c N, with P what stands left of
/// lane 0 and N what stands right of lane count - 1.
template <class T>
__device__ STRATUM_INLINE Row<T> reduce_lanes(Row<T> row, int lane, int count) {
#pragma unroll
  for (int h = 1; h < warp; h *= 2) {
    if (h >= count) break;
    const T la = __shfl_up_sync(all_lanes, row.a, h), lc = __shfl_up_sync(all_lanes, row.c, h);
    const T lf = __shfl_up_sync(all_lanes, row.f, h);
    const T ra = __shfl_down_sync(all_lanes, row.a, h), rc = __shfl_down_sync(all_lanes, row.c, h);
    const T rf = __shfl_down_sync(all_lanes, row.f, h);
    const bool left = lane >= h, right = lane + h < count;
    T d = 1, f = row.f;
    if (left) {
      d -= row.a * lc;
      f -= row.a * lf;
    }
    if (right) {
      d -= row.c * ra;
      f -= row.c * rf;
    }
    const T pivot = reciprocal(d);
    row.a = (left ? -row.a * la : row.a) * pivot;
    row.c = (right ? -row.c * rc : row.c) * pivot;
    row.f = f * pivot;
  }
  return row;
}

template <class T>
struct Piece {
  Row<T> last;   // x_last  + a x_left + c x_right = f
  Row<T> first;  // x_first + a x_left + c x_last  = f
};

/// The equation of x_last with the right neighbour's x_first put in: its right unknown is then the neighbour's x_last.
template <class T>
__device__ STRATUM_INLINE Row<T> substitute_next(const Row<T>& last, const Row<T>& next_first) {
  const T pivot = reciprocal(1 - last.c * next_first.a);
  return {last.a * pivot, -last.c * next_first.c * pivot, (last.f - last.c * next_first.f) * pivot};
}

/// Joins the pieces of the first `count` lanes to one, returned to all lanes. Lane k < count - 1 gets its x_last by what is
/// unknown still: x_last = row.f - row.a x_left - row.c x_own, with x_own the last unknown of the joined piece.
template <class T>
__device__ STRATUM_INLINE Piece<T> join(const Piece<T>& mine, int lane, int count, Row<T>& row) {
  const Row<T> next{__shfl_down_sync(all_lanes, mine.first.a, 1), __shfl_down_sync(all_lanes, mine.first.c, 1),
                    __shfl_down_sync(all_lanes, mine.first.f, 1)};
  row = lane < count - 1 ? substitute_next(mine.last, next) : Row<T>{};
  row = reduce_lanes(row, lane, count - 1);
  const Row<T> last = from_lane(mine.last, count - 1), first = from_lane(mine.first, 0);
  Row<T> before = from_lane(row, count > 1 ? count - 2 : 0), begin = from_lane(row, 0);
  if (count == 1) {
    before = {-1, 0, 0};  // x_left itself
    begin = {0, -1, 0};   // x_own itself
  }
  const T pivot = reciprocal(1 - last.a * before.c);
  return {{-last.a * before.a * pivot, last.c * pivot, (last.f - last.a * before.f) * pivot},
          {first.a - first.c * begin.a, -first.c * begin.c, first.f - first.c * begin.f}};
}

/// Last unknowns of neighbouring pieces, and the first one of the right neighbour.
template <class T>
struct Ends {
  T left, own, right_first;
};

/// Solves the system of `count` <= 32 pieces, one a lane, with zeros on both sides; all lanes get what concerns piece `me`.
template <class T>
__device__ STRATUM_INLINE Ends<T> solve_pieces(const Piece<T>& mine, int lane, int count, int me) {
  Row<T> next{__shfl_down_sync(all_lanes, mine.first.a, 1), __shfl_down_sync(all_lanes, mine.first.c, 1),
              __shfl_down_sync(all_lanes, mine.first.f, 1)};
  if (lane >= count - 1) next = {};
  const Row<T> row = reduce_lanes(lane < count ? substitute_next(mine.last, next) : Row<T>{}, lane, count);
  const T own = __shfl_sync(all_lanes, row.f, me);
  T left = __shfl_sync(all_lanes, row.f, me > 0 ? me - 1 : 0), right = __shfl_sync(all_lanes, row.f, (me + 1) % warp);
  if (me == 0) left = 0;
  if (me + 1 >= count) right = 0;
  const Row<T> first = from_lane(next, me);
  return {left, own, first.f - first.a * own - first.c * right};
}

/// S consecutive equations of a line, held by one thread, of which the last unknown is the piece's. Everything is unrolled
/// and stays in registers: 3 numbers an unknown, 4 if the matrix is not symmetric.
template <class T, int S, bool symmetric>
class Segment {
 public:
  /// Takes equation k, in the order k = 0 .. S - 1.
  __device__ STRATUM_INLINE void push(int k, T lower, T centre, T upper, T right) {
    x_[k] = right;
    if (k == 0) {
      lower_ = lower;
      r_[0] = w_ = reciprocal(centre);
      y_ = right;
      p_ = 1;
      first_a_ = w_;
      first_f_ = w_ * y_;
    } else {
      m_[k] = lower * r_[k - 1];
      y_ = right - m_[k] * y_;
      p_ = -m_[k] * p_;
      r_[k] = reciprocal(centre - m_[k] * upper_);
      if (k == S - 1) {
        piece_ = {{p_ * lower_ * r_[k], upper * r_[k], y_ * r_[k]}, {lower_ * first_a_, upper_ * w_, first_f_}};
      } else {
        w_ = symmetric ? p_ * r_[k] : -upper_ * w_ * r_[k];
        first_a_ += w_ * p_;
        first_f_ += w_ * y_;
      }
    }
    if (!symmetric) u_[symmetric ? 0 : k] = upper * r_[k];
    upper_ = upper;
  }
  [[nodiscard]] __device__ STRATUM_INLINE const Piece<T>& piece() const { return piece_; }

  /// Once the unknown left of the segment and its own last one are known: all the others.
  __device__ STRATUM_INLINE void substitute(T left, T last) {
    T y = x_[0] - lower_ * left;
    x_[0] = r_[0] * y;
#pragma unroll
    for (int k = 1; k < S - 1; ++k) {
      y = x_[k] - m_[k] * y;
      x_[k] = r_[k] * y;
    }
    x_[S - 1] = last;
#pragma unroll
    for (int k = S - 2; k >= 0; --k) x_[k] -= (symmetric ? m_[k + 1] : u_[symmetric ? 0 : k]) * x_[k + 1];
  }
  [[nodiscard]] __device__ STRATUM_INLINE T operator[](int k) const { return x_[k]; }

 private:
  T x_[S];  // right-hand sides, then unknowns
  T m_[S], r_[S], u_[symmetric ? 1 : S];
  T lower_, upper_, y_, p_, w_, first_a_, first_f_;
  Piece<T> piece_;
};

}  // namespace stratum::cuda
