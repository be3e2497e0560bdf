#pragma once

// ZebraSchedule: the order in which a sweep in zebra order takes the lines of a grid, or of a subdomain of it, on every
// backend.
//
//     first colour   odd lines by global number, the boundary being line 0; in backward order even ones
//     second colour  the others, once both lines beside them are solved
//     third colour   across a periodic direction with an odd number of lines the last one, which lies beside the first: after
//                    the others, in backward order before them
//
// Lines are numbered from the subdomain's first. Ghosts are exchanged between colours where lines lie beside lines of other
// subdomains, or across a periodic boundary.

#include <stratum/core/field/field.hpp>
#include <stratum/solvers/lines/line_batch.hpp>
#include <stratum/solvers/lines/orders.hpp>

namespace stratum::line {

struct ZebraSchedule {
  Direction axis = Direction::x;
  int first = 0;           // of the first colour, 0 or 1
  int pairs = 0;           // lines before this one are of two colours
  bool third = false;      // the grid has a third colour,
  bool has_third = false;  // and this subdomain of it: line `pairs`
  bool begins_with_third = false;
  /// A line of another subdomain, or of the other end of a periodic grid, follows there.
  bool below = false, above = false;

  ZebraSchedule() = default;
  /// Of the lines of a subdomain, or of a whole grid.
  ZebraSchedule(const GridLayout<2>& grid, Direction direction, SweepOrder order)
      : ZebraSchedule(grid, direction, order, wraps(grid, direction) && count(grid, direction) % 2 != 0, true) {}
  /// `has_third_line`: the grid of all subdomains has a third colour; `is_last`: this subdomain has its last line.
  ZebraSchedule(const GridLayout<2>& grid, Direction direction, SweepOrder order, bool has_third_line, bool is_last)
      : axis(direction) {
    const bool along_x = direction == Direction::x, backward = order == SweepOrder::backward;
    const int odd = 1 - ((along_x ? grid.origin_y : grid.origin_x) & 1);
    first = backward ? 1 - odd : odd;
    third = has_third_line;
    has_third = third && is_last;
    begins_with_third = third && backward;
    pairs = count(grid, direction) - (has_third ? 1 : 0);
    const bool cut = along_x && (grid.below || grid.above), around = !cut && !third && wraps(grid, direction);
    below = around || (along_x && grid.below);
    above = around || (along_x && grid.above && !has_third);
  }

  /// Calls two_colours() and third_colour() in their order, and exchange() between them, on all subdomains.
  template <class TwoColours, class ThirdColour, class Exchange>
  void run(const TwoColours& two_colours, const ThirdColour& third_colour, const Exchange& exchange) const {
    if (begins_with_third) {
      if (has_third) third_colour();
      exchange();
    }
    two_colours();
    if (third && !begins_with_third) {
      exchange();
      if (has_third) third_colour();
    }
  }

  [[nodiscard]] bool is_second(int line) const { return ((line ^ first) & 1) != 0; }
  [[nodiscard]] LineBatch first_colour() const { return of_parity(first, LineColour::first); }
  [[nodiscard]] LineBatch second_colour() const { return of_parity(1 - first, LineColour::second); }
  [[nodiscard]] LineBatch third_colour() const { return {axis, pairs, 1, 1, LineColour::third}; }
  /// The line of the second colour that lies beside the other end of a periodic grid.
  [[nodiscard]] LineBatch at_periodic_interface() const {
    return {axis, first == 0 ? pairs - 1 : 0, 1, 1, LineColour::second};
  }

  /// Lines lowest .. highest - 1 of two colours need no line that lies elsewhere; the others of the second colour follow an
  /// exchange.
  [[nodiscard]] int lowest() const { return pairs > 0 && below && is_second(0) ? 1 : 0; }
  [[nodiscard]] int highest() const {
    const bool waits = pairs > lowest() && above && is_second(pairs - 1);
    return waits ? pairs - 1 : pairs;
  }

 private:
  [[nodiscard]] static int count(const GridLayout<2>& grid, Direction direction) {
    return direction == Direction::x ? grid.ny : grid.nx;
  }
  [[nodiscard]] static bool wraps(const GridLayout<2>& grid, Direction direction) {
    return direction == Direction::x ? grid.periodic_y : grid.periodic_x;
  }
  [[nodiscard]] LineBatch of_parity(int begin, LineColour colour) const {
    return {axis, begin, 2, pairs > begin ? (pairs - begin + 1) / 2 : 0, colour};
  }
};

}  // namespace stratum::line
