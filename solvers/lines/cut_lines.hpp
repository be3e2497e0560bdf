#pragma once

// What the two backends of solvers/lines/strips.hpp have in common: a cut line's equations, and what is done with its ends. A
// functor's first index is the number of a line among those that are solved together.

#include <vector>

#include <stratum/core/comm/communicator.hpp>
#include <stratum/core/grid/for_each_node.hpp>
#include <stratum/solvers/lines/equations.hpp>
#include <stratum/solvers/lines/strips.hpp>

namespace stratum::line {

template <class View, class T>
struct CutLine {
  LineRhs<Direction::y, true, View, T> rhs;
  GridView<T> y;
  T omega;
  SomeLines lines;

  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE int column(int line) const {
    return lines.first + lines.stride * line;
  }
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE LineRow<T> row(int i, int j) const {
    return line_row<Direction::y, true>(rhs.a, i, j);
  }
  /// y where x has `value` more than what lies near.
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE T result(int i, int j, T value) const {
    value += rhs.near(i, j);
    return omega == T(1) ? value : (T(1) - omega) * rhs.x(i, j) + omega * value;
  }
};

template <class View, class T>
struct SolveInterface {
  CutLine<View, T> cut;
  Interface<T> interface;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int line, int /*row*/) const {
    const auto& [own, all, ends, me, count, ring] = interface;
    all.solve(count, ring, line);
    const int i = cut.column(line), n = cut.y.ny;
    const T left = cut.y.below ? all.x_last((me > 0 ? me : count) - 1, line) : T(0);
    const T right = cut.y.above ? all.x_first(me + 1 < count ? me + 1 : 0, line) : T(0);
    own.x_last(0, line) = all.x_last(me, line);
    ends.left(line) = left;
    ends.right(line) = right;
    ends.result(0, line) = cut.result(i, -1, left);
    ends.result(1, line) = cut.result(i, 0, all.x_first(me, line));
    ends.result(2, line) = cut.result(i, n - 1, all.x_last(me, line));
    ends.result(3, line) = cut.result(i, n, right);
  }
};

/// The rows beside the cuts as the strips beside have them, bit for bit.
template <class T>
struct PutEnds {
  GridView<T> y;
  SomeLines lines;
  EndsOfLines<T> ends;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int line, int /*row*/) const {
    const int i = lines.first + lines.stride * line;
    if (y.below) {
      y(i, -1) = ends.result(0, line);
      y(i, 0) = ends.result(1, line);
    }
    if (y.above) {
      y(i, y.ny - 1) = ends.result(2, line);
      y(i, y.ny) = ends.result(3, line);
    }
  }
};

/// Columns -1 and nx, where x is periodic, from the other ends.
template <class T>
struct WrapRow {
  GridView<T> y;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int j, int /*row*/) const {
    y(-1, j) = y(y.nx - 1, j);
    y(y.nx, j) = y(0, j);
  }
};

/// The three steps: `eliminate()` fills interface.own, `substitute()` gives y from interface.ends and own.x_last.
template <class View, class T, class Eliminate, class Substitute>
void solve_cut_lines(Context& ctx, const CutLine<View, T>& cut, const Interface<T>& interface,
                     const Eliminate& eliminate, const Substitute& substitute) {
  const NodeRange lines{0, cut.lines.count, 1, 0, 1, 1};
  eliminate();
  if (interface.all.numbers != interface.own.numbers)
    ctx.communicator()->gather(ctx, interface.own.numbers, interface.all.numbers,
                               sizeof(T) * PiecesOfLines<T>::rows * static_cast<std::size_t>(cut.lines.count));
  for_each_node(ctx, lines, SolveInterface<View, T>{cut, interface});
  substitute();
  for_each_node(ctx, lines, PutEnds<T>{cut.y, cut.lines, interface.ends});
  if (cut.y.periodic_x) for_each_node(ctx, {-1, cut.y.ny + 1, 1, 0, 1, 1}, WrapRow<T>{cut.y});
}

// --- in segments ---------------------------------------------------------------------------------------------------------
//
// So that there is work for all threads of a GPU, a strip's part of a line is cut further, into segments of S rows, a thread each, whose
// pieces are joined by up to 16 on several levels to the piece of the strip, and opened again once its ends are known:
//
//     rows  | S | S | S | S | ...         level 0, eliminated
//           |    16    |    16   | ...    level 1, joined
//           |        strip           |    the last level, interface.own
//
// Neighbouring threads have neighbouring columns of a colour. 7 numbers a segment and line go to memory and back.

/// Rows of a segment: two numbers each stay in registers.
template <class T>
constexpr int segment_rows = static_cast<int>(128 / sizeof(T));
inline constexpr int pieces_joined = 16;

