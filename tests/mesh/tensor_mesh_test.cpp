#include <stratum/mesh/tensor_mesh.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include <stratum/mesh/graded.hpp>
#include <stratum/mesh/named_meshes.hpp>

#include "support/random.hpp"

namespace {

using namespace stratum;
using testing::DoubleEq;
using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

// Goeddeke, Strzodka 2011, Section 4.1: smallest width and largest aspect ratio at level 10, three digits printed.
struct PublishedMesh {
  const char* name;
  double a, b, nu, aspect_ratio, smallest_width;
};
constexpr PublishedMesh published[] = {
    {"U1", 1, 1, 1, 1.0, 9.77e-4},           {"U2", 0.25, 1, 1, 4.0, 2.44e-4},
    {"U3", 0.0625, 1, 1, 16.0, 6.10e-5},     {"A1", 1, 1, 0.75, 22.20, 5.50e-5},
    {"A2", 1, 1, 0.5, 1.54e3, 9.54e-7},      {"A3", 1, 1, 0.25, 1.84e6, 9.31e-10},
    {"A4", 1, 1, 0.0625, 2.13e12, 8.88e-16}, {"A5", 1, 1, 0.03125, 2.08e15, 9.24e-19}};

TEST(NamedMeshes, AreThePublishedOnes) {
  ASSERT_EQ(named_meshes().size(), std::size(published));
  for (const auto& row : published) {
    SCOPED_TRACE(row.name);
    const auto& family = mesh_family(row.name);
    EXPECT_EQ(family.name, row.name);
    EXPECT_EQ(family.lengths[0], row.a);
    EXPECT_EQ(family.lengths[1], row.b);
    EXPECT_EQ(family.nu, row.nu);
    const auto mesh = make_mesh(family, 10);
    EXPECT_EQ(mesh.name(), row.name);
    EXPECT_EQ(mesh.unknowns().nx, 1023);
    EXPECT_EQ(mesh.unknowns().ny, 1023);
    EXPECT_EQ(mesh.unknowns().origin_x, 1);
    EXPECT_EQ(mesh.cells(), 1 << 20);
    // Three digits are printed. Those of A5 are not those of (nu / 2)^10 = 8.67e-19: there widths were differences of
    // coordinates.
    const double printed = family.name == "A5" ? 7e-2 : 6e-3;
    EXPECT_NEAR(mesh.smallest_width() / row.smallest_width, 1, printed);
    EXPECT_NEAR(mesh.largest_aspect_ratio() / row.aspect_ratio, 1, printed);
    EXPECT_NEAR(mesh.smallest_width() / (row.a * std::pow(row.nu / 2, 10)), 1, 1e-14);
  }
}

TEST(NamedMeshes, ThinIntervalsLieAtTheRightAndTheBottom) {
  const auto mesh = make_mesh(mesh_family("A5"), 10);
  EXPECT_EQ(mesh.x().widths().back(), mesh.smallest_width());
  EXPECT_EQ(mesh.y().widths().front(), mesh.smallest_width());
  // Beside x = 1 such a width is lost to subtraction, and kept here.
  EXPECT_EQ(mesh.x().from_begin()[1024] - mesh.x().from_begin()[1023], 0);
  EXPECT_EQ(mesh.x().from_end()[1023], mesh.smallest_width());
}

TEST(NamedMeshes, UnknownNamesListTheKnownOnes) {
  EXPECT_THAT([] { (void)mesh_family("B1"); },
              ThrowsMessage<UsageError>(AllOf(HasSubstr("B1"), HasSubstr("U1"), HasSubstr("A5"))));
  EXPECT_THROW((void)mesh_family("a1"), UsageError);
  EXPECT_THROW((void)mesh_family(""), UsageError);
}

TEST(Bisection, SplitsTheThinEnd) {
  EXPECT_THAT(bisected(1, 2, ThinSide::last, 0.5).widths(),
              ElementsAre(DoubleEq(0.375), DoubleEq(0.375), DoubleEq(0.1875), DoubleEq(0.0625)));
  EXPECT_THAT(bisected(1, 2, ThinSide::first, 0.5).widths(),
              ElementsAre(DoubleEq(0.0625), DoubleEq(0.1875), DoubleEq(0.375), DoubleEq(0.375)));
  EXPECT_THAT(bisected(3, 1).widths(), ElementsAre(1.5, 1.5));
  EXPECT_THAT(bisected(3, 0, ThinSide::last, 0.1).widths(), ElementsAre(3));
  // nu above 1 makes the end thick.
  EXPECT_GT(bisected(1, 3, ThinSide::last, 1.5).widths().back(), bisected(1, 3).widths().back());
}

TEST(Bisection, EveryLevelRefinesTheOneBefore) {
  for (const auto& family : named_meshes()) {
    SCOPED_TRACE(family.name);
    const auto fine = make_mesh(family, 7);
    const auto coarse = make_mesh(family, 6);
    const auto merged = fine.coarser();
    ASSERT_EQ(merged.x().size(), coarse.x().size());
    for (int i = 0; i < coarse.x().size(); ++i) {
      const auto k = static_cast<std::size_t>(i);
      EXPECT_NEAR(merged.x().widths()[k] / coarse.x().widths()[k], 1, 1e-15);
      EXPECT_NEAR(merged.y().widths()[k] / coarse.y().widths()[k], 1, 1e-15);
    }
  }
}

TEST(Bisection, RefusesWhatHasNoMesh) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  for (const int level : {-1, 21, 1000})
    EXPECT_THAT([=] { (void)bisected(1, level); }, ThrowsMessage<UsageError>(HasSubstr(std::to_string(level))));
  for (const double nu : {0.0, 2.0, -0.5, 3.0, infinity, std::nan("")})
    EXPECT_THROW((void)bisected(1, 3, ThinSide::last, nu), UsageError) << nu;
  for (const double length : {0.0, -1.0, infinity, std::nan("")})
    EXPECT_THROW((void)bisected(length, 3), UsageError) << length;
  // (0.0005)^100-like widths: nu = 1e-20 at level 20 underflows.
  EXPECT_THROW((void)bisected(1, 20, ThinSide::last, 1e-20), UsageError);
}

