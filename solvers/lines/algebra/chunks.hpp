#pragma once

// Chunks of tridiagonal systems: what they come to, and how two of them join. Host and device; the warps that join 32 of them
// are in solvers/lines/cuda/joined_chunks.hpp.
//
// A chunk is a run of consecutive equations  l_k x_(k-1) + d_k x_k + u_k x_(k+1) = f_k  whose inner unknowns are eliminated.
// What its neighbours need to know of it are six numbers: its last unknown by what stands left and right of the chunk, and
// its first unknown by what stands left of it and by its last one,
//
//     x_last  = f - a x_left - c x_right            x_first = f' - a' x_left - c' x_last .
//
// Chunks join to one of the same form: the right neighbour's x_first goes into the equation of x_last, and that is put into
// others.
//
// Inside a segment (`Segment`) one forward elimination keeps m_k = l_k / pivot_(k-1) and r_k = 1 / pivot_k:
//
//     y_k = f_k - m_k y_(k-1) ,   p_k = -m_k p_(k-1) ,   w_k = -u_(k-1) w_(k-1) r_k ,    y_0 = f_0, p_0 = 1, w_0 = r_0 ,
//     x_first = sum w_k y_k - l_0 x_left sum w_k p_k - u w x_last ,
//
// where w_k = p_k r_k if the matrix is symmetric. Once x_left and x_last are known, y is formed anew with f_0 - l_0 x_left
// and x_k = r_k y_k - u_k r_k x_(k+1) goes back.
//
// `by_row_sums`: the diagonal is given by the sum e_k over the row. Where that is small in large entries, as in a line of thin
// cells, pivots are formed without subtraction (Grassmann, Taksar, Heyman, Operations Research 33, 1985): with b_k the row sum
// of what is left
//
//     b_k = e_k - m_k b_(k-1) , b_0 = e_0 ,   pivot_k = b_k - p_k l_0 - u_k ,
//
// and both rows of a chunk know their own sums, b r of the last row and sum w_k b_k.
//
// The line of a periodic grid is a chunk that borders on itself: x_left = x_last and x_right = x_first,
//
//     (1 + a - c (a' + c')) x_last = f - c f' ,    1 + a - c (a' + c') = s - c s' ,
//
// with s and s' the sums of the two rows, without which the left-hand side would cancel.

#include <algorithm>
#include <cstdint>

#include <stratum/core/config.hpp>

namespace stratum::line {

/// 1 / x, on a GPU to one unit in the last place. Pivots are of order one or more: entries of A are ratios of widths.
STRATUM_HOST_DEVICE STRATUM_INLINE float reciprocal(float x) {
#if defined(__CUDA_ARCH__)
  float r;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  return r;
#else
  return 1 / x;
#endif
}
STRATUM_HOST_DEVICE STRATUM_INLINE double reciprocal(double x) {
#if defined(__CUDA_ARCH__)
  double r;
  asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(r) : "d"(x));
  r = fma(fma(-x, r, 1.0), r, r);
  return fma(fma(-x, r, 1.0), r, r);
#else
  return 1 / x;
#endif
}

/// A row  x + a x_left + c x_right = f  of a tridiagonal system; `with_sum`: and its sum s = 1 + a + c, where that is known
/// better than from the three, which may cancel.
template <class T, bool with_sum = false>
struct Row {
  T a, c, f;
};
template <class T>
struct Row<T, true> {
  T a, c, f, s;
};

/// x = 0
template <class T, bool with_sum>
STRATUM_HOST_DEVICE STRATUM_INLINE Row<T, with_sum> zero_row() {
  Row<T, with_sum> row{};
  if constexpr (with_sum) row.s = 1;
  return row;
}
/// x = x_left and x = x_right.
template <class T, bool with_sum>
STRATUM_HOST_DEVICE STRATUM_INLINE Row<T, with_sum> same_as_left() {
  Row<T, with_sum> row{};
  row.a = -1;
  return row;
}
template <class T, bool with_sum>
STRATUM_HOST_DEVICE STRATUM_INLINE Row<T, with_sum> same_as_right() {
  Row<T, with_sum> row{};
  row.c = -1;
  return row;
}

// What is left of a row when the rows of the unknowns beside it are put in. With sums the pivots are formed without subtraction
// where a, c <= 0 <= s:  1 = s - a - c  and  1 + c' = s' - a' .