template <int S, class View, class T>
struct EliminateSegment {
  CutLine<View, T> cut;
  PiecesOfLines<T> segments;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int line, int segment) const {
    const int i = cut.column(line), begin = segment * S, end = begin + S < cut.y.ny ? begin + S : cut.y.ny;
    PieceElimination<T> piece;
    piece.start(0);
    for (int j = begin; j < end; ++j) {
      const LineRow<T> r = cut.row(i, j);
      piece.step(j + 1 == end, r.lower, r.diagonal, r.upper, cut.rhs(i, j));
    }
    segments.put_last(segment, line, piece.last());
    segments.put_first(segment, line, piece.first());
  }
};

/// `count` pieces of a line, by up to 16, to those of the next level.
template <class T>
struct JoinPieces {
  PiecesOfLines<T> pieces, joined;
  int count;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int line, int group) const {
    const int begin = group * pieces_joined, end = begin + pieces_joined < count ? begin + pieces_joined : count;
    const Piece<T, true> piece = pieces.joined(begin, end, line);
    joined.put_last(group, line, piece.last);
    joined.put_first(group, line, piece.first);
  }
};

template <class T>
struct OpenPieces {
  PiecesOfLines<T> pieces, joined;
  int count;
  EndsOfLines<T> ends;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int line, int group) const {
    const int begin = group * pieces_joined, end = begin + pieces_joined < count ? begin + pieces_joined : count;
    pieces.open(begin, end, line, group > 0 ? joined.x_last(group - 1, line) : ends.left(line),
                joined.x_last(group, line));
  }
};

/// Thomas' algorithm by row sums from the unknown left of the segment to its last one, both known; the numbers between stay in
/// registers: x_k = x_(k+1) + (z_k - q_k x_(k+1)).
template <int S, class View, class T>
struct SubstituteSegment {
  CutLine<View, T> cut;
  PiecesOfLines<T> segments;
  EndsOfLines<T> ends;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int line, int segment) const {
    const int i = cut.column(line), begin = segment * S, n = cut.y.ny - begin, last = n < S ? n - 1 : S - 1;
    T q[S], z[S];
    T q_before = 1, z_before = segment > 0 ? segments.x_last(segment - 1, line) : ends.left(line);
#if defined(__CUDACC__)
#pragma unroll
#endif
    for (int k = 0; k < S; ++k) {
      if (k >= last) continue;
      const LineRow<T> r = cut.row(i, begin + k);
      const T excess = r.diagonal - r.lower * q_before, pivot = T(1) / (excess - r.upper);
      z[k] = z_before = (cut.rhs(i, begin + k) - r.lower * z_before) * pivot;
      q[k] = q_before = excess * pivot;
    }
    T x = segments.x_last(segment, line);
    cut.y(i, begin + last) = cut.result(i, begin + last, x);
#if defined(__CUDACC__)
#pragma unroll
#endif
    for (int k = S - 2; k >= 0; --k) {
      if (k >= last) continue;
      x += z[k] - q[k] * x;
      cut.y(i, begin + k) = cut.result(i, begin + k, x);
    }
  }
};

/// Numbers that a strip of this shape takes for the pieces of its segments.
[[nodiscard]] inline std::int64_t segment_numbers(int rows_of_segment, const GridShape& shape) {
  std::int64_t pieces = 0;
  for (int count = (shape.ny - 1) / rows_of_segment + 1; count > 1; count = (count - 1) / pieces_joined + 1)
    pieces += count;
  return pieces * PiecesOfLines<double>::rows * shape.nx;
}

/// `memory`: segment_numbers.
template <int S, class View, class T>
void solve_in_segments(Context& ctx, const CutLine<View, T>& cut, const Interface<T>& interface, T* memory) {
  struct Level {
    PiecesOfLines<T> pieces;
    int count;
  };
  const int lines = cut.lines.count;
  std::vector<Level> levels;
  for (int count = (cut.y.ny - 1) / S + 1;; count = (count - 1) / pieces_joined + 1) {
    if (count == 1) {
      levels.push_back({interface.own, 1});
      break;
    }
    levels.push_back({{memory, lines}, count});
    memory += std::int64_t{PiecesOfLines<T>::rows} * count * lines;
  }
  const auto range = [&](std::size_t level) { return NodeRange{0, lines, 1, 0, levels[level].count, 1}; };
  solve_cut_lines(
      ctx, cut, interface,
      [&] {
        for_each_node(ctx, range(0), EliminateSegment<S, View, T>{cut, levels[0].pieces});
        for (std::size_t k = 1; k < levels.size(); ++k)
          for_each_node(ctx, range(k), JoinPieces<T>{levels[k - 1].pieces, levels[k].pieces, levels[k - 1].count});
      },
      [&] {
        for (std::size_t k = levels.size() - 1; k > 0; --k)
          for_each_node(ctx, range(k),
                        OpenPieces<T>{levels[k - 1].pieces, levels[k].pieces, levels[k - 1].count, interface.ends});
        for_each_node(ctx, range(0), SubstituteSegment<S, View, T>{cut, levels[0].pieces, interface.ends});
      });
}

}  // namespace stratum::line
