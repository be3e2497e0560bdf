#pragma once

// Line relaxation along y on a grid that is cut into strips of rows, where every y line is cut, by exact partition: in the three
// steps of solvers/lines/interface.hpp, colour by colour,
//
//     1. eliminate     the strip's part of every line of the colour, from b and x: 7 numbers a line
//     2. interface     these numbers of all strips are gathered, and every strip solves for the unknowns beside all cuts
//     3. substitute    the strip's part of every line, as a line between known ends
//
// One gather a colour is all that strips say to each other. What is solved equals the same sweep on one piece but for rounding,
// and both halo rows of y are known afterwards: they come out of the interface, the same bits as in the strips beside. Strips have
// one row or more. Elimination and substitution form the right-hand sides twice. Words a node and colour, the coefficients besides:
// eliminate 2, substitute 3, and on a GPU 4 of scratch; a sweep on one piece moves 3 in all.
//
// The 5 numbers of the matrix among the 7 are formed anew each time: operators may be given other numbers in place.
//
// All pieces call together. Halos of x must be up to date. Nothing is allocated after construction.

#include <stratum/core/operators/grid_operator.hpp>
#include <stratum/solvers/lines/interface.hpp>
#include <stratum/solvers/lines/orders.hpp>

namespace stratum::line {

/// Lines first, first + stride, ..., `count` of them.
struct SomeLines {
  int first, stride, count;
};

template <class T>
class CutLines {
 public:
  CutLines() = default;
  /// For grids of this shape, which has other pieces below or above. Throws UsageError for a Context without communicator.
  CutLines(Context& ctx, const GridShape& shape);

  [[nodiscard]] bool empty() const { return pieces_.empty(); }
  /// The grid of all strips is periodic in y.
  [[nodiscard]] bool is_ring() const { return ring_; }
  /// And has an odd number of rows: the last one is a third colour of x lines.
  [[nodiscard]] bool has_third_row() const { return third_row_; }
  /// This strip has the last row.
  [[nodiscard]] bool is_last() const { return me_ + 1 == count_; }

  /// One sweep along y; `zeros` as line::visit takes them. Zebra is in place: x and y are the same. CPU: a row of `memory` a thread,
  /// as LineScratch has it.
  void sweep(Context& ctx, const GridOperator<T>& a, const T* zeros, GridView<const T> b, GridView<const T> x,
             GridView<T> y, T omega, LineOrder line_order, SweepOrder order, GridView<T> memory);

 private:
  void solve_on_cpu(Context& ctx, const GridOperator<T>& a, const T* zeros, GridView<const T> b, GridView<const T> x,
                    GridView<T> y, T omega, const SomeLines& lines, GridView<T> memory);
  void solve_on_gpu(Context& ctx, const GridOperator<T>& a, const T* zeros, GridView<const T> b, GridView<const T> x,
                    GridView<T> y, T omega, const SomeLines& lines);
  [[nodiscard]] Interface<T> interface_of(const SomeLines& lines);

  bool ring_ = false, third_row_ = false;
  int me_ = 0, count_ = 1;
  Vector<T> own_, pieces_;         // 7 numbers a line: of this piece, and of all
  Vector<T> ends_;                 // 6 numbers a line
  Vector<T> multipliers_, right_;  // GPU: of substitution
};

}  // namespace stratum::line
