#pragma once

// What the two backends of solvers/lines/strips.hpp have in common: a cut line's equations, and what is done with its ends. A
// functor's first index is the number of a line among those that are solved together.

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

[[nodiscard]] inline NodeRange row_of(int lines) { return {0, lines, 1, 0, 1, 1}; }

/// The three steps: `eliminate()` fills interface.own, `substitute()` gives y from interface.ends.
template <class View, class T, class Eliminate, class Substitute>
void solve_cut_lines(Context& ctx, const CutLine<View, T>& cut, const Interface<T>& interface,
                     const Eliminate& eliminate, const Substitute& substitute) {
  const int lines = cut.lines.count;
  eliminate();
  ctx.communicator()->gather(ctx, interface.own.numbers, interface.all.numbers,
                             sizeof(T) * PiecesOfLines<T>::rows * static_cast<std::size_t>(lines));
  for_each_node(ctx, row_of(lines), SolveInterface<View, T>{cut, interface});
  substitute();
  for_each_node(ctx, row_of(lines), PutEnds<T>{cut.y, cut.lines, interface.ends});
}

}  // namespace stratum::line
