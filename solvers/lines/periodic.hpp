#pragma once

// Line relaxation on grids that are periodic in a direction, for smoothers/line.cpp. Along a periodic direction a line's equations are
// cyclic: the last unknown s is taken out, the rest T is solved for the right-hand side and for what couples it to s,
//
//     T p = f,  T q = -(a_(0,n-1) e_0 + a_(n-2,n-1) e_(n-2)) ,   s = (f_(n-1) - a_(n-1,n-2) p_(n-2) - a_(n-1,0) p_0) /
//                                                                     (a_(n-1,n-1) + a_(n-1,n-2) q_(n-2) + a_(n-1,0) q_0) ,
//
// and the line is p + s q. Across a periodic direction with an odd number of lines the last one lies beside the first, both even: it
// is a third colour. Every colour follows an exchange. Thomas' algorithm, a GPU thread a line; words a node: 3, the coefficients, and 8
// of scratch.

#include <algorithm>

#include <stratum/core/grid/for_each_node.hpp>
#include <stratum/solvers/lines/orders.hpp>
#include <stratum/solvers/lines/thomas.hpp>

namespace stratum::line {

/// Three numbers a node: multipliers, right-hand sides, and q of cyclic lines.
template <class T>
struct PeriodicScratch {
  GridView<T> multipliers, right, border;
};

template <Direction direction, class View, class T>
struct PeriodicLine {
  View a;
  GridView<const T> b, x;
  GridView<T> y;
  T omega;
  PeriodicScratch<T> scratch;
  int unknowns;  // of the tridiagonal part
  bool cyclic;

  STRATUM_HOST_DEVICE STRATUM_INLINE static T& at(const GridView<T>& v, int p, int line) {
    return direction == Direction::x ? v(p, line) : v(line, p);
  }
  template <int offset>
  STRATUM_HOST_DEVICE STRATUM_INLINE T coefficient(int p, int line) const {
    const LineCoefficient<direction, offset, View> of{a};
    return direction == Direction::x ? of(p, line) : of(line, p);
  }
  STRATUM_HOST_DEVICE STRATUM_INLINE T rhs(int p, int line) const {
    const LineRhs<direction, true, View, T> of{a, b, x};
    return direction == Direction::x ? of(p, line) : of(line, p);
  }
  /// Elimination at position p, from 0 on.
  STRATUM_HOST_DEVICE STRATUM_INLINE void forward(int p, int line) const {
    const T lower = p > 0 ? coefficient<-1>(p, line) : T(0);
    const T c = p > 0 ? at(scratch.multipliers, p - 1, line) : T(0), z = p > 0 ? at(scratch.right, p - 1, line) : T(0);
    const T pivot = T(1) / (coefficient<0>(p, line) - lower * c);
    at(scratch.multipliers, p, line) = p + 1 < unknowns ? coefficient<1>(p, line) * pivot : T(0);
    at(scratch.right, p, line) = (rhs(p, line) - lower * z) * pivot;
    if (!cyclic) return;
    T coupling = p > 0 ? -lower * at(scratch.border, p - 1, line) : T(0);
    if (p == 0) coupling -= coefficient<-1>(p, line);
    if (p + 1 == unknowns) coupling -= coefficient<1>(p, line);
    at(scratch.border, p, line) = coupling * pivot;
  }
  /// Substitution at position p, from the last one back.
  STRATUM_HOST_DEVICE STRATUM_INLINE void backward(int p, int line) const {
    if (p + 1 >= unknowns) return;
    const T c = at(scratch.multipliers, p, line);
    at(scratch.right, p, line) -= c * at(scratch.right, p + 1, line);
    if (cyclic) at(scratch.border, p, line) -= c * at(scratch.border, p + 1, line);
  }
  /// The last unknown, where it was taken out.
  STRATUM_HOST_DEVICE STRATUM_INLINE void close(int line) const {
    if (!cyclic) return;
    const int last = unknowns;
    const T lower = coefficient<-1>(last, line), upper = coefficient<1>(last, line);
    at(scratch.right, last, line) =
        (rhs(last, line) - lower * at(scratch.right, last - 1, line) - upper * at(scratch.right, 0, line)) /
        (coefficient<0>(last, line) + lower * at(scratch.border, last - 1, line) + upper * at(scratch.border, 0, line));
  }
  STRATUM_HOST_DEVICE STRATUM_INLINE void store(int p, int line) const {
    T value = at(scratch.right, p, line);
    if (cyclic && p < unknowns) value += at(scratch.right, unknowns, line) * at(scratch.border, p, line);
    const T old = direction == Direction::x ? x(p, line) : x(line, p);
    at(y, p, line) = omega == T(1) ? value : (T(1) - omega) * old + omega * value;
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
  const NodeRange range{first, end, stride, 0, 1, 1};  // a row of lines, as for_each_node has it
  if (ctx.on_gpu()) return for_each_node(ctx, range, lines);
  const int count = range.count_x();
  if (direction == Direction::x) {
#pragma omp parallel for schedule(static) num_threads(ctx.threads()) if (lines.y.nodes() > serial_limit)
    for (int k = 0; k < count; ++k) lines(first + k * stride, 0);
    return;
  }
  // Columns side by side, so that rows are read along.
  constexpr int together = 256;
  const int parts = (count + together - 1) / together;
#pragma omp parallel for schedule(static) num_threads(ctx.threads()) if (lines.y.nodes() > serial_limit)
  for (int part = 0; part < parts; ++part) {
    const int begin = first + part * together * stride, last = std::min(end, begin + together * stride);
    for (int p = 0; p < lines.unknowns; ++p)
      for (int line = begin; line < last; line += stride) lines.forward(p, line);
    for (int p = lines.unknowns - 1; p >= 0; --p)
      for (int line = begin; line < last; line += stride) lines.backward(p, line);
    for (int line = begin; line < last; line += stride) lines.close(line);
    for (int p = 0; p < lines.length(); ++p)
      for (int line = begin; line < last; line += stride) lines.store(p, line);
  }
}

/// One sweep; x and y are the same unless it is simultaneous.
template <Direction direction, class View, class T>
void sweep_periodic(Context& ctx, const View& a, GridView<const T> b, GridView<const T> x, GridView<T> y, T omega,
                    LineOrder line_order, SweepOrder order, const PeriodicScratch<T>& scratch) {
  const bool cyclic = direction == Direction::x ? y.periodic_x : y.periodic_y;
  const bool wraps = direction == Direction::x ? y.periodic_y : y.periodic_x;
  const int length = direction == Direction::x ? y.nx : y.ny, lines = direction == Direction::x ? y.ny : y.nx;
  const int odd = 1 - ((direction == Direction::x ? y.origin_y : y.origin_x) & 1);
  const PeriodicLine<direction, View, T> line{a, b, x, y, omega, scratch, cyclic ? length - 1 : length, cyclic};
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

}  // namespace stratum::line