/// x_right by `right`, of which that unknown is the left one of this row's x.
template <class T, bool with_sum>
STRATUM_HOST_DEVICE STRATUM_INLINE Row<T, with_sum> with_right(const Row<T, with_sum>& row,
                                                               const Row<T, with_sum>& right) {
  if constexpr (with_sum) {
    const T pivot = reciprocal(row.s - row.a - row.c * (right.s - right.c));
    return {row.a * pivot, -row.c * right.c * pivot, (row.f - row.c * right.f) * pivot,
            (row.s - row.c * right.s) * pivot};
  } else {
    const T pivot = reciprocal(1 - row.c * right.a);
    return {row.a * pivot, -row.c * right.c * pivot, (row.f - row.c * right.f) * pivot};
  }
}
/// x_left by `left`, of which that unknown is the right one of this row's x.
template <class T, bool with_sum>
STRATUM_HOST_DEVICE STRATUM_INLINE Row<T, with_sum> with_left(const Row<T, with_sum>& row,
                                                              const Row<T, with_sum>& left) {
  if constexpr (with_sum) {
    const T pivot = reciprocal(row.s - row.c - row.a * (left.s - left.a));
    return {-row.a * left.a * pivot, row.c * pivot, (row.f - row.a * left.f) * pivot, (row.s - row.a * left.s) * pivot};
  } else {
    const T pivot = reciprocal(1 - row.a * left.c);
    return {-row.a * left.a * pivot, row.c * pivot, (row.f - row.a * left.f) * pivot};
  }
}
/// Both.
template <class T>
STRATUM_HOST_DEVICE STRATUM_INLINE Row<T, true> with_both(const Row<T, true>& row, const Row<T, true>& left,
                                                          const Row<T, true>& right) {
  const T pivot = reciprocal(row.s - row.a * (left.s - left.a) - row.c * (right.s - right.c));
  return {-row.a * left.a * pivot, -row.c * right.c * pivot, (row.f - row.a * left.f - row.c * right.f) * pivot,
          (row.s - row.a * left.s - row.c * right.s) * pivot};
}
/// x_right by a row that gives it by x_left and what lies beyond.
template <class T, bool with_sum>
STRATUM_HOST_DEVICE STRATUM_INLINE Row<T, with_sum> beyond_right(const Row<T, with_sum>& row,
                                                                 const Row<T, with_sum>& right) {
  if constexpr (with_sum)
    return {row.a - row.c * right.a, -row.c * right.c, row.f - row.c * right.f, row.s - row.c * right.s};
  else
    return {row.a - row.c * right.a, -row.c * right.c, row.f - row.c * right.f};
}

template <class T, bool with_sums = false>
struct ReducedChunk {
  Row<T, with_sums> last;   // x_last  + a x_left + c x_right = f
  Row<T, with_sums> first;  // x_first + a x_left + c x_last  = f
};

/// Joins `next` to the end of `whole`. Returns what was its last unknown, by what stands left of it and its new last one.
template <class T, bool with_sum>
STRATUM_HOST_DEVICE STRATUM_INLINE Row<T, with_sum> append(ReducedChunk<T, with_sum>& whole,
                                                           const ReducedChunk<T, with_sum>& next) {
  const Row<T, with_sum> between = with_right(whole.last, next.first);
  whole = {with_left(next.last, between), beyond_right(whole.first, between)};
  return between;
}

/// Numbers that a GPU needs for the chunks of all lines of a grid: of rows in parts of at least 1024 nodes, of columns in parts
/// of 512, two more rows of chunks for the columns beside the grid.
[[nodiscard]] inline int interface_numbers(int nx, int ny) {
  constexpr std::int64_t row_part = 1024, column_part = 512, a_chunk = 8, columns_beside = 64;
  const auto parts = [](std::int64_t length, std::int64_t part) { return length / part + 1; };
  const std::int64_t numbers =
      a_chunk * std::max(ny * parts(nx + 1, row_part), (nx + columns_beside) * parts(ny + 1, column_part));
  return static_cast<int>(numbers);
}

/// Numbers that blocks of a GPU need to pass columns to each other, tiles being `width` columns wide. Up to 160 blocks of 512
/// rows: a column for each, or for two of 256 rows each (persistent_y_lines, persistent_bands). Larger grids: one for each of
/// at most 160 multiprocessors (persistent_columns).
[[nodiscard]] inline int passed_numbers(int nx, int ny, int width) {
  constexpr std::int64_t most_blocks = 160, block_rows = 512, a_block = 2 * 32 * 11, a_cluster = 32 * 18;
  const std::int64_t blocks = (nx / width + std::int64_t{1}) * (ny / block_rows + 1);
  return static_cast<int>(blocks <= most_blocks ? blocks * a_block : most_blocks * a_cluster);
}

/// x_last of a chunk that borders on itself.
template <class T>
STRATUM_HOST_DEVICE STRATUM_INLINE T last_of_cyclic_line(const ReducedChunk<T, true>& whole) {
  return (whole.last.f - whole.last.c * whole.first.f) / (whole.last.s - whole.last.c * whole.first.s);
}

/// S consecutive equations of a line, held by one thread, of which the last unknown is the chunk's. Everything is unrolled
/// and stays in registers: 3 numbers an unknown, 4 if the matrix is not symmetric. `in_cyclic_line`: the chunk ends with
/// equation number `last` <= S - 1, which couples its unknown to the next chunk; those behind it are no part of it and must be
/// x = 0 (lower = upper = right = 0). A segment with last < 0 is no chunk. Without `keeps` it is a number less an unknown:
/// multipliers are formed anew from the entries they came from.
template <class T, int S, bool symmetric, bool by_row_sums = false, bool in_cyclic_line = false, bool keeps = true>
class Segment {
 public:
  Segment() = default;
  STRATUM_HOST_DEVICE STRATUM_INLINE explicit Segment(int last) : last_(last), chunk_{} {}

