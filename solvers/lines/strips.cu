// Line relaxation along y on strips of rows on a GPU: a thread a line, which walks over the strip's rows; neighbouring threads
// have neighbouring columns of a colour. solvers/lines/strips.hpp says what is computed.

#include <stratum/solvers/lines/cut_lines.hpp>

namespace stratum::line {

namespace {

template <class View, class T>
struct EliminateLine {
  CutLine<View, T> cut;
  PiecesOfLines<T> own;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int line, int /*row*/) const {
    const int i = cut.column(line), n = cut.y.ny;
    PieceElimination<T> piece;
    piece.start(0);
    for (int j = 0; j < n; ++j) {
      const LineRow<T> r = cut.row(i, j);
      piece.step(j + 1 == n, r.lower, r.diagonal, r.upper, cut.rhs(i, j));
    }
    own.put_last(0, line, piece.last());
    own.put_first(0, line, piece.first());
  }
};

/// Thomas' algorithm by row sums between known ends: x_k = x_(k+1) + (z_k - q_k x_(k+1)).
template <class View, class T>
struct SubstituteLine {
  CutLine<View, T> cut;
  EndsOfLines<T> ends;
  GridView<T> multipliers, right;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int line, int /*row*/) const {
    const int i = cut.column(line), n = cut.y.ny;
    T q = 1, z = ends.left(line);
    for (int j = 0; j < n; ++j) {
      const LineRow<T> r = cut.row(i, j);
      const T excess = r.diagonal - r.lower * q, pivot = T(1) / (excess - r.upper);
      right(line, j) = z = (cut.rhs(i, j) - r.lower * z) * pivot;
      multipliers(line, j) = q = excess * pivot;
    }
    T next = ends.right(line);
    for (int j = n - 1; j >= 0; --j) {
      next += right(line, j) - multipliers(line, j) * next;
      cut.y(i, j) = cut.result(i, j, next);
    }
  }
};

}  // namespace

template <class T>
void CutLines<T>::solve_on_gpu(Context& ctx, const GridOperator<T>& a, const T* zeros, GridView<const T> b,
                               GridView<const T> x, GridView<T> y, T omega, const SomeLines& lines) {
  visit(a, zeros, [&]<class View>(const View& view) {
    if constexpr (!is_tensor<View> || by_sums<View>) {
      const CutLine<View, T> cut{{view, b, x}, y, omega, lines};
      const Interface<T> interface = interface_of(lines);
      solve_cut_lines(
          ctx, cut, interface,
          [&] {
            for_each_node(ctx, row_of(lines.count), EliminateLine<View, T>{cut, interface.own});
          },
          [&] {
            for_each_node(ctx, row_of(lines.count),
                          SubstituteLine<View, T>{cut, interface.ends, multipliers_.view(), right_.view()});
          });
    }
  });
}

template void CutLines<float>::solve_on_gpu(Context&, const GridOperator<float>&, const float*, GridView<const float>,
                                            GridView<const float>, GridView<float>, float, const SomeLines&);
template void CutLines<double>::solve_on_gpu(Context&, const GridOperator<double>&, const double*,
                                             GridView<const double>, GridView<const double>, GridView<double>, double,
                                             const SomeLines&);

}  // namespace stratum::line