TEST(IntervalsTest, DistancesAreRunningSumsFromBothEnds) {
  const Axis line({1, 0.5, 1e-20});
  EXPECT_THAT(line.from_begin(), ElementsAre(0, 1, 1.5, 1.5));
  EXPECT_THAT(line.from_end(), ElementsAre(1.5, DoubleNear(0.5, 1e-16), 1e-20, 0));
  EXPECT_EQ(line.length(), 1.5);
  EXPECT_EQ(line.size(), 3);
}

TEST(IntervalsTest, EndsLieAtZeroAndTheLengthAndNoNodeBeyond) {
  test::Random random(32);
  const auto check = [](const Axis& line, double length) {
    const auto &begin = line.from_begin(), &end = line.from_end();
    ASSERT_EQ(line.length(), length);
    ASSERT_EQ(begin.front(), 0);
    ASSERT_EQ(begin.back(), length);
    ASSERT_EQ(end.front(), length);
    ASSERT_EQ(end.back(), 0);
    for (std::size_t i = 1; i < begin.size(); ++i) {
      ASSERT_LE(begin[i - 1], begin[i]) << "node " << i << " of " << line.size();
      ASSERT_GE(end[i - 1], end[i]) << "node " << i << " of " << line.size();
    }
  };
  for (int n = 1; n < 150; ++n)
    for (const double length : {1.0, 0.1, 0.3, 1e-7, 12345.678}) {
      check(uniform(length, n), length);
      check(cosine(length, n), length);
      check(geometric(length, n, 1.7, GradedSide::last), length);
      check(hyperbolic_tangent(length, n, 12, GradedSide::both), length);
      if (n > 2) check(uniform(length, n).coarser(), length);
      if (n < 20) check(halved(uniform(length, n), 5), length);
      const Axis own(random.widths(n, 9));
      check(own, own.length());
    }
  for (const auto& family : named_meshes()) check(make_mesh(family, 9).x(), family.lengths[0]);
}

