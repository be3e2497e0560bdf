#include <stratum/solvers/lines/periodic.hpp>

#include <stratum/core/grid/for_each_node.hpp>
#include <stratum/solvers/lines/equations.hpp>

namespace stratum::line {

namespace {

template <Direction direction, class View, class T>
struct PeriodicLine {
  static constexpr bool along_x = direction == Direction::x;
  LineRhs<direction, true, View, T, is_tensor<View>> rhs;
  GridView<T> y;
  T omega;
  PeriodicScratch<T> scratch;
  int unknowns;  // of the tridiagonal part
  bool cyclic;

  template <class Numbers>
  STRATUM_HOST_DEVICE STRATUM_INLINE static decltype(auto) at(const Numbers& v, int p, int line) {
    return along_x ? v(p, line) : v(line, p);
  }
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE LineRow<T> row(int p, int line) const {
    return line_row<direction, true>(rhs.a, along_x ? p : line, along_x ? line : p);
  }
  /// Elimination at position p, from 0 on.
  STRATUM_HOST_DEVICE STRATUM_INLINE void forward(int p, int line) const {
    const LineRow<T> r = row(p, line);
    T sum = r.diagonal - r.lower, right = at(rhs, p, line), border = r.diagonal;
    if (p > 0) {
      sum = r.diagonal - r.lower * at(scratch.multipliers, p - 1, line);
      right -= r.lower * at(scratch.right, p - 1, line);
      if (cyclic) border -= r.lower * at(scratch.border, p - 1, line);
    }
    const T pivot = T(1) / (sum - r.upper);
    at(scratch.multipliers, p, line) = sum * pivot;
    at(scratch.right, p, line) = right * pivot;
    if (cyclic) at(scratch.border, p, line) = border * pivot;
  }
  /// Substitution at position p, from the last one back.
  STRATUM_HOST_DEVICE STRATUM_INLINE void backward(int p, int line) const {
    if (p + 1 >= unknowns) return;
    const T q = at(scratch.multipliers, p, line), next = at(scratch.right, p + 1, line);
    at(scratch.right, p, line) = next + (at(scratch.right, p, line) - q * next);
    if (cyclic) at(scratch.border, p, line) += (T(1) - q) * at(scratch.border, p + 1, line);
  }
  /// The last unknown, where it was taken out.
  STRATUM_HOST_DEVICE STRATUM_INLINE void close(int line) const {
    if (!cyclic) return;
    const int last = unknowns;
    const LineRow<T> r = row(last, line);
    at(scratch.right, last, line) =
        (at(rhs, last, line) - r.lower * at(scratch.right, last - 1, line) - r.upper * at(scratch.right, 0, line)) /
        (r.diagonal - r.lower * at(scratch.border, last - 1, line) - r.upper * at(scratch.border, 0, line));
  }
  STRATUM_HOST_DEVICE STRATUM_INLINE void store(int p, int line) const {
    T value = at(scratch.right, p, line);
    if (cyclic && p < unknowns) {
      const T last = at(scratch.right, unknowns, line);
      value = last + (value - last * at(scratch.border, p, line));
    }
    value += rhs.near(along_x ? p : line, along_x ? line : p);
    at(y, p, line) = omega == T(1) ? value : (T(1) - omega) * at(rhs.x, p, line) + omega * value;
  }
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE int length() const { return cyclic ? unknowns + 1 : unknowns; }

  /// A whole line.
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int line, int /*row*/) const {
    for (int p = 0; p < unknowns; ++p) forward(p, line);
    for (int p = unknowns - 1; p >= 0; --p) backward(p, line);
    close(line);
    for (int p = 0; p < length(); ++p) store(p, line);
  }
};

/// Lines first, first + stride, ... < end.
template <Direction direction, class View, class T>
void solve_periodic_lines(Context& ctx, const PeriodicLine<direction, View, T>& lines, int first, int end, int stride) {
  for_each_node(ctx, NodeRange{first, end, stride, 0, 1, 1}, lines);  // a row of lines, as for_each_node has it
}

template <Direction direction, class View, class T>
void sweep_periodic(Context& ctx, const View& a, GridView<const T> b, GridView<const T> x, GridView<T> y, T omega,
                    LineOrder line_order, SweepOrder order, const PeriodicScratch<T>& scratch) {
  const bool cyclic = direction == Direction::x ? y.periodic_x : y.periodic_y;
  const bool wraps = direction == Direction::x ? y.periodic_y : y.periodic_x;
  const int length = direction == Direction::x ? y.nx : y.ny, lines = direction == Direction::x ? y.ny : y.nx;
  const int odd = 1 - ((direction == Direction::x ? y.origin_y : y.origin_x) & 1);
  const PeriodicLine<direction, View, T> line{{a, b, x}, y, omega, scratch, cyclic ? length - 1 : length, cyclic};
  if (line_order == LineOrder::simultaneous) {
    exchange(ctx, x);
    return solve_periodic_lines(ctx, line, 0, lines, 1);
  }
  const bool third = wraps && lines % 2 != 0;
  for (int k = 0; k < 3; ++k) {
    const int colour = order == SweepOrder::forward ? k : 2 - k;
    if (colour == 2 && !third) continue;
    exchange(ctx, x);
    if (colour == 2)
      solve_periodic_lines(ctx, line, lines - 1, lines, 1);
    else
      solve_periodic_lines(ctx, line, colour == 0 ? odd : 1 - odd, third ? lines - 1 : lines, 2);
  }
}

}  // namespace

template <class T>
void sweep_periodic(Context& ctx, Direction direction, const GridOperator<T>& a, GridView<const T> b,
                    GridView<const T> x, GridView<T> y, T omega, LineOrder line_order, SweepOrder order,
                    const PeriodicScratch<T>& scratch) {
  a.visit([&](const auto& view) {
    using View = std::decay_t<decltype(view)>;
    direction == Direction::x
        ? sweep_periodic<Direction::x, View, T>(ctx, view, b, x, y, omega, line_order, order, scratch)
        : sweep_periodic<Direction::y, View, T>(ctx, view, b, x, y, omega, line_order, order, scratch);
  });
}

template void sweep_periodic(Context&, Direction, const GridOperator<float>&, GridView<const float>,
                             GridView<const float>, GridView<float>, float, LineOrder, SweepOrder,
                             const PeriodicScratch<float>&);
template void sweep_periodic(Context&, Direction, const GridOperator<double>&, GridView<const double>,
                             GridView<const double>, GridView<double>, double, LineOrder, SweepOrder,
                             const PeriodicScratch<double>&);

}  // namespace stratum::line
