#pragma once

// Line solves in three steps, where a line is cut into chunks 0 .. p - 1 that lie apart (algebra:
// solvers/lines/algebra/chunks.hpp):
//
//     1. eliminate     every chunk by itself: its inner unknowns, so that 2 rows are left of it,
//                          x_last  + a x_left + c x_right = f ,     x_first + a' x_left + c' x_last = f'
//     2. interface     the rows of all chunks are put together and solved for x_first and x_last of every chunk
//     3. substitute    every chunk by itself, as a line between known ends x_left and x_right
//
// Here is the second step. The x_first are put into the rows left of them, which makes the x_last a tridiagonal system of p
// unknowns, x_last' their neighbours': a chain, or a cyclic line where the line is periodic. Thomas' algorithm: forward each
// row takes in the one before,
//
//     L_r + a_r X + c_r L_(r+1) = f_r ,      X = L_(p-1) in a cyclic line, 0 in a chain,
//
// a cyclic line is closed by the sum over its rows (`CyclicLine` in solvers/lines/cpu/elimination.hpp has the formula), and
// what the others have more than X goes back. Everything is formed by row sums, so that nothing cancels where cells are thin:
// the sums s = 1 + a + c are given beside a and c, and neither is formed from the others. Every chunk solves the same interface
// from the same numbers in the same order: all get the same bits, and need not be told each other's results.
//
// Of the 7 numbers of a line and chunk 5 are the matrix's. They are put together once, and factored (FactoredInterface); a
// solve puts together the 2 right-hand sides, and takes about 12 p operations a line. Sources: the substructuring of Wang, ACM
// Trans. Math. Softw. 7 (1981), "A parallel method for tridiagonal equations"; pivots as Grassmann, Taksar, Heyman, Operations
// Research 33 (1985).
//
// Host and device.

#include <cstdint>

#include <stratum/solvers/lines/algebra/chunks.hpp>

namespace stratum::line {

/// The chunks of many lines: of a chunk 7 rows of one number a line, the 2 right-hand sides (then x_last and x_first) and the
/// matrix's 5.
template <class T>
struct ChunksOfLines {
  static constexpr int sides = 2, rows = 7;
  T* numbers;
  int lines;

  STRATUM_HOST_DEVICE STRATUM_INLINE T& at(int chunk, int row, int line) const {
    return numbers[(std::int64_t{chunk} * rows + row) * lines + line];
  }
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE Row<T, true> last(int chunk, int line) const {
    return {at(chunk, 2, line), at(chunk, 3, line), at(chunk, 0, line), at(chunk, 4, line)};
  }
  /// a is of those that have it from s and c.
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE Row<T, true> first(int chunk, int line) const {
    const T c = at(chunk, 5, line), f = at(chunk, 1, line), s = at(chunk, 6, line);
    return {s - 1 - c, c, f, s};
  }
  STRATUM_HOST_DEVICE STRATUM_INLINE void put_last(int chunk, int line, const Row<T, true>& row) const {
    at(chunk, 0, line) = row.f;
    at(chunk, 2, line) = row.a;
    at(chunk, 3, line) = row.c;
    at(chunk, 4, line) = row.s;
  }
  STRATUM_HOST_DEVICE STRATUM_INLINE void put_first(int chunk, int line, const Row<T, true>& row) const {
    at(chunk, 1, line) = row.f;
    at(chunk, 5, line) = row.c;
    at(chunk, 6, line) = row.s;
  }
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE T& x_last(int chunk, int line) const { return at(chunk, 0, line); }
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE T& x_first(int chunk, int line) const { return at(chunk, 1, line); }

