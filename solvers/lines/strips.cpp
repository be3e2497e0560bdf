#include <stratum/solvers/lines/strips.hpp>

#include <stratum/core/comm/communicator.hpp>
#include <stratum/core/grid/for_each_node.hpp>
#include <stratum/solvers/lines/equations.hpp>
#include <stratum/solvers/lines/interface.hpp>

namespace stratum::line {

namespace {

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

template <class View, class T>
struct SolveInterface {
  CutLine<View, T> cut;
  PiecesOfLines<T> all;
  int me, count;
  bool ring;
  EndsOfLines<T> ends;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int line, int /*row*/) const {
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

[[nodiscard]] NodeRange row_of(int lines) { return {0, lines, 1, 0, 1, 1}; }

}  // namespace

template <class T>
CutLines<T>::CutLines(Context& ctx, const GridShape& shape) {
  expects(ctx.communicator() != nullptr,
          "line smoothers need whole lines, and this is a strip of rows whose context has no communicator");
  auto& communicator = *ctx.communicator();
  me_ = communicator.rank();
  count_ = communicator.size();
  struct Strip {
    int rows;
    int below;
  };
  const auto strips = communicator.gather_on_host(Strip{shape.ny, shape.below ? 1 : 0});
  std::int64_t rows = 0;
  for (const Strip& strip : strips) rows += strip.rows;
  ring_ = strips.front().below != 0;
  third_row_ = ring_ && rows % 2 != 0;
  own_ = Vector<T>(ctx, PiecesOfLines<T>::rows * shape.nx);
  pieces_ = Vector<T>(ctx, GridShape::flat(PiecesOfLines<T>::rows * shape.nx * count_));
  ends_ = Vector<T>(ctx, 6 * shape.nx);
  multipliers_ = Vector<T>(ctx, shape);
  right_ = Vector<T>(ctx, shape);
}

template <class T>
template <class View>
void CutLines<T>::solve(Context& ctx, const View& view, GridView<const T> b, GridView<const T> x, GridView<T> y,
                        T omega, const SomeLines& lines) {
  if (lines.count == 0) return;
  const CutLine<View, T> cut{{view, b, x}, y, omega, lines};
  const PiecesOfLines<T> own{own_.view().data, lines.count}, all{pieces_.view().data, lines.count};
  const EndsOfLines<T> ends{ends_.view().data, lines.count};
  for_each_node(ctx, row_of(lines.count), EliminateLine<View, T>{cut, own});
  ctx.communicator()->gather(ctx, own.numbers, all.numbers,
                             sizeof(T) * PiecesOfLines<T>::rows * static_cast<std::size_t>(lines.count));
  for_each_node(ctx, row_of(lines.count), SolveInterface<View, T>{cut, all, me_, count_, ring_, ends});
  for_each_node(ctx, row_of(lines.count), SubstituteLine<View, T>{cut, ends, multipliers_.view(), right_.view()});
  for_each_node(ctx, row_of(lines.count), PutEnds<T>{y, lines, ends});
}

template <class T>
void CutLines<T>::sweep(Context& ctx, const GridOperator<T>& a, const T* zeros, GridView<const T> b,
                        GridView<const T> x, GridView<T> y, T omega, LineOrder line_order, SweepOrder order) {
  if (ctx.plans()) return;
  visit(a, zeros, [&]<class View>(const View& view) {
    if constexpr (!is_tensor<View> || by_sums<View>) {
      if (line_order == LineOrder::simultaneous) return solve(ctx, view, b, x, y, omega, {0, 1, y.nx});
      const bool third = y.periodic_x && y.nx % 2 != 0;
      const int odd = 1 - (y.origin_x & 1), end = third ? y.nx - 1 : y.nx;
      for (int k = 0; k < 3; ++k) {
        const int colour = order == SweepOrder::forward ? k : 2 - k, first = colour == 0 ? odd : 1 - odd;
        if (colour == 2 && !third) continue;
        colour == 2 ? solve(ctx, view, b, x, y, omega, {end, 1, 1})
                    : solve(ctx, view, b, x, y, omega, {first, 2, (end - first + 1) / 2});
        if (y.periodic_x) exchange(ctx, y);
      }
    }
  });
}

template class CutLines<float>;
template class CutLines<double>;

}  // namespace stratum::line
