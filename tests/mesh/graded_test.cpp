#include <stratum/mesh/graded.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <sstream>

#include "support/random.hpp"

namespace {

using namespace stratum;
using testing::AllOf;
using testing::DoubleEq;
using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr GradedSide every_boundary[] = {GradedSide::first, GradedSide::last, GradedSide::both};
constexpr double epsilon = std::numeric_limits<double>::epsilon();

using Widths = std::vector<double>;
using LongWidths = std::vector<long double>;

Widths reversed(Widths w) {
  std::reverse(w.begin(), w.end());
  return w;
}

/// What holds for every grading: positive widths that sum to the length, thin where the side says.
void check_line(const Axis& line, double length, int cells, GradedSide side) {
  ASSERT_EQ(line.size(), cells);
  const auto& w = line.widths();
  const long double sum = std::accumulate(w.begin(), w.end(), 0.0L);
  EXPECT_NEAR(static_cast<double>(sum / length), 1, 2 * epsilon);
  for (std::size_t i = 0; i + 1 < w.size(); ++i) {
    const bool thickens = side == GradedSide::first || (side == GradedSide::both && 2 * (i + 1) < w.size());
    const bool thins = side == GradedSide::last || (side == GradedSide::both && 2 * (i + 1) > w.size());
    if (thickens) {
      EXPECT_LE(w[i], w[i + 1]);
    }
    if (thins) {
      EXPECT_GE(w[i], w[i + 1]);
    }
  }
  if (side == GradedSide::both) {
    EXPECT_EQ(w, reversed(w)) << "not symmetric";
  }
}

void check_widths(const Axis& line, const LongWidths& expected, double tolerance) {
  ASSERT_EQ(line.widths().size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(static_cast<double>(line.widths()[i] / expected[i]), 1, tolerance) << "interval " << i;
}

TEST(Graded, LinesArePositiveSumToTheLengthAndAreThinAtTheirSide) {
  test::Random random(61);
  for (const int n : {1, 2, 3, 4, 5, 8, 17, 64, 97, 1000, 12345})
    for (const auto side : every_boundary) {
      const double length = std::pow(10.0, random.uniform(-6, 6));
      SCOPED_TRACE(testing::Message() << n << " cells in " << length << ", " << to_string(side));
      check_line(uniform(length, n), length, n, GradedSide::both);
      check_line(geometric(length, n, 1 + std::exp(random.uniform(-12, 3)) / n, side), length, n, side);
      check_line(hyperbolic_tangent(length, n, random.uniform(0.1, 20), side), length, n, side);
      check_line(cosine(length, n, side), length, n, side);
      const int ends = side == GradedSide::both ? 2 : 1;
      if (n <= ends) continue;
      check_line(geometric_with_smallest(length, n, length / n * random.uniform(1e-9, 0.9), side), length, n, side);
      check_line(shishkin(length, n, length * random.uniform(1e-9, 0.5 / ends), side), length, n, side);
    }
}

TEST(Graded, TheLastSideIsTheFirstTurnedRound) {
  const auto turned = [](const Axis& first, const Axis& last) { EXPECT_EQ(reversed(first.widths()), last.widths()); };
  turned(geometric(2, 7, 1.5, GradedSide::first), geometric(2, 7, 1.5, GradedSide::last));
  turned(geometric_with_smallest(2, 7, 1e-3, GradedSide::first), geometric_with_smallest(2, 7, 1e-3, GradedSide::last));
  turned(hyperbolic_tangent(2, 7, 3, GradedSide::first), hyperbolic_tangent(2, 7, 3, GradedSide::last));
  turned(cosine(2, 7, GradedSide::first), cosine(2, 7, GradedSide::last));
  turned(shishkin(2, 7, 0.1, GradedSide::first), shishkin(2, 7, 0.1, GradedSide::last));
}

TEST(Graded, GeometricWidthsGrowByTheRatio) {
  EXPECT_THAT(geometric(7, 3, 2, GradedSide::first).widths(), ElementsAre(DoubleEq(1), DoubleEq(2), DoubleEq(4)));
  EXPECT_THAT(geometric(5, 3, 3, GradedSide::both).widths(), ElementsAre(DoubleEq(1), DoubleEq(3), DoubleEq(1)));
  EXPECT_THAT(geometric(8, 4, 3, GradedSide::both).widths(),
              ElementsAre(DoubleEq(1), DoubleEq(3), DoubleEq(3), DoubleEq(1)));
  EXPECT_THAT(geometric(3, 3, 1, GradedSide::last).widths(), ElementsAre(1, 1, 1));
  // Over hundreds of decades, and where the ratio is all but one.
  for (const auto& [ratio, n] :
       {std::pair{2.0, 1000}, {1.2, 97}, {1e3, 100}, {1 + 1e-13, 1000}, {1.0009765625, 100000}}) {
    SCOPED_TRACE(testing::Message() << "ratio " << ratio << ", " << n << " cells");
    const auto q = static_cast<long double>(ratio);
    LongWidths expected(static_cast<std::size_t>(n));
    // The last one is (1 - 1/q) / (1 - q^-n), free of overflow.
    expected.back() = -std::expm1(-std::log1p(q - 1)) / -std::expm1(-std::log1p(q - 1) * n);
    for (std::size_t i = expected.size() - 1; i-- > 0;) expected[i] = expected[i + 1] / q;
    check_widths(geometric(1, n, ratio, GradedSide::first), expected, 1e-12);
  }
}

TEST(Graded, TheSmallestWidthIsTheOneAskedFor) {
  for (const auto side : every_boundary)
    for (const int n : {3, 4, 17, 1000, 100000})
      for (const double fraction : {1e-300, 1e-18, 1e-9, 1e-3, 0.5, 0.999, 1.0}) {
        const double equal = 3.0 / n;
        const auto line = geometric_with_smallest(3, n, fraction * equal, side);
        const auto& w = line.widths();
        EXPECT_NEAR(*std::min_element(w.begin(), w.end()) / (fraction * equal), 1, 2e-12)
            << n << " cells, " << to_string(side);
      }
  EXPECT_THAT([] { (void)geometric_with_smallest(1, 4, 0.3, GradedSide::first); },
              ThrowsMessage<UsageError>(AllOf(HasSubstr("0.3"), HasSubstr("0.25"))));
  EXPECT_THROW((void)geometric_with_smallest(1, 2, 0.1, GradedSide::both), UsageError);
  EXPECT_THROW((void)geometric_with_smallest(1, 1, 0.1, GradedSide::last), UsageError);
  EXPECT_THROW((void)geometric_with_smallest(1, 4, 0, GradedSide::first), UsageError);
  EXPECT_THROW((void)geometric_with_smallest(1, 4, std::nan(""), GradedSide::first), UsageError);
}

TEST(Graded, TanhWidthsAreAccurateAtTheThinEnd) {
  // 1 - tanh(d s) = 2 / (e^(2 d s) + 1) has no cancellation at the thin end.
  for (const double d : {0.01, 1.0, 3.0, 20.0, 150.0, 300.0})
    for (const int n : {1, 5, 64, 999}) {
      SCOPED_TRACE(testing::Message() << "stretch " << d << ", " << n << " cells");
      LongWidths expected;
      for (int i = 0; i < n; ++i) {
        const auto rest = [&](int k) { return 2 / (std::exp(2.0L * d * (n - k) / n) + 1); };
        expected.push_back((rest(i + 1) - rest(i)) / std::tanh(static_cast<long double>(d)));
      }
      // Where the line is flat the differences above cancel in their turn.
      check_widths(hyperbolic_tangent(1, n, d, GradedSide::first), expected, d < 0.1 ? 1e-10 : 2e-13);
    }
  const auto both = hyperbolic_tangent(2, 6, 2, GradedSide::both),
             half = hyperbolic_tangent(1, 3, 2, GradedSide::first);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(both.widths()[i] / half.widths()[i], 1, 4 * epsilon);
}

TEST(Graded, CosineNodesAreTheChebyshevExtrema) {
  constexpr long double pi = std::numbers::pi_v<long double>;
  for (const int n : {2, 3, 64, 100001}) {
    LongWidths expected;
    for (int i = 0; i < n; ++i) {
      const int k = std::min(i, n - 1 - i);
      const auto node = [&](int m) { return std::pow(std::sin(pi * m / (2 * n)), 2); };
      expected.push_back(node(k + 1) - node(k));
    }
    check_widths(cosine(1, n), expected, 1e-12);
  }
  EXPECT_THAT(cosine(1, 2, GradedSide::first).widths(),
              ElementsAre(DoubleNear(1 - std::sqrt(0.5), 1e-15), DoubleNear(std::sqrt(0.5), 1e-15)));
}

TEST(Graded, ShishkinLinesAreUniformOnEitherSideOfTheTransition) {
  EXPECT_THAT(shishkin(1, 4, 0.125, GradedSide::first).widths(), ElementsAre(0.0625, 0.0625, 0.4375, 0.4375));
  EXPECT_THAT(shishkin(1, 4, 0.125, GradedSide::both).widths(), ElementsAre(0.125, 0.375, 0.375, 0.125));
  const auto thin = shishkin(1, 97, 1e-12, GradedSide::last);
  EXPECT_NEAR(thin.from_end()[97 - 49] / 1e-12, 1, 1e-13) << "49 of 97 cells lie within the transition point";
  for (const double bad : {0.0, -1.0, 0.51, std::nan("")}) {
    EXPECT_THROW((void)shishkin(1, 8, bad, GradedSide::first), UsageError) << bad;
    EXPECT_THROW((void)shishkin(1, 8, bad / 2, GradedSide::both), UsageError) << bad;
  }
  EXPECT_THROW((void)shishkin(1, 1, 0.1, GradedSide::first), UsageError);
  EXPECT_THROW((void)shishkin(1, 2, 0.1, GradedSide::both), UsageError);
}

TEST(Graded, RefusesWhatHasNoLine) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  for (const double length : {0.0, -1.0, infinity, std::nan("")}) EXPECT_THROW((void)uniform(length, 4), UsageError);
  for (const int cells : {0, -1, max_cells + 1})
    EXPECT_THAT([=] { (void)uniform(1, cells); }, ThrowsMessage<UsageError>(HasSubstr(std::to_string(cells))));
  for (const double ratio : {0.5, 0.0, -2.0, infinity, std::nan("")})
    EXPECT_THROW((void)geometric(1, 4, ratio, GradedSide::last), UsageError) << ratio;
  for (const double stretch : {0.0, -1.0, 301.0, std::nan("")})
    EXPECT_THROW((void)hyperbolic_tangent(1, 4, stretch, GradedSide::last), UsageError) << stretch;
  // 2^-2000 is no number.
  EXPECT_THAT([] { (void)geometric(1, 2000, 2, GradedSide::last); }, ThrowsMessage<UsageError>(HasSubstr("width")));
}

TEST(Graded, HalvingRefinesEveryInterval) {
  EXPECT_THAT(halved(Axis({1, 3}), 1).widths(), ElementsAre(0.5, 0.5, 1.5, 1.5));
  const Axis line = geometric(1, 5, 1.7, GradedSide::first);
  EXPECT_EQ(halved(line, 0).widths(), line.widths());
  EXPECT_EQ(halved(line, 3).coarser().coarser().coarser().widths(), line.widths());
  EXPECT_THROW((void)halved(line, 21), UsageError);
  EXPECT_THROW((void)halved(line, -1), UsageError);
  EXPECT_THROW((void)halved(line, 100), UsageError);
}

// --- text ----------------------------------------------------------------------------------------------------------------

Axis coordinates(const std::string& text) {
  std::istringstream in(text);
  return read_coordinates(in, "c.txt");
}

Axis widths(const std::string& text) {
  std::istringstream in(text);
  return read_widths(in, "w.txt");
}

TEST(LineFiles, HoldCoordinatesOrWidths) {
  EXPECT_THAT(coordinates("0 0.5\n1.5").widths(), ElementsAre(0.5, 1));
  EXPECT_THAT(coordinates("# nodes\n0.0,0.25, 1e0 # the end\r\n\n+2\t3\n").widths(), ElementsAre(0.25, 0.75, 1, 1));
  EXPECT_THAT(coordinates("-1 0.5\n2").coordinates(), ElementsAre(-1, 0.5, 2));
  EXPECT_THAT(widths("1e-20\n1\n").widths(), ElementsAre(1e-20, 1));
  EXPECT_EQ(widths("3").size(), 1);
}

TEST(LineFiles, WidthsKeepWhatCoordinatesLose) {
  std::ostringstream by_widths, by_coordinates;
  by_widths.precision(17);
  by_coordinates.precision(17);
  const auto line = hyperbolic_tangent(1, 64, 14, GradedSide::last);
  for (const double w : line.widths()) by_widths << w << '\n';
  for (const double x : line.from_begin()) by_coordinates << x << '\n';
  EXPECT_EQ(widths(by_widths.str()).widths(), line.widths());
  double largest = 0;
  const auto lossy = coordinates(by_coordinates.str());
  for (std::size_t i = 0; i < 64; ++i) largest = std::max(largest, std::abs(lossy.widths()[i] / line.widths()[i] - 1));
  EXPECT_GT(largest, 1e-6);
}

TEST(LineFiles, ErrorsNameTheLineAndTheText) {
  const auto bad_coordinates = [](const std::string& text, const auto&... words) {
    EXPECT_THAT([&] { (void)coordinates(text); },
                ThrowsMessage<UsageError>(AllOf(HasSubstr("c.txt"), HasSubstr(words)...)))
        << text;
  };
  const auto bad_widths = [](const std::string& text, const auto&... words) {
    EXPECT_THAT([&] { (void)widths(text); }, ThrowsMessage<UsageError>(AllOf(HasSubstr("w.txt"), HasSubstr(words)...)))
        << text;
  };
  bad_coordinates("", "no coordinates");
  bad_coordinates("# nothing\n\n", "no coordinates");
  bad_coordinates("0\n", "no intervals");
  bad_coordinates("1 2 1.5", "line 1", "'1.5'", "beyond");
  bad_coordinates("0 1\n0.5\n2", "line 2", "'0.5'", "beyond");
  bad_coordinates("0\n1\n1\n", "line 3", "'1'", "beyond");
  bad_coordinates("0 1 nan", "nan", "finite");
  bad_coordinates("0 1 inf", "inf", "finite");
  bad_coordinates("0 1 1e999", "1e999", "finite");
  bad_coordinates("0 4e-320", "4e-320", "close");
  bad_widths("", "no intervals");
  bad_widths("1\n\n0\n1", "line 3", "'0'", "no width");
  bad_widths("1 -2", "'-2'", "no width");
  bad_widths("1\nNaN", "line 2", "'NaN'");
  bad_widths("1 2x", "'2x'");
  bad_widths("1 0x10", "'0x10'");
  bad_widths("1;2", "'1;2'");
  bad_widths("1 +-2", "'+-2'");
  bad_widths("1 1e-310", "'1e-310'", "no width");
  bad_widths("1e308 1e308", "double");
  bad_widths(std::string("1\0", 2), "'1?'");
  bad_widths("1 " + std::string(1000, '7'), "777...");
}

TEST(LineFiles, TooManyNumbersAreRefused) {
  std::string text;
  for (int i = 0; i <= max_cells; ++i) text += "1\n";
  EXPECT_THAT([&] { (void)widths(text); }, ThrowsMessage<UsageError>(HasSubstr(std::to_string(max_cells))));
  text += "1\n";
  EXPECT_THAT([&] { (void)widths(text); },
              ThrowsMessage<UsageError>(HasSubstr("line " + std::to_string(max_cells + 2))));
}

TEST(LineFiles, FilesThatCannotBeReadAreFileErrors) {
  for (const char* path : {"missing.txt", ".", ""}) {
    Grading grading;
    grading.kind = Grading::Kind::widths;
    grading.path = path;
    EXPECT_THROW((void)read_line(grading), FileError) << path;
  }
  EXPECT_THROW((void)read_line({}), UsageError);
}

TEST(GradingText, NamesEveryLine) {
  const auto same = [](const char* text, const Axis& expected) {
    EXPECT_EQ(make_line(parse_grading(text), 2, 9).widths(), expected.widths()) << text;
  };
  same("uniform", uniform(2, 9));
  same("geometric:1.2,last", geometric(2, 9, 1.2, GradedSide::last));
  same("geometric:h=1e-6,both", geometric_with_smallest(2, 9, 1e-6, GradedSide::both));
  same("tanh:3,first", hyperbolic_tangent(2, 9, 3, GradedSide::first));
  same("cosine", cosine(2, 9));
  same("cosine,last", cosine(2, 9, GradedSide::last));
  same("shishkin:0.01,first", shishkin(2, 9, 0.01, GradedSide::first));
  EXPECT_EQ(parse_grading("file:a,b:c").path, "a,b:c");
  EXPECT_EQ(parse_grading("file:x").kind, Grading::Kind::coordinates);
  EXPECT_EQ(parse_grading("widths:x").kind, Grading::Kind::widths);
}

TEST(GradingText, WhatIsNoGradingIsRefusedWithWhatIs) {
  for (const char* text : {"",
                           "geometrc:1.2,last",
                           "geometric",
                           "geometric:",
                           "geometric:1.2",
                           "geometric:1.2,",
                           "geometric:1.2,left",
                           "geometric:1.2,last,last",
                           "geometric:0.9,last",
                           "geometric:nan,last",
                           "geometric:inf,last",
                           "geometric:h=,last",
                           "geometric:h=0,last",
                           "geometric:h=-1,last",
                           "geometric:w=1,last",
                           "geometric:1.2x,last",
                           "tanh:0,both",
                           "tanh:301,both",
                           "tanh,both",
                           "tanh:h=1,both",
                           "cosine:1",
                           "cosine:both",
                           "cosine,",
                           "uniform,last",
                           "uniform:2",
                           "shishkin:0,first",
                           "shishkin:0.1",
                           "file:",
                           "widths:",
                           "file",
                           ":",
                           ",",
                           "h=1",
                           "Tanh:3,both"})
    EXPECT_THAT([=] { (void)parse_grading(text); },
                ThrowsMessage<UsageError>(AllOf(HasSubstr(text), HasSubstr("geometric:RATIO,SIDE"))))
        << text;
}

TEST(GradingText, AnyTextIsALineOrAUsageError) {
  test::Random random(62);
  const auto pick = [&](std::size_t n) {
    return std::min(n - 1, static_cast<std::size_t>(random.uniform(0, static_cast<double>(n))));
  };
  const std::string seeds[] = {"uniform",     "geometric:1.2,last",  "geometric:h=1e-6,both", "tanh:3,first",
                               "cosine,last", "shishkin:0.01,first", "0 0.25 0.5 1\n2",       "1e-3, 2 # w\n1e5"};
  constexpr char characters[] = "0123456789.+-eE:,=h# \n\t\r\0\xff\x80nafilstbo";
  const std::string letters(characters, sizeof characters - 1);
  int lines = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string text = seeds[pick(std::size(seeds))];
    for (std::size_t edits = 1 + pick(3); edits > 0; --edits) {
      const std::size_t at = pick(text.size() + 1);
      const int kind = static_cast<int>(pick(3));
      if (kind == 0 || at == text.size())
        text.insert(at, 1, letters[pick(letters.size())]);
      else if (kind == 1)
        text.erase(at, 1);
      else
        text[at] = letters[pick(letters.size())];
      if (text.empty()) break;
    }
    const auto attempt = [&](const auto& make) {
      try {
        const Axis line = make();
        EXPECT_GT(line.length(), 0);
        EXPECT_TRUE(std::isfinite(line.length()));
        ++lines;
      } catch (const UsageError& error) {
        EXPECT_NE(*error.what(), '\0');
      }
    };
    attempt([&] { return coordinates(text); });
    attempt([&] { return widths(text); });
    if (!text.starts_with("file:") && !text.starts_with("widths:"))
      attempt([&] { return make_line(parse_grading(text), 1, 7); });
  }
  EXPECT_GT(lines, 1000) << "the mutations are too wild to test anything";
}

}  // namespace
