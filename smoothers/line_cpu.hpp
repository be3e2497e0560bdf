#pragma once

// Line sweeps on the CPU; the lines are solved in solvers/lines/cpu/thomas.hpp. The build writes a source for each direction
// and number, so that they are compiled beside each other.

#include <stratum/smoothers/line.hpp>
#include <stratum/solvers/lines/cpu/thomas.hpp>

namespace stratum {

namespace line {

/// The rows of a subdomain. Those of the second colour that have one of the first beside them in another subdomain follow an
/// exchange, all subdomains together.
template <class Lines, class Cut>
void zebra_of_subdomain(Context& ctx, const GridLayout<2>& grid, const Lines& lines, const Cut& cut, SweepOrder order) {
  const bool backward = order == SweepOrder::backward;
  const int odd = 1 - (grid.origin_y & 1), first = backward ? 1 - odd : odd;
  const bool third = cut.has_third_row(), has_third = third && cut.is_last();
  const int end = has_third ? lines.lines() - 1 : lines.lines();
  const auto solve_third = [&] {
    if (has_third) lines.one(end);
    exchange(ctx, grid, lines.y);
  };
  if (third && backward) solve_third();
  const auto second = [&](int line) { return ((line ^ first) & 1) != 0; };
  const bool bottom = end > 0 && grid.below && second(0);
  const bool top = end > 0 && !has_third && grid.above && second(end - 1) && !(bottom && end == 1);
  const int lowest = bottom ? 1 : 0, highest = top ? end - 1 : end;
  if (lowest < highest) lines.zebra(first, lowest, highest);
  exchange(ctx, grid, lines.y);
  if (bottom) lines.one(0);
  if (top) lines.one(end - 1);
  if (third && !backward) {
    exchange(ctx, grid, lines.y);
    solve_third();
  }
}

/// Across a periodic direction the first line lies beside the last. One of the two is solved alone, after an exchange: the
/// third colour, or that of the second colour, which has a line of the first one beside it there.
template <class Lines>
void zebra(Context& ctx, const GridLayout<2>& grid, Direction direction, const Lines& lines, SweepOrder order) {
  const bool along_x = direction == Direction::x, backward = order == SweepOrder::backward;
  const int count = lines.lines(), odd = 1 - ((along_x ? grid.origin_y : grid.origin_x) & 1);
  const int first = backward ? 1 - odd : odd;
  if (!(along_x ? grid.periodic_y : grid.periodic_x)) return lines.zebra(first, 0, count);
  const bool third = count % 2 != 0, begins = third && backward;
  const int alone = third || first == 0 ? count - 1 : 0;
  if (begins) {
    lines.one(alone);
    exchange(ctx, grid, lines.y);
  }
  alone == 0 ? lines.zebra(first, 1, count) : lines.zebra(first, 0, count - 1);
  if (begins) return;
  exchange(ctx, grid, lines.y);
  lines.one(alone);
}

}  // namespace line

template <class T>
template <Direction direction, bool element>
void LineSweep<T>::sweep_on_cpu(Context& ctx, const GridOperator<T>& a, FieldView<const T> b, FieldView<const T> x,
                                FieldView<T> y, Guess guess, SweepOrder order) {
  expects(ctx.threads() <= threads_, "this smoother was made for ", threads_, " threads, not ", ctx.threads());
  line::visit(a, zeros(), [&]<class View>([[maybe_unused]] const View& view) {
    if constexpr ((!View::has_bands && !View::is_separable) == element) {
      const auto sweep = [&]<bool is_cyclic>() {
        const line::Sweep<direction, View, T, is_cyclic> lines{
            view, b, x, y, omega_, guess == Guess::zero, ctx.threads(), elimination_.view()};
        if (line_order_ == LineOrder::simultaneous)
          lines.simultaneous();
        else if (grid_.below || grid_.above)
          line::zebra_of_subdomain(ctx, grid_, lines, cut_, order);
        else
          line::zebra(ctx, grid_, direction, lines, order);
      };
      if constexpr (line::has_bands<View> || line::by_row_sums<View>)
        if (direction == Direction::x ? grid_.periodic_x : grid_.periodic_y) return sweep.template operator()<true>();
      sweep.template operator()<false>();
    }
  });
}

}  // namespace stratum
