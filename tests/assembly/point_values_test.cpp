// Values between nodes.

#include <stratum/assembly/point_values.hpp>

#include <cmath>

#include <gmock/gmock.h>

#include <stratum/assembly/poisson_problem.hpp>
#include <stratum/assembly/sample_maps.hpp>

namespace {

using namespace stratum;

TEST(PointValues, OfBilinearFunctionsOnRectangles) {
  Context ctx(Backend::cpu, 1);
  const TensorMesh<2> mesh(Axis({0.5, 0.25, 0.25}).starting_at(2), bisected(1.0, 3, ThinSide::first, 0.2));
  const auto u = [](const Point& p) { return 1 + 2 * p.x - p.y + 3 * p.x * p.y; };
  const auto nodal = at_nodes(ctx, mesh, u);
  const PointLocator locator{Geometry(mesh)};
  for (const double x : {2.0, 2.3, 2.5, 2.74, 2.75, 3.0})
    for (const double y : {0.0, 1e-6, 0.1, 0.77, 1.0}) {
      const auto p = locator.locate({x, y});
      ASSERT_TRUE(p.has_value()) << x << ' ' << y;
      EXPECT_NEAR(value_at(mesh, nodal, *p), u({x, y}), 1e-13) << x << ' ' << y;
    }
  for (const auto& [x, y] : {Position{1.99, 0.5}, {3.01, 0.5}, {2.5, -0.01}, {2.5, 1.01}, {NAN, 0.5}})
    EXPECT_FALSE(locator.locate({x, y}).has_value()) << x << ' ' << y;
}

// The last nodes have one coordinate, and each end has its own value.
TEST(PointValues, AtTheEndsOfThinCells) {
  Context ctx(Backend::cpu, 1);
  const TensorMesh<2> mesh(bisected(1.0, 10, ThinSide::last, 0.05), bisected(1.0, 1));
  const auto nodal = at_nodes(ctx, mesh, [](const Point& p) { return p.to_right == 0 ? 7.0 : p.to_left; });
  const PointLocator locator{Geometry(mesh)};
  EXPECT_EQ(value_at(mesh, nodal, *locator.locate({1, 0.5})), 7);
  EXPECT_EQ(value_at(mesh, nodal, *locator.locate({0, 0.5})), 0);
}

TEST(PointValues, OnQuadrilaterals) {
  Context ctx(Backend::cpu, 1);
  const TensorMesh<2> logical(bisected(1.0, 4), bisected(1.0, 3));
  const auto u = [](const Point& p) { return 1 + 2 * p.x - p.y; };
  for (const SampleMap& map : {shear_map(40), annulus_map(2), sine_map(0.1), kershaw_map(0.3)}) {
    const MappedMesh mesh = mapped(ctx, logical, map.x, map.y);
    const auto nodal = at_nodes(ctx, mesh, u);
    const PointLocator locator{Geometry(mesh)};
    for (int j = 0; j < 8; ++j)
      for (int i = 0; i < 16; ++i)
        for (const double t : {0.0, 0.4, 1.0})
          for (const double s : {0.0, 0.9, 1.0}) {
            const Position p = mesh.cell(i, j).at(t, s);
            const auto found = locator.locate(p);
            ASSERT_TRUE(found.has_value()) << map.name << ' ' << p.x << ' ' << p.y;
            EXPECT_NEAR(value_at(mesh, nodal, *found), u({p.x, p.y}), 1e-11) << map.name;
          }
    EXPECT_FALSE(locator.locate({-3, -3}).has_value());
  }
  // In the hole of the annulus, within the box of its cells.
  const SampleMap annulus = annulus_map(2);
  const MappedMesh mesh = mapped(ctx, logical, annulus.x, annulus.y);
  EXPECT_FALSE(PointLocator{Geometry(mesh)}.locate({0.5, 0.5}).has_value());
}

}  // namespace
