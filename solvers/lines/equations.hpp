#pragma once

// The equations of the lines of a grid, position by position, for line solves on CPU and GPU. The equation of a line stands
// once for each storage format, where the format's products take it from, too:
//
//     tensor product         core/operators/tensor_formulas.hpp    interval_coupling, interval_weight, interval_excess and
//                                                                  interval_product: what an interval adds
//     element coefficients   core/operators/element_formulas.hpp   CellPair: what two cells beside a line add
//     bands                  coefficient<dx, dy> of the view       the entries themselves
//
// Solvers differ in how numbers come to these formulas, because memory is what bounds them:
//
//     loads                            for                                       where
//     a node                           chunks of lines on a GPU, what no pack    line_row, LineRhs (here)
//                                      holds, y lines one by one on a GPU
//     packs of rows, turned over       x lines on a CPU                          Eliminator, fill_rows (cpu/elimination.hpp,
//                                                                                cpu/x_lines.hpp)
//     packs of columns, in registers   y lines of tensor operators on a CPU      PanelLines (cpu/thomas.hpp)
//     packs of columns, row by row     other y lines on a CPU                    BandColumns, CellColumns
//                                                                                (cpu/wide_batches.hpp)
//     16 bytes of a row                x lines one by one on a GPU               load_equations (cuda/load.hpp)
//     interval by interval             tensor and scalar cells in persistent     TensorEquations, ElementEquations
//                                      kernels                                   (cuda/zebra.hpp)
//     records                          bands in persistent kernels               CouplingsOfLine (cuda/persistent_bands.hpp)

#include <stratum/core/operators/grid_operator.hpp>
#include <stratum/core/operators/tensor_formulas.hpp>