TEST(IntervalsTest, AMillionWidthsDoNotDrift) {
  for (const int n : {999'983, 1'000'003}) {
    const Axis line = uniform(1, n);
    for (int i = 0; i <= n; i += 997) {
      const double exact = static_cast<double>(static_cast<long double>(i) / n);
      ASSERT_NEAR(line.from_begin()[static_cast<std::size_t>(i)], exact, 3e-16) << "node " << i << " of " << n;
      ASSERT_NEAR(line.from_end()[static_cast<std::size_t>(n - i)], exact, 3e-16) << "node " << i << " of " << n;
    }
  }
}

TEST(IntervalsTest, CoordinatesStayAsTheyAre) {
  const std::vector<double> coordinates{0, 0.1, 0.3, 0.7, 1.1};
  const auto line = Axis::at(coordinates);
  EXPECT_EQ(line.from_begin(), coordinates);
  EXPECT_EQ(line.coarser().from_begin()[1], 0.3);
  EXPECT_EQ(line.from_end().front(), 1.1);
  EXPECT_THROW((void)Axis::at({}), UsageError);
  EXPECT_THROW((void)Axis::at({0, 1, 1}), UsageError);
}

TEST(IntervalsTest, LinesStartAnywhere) {
  EXPECT_EQ(Axis({1, 2}).origin(), 0);
  const auto line = Axis({1, 2, 1, 4}).starting_at(-3);
  EXPECT_THAT(line.coordinates(), ElementsAre(-3, -2, 0, 1, 5));
  EXPECT_THAT(line.from_begin(), ElementsAre(0, 1, 3, 4, 8));
  EXPECT_THAT(line.from_end(), ElementsAre(8, 7, 5, 4, 0));
  for (const auto& other :
       {line.coarser(), line.with_boundaries(BoundaryType::neumann, BoundaryType::dirichlet), halved(line, 2)})
    EXPECT_EQ(other.origin(), -3);
  EXPECT_THAT(Axis::at({0.5, 1, 2.5}).coordinates(), ElementsAre(0.5, 1, 2.5));
  EXPECT_EQ(Axis::at({0.5, 1, 2.5}).length(), 2);
  // The thinnest widths do not notice.
  const auto thin = bisected(1, 10, ThinSide::last, 0.1);
  EXPECT_EQ(thin.starting_at(1e9).widths(), thin.widths());
  EXPECT_EQ(thin.starting_at(1e9).from_end(), thin.from_end());
  EXPECT_THROW((void)line.starting_at(std::nan("")), UsageError);
  EXPECT_THROW((void)Axis({1e308}).starting_at(1e308), UsageError);
}

TEST(IntervalsTest, ALengthMustBeThatOfTheWidths) {
  EXPECT_EQ(Axis({0.1, 0.2}, 0.3).length(), 0.3);
  EXPECT_THAT([] { (void)Axis({0.1, 0.2}, 0.31); }, ThrowsMessage<UsageError>(HasSubstr("0.31")));
}

TEST(IntervalsTest, RefusesBadWidths) {
  for (const double bad : {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity(), 1e-310})
    EXPECT_THAT([=] { Axis({1, bad, 1}); }, ThrowsMessage<UsageError>(HasSubstr("interval 1"))) << bad;
  EXPECT_THROW(Axis({}), UsageError);
}

TEST(IntervalsTest, CoarseningMergesPairsAndKeepsTheLength) {
  test::Random random(31);
  for (const int n : {3, 4, 5, 6, 12, 63, 64}) {
    const Axis fine(random.widths(n, 6));
    ASSERT_TRUE(fine.can_coarsen());
    const auto coarse = fine.coarser();
    ASSERT_EQ(coarse.size(), (n + 1) / 2);
    for (std::size_t i = 0; i < static_cast<std::size_t>(n) / 2; ++i)
      EXPECT_EQ(coarse.widths()[i], fine.widths()[2 * i] + fine.widths()[2 * i + 1]);
    if (n % 2 != 0) {
      EXPECT_EQ(coarse.widths().back(), fine.widths().back()) << "the last of an odd number stays alone";
    }
    EXPECT_EQ(coarse.from_begin().size(), coarse.widths().size() + 1);
    EXPECT_EQ(coarse.from_begin().back(), fine.from_begin().back());
    EXPECT_EQ(coarse.from_end().front(), fine.from_end().front());
    EXPECT_NEAR(coarse.length(), fine.length(), 1e-14 * fine.length());
  }
  for (const int n : {1, 2}) {
    const Axis short_line(random.widths(n));
    EXPECT_FALSE(short_line.can_coarsen());
    EXPECT_THROW((void)short_line.coarser(), UsageError);
  }
}

TEST(LineTest, EndsDecideWhatIsAnUnknown) {
  using enum BoundaryType;
  const Axis line(std::vector<double>(7, 1.0));
  const auto unknowns = [&](BoundaryType first, BoundaryType last) {
    return line.with_boundaries(first, last).unknowns();
  };
  EXPECT_EQ(unknowns(dirichlet, dirichlet), 6);
  EXPECT_EQ(unknowns(dirichlet, neumann), 7);
  EXPECT_EQ(unknowns(neumann, dirichlet), 7);
  EXPECT_EQ(unknowns(neumann, neumann), 8);
  EXPECT_EQ(unknowns(periodic, periodic), 7);
  EXPECT_EQ(line.first_unknown(), 1);
  EXPECT_EQ(line.with_boundaries(neumann, dirichlet).first_unknown(), 0);
  EXPECT_THAT([&] { (void)line.with_boundaries(periodic, neumann); },
              ThrowsMessage<UsageError>(HasSubstr("periodic and neumann")));
  EXPECT_THAT([] { (void)Axis(std::vector<double>(2, 1.0)).with_boundaries(periodic, periodic); },
              ThrowsMessage<UsageError>(HasSubstr("at least 3")));
}

TEST(LineTest, EveryLineGoesDownToTheFewestUnknowns) {
  using enum BoundaryType;
  for (int n = 3; n < 200; ++n)
    for (const auto& [first, last, lowest] : {std::tuple{dirichlet, dirichlet, 1},
                                              {dirichlet, neumann, 1},
                                              {neumann, neumann, 2},
                                              {periodic, periodic, 5}}) {
      Axis line = Axis(std::vector<double>(static_cast<std::size_t>(n), 1.0)).with_boundaries(first, last);
      while (line.can_coarsen()) line = line.coarser();
      EXPECT_LE(line.unknowns(), lowest) << n << " intervals";
      EXPECT_GE(line.unknowns(), 1);
      EXPECT_NEAR(line.length(), n, 1e-12 * n);
    }
}

TEST(TensorMeshTest, CoarsensEachDirectionThatCan) {
  const auto mesh = [](int nx, int ny) {
    return TensorMesh<2>{Axis(std::vector<double>(static_cast<std::size_t>(nx), 1)),
                         Axis(std::vector<double>(static_cast<std::size_t>(ny), 1))};
  };
  const auto coarser = mesh(8, 2).coarser();
  EXPECT_EQ(coarser.x().size(), 4);
  EXPECT_EQ(coarser.y().size(), 2);
  EXPECT_TRUE(mesh(4, 2).can_coarsen());
  EXPECT_EQ(mesh(4, 2).coarser().x().size(), 2);
  EXPECT_EQ(mesh(4, 2).coarser().y().size(), 2);
  for (const auto& [nx, ny] : {std::pair{2, 2}, {1, 1}, {1, 5}, {7, 1}}) {
    EXPECT_FALSE(mesh(nx, ny).can_coarsen()) << nx << " x " << ny;
    EXPECT_THROW((void)mesh(nx, ny).coarser(), UsageError);
  }
}

TEST(TensorMeshTest, ThinSideNamesGoBothWays) {
  for (const auto side : {ThinSide::none, ThinSide::first, ThinSide::last}) EXPECT_EQ(thin_side(to_string(side)), side);
  EXPECT_THAT([] { (void)thin_side("left"); }, ThrowsMessage<UsageError>(HasSubstr("left")));
}

}  // namespace