  /// Joins chunks begin .. end - 1 of a line to one. `open` takes it apart again.
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE ReducedChunk<T, true> joined(int begin, int end, int line) const {
    Row<T, true> row = same_as_left<T, true>();
    T weight = 1, first_f = 0, first_s = 0;
    for (int r = begin; r + 1 < end; ++r) {
      row = with_left(with_right(last(r, line), first(r + 1, line)), row);
      put_last(r, line, row);
      first_f += weight * row.f;
      first_s += weight * row.s;
      weight *= -row.c;
    }
    return {with_left(last(end - 1, line), row),
            beyond_right(first(begin, line), Row<T, true>{first_s - 1 + weight, -weight, first_f, first_s})};
  }
  /// Once the unknown left of the joined chunk is known and its last one: x_last of each.
  STRATUM_HOST_DEVICE STRATUM_INLINE void open(int begin, int end, int line, T left, T own_last) const {
    T more = own_last - left;
    x_last(end - 1, line) = own_last;
    for (int r = end - 2; r >= begin; --r) {
      const Row<T, true> row = last(r, line);
      more = row.f - row.s * left - row.c * more;
      x_last(r, line) = left + more;
    }
  }
};

/// The right-hand sides of all chunks of many lines, 2 rows a chunk, and then x_last and x_first.
template <class T>
struct SidesOfLines {
  T* numbers;
  int lines;
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE T& last(int chunk, int line) const {
    return numbers[std::int64_t{2} * chunk * lines + line];
  }
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE T& first(int chunk, int line) const {
    return numbers[(std::int64_t{2} * chunk + 1) * lines + line];
  }
};

/// The interface's matrix for many lines, 7 rows a chunk, at first as ChunksOfLines has them. `factor` makes of a chunk's
/// x_last
///
///     L_r + a_r X + c_r L_(r+1) = before f_(r-1) + own f_last + beyond f_first of the chunk beyond,   s = 1 + a + c ,
///
/// of which before, own, beyond, c and s stay, and leaves its x_first as it is.
template <class T>
struct FactoredInterface {
  static constexpr int rows = ChunksOfLines<T>::rows;
  T* numbers;
  int lines;

  /// Where a chunk is eliminated to.
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE ChunksOfLines<T> chunk(int chunk) const {
    return {numbers + std::int64_t{chunk} * rows * lines, lines};
  }
  STRATUM_HOST_DEVICE STRATUM_INLINE void factor(int count, bool is_cyclic, int line) const {
    const ChunksOfLines<T> chunks = chunk(0);
    Row<T, true> row = is_cyclic ? same_as_left<T, true>() : zero_row<T, true>();
    for (int r = 0; r < count; ++r) {
      Row<T, true> last = chunks.last(r, line);
      Row<T, true> beyond = r + 1 < count ? chunks.first(r + 1, line)
                            : is_cyclic   ? chunks.first(0, line)
                                          : zero_row<T, true>();
      // What a right-hand side counts is what it comes to alone.
      last.f = beyond.f = 0;
      row.f = 1;
      const T from_before = with_left(with_right(last, beyond), row).f;
      row.f = 0;
      beyond.f = 1;
      const T from_beyond = with_left(with_right(last, beyond), row).f;
      beyond.f = 0;
      last.f = 1;
      row = with_left(with_right(last, beyond), row);
      at(r, own, line) = row.f;
      at(r, beyond_it, line) = from_beyond;
      at(r, before, line) = from_before;
      at(r, c, line) = row.c;
      at(r, s, line) = row.s;
    }
  }
  /// Solves for all x_last and x_first of a line: number `line` of `sides`, `column` here.
  STRATUM_HOST_DEVICE STRATUM_INLINE void solve(const SidesOfLines<T>& sides, int count, bool is_cyclic, int line,
                                                int column) const {
    T f = 0, weight = 1, first_f = 0, first_s = 0;
    for (int r = 0; r < count; ++r) {
      const T of_next = r + 1 < count ? sides.first(r + 1, line) : is_cyclic ? sides.first(0, line) : T(0);
      f = at(r, before, column) * f + at(r, own, column) * sides.last(r, line) + at(r, beyond_it, column) * of_next;
      sides.last(r, line) = f;
      if (!is_cyclic || r + 1 == count) continue;
      first_f += weight * f;
      first_s += weight * at(r, s, column);
      weight *= -at(r, c, column);
    }
    const int end = count - 1;
    T closing = 0;  // X
    if (is_cyclic) closing = (f - at(end, c, column) * first_f) / (at(end, s, column) - at(end, c, column) * first_s);
    T more = is_cyclic ? T(0) : f;  // than X
    sides.last(end, line) = closing + more;
    for (int r = end - 1; r >= 0; --r) {
      more = sides.last(r, line) - at(r, s, column) * closing - at(r, c, column) * more;
      sides.last(r, line) = closing + more;
    }
    for (int r = 0; r < count; ++r) {
      const T left = r > 0       ? sides.last(r - 1, line)
                     : is_cyclic ? sides.last(end, line)
                                 : T(0),
              last = sides.last(r, line);
      const T s_first = at(r, first_s_row, column), c_first = at(r, first_c_row, column);
      // A chunk of one row has one unknown, not two that differ by rounding.
      const bool same = s_first == 0 && c_first == -1;
      const T from = same ? last : left;
      sides.first(r, line) = from + (sides.first(r, line) - s_first * left - (same ? T(0) : c_first * (last - left)));
    }
  }

