// In which order lines are taken, on whole grids and on subdomains, and that every line of the second colour comes after both
// beside it.

#include <stratum/solvers/lines/zebra_schedule.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace stratum::line {
namespace {

/// Sets of lines that are solved together, x an exchange: "1 3 | 0 2 | x | 4".
std::string taken(const ZebraSchedule& order) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : " | ") + part; };
  const auto lines = [&](const LineBatch& some) {
    std::string part;
    for (int k = 0; k < some.count; ++k) part += (k > 0 ? " " : "") + std::to_string(some.first + k * some.stride);
    add(part);
  };
  const auto two_colours = [&] {
    lines(order.first_colour());
    lines(order.second_colour());
  };
  order.run(
      two_colours, [&] { lines(order.third_colour()); }, [&] { add("x"); });
  return text;
}

GridLayout<2> grid(int nx, int ny, bool periodic_x = false, bool periodic_y = false) {
  GridLayout<2> layout{nx, ny};
  layout.periodic_x = periodic_x;
  layout.periodic_y = periodic_y;
  return layout;
}

TEST(ZebraSchedule, TakesLinesOfTwoColours) {
  // Behind a Dirichlet boundary line 0 has the global number 1.
  EXPECT_EQ(taken({grid(9, 4), Direction::x, SweepOrder::forward}), "0 2 | 1 3");
  EXPECT_EQ(taken({grid(9, 4), Direction::x, SweepOrder::backward}), "1 3 | 0 2");
  EXPECT_EQ(taken({grid(3, 4), Direction::y, SweepOrder::forward}), "0 2 | 1");
  GridLayout<2> neumann = grid(3, 3);
  neumann.origin_x = neumann.origin_y = 0;
  EXPECT_EQ(taken({neumann, Direction::x, SweepOrder::forward}), "1 | 0 2");
  EXPECT_EQ(taken({grid(2, 5), Direction::y, SweepOrder::backward}), "1 | 0");
}

TEST(ZebraSchedule, HasAThirdColourWhereAnOddNumberOfLinesIsPeriodic) {
  EXPECT_EQ(taken({grid(5, 4, true), Direction::y, SweepOrder::forward}), "0 2 | 1 3 | x | 4");
  EXPECT_EQ(taken({grid(5, 4, true), Direction::y, SweepOrder::backward}), "4 | x | 1 3 | 0 2");
  EXPECT_EQ(taken({grid(4, 5, false, true), Direction::x, SweepOrder::forward}), "0 2 | 1 3 | x | 4");
  EXPECT_EQ(taken({grid(4, 5, true), Direction::x, SweepOrder::forward}), "0 2 4 | 1 3");  // periodic along them
}

TEST(ZebraSchedule, AnEvenNumberOfPeriodicLinesHasASeam) {
  const ZebraSchedule forward{grid(6, 4, true), Direction::y, SweepOrder::forward},
      backward{grid(6, 4, true), Direction::y, SweepOrder::backward};
  EXPECT_EQ(taken(forward), "0 2 4 | 1 3 5");
  EXPECT_EQ(forward.at_periodic_interface().first, 5);
  EXPECT_EQ(forward.lowest(), 0);
  EXPECT_EQ(forward.highest(), 5);
  EXPECT_EQ(backward.at_periodic_interface().first, 0);
  EXPECT_EQ(backward.lowest(), 1);
  EXPECT_EQ(backward.highest(), 6);
}

TEST(ZebraSchedule, OfSubdomainsIsThatOfTheGrid) {
  // 7 rows from global number 0 on, periodic: the last one is the third colour. In subdomains of 4 and of 3.
  GridLayout<2> lower = grid(8, 4, false, true), upper = grid(8, 3, false, true);
  lower.origin_y = 0;
  upper.origin_y = 4;
  lower.below = lower.above = upper.below = upper.above = true;
  for (const auto order : {SweepOrder::forward, SweepOrder::backward}) {
    const bool forward = order == SweepOrder::forward;
    const ZebraSchedule first{lower, Direction::x, order, true, false}, last{upper, Direction::x, order, true, true};
    EXPECT_EQ(taken(first), forward ? "1 3 | 0 2 | x" : "x | 0 2 | 1 3");
    EXPECT_EQ(taken(last), forward ? "1 | 0 | x | 2" : "2 | x | 0 | 1");
    // Rows 3 and 4, at the cut: the one of the second colour waits for the other.
    EXPECT_EQ(first.highest(), forward ? 4 : 3);
    EXPECT_EQ(last.lowest(), forward ? 1 : 0);
    EXPECT_EQ(last.highest(), 2);  // row 5 lies beside the third colour alone, and that is here
  }
}

}  // namespace
}  // namespace stratum::line
