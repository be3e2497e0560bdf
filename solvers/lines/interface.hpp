#pragma once

// Line solves in three steps, where a line is cut into pieces 0 .. p - 1 that lie apart (algebra: solvers/lines/pieces.hpp):
//
//     1. eliminate     every piece by itself: its inner unknowns, so that 2 rows are left of it,
//                          x_last  + a x_left + c x_right = f ,     x_first + a' x_left + c' x_last = f'
//     2. interface     the rows of all pieces are put together and solved for x_first and x_last of every piece
//     3. substitute    every piece by itself, as a line between known ends x_left and x_right
//
// Here is the second step. The x_first are put into the rows left of them, which makes the x_last a tridiagonal system of p
// unknowns, x_last' their neighbours': a chain, or a ring where the line is periodic. Thomas' algorithm: forward each row takes
// in the one before,
//
//     L_r + a_r X + c_r L_(r+1) = f_r ,      X = L_(p-1) in a ring, 0 in a chain,
//
// a ring is closed by the sum over its rows (`Ring` in solvers/lines/thomas.hpp has the formula), and what the others have more than
// X goes back. Everything is formed by row sums, so that nothing cancels where cells are thin: the sums s = 1 + a + c are given
// beside a and c, and neither is formed from the others. Every piece solves the same interface from the same numbers in the same
// order: all get the same bits, and need not be told each other's results.
//
// Of a line and piece 7 numbers are put together; about 20 p operations a line. Sources: the substructuring of Wang, ACM Trans.
// Math. Softw. 7 (1981), "A parallel method for tridiagonal equations"; pivots as Grassmann, Taksar, Heyman, Operations Research 33
// (1985).
//
// Host and device.

#include <cstdint>

#include <stratum/solvers/lines/pieces.hpp>

namespace stratum::line {

/// The pieces of many lines: of a piece 7 rows of one number a line.
template <class T>
struct PiecesOfLines {
  static constexpr int rows = 7;
  T* numbers;
  int lines;

  STRATUM_HOST_DEVICE STRATUM_INLINE T& at(int piece, int row, int line) const {
    return numbers[(std::int64_t{piece} * rows + row) * lines + line];
  }
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE Row<T, true> last(int piece, int line) const {
    return {at(piece, 0, line), at(piece, 1, line), at(piece, 2, line), at(piece, 3, line)};
  }
  /// a is of those that have it from s and c.
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE Row<T, true> first(int piece, int line) const {
    const T c = at(piece, 4, line), f = at(piece, 5, line), s = at(piece, 6, line);
    return {s - 1 - c, c, f, s};
  }
  STRATUM_HOST_DEVICE STRATUM_INLINE void put_last(int piece, int line, const Row<T, true>& row) const {
    at(piece, 0, line) = row.a;
    at(piece, 1, line) = row.c;
    at(piece, 2, line) = row.f;
    at(piece, 3, line) = row.s;
  }
  STRATUM_HOST_DEVICE STRATUM_INLINE void put_first(int piece, int line, const Row<T, true>& row) const {
    at(piece, 4, line) = row.c;
    at(piece, 5, line) = row.f;
    at(piece, 6, line) = row.s;
  }
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE T& x_last(int piece, int line) const { return at(piece, 2, line); }
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE T& x_first(int piece, int line) const { return at(piece, 5, line); }

  /// Solves the interface of `count` pieces of a line in place.
  STRATUM_HOST_DEVICE STRATUM_INLINE void solve(int count, bool ring, int line) const {
    Row<T, true> row = ring ? same_as_left<T, true>() : zero_row<T, true>();
    T weight = 1, first_f = 0, first_s = 0;
    for (int r = 0; r < count; ++r) {
      const Row<T, true> beyond = r + 1 < count ? first(r + 1, line) : ring ? first(0, line) : zero_row<T, true>();
      row = with_left(with_right(last(r, line), beyond), row);
      put_last(r, line, row);
      if (r + 1 == count) break;
      first_f += weight * row.f;
      first_s += weight * row.s;
      weight *= -row.c;
    }
    const T closing = ring ? (row.f - row.c * first_f) / (row.s - row.c * first_s) : T(0);
    T more = ring ? T(0) : row.f;  // than X
    x_last(count - 1, line) = closing + more;
    for (int r = count - 2; r >= 0; --r) {
      const Row<T, true> own = last(r, line);
      more = own.f - own.s * closing - own.c * more;
      x_last(r, line) = closing + more;
    }
    for (int r = 0; r < count; ++r) {
      const Row<T, true> own = first(r, line);
      const T left = r > 0 ? x_last(r - 1, line) : ring ? x_last(count - 1, line) : T(0);
      x_first(r, line) = left + (own.f - own.s * left - own.c * (x_last(r, line) - left));
    }
  }
};

/// What a strip knows of its lines' ends once the interface is solved: solved for, the unknowns left (below) and right of it, and
/// the results in rows -1, 0, n - 1 and n.
template <class T>
struct EndsOfLines {
  T* numbers;
  int lines;
  STRATUM_HOST_DEVICE STRATUM_INLINE T& left(int line) const { return numbers[line]; }
  STRATUM_HOST_DEVICE STRATUM_INLINE T& right(int line) const { return numbers[lines + line]; }
  STRATUM_HOST_DEVICE STRATUM_INLINE T& result(int row, int line) const { return numbers[(2 + row) * lines + line]; }
};

/// Where piece `me` of `count` has all this.
template <class T>
struct Interface {
  PiecesOfLines<T> own, all;
  EndsOfLines<T> ends;
  int me, count;
  bool ring;
};

/// Elimination of a piece, position after position: Thomas' algorithm by row sums (solvers/lines/thomas.hpp), where the unknown left
/// of the piece stays in, x_k + c_k x_(k+1) + a_k x_left = z_k with the sum s_k = 1 + c_k + a_k,
///
///     q_k = 1 + c_k = (e_k - l_k q_(k-1)) r_k ,   r_k = 1 / (e_k - l_k q_(k-1) - u_k) ,   q_(-1) = 1 ,
///     z_k = (f_k - l_k z_(k-1)) r_k ,   s_k = (e_k - l_k s_(k-1)) r_k ,   a_k = -l_k a_(k-1) r_k ,   a_(-1) = -1 ,
///
/// and x_first is summed up from  x_first = sum w_k (z_k - a_k x_left) + w_last x_last ,  w_k = (-c_0) ... (-c_(k-1)) .
/// T: a number, or a pack of them.
template <class T>
struct PieceElimination {
  T q, z, s, a, c, weight, first_f, first_s;

  STRATUM_HOST_DEVICE STRATUM_INLINE void start(T zero) {
    q = weight = zero + 1;
    a = zero - 1;
    z = s = c = first_f = first_s = zero;
  }
  /// A position with its entry towards the one before, the sum over its row, its entry towards the next, and its right-hand side.
  STRATUM_HOST_DEVICE STRATUM_INLINE void step(bool is_last, T lower, T sum, T upper, T right) {
    const T excess = sum - lower * q, pivot = 1 / (excess - upper);
    z = (right - lower * z) * pivot;
    s = (sum - lower * s) * pivot;
    a = -lower * a * pivot;
    c = upper * pivot;
    q = excess * pivot;
    if (is_last) return;
    first_f += weight * z;
    first_s += weight * s;
    weight *= -c;
  }
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE Row<T, true> last() const { return {a, c, z, s}; }
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE Row<T, true> first() const {
    return {first_s - 1 + weight, -weight, first_f, first_s};
  }
};

}  // namespace stratum::line
