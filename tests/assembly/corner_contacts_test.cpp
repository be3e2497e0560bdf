// Nodes where solids touch in corners alone, in the plane and in boxes.

#include <gtest/gtest.h>

#include <array>
#include <set>
#include <string>
#include <vector>

#include <stratum/assembly/corner_contacts.hpp>

#include "support/bodies.hpp"

namespace {

using namespace stratum;
using test::held, test::solid;

constexpr int cells = 4;
using Kind = BoundaryConditionType;

/// In the cells (i, j) of the unit square, or (i, j, k) of the unit cube.
ScalarFunction in_square(const std::set<std::array<int, 2>>& which) {
  return [which](const Point& p) {
    return which.contains({static_cast<int>(cells * p.x), static_cast<int>(cells * p.y)}) ? 1.0 : -1.0;
  };
}
ScalarFunction3D in_cube(const std::set<std::array<int, 3>>& which) {
  return [which](const Point3D& p) {
    const auto at = [](double x) { return static_cast<int>(cells * x); };
    return which.contains({at(p.x), at(p.y), at(p.z)}) ? 1.0 : -1.0;
  };
}

CornerContacts contacts_of(const PoissonProblem& problem) {
  Context ctx(Backend::cpu, 1);
  const TensorMesh<2> mesh = with_boundaries(test::unit_square(cells), problem.boundaries);
  return corner_contacts(mesh, *bodies_on(ctx, mesh, problem));
}
CornerContacts contacts_of(const PoissonProblem3D& problem) {
  const Context ctx(Backend::cpu, 1);
  const TensorMesh<3> mesh = with_boundaries(test::unit_cube(cells), problem.boundaries);
  return corner_contacts(mesh, *bodies_on(ctx, mesh, problem));
}

TEST(CornerContacts, OfSolidsInThePlane) {
  PoissonProblem problem;
  problem.boundaries = test::all_neumann();
  problem.bodies = {solid(in_square({{0, 0}})), solid(in_square({{1, 1}}))};
  const CornerContacts one = contacts_of(problem);
  EXPECT_EQ(one.nodes, 1);
  EXPECT_EQ(one.first, "(0.25, 0.25)");
  EXPECT_EQ(one.warning().substr(0, 79),
            "solids without flux touch each other in corners alone at 1 node, (0.25, 0.25): ");
  // A thin oblique wall leaks along all of its length; the message has the first place.
  problem.bodies = {solid(in_square({{0, 3}, {1, 2}, {2, 1}, {3, 0}}))};
  const CornerContacts wall = contacts_of(problem);
  EXPECT_EQ(wall.nodes, 3);
  EXPECT_NE(wall.warning().find("at 3 nodes, the first of them (0.75, 0.25)"), std::string::npos) << wall.warning();
  // One cell wider it does not.
  problem.bodies = {solid(in_square({{0, 3}, {1, 3}, {1, 2}, {2, 2}, {2, 1}, {3, 1}, {3, 0}}))};
  EXPECT_EQ(contacts_of(problem).nodes, 0);
  EXPECT_EQ(contacts_of(problem).warning(), "");
}

TEST(CornerContacts, AreNoneWhereANodeHasAValue) {
  PoissonProblem problem;
  problem.boundaries = test::all_neumann();
  problem.bodies = {solid(in_square({{0, 0}})), held(in_square({{1, 1}}), 1.0)};
  EXPECT_EQ(contacts_of(problem).nodes, 0);
  problem.bodies = {solid(in_square({{3, 0}})), solid(in_square({{0, 1}}))};
  EXPECT_EQ(contacts_of(problem).nodes, 0);
  // Across a periodic boundary, once.
  problem.boundaries.left = problem.boundaries.right = {Kind::periodic};
  EXPECT_EQ(contacts_of(problem).nodes, 1);
  EXPECT_EQ(contacts_of(problem).first, "(0, 0.25)");
}

TEST(CornerContacts, OfSolidsInABox) {
  PoissonProblem3D problem;
  test::all_neumann(problem);
  std::set<std::array<int, 3>> columns;
  for (int k = 0; k < cells; ++k) columns.insert({{1, 1, k}, {2, 2, k}});
  problem.bodies = {solid(in_cube(columns))};
  const CornerContacts edge = contacts_of(problem);
  EXPECT_EQ(edge.nodes, cells + 1);
  EXPECT_EQ(edge.first, "(0.5, 0.5, 0)");
  EXPECT_NE(edge.warning().find("in edges or corners alone at 5 nodes, the first of them (0.5, 0.5, 0)"),
            std::string::npos);
  problem.boundaries[BoxFace::front] = {Kind::dirichlet, {}, {}};
  EXPECT_EQ(contacts_of(problem).nodes, cells);
  // Around the ends of an edge within the box cells are connected.
  problem.bodies = {solid(in_cube({{1, 1, 1}, {2, 2, 1}, {1, 1, 2}, {2, 2, 2}}))};
  EXPECT_EQ(contacts_of(problem).nodes, 1);
  // Two solids that meet in a corner separate nothing; two cells with an equation do not touch but there.
  problem.bodies = {solid(in_cube({{1, 1, 1}, {2, 2, 2}}))};
  EXPECT_EQ(contacts_of(problem).nodes, 0);
  std::set<std::array<int, 3>> around;
  for (int c = 1; c < 7; ++c) around.insert({1 + (c & 1), 1 + (c >> 1 & 1), 1 + (c >> 2)});
  problem.bodies = {solid(in_cube(around))};
  EXPECT_EQ(contacts_of(problem).nodes, 1);
}

}  // namespace
