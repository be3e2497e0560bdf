#include <stratum/mesh/mapped_mesh.hpp>

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stratum/core/errors.hpp>
#include <stratum/mesh/graded.hpp>

namespace {

using namespace stratum;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

/// Nodes of an nx x ny mesh of the unit square at map(x, y).
template <class Map>
MappedMesh mesh_of(int nx, int ny, const Map& map, BoundaryType in_x = BoundaryType::dirichlet,
                   BoundaryType in_y = BoundaryType::dirichlet) {
  std::vector<double> x, y;
  for (int j = 0; j <= ny; ++j)
    for (int i = 0; i <= nx; ++i) {
      const auto [px, py] = map(static_cast<double>(i) / nx, static_cast<double>(j) / ny);
      x.push_back(px);
      y.push_back(py);
    }
  return {{uniform(1, nx).with_boundaries(in_x, in_x), uniform(1, ny).with_boundaries(in_y, in_y)}, x, y};
}

std::pair<double, double> sheared(double x, double y) { return {2 * x + y, 3 * y}; }
std::pair<double, double> annulus(double x, double y) {
  const double angle = 2 * std::acos(-1.0) * x, radius = 2 - y;
  return {radius * std::cos(angle), radius * std::sin(angle)};
}

TEST(MappedMesh, PointsAndJacobiansAreThoseOfBilinearMaps) {
  const MappedMesh mesh({Axis({1}), Axis({1})}, {0, 2, 0, 3}, {0, 0, 1, 2});
  const auto centre = mesh.cell(0, 0).at(0.5, 0.5);
  EXPECT_DOUBLE_EQ(centre.x, 1.25);
  EXPECT_DOUBLE_EQ(centre.y, 0.75);
  EXPECT_DOUBLE_EQ(mesh.cell(0, 0).jacobian(0, 0), 2);
  EXPECT_DOUBLE_EQ(mesh.cell(0, 0).jacobian(1, 1), 3 * 2 - 1 * 1);
  // The integral is the area, 4 by the shoelace formula less the triangle above.
  EXPECT_DOUBLE_EQ(mesh.cell(0, 0).jacobian(0.5, 0.5), 3.5);
}

TEST(MappedMesh, AspectRatiosGoByTheLinesBetweenMidpoints) {
  EXPECT_THAT(cell_aspect_ratios(mesh_of(2, 1, [](double x, double y) { return std::pair(8 * x, y); })),
              ElementsAre(4, 4));
  EXPECT_DOUBLE_EQ(mesh_of(3, 2, sheared).largest_aspect_ratio(), std::hypot(0.5, 1.5) / (2.0 / 3));
}

TEST(MappedMesh, HalvedCellsAreCutAtTheMidpointsOfTheirSides) {
  const MappedMesh coarse({Axis({1, 1}), Axis({1})}, {0, 1, 3, 0, 1.5, 4}, {0, 0.5, 0, 1, 1, 2}),
      fine = halved(coarse, 2);
  EXPECT_EQ(fine.logical().x().size(), 8);
  EXPECT_EQ(fine.logical().y().size(), 4);
  for (int j = 0; j <= 4; ++j)
    for (int i = 0; i <= 8; ++i) {
      const int cell = i < 8 ? i / 4 : 1;
      const auto expected = coarse.cell(cell, 0).at((i - 4 * cell) / 4.0, j / 4.0);
      EXPECT_DOUBLE_EQ(fine.node(i, j).x, expected.x);
      EXPECT_DOUBLE_EQ(fine.node(i, j).y, expected.y);
    }
  EXPECT_EQ(halved(coarse, 0).x(), coarse.x());
}

TEST(MappedMesh, CellsThatAreNoQuadrilateralsAreRefusedByTheirIndices) {
  const auto refused = [](const auto& map, auto... words) {
    EXPECT_THAT([&] { (void)mesh_of(4, 4, map); }, ThrowsMessage<UsageError>(AllOf(HasSubstr(words)...)));
  };
  // One node, (2, 1), pulled across the diagonal of cell (2, 1).
  refused([](double x, double y) { return x == 0.5 && y == 0.25 ? std::pair(0.7, 0.45) : std::pair(x, y); },
          "cell (2, 1)", "no area", "of 16 cells");
  refused([](double x, double y) { return std::pair(x * y, y); }, "cell (0, 0)", "lower left corner, (0, 0)",
          "4 of 16 cells");
  refused([](double x, double y) { return std::pair(y, x); }, "all cells are", "mirrored");
  refused([](double x, double /*y*/) { return std::pair(x, 2 * x); }, "det J is 0", "16 of 16 cells");
  refused([](double x, double y) { return std::pair(x == 0.75 && y == 0.5 ? std::nan("") : x, y); }, "node (3, 2)",
          "must be finite");
  refused([](double x, double y) { return std::pair(x, 1 / (0.5 - y)); }, "node (0, 2)", "must be finite");
  EXPECT_THAT(
      [] {
        (void)MappedMesh({Axis({1}), Axis({1})}, {0, 1, 0}, {0, 0, 1, 1});
      },
      ThrowsMessage<UsageError>(HasSubstr("has 4 nodes, not 3 in x and 4 in y")));
}

TEST(MappedMesh, PeriodicSidesAreCopiesOfOneAnother) {
  using enum BoundaryType;
  EXPECT_EQ(mesh_of(8, 3, annulus, periodic).logical().unknowns().nx, 8);
  EXPECT_EQ(mesh_of(8, 3, sheared, periodic, periodic).logical().unknowns().nodes(), 24);
  // Half a turn: the left side is the right one, turned round.
  const auto half = [](double x, double y) { return annulus(x / 2, y); };
  EXPECT_THAT(
      [&] { (void)mesh_of(8, 3, half, periodic); },
      ThrowsMessage<UsageError>(AllOf(HasSubstr("left and right boundaries cannot be periodic"), HasSubstr("node 1"))));
  const auto open = mesh_of(8, 3, half);
  EXPECT_THAT(
      [&] {
        (void)open.with_ends_of({uniform(1, 8), uniform(1, 3).with_boundaries(periodic, periodic)});
      },
      ThrowsMessage<UsageError>(HasSubstr("bottom and top boundaries cannot be periodic")));
  EXPECT_THAT(
      [&] {
        (void)open.with_ends_of({uniform(1, 8), uniform(1, 4)});
      },
      ThrowsMessage<UsageError>(HasSubstr("8 x 4 cells do not belong to one of 8 x 3")));
}

}  // namespace
