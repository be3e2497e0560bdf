// The values that held bodies give nodes which periodic boundaries join.

#include <gmock/gmock.h>

#include <stratum/assembly/bodies.hpp>
#include <stratum/assembly/box_bodies.hpp>
#include <stratum/assembly/geometry.hpp>
#include <stratum/assembly/poisson_problem.hpp>
#include <stratum/core/errors.hpp>

namespace {

using namespace stratum;
using testing::HasSubstr;
using testing::ThrowsMessage;

Axis periodic_line() {
  return Axis(std::vector<double>(8, 0.125)).with_boundaries(BoundaryType::periodic, BoundaryType::periodic);
}
Axis line() { return Axis(std::vector<double>(8, 0.125)); }

TEST(BodyValues, OfOneBodyAcrossAPeriodicBoundaryAreOne) {
  Context ctx;
  const TensorMesh<2> strip(periodic_line(), line(), "strip");
  const Geometry mesh(strip);
  PoissonProblem problem;
  problem.boundaries.left = problem.boundaries.right = {BoundaryConditionType::periodic};
  const auto ends = [](const Point& p) { return std::max(0.2 - p.x, p.x - 0.8); };
  problem.bodies = {{ends, BodyKind::value, [](const Point& p) { return p.x; }}};
  EXPECT_THAT(
      [&] { (void)bodies_on(ctx, mesh, problem); },
      ThrowsMessage<UsageError>(HasSubstr("body 1 has two values at (1, 0), 0 and 1, on both sides of a periodic")));
  problem.bodies[0].value = [](const Point& p) { return p.x * (1 - p.x); };
  const auto map = bodies_on(ctx, mesh, problem);
  EXPECT_EQ(map->value[map->node_number(0, 3)], 0);
  EXPECT_EQ(map->value[map->node_number(7, 3)], 0.125 * 0.875);
}

// Cells that meet at an edge of the periodic face alone: the node of the last plane is seen first.
TEST(BodyValues, OfOneBodyAcrossAPeriodicFaceAreOne) {
  const Context ctx;
  const TensorMesh<3> mesh(periodic_line(), line(), line(), "box");
  PoissonProblem3D problem;
  for (const BoxFace face : {BoxFace::left, BoxFace::right})
    problem.boundaries[face] = {BoundaryConditionType::periodic, {}, {}};
  const auto corner = [](const Point3D& p) {
    const bool last = p.x > 0.875 && p.y < 0.125 && p.z < 0.125, first = p.x < 0.125 && p.y > 0.125 && p.y < 0.25;
    return last || (first && p.z < 0.125) ? 1.0 : -1.0;
  };
  problem.bodies = {{corner, BodyKind::value, [](const Point3D& p) { return p.x; }}};
  EXPECT_THAT(
      [&] { (void)bodies_on(ctx, mesh, problem); },
      ThrowsMessage<UsageError>(HasSubstr("body 1 has two values at (0, 0.125, 0), 1 and 0, on both sides of a")));
  problem.bodies[0].value = [](const Point3D& p) { return p.y; };
  const auto bodies = bodies_on(ctx, mesh, problem);
  EXPECT_EQ(bodies->value[bodies->node_number(0, 1, 0)], 0.125);
}

}  // namespace
