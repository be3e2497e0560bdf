#pragma once

// Line sweeps on the CPU. The lines are solved in solvers/lines/cpu/thomas.hpp. The build generates one source per direction
// and number type, which compile in parallel.

#include <stratum/smoothers/line_sweep.hpp>
#include <stratum/solvers/lines/cpu/thomas.hpp>

namespace stratum {

namespace line {

/// Both colours in one pass over the lines that need no other's, so that what both read is still in the cache.
template <class Lines>
void zebra(Context& ctx, const GridLayout<2>& grid, const Lines& lines, const ZebraSchedule& order) {
  const auto exchange_lines = [&] { exchange(ctx, grid, lines.y); };
  const auto two_colours = [&] {
    const int lowest = order.lowest(), highest = order.highest();
    if (lowest < highest) lines.zebra(order.first, lowest, highest);
    if (!order.below && !order.above) return;
    exchange_lines();
    if (lowest > 0) lines.one(0);
    if (highest < order.pairs) lines.one(highest);
  };
  order.run(
      two_colours, [&] { lines.one(order.pairs); }, exchange_lines);
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
        else
          line::zebra(ctx, grid_, lines, schedule(direction, order));
      };
      if constexpr (line::has_bands<View> || line::by_row_sums<View>)
        if (direction == Direction::x ? grid_.periodic_x : grid_.periodic_y) return sweep.template operator()<true>();
      sweep.template operator()<false>();
    }
  });
}

}  // namespace stratum