 private:
  // Rows of a chunk.
  static constexpr int own = 0, beyond_it = 1, before = 2, c = 3, s = 4, first_c_row = 5, first_s_row = 6;
  STRATUM_HOST_DEVICE STRATUM_INLINE T& at(int chunk, int row, int line) const {
    return numbers[(std::int64_t{chunk} * rows + row) * lines + line];
  }
};

/// What a subdomain knows of its lines' ends once the interface is solved: solved for, the unknowns left (below) and right of
/// it, and the results in rows -1, 0, n - 1 and n.
template <class T>
struct InterfaceOfLines {
  T* numbers;
  int lines;
  STRATUM_HOST_DEVICE STRATUM_INLINE T& left(int line) const { return numbers[line]; }
  STRATUM_HOST_DEVICE STRATUM_INLINE T& right(int line) const { return numbers[lines + line]; }
  STRATUM_HOST_DEVICE STRATUM_INLINE T& result(int row, int line) const { return numbers[(2 + row) * lines + line]; }
};

/// Where chunk `me` of `count` has all this. The factored matrix is by columns of the grid. `own`: where segments of it are
/// joined to the chunk, else null, and its right-hand sides go to `sides`.
template <class T>
struct Interface {
  ChunksOfLines<T> own;
  SidesOfLines<T> sides;
  FactoredInterface<T> factors;
  InterfaceOfLines<T> ends;
  int me, count;
  bool is_cyclic;
};

/// Elimination of a chunk, position after position: Thomas' algorithm by row sums (solvers/lines/cpu/thomas.hpp), where the
/// unknown left of the chunk stays in, x_k + c_k x_(k+1) + a_k x_left = z_k with the sum s_k = 1 + c_k + a_k,
///
///     q_k = 1 + c_k = (e_k - l_k q_(k-1)) r_k ,   r_k = 1 / (e_k - l_k q_(k-1) - u_k) ,   q_(-1) = 1 ,
///     z_k = (f_k - l_k z_(k-1)) r_k ,   s_k = (e_k - l_k s_(k-1)) r_k ,   a_k = -l_k a_(k-1) r_k ,   a_(-1) = -1 ,
///
/// and x_first is summed up from  x_first = sum w_k (z_k - a_k x_left) + w_last x_last ,  w_k = (-c_0) ... (-c_(k-1)) .
/// T: a number, or a pack of them. Without `with_matrix` of the right-hand sides alone.
template <class T, bool with_matrix>
struct EliminatedMatrix {};
template <class T>
struct EliminatedMatrix<T, true> {
  T s, a, c, first_s;
};
template <class T, bool with_matrix = true>
struct ChunkElimination : EliminatedMatrix<T, with_matrix> {
  T q, z, weight, first_f;

  STRATUM_HOST_DEVICE STRATUM_INLINE void start(T zero) {
    q = weight = zero + 1;
    z = first_f = zero;
    if constexpr (with_matrix) {
      this->a = zero - 1;
      this->s = this->c = this->first_s = zero;
    }
  }
  /// A position with its entry towards the one before, the sum over its row, its entry towards the next, and its right-hand
  /// side.
  STRATUM_HOST_DEVICE STRATUM_INLINE void step(bool is_last, T lower, T sum, T upper, T right) {
    const T excess = sum - lower * q, pivot = 1 / (excess - upper);
    z = (right - lower * z) * pivot;
    q = excess * pivot;
    const T next = upper * pivot;
    if constexpr (with_matrix) {
      this->s = (sum - lower * this->s) * pivot;
      this->a = -lower * this->a * pivot;
      this->c = next;
    }
    if (is_last) return;
    first_f += weight * z;
    if constexpr (with_matrix) this->first_s += weight * this->s;
    weight *= -next;
  }
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE Row<T, true> last() const { return {this->a, this->c, z, this->s}; }
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE Row<T, true> first() const {
    return {this->first_s - 1 + weight, -weight, first_f, this->first_s};
  }
};

}  // namespace stratum::line