namespace stratum::line {

/// Coefficients that lie in memory, and not in 1-D arrays that the cache holds.
template <class View>
constexpr bool has_bands = !is_tensor<View>;

template <class View>
constexpr bool is_cells = false;
template <class T, bool scalar>
constexpr bool is_cells<ElementView<T, scalar>> = true;

/// Lines of these operators are eliminated by row sums, which in float keep what entries would lose.
template <class View>
constexpr bool by_row_sums = is_cells<View>;
template <class T>
constexpr bool by_row_sums<TensorView<T, true>> = true;

/// Line solves of these operators solve for what a line has more than one beside it (core/operators/tensor_formulas.hpp). That
/// costs another look at that line, and without Neumann or Robin boundaries solutions are small where cells are thin.
template <class View>
constexpr bool solves_for_difference = false;
template <class T>
constexpr bool solves_for_difference<TensorView<T, true>> = true;

/// The view whose e is one number a line.
template <Direction direction, class View>
STRATUM_HOST_DEVICE STRATUM_INLINE View along(const View& a) {
  if constexpr (direction == Direction::y && is_tensor<View>)
    return a.columns();
  else
    return a;
}

/// Calls f(view) with an operator's view. On periodic grids a tensor operator has its reaction term even if that is zero:
/// `zeros`, as many as the grid is long or wide. Its lines are solved by row sums, as cyclic lines must be, and for
/// differences.
template <class T, class F>
void visit(const GridOperator<T>& a, const T* zeros, const F& f) {
  a.visit([&]<class View>(const View& view) {
    if constexpr (is_tensor<View> && !by_row_sums<View>)
      if (zeros != nullptr) {
        TensorView<T, true> v;
        v.kx = v.column_kx = view.kx;
        v.ky = v.column_ky = view.ky;
        v.mx = view.mx;
        v.my = view.my;
        v.e = v.column_e = zeros;
        return f(v);
      }
    f(view);
  });
}

/// What lies beside a line; `a` is the view along it.
template <Direction direction, bool by_difference, class T, bool reaction>
STRATUM_HOST_DEVICE STRATUM_INLINE LinesBeside<T, by_difference> lines_beside(const TensorView<T, reaction>& a,
                                                                              int line) {
  const T* const k = (direction == Direction::x ? a.ky : a.kx) + line;
  const T* const m = (direction == Direction::x ? a.my : a.mx) + line;
  if constexpr (by_difference)
    return {k[0], m[0], k[1], m[1], a.with_e(T(0), line)};
  else
    return {k[0], m[0], k[1], m[1]};
}

/// A row of a line's matrix: its diagonal entry, or the sum over it with those entries that reach beyond the line's ends.
template <class T>
struct LineRow {
  T lower, diagonal, upper;
};

/// `by_sum`: the sum, from an operator by row sums not formed from the entries, which may cancel in it.
template <Direction direction, bool by_sum, class View>
STRATUM_HOST_DEVICE STRATUM_INLINE auto line_row(const View& a, int i, int j) {
  using T = typename View::Number;
  if constexpr (is_tensor<View> && by_sum) {
    const View own = along<direction>(a);
    const bool row = direction == Direction::x;
    const T *const k = row ? own.kx + i : own.ky + j, *const m = row ? own.mx + i : own.my + j;
    const int line = row ? j : i;
    const T *const k_line = (row ? own.ky : own.kx) + line, *const m_line = (row ? own.my : own.mx) + line;
    const T mass = 2 * (m_line[0] + m_line[1]), stiffness = own.with_e(k_line[0] + k_line[1], line);
    return LineRow<T>{interval_coupling(k[0], m[0], mass, stiffness), interval_excess(m[0] + m[1], stiffness),
                      interval_coupling(k[1], m[1], mass, stiffness)};
  } else {
    constexpr int dx = direction == Direction::x ? 1 : 0, dy = 1 - dx;
    LineRow<T> r{a.template coefficient<-dx, -dy>(i, j), a.template coefficient<0, 0>(i, j),
                 a.template coefficient<dx, dy>(i, j)};
    if constexpr (by_sum && is_cells<View>)
      r.diagonal = direction == Direction::x ? a.row_excess(i, j) : a.column_excess(i, j);
    else if constexpr (by_sum)
      r.diagonal += r.lower + r.upper;
    return r;
  }
}

/// What a line solve has on its right: b less the coupling to the lines beside it, or b alone where those are zero.
/// `by_difference`: what it solves for is x less `near`.
template <Direction direction, bool coupled, class View, class T, bool by_difference = solves_for_difference<View>>
struct LineRhs {
  static constexpr Direction along = direction;
  static constexpr bool is_coupled = coupled;
  View a;
  FieldView<const T> b, x;
  STRATUM_HOST_DEVICE STRATUM_INLINE T operator()(int i, int j) const {
    if constexpr (!coupled) {
      return b(i, j);
    } else if constexpr (by_difference) {
      const View own = line::along<direction>(a);
      const auto beside = lines_beside<direction, true>(own, direction == Direction::x ? j : i);
      const T* const k = direction == Direction::x ? own.kx + i : own.ky + j;
      const T* const m = direction == Direction::x ? own.mx + i : own.my + j;
      T mass[3], stiffness[3];
      for (int p = 0; p < 3; ++p) {
        const T first = direction == Direction::x ? x(i + p - 1, j - 1) : x(i - 1, j + p - 1);
        const T second = direction == Direction::x ? x(i + p - 1, j + 1) : x(i + 1, j + p - 1);
        mass[p] = beside.mass(first, second);
        stiffness[p] = beside.stiffness(first, second);
      }
      return b(i, j) - (interval_product(k[0], m[0], mass[0], mass[1], stiffness[0], stiffness[1]).right +
                        interval_product(k[1], m[1], mass[1], mass[2], stiffness[1], stiffness[2]).left);
    } else if constexpr (direction == Direction::x) {
      return b(i, j) - a.off_row_sum(x, i, j);
    } else {
      return b(i, j) - a.off_column_sum(x, i, j);
    }
  }
  /// Zero where the solution itself is solved for.
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE T near(int i, int j) const {
    if constexpr (!coupled || !by_difference) {
      return 0;
    } else {
      const View own = line::along<direction>(a);
      return direction == Direction::x ? x(i, j + nearer(own.ky[j], own.ky[j + 1]))
                                       : x(i + nearer(own.kx[i], own.kx[i + 1]), j);
    }
  }
};

}  // namespace stratum::line