  /// Takes equation k, in the order k = 0 .. S - 1; `diagonal` is its diagonal entry, or the sum over the row.
  STRATUM_HOST_DEVICE STRATUM_INLINE void push(int k, T lower, T diagonal, T upper, T right) {
    x_[k] = right;
    if (k == 0) {
      lower_ = lower;
      if constexpr (by_row_sums) sum_ = diagonal;
      r_[0] = w_ = reciprocal(by_row_sums ? diagonal - lower - upper : diagonal);
      y_ = right;
      p_ = 1;
      first_a_ = w_;
      first_f_ = w_ * y_;
      if constexpr (by_row_sums) first_sum_ = w_ * sum_;
      if (in_cyclic_line && last_ == 0) {
        put_last(0, upper);
        chunk_.first = same_as_right<T, by_row_sums>();  // of one unknown: the last itself
      }
    } else {
      const T m = lower * r_[k - 1];
      if constexpr (keeps) m_[k] = m;
      y_ = right - m * y_;
      p_ = -m * p_;
      if constexpr (by_row_sums) {
        sum_ = diagonal - m * sum_;
        r_[k] = reciprocal(sum_ - p_ * lower_ - upper);
      } else {
        r_[k] = reciprocal(diagonal - m * upper_);
      }
      if (in_cyclic_line ? k == last_ : k == S - 1) {
        put_last(k, upper);
        chunk_.first.a = lower_ * first_a_;
        chunk_.first.c = upper_ * w_;
        chunk_.first.f = first_f_;
        if constexpr (by_row_sums) chunk_.first.s = first_sum_;
      }
      if (k < S - 1) {
        w_ = symmetric ? p_ * r_[k] : -upper_ * w_ * r_[k];
        first_a_ += w_ * p_;
        first_f_ += w_ * y_;
        if constexpr (by_row_sums) first_sum_ += w_ * sum_;
      }
    }
    if constexpr (!symmetric) u_[k] = upper * r_[k];
    upper_ = upper;
  }
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE const ReducedChunk<T, by_row_sums>& chunk() const { return chunk_; }

  /// Once the unknown left of the segment and its own last one are known: all the others.
  STRATUM_HOST_DEVICE STRATUM_INLINE void substitute(T left, T last) {
    static_assert(keeps);
    substitute_by(left, last, [this](int k) { return m_[k]; });
  }
  /// The same, with entry `lower(k)` of equations 1 .. S - 1.
  template <class Lower>
  STRATUM_HOST_DEVICE STRATUM_INLINE void substitute(T left, T last, const Lower& lower) {
    substitute_by(left, last, [&](int k) { return lower(k) * r_[k - 1]; });
  }
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE T operator[](int k) const { return x_[k]; }
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE T& operator[](int k) { return x_[k]; }

 private:
  template <class Multiplier>
  STRATUM_HOST_DEVICE STRATUM_INLINE void substitute_by(T left, T last, const Multiplier& multiplier) {
    T y = x_[0] - lower_ * left;
    x_[0] = r_[0] * y;
#if defined(__CUDACC__)
#pragma unroll
#endif
    for (int k = 1; k < S - 1; ++k) {
      y = x_[k] - multiplier(k) * y;
      x_[k] = r_[k] * y;
    }
    if constexpr (in_cyclic_line) {
#if defined(__CUDACC__)
#pragma unroll
#endif
      for (int k = 0; k < S; ++k) x_[k] = k == last_ ? last : x_[k];
    } else {
      x_[S - 1] = last;
    }
#if defined(__CUDA_ARCH__)
    if constexpr (!keeps) asm volatile("" ::: "memory");  // or the multipliers would be kept from here on
#endif
#if defined(__CUDACC__)
#pragma unroll
#endif
    for (int k = S - 2; k >= 0; --k) {
      if constexpr (symmetric)
        x_[k] -= multiplier(k + 1) * x_[k + 1];
      else
        x_[k] -= u_[k] * x_[k + 1];
    }
  }
  STRATUM_HOST_DEVICE STRATUM_INLINE void put_last(int k, T upper) {
    chunk_.last.a = p_ * lower_ * r_[k];
    chunk_.last.c = upper * r_[k];
    chunk_.last.f = y_ * r_[k];
    if constexpr (by_row_sums) chunk_.last.s = sum_ * r_[k];
  }

  int last_;  // in_cyclic_line
  T x_[S];    // right-hand sides, then unknowns
  T m_[keeps ? S : 1], r_[S];
  T u_[symmetric ? 1 : S];  // u_k r_k
  T lower_, upper_, y_, p_, w_, first_a_, first_f_;
  T sum_, first_sum_;  // by_row_sums
  ReducedChunk<T, by_row_sums> chunk_;
};

}  // namespace stratum::line
