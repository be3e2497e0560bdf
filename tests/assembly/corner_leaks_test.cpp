// What leaks through nodes in which cells of high K touch in a corner alone.

#include <gmock/gmock.h>

#include <cmath>
#include <memory>
#include <string>

#include <stratum/assembly/corner_leaks.hpp>
#include <stratum/mesh/partition.hpp>
#include <stratum/multigrid/poisson_solver.hpp>

#include "support/bodies.hpp"
#include "support/subdomains.hpp"

namespace {

using namespace stratum;
using test::contact, test::held, test::material, test::solid;
using testing::HasSubstr;
using Kind = BoundaryConditionType;

constexpr int cells = 16;

/// From u = 0 at the left to 1 at the right.
PoissonProblem across(std::vector<Body> bodies) {
  PoissonProblem problem;
  problem.rhs = test::number(0);
  problem.boundaries = {
      {Kind::dirichlet, test::number(0)}, {Kind::dirichlet, test::number(1)}, test::neumann(), test::neumann()};
  problem.bodies = std::move(bodies);
  return problem;
}
/// Cells along the diagonal that rises, or falls.
double rising(const Point& p) { return std::abs(p.x - p.y) < 0.5 / cells ? 1.0 : -1.0; }
double falling(const Point& p) { return std::abs(p.x + p.y - 1) < 0.5 / cells ? 1.0 : -1.0; }
double board(const Point& p) { return (p.x < 0.5) == (p.y < 0.5) ? 1.0 : -1.0; }

template <class Mesh>
CornerLeaks leaks_of(const Mesh& given, const PoissonProblem& problem) {
  Context ctx(Backend::cpu, 1);
  const auto mesh = with_boundaries(given, problem.boundaries);
  PoissonSolverParams params;
  params.terms = operator_terms(mesh, problem);
  if (auto k = cell_coefficients(ctx, mesh, problem))
    params.coefficients = std::make_shared<const CellCoefficients>(std::move(*k));
  params.stop.rtol = 1e-12;
  const GridLayout<2> shape = Geometry(mesh).logical().unknowns();
  Field<double> b(ctx, shape), x(ctx, shape);
  assemble_load(ctx, mesh, problem, b, params.coefficients.get());
  (void)PoissonSolver(ctx, mesh, params).solve(ctx, b.cview(), x.view());
  return corner_leaks(ctx, mesh, problem, x, params.coefficients.get());
}
CornerLeaks leaks_of(const PoissonProblem& problem) { return leaks_of(test::unit_square(cells), problem); }

// Elements conduct 0.8868 where the wall should hold all but 3e-8 back.
TEST(CornerLeaks, AreAllThatFlowsThroughAWallAlongADiagonal) {
  for (const auto& [wall, first_x] : {std::pair{&rising, 1.0 / cells}, std::pair{&falling, 1 - 1.0 / cells}})
    for (const Body& body : {material(ScalarFunction(wall), 1e-9), contact(ScalarFunction(wall), 1e9)}) {
      const CornerLeaks found = leaks_of(across({body}));
      EXPECT_EQ(found.nodes, cells - 1);
      EXPECT_DOUBLE_EQ(found.x, first_x);
      EXPECT_DOUBLE_EQ(found.y, 1.0 / cells);
      EXPECT_NEAR(found.flow, 0.886799, 1e-6);
      EXPECT_NEAR(found.leak, found.flow, 1e-6);
      EXPECT_THAT(found.warning(), HasSubstr("in corners alone at 15 nodes, the first of them ("));
      EXPECT_THAT(found.warning(), HasSubstr("The flows there add up to 0.886799, and all sources give off 0.886799"));
    }
  PoissonProblem by_function = across({});
  by_function.diffusion.xx = ScalarFunction([](const Point& p) { return rising(p) > 0 ? 1e-9 : 1; });
  EXPECT_NEAR(leaks_of(by_function).leak, 0.886799, 1e-6);
  // On quadrilaterals.
  Context ctx(Backend::cpu, 1);
  const MappedMesh sheared = mapped(
      ctx, test::unit_square(cells), [](const Point& p) { return p.x + 0.1 * p.y; },
      [](const Point& p) { return p.y; });
  by_function.diffusion.xx =
      ScalarFunction([](const Point& p) { return std::abs(p.x - 1.1 * p.y) < 0.4 / cells ? 1e-9 : 1; });
  const CornerLeaks found = leaks_of(sheared, by_function);
  EXPECT_EQ(found.nodes, cells - 1);
  EXPECT_GT(found.leak, 0.7);
  EXPECT_NEAR(found.leak, found.flow, 1e-6);
}

TEST(CornerLeaks, AreNoneWhereWallsAreThickerOrConduct) {
  EXPECT_EQ(
      leaks_of(across({material([](const Point& p) { return std::abs(p.x - p.y) < 1.5 / cells ? 1.0 : -1.0; }, 1e-9)}))
          .nodes,
      0);
  EXPECT_EQ(leaks_of(across({material(rising, 0.02)})).nodes, 0);
  EXPECT_EQ(leaks_of(across({})).nodes, 0);
  // Solids without flux have a warning before anything flows.
  EXPECT_EQ(leaks_of(across({solid(rising)})).nodes, 0);
  EXPECT_EQ(leaks_of(across({material(rising, 1e-9), held(falling, 0.5)})).nodes, cells - 2);
}

// One corner of a checkerboard: across it u leaks; where the boundary holds u at zero it hardly matters (by 1e-4 of the largest
// u, against finite volumes).
TEST(CornerLeaks, WarnWhereTheyMatter) {
  const CornerLeaks through = leaks_of(across({material(board, 1e-4)}));
  EXPECT_EQ(through.nodes, 1);
  EXPECT_GT(through.leak, 0.9 * through.flow);
  EXPECT_THAT(through.warning(), HasSubstr("at 1 node, (0.5, 0.5), between cells of which K is 1/100"));
  PoissonProblem heated;
  heated.rhs = test::number(1);
  heated.bodies = {material(board, 1e-4)};
  const CornerLeaks beside = leaks_of(heated);
  EXPECT_EQ(beside.nodes, 1);
  EXPECT_LT(beside.leak, 0.01 * beside.flow);
  EXPECT_EQ(beside.warning(), "");
  // Nothing flows.
  heated.rhs = test::number(0);
  heated.boundary = test::number(300);
  EXPECT_EQ(leaks_of(heated).warning(), "");
}

// Across periodic boundaries, too, and of the given u whatever it is.
TEST(CornerLeaks, AreThoseOfAllSubdomains) {
  for (const bool periodic : {false, true}) {
    PoissonProblem problem;
    problem.boundaries = test::all_neumann();
    if (periodic) problem.boundaries = {{Kind::periodic}, {Kind::periodic}, {Kind::periodic}, {Kind::periodic}};
    problem.diffusion.xx = ScalarFunction(
        [](const Point& p) { return (static_cast<int>(8 * p.x) + static_cast<int>(8 * p.y)) % 2 != 0 ? 1000.0 : 1.0; });
    const TensorMesh<2> mesh = with_boundaries(test::unit_square(cells), problem.boundaries);
    const auto numbers = [&](Context& ctx) {
      const auto k = cell_coefficients(ctx, mesh, problem);
      const bool whole = ctx.subdomains() == 1;
      const GridLayout<2> shape =
          whole ? mesh.unknowns() : Subdomain(mesh, ctx.subdomains(), ctx.communicator()->rank(), 0).unknowns();
      Field<double> u(ctx, shape);
      std::vector<double> values;
      for (int j = 0; j < shape.ny; ++j)
        for (int i = 0; i < shape.nx; ++i) {
          const int row = j + shape.origin_y - mesh.unknowns().origin_y;
          values.push_back(1e-5 * std::sin(0.3 * i + 0.1) + 1e-5 * std::cos(0.2 * row * row));
        }
      copy_from_host(ctx, values.data(), u.view());
      const CornerLeaks found = corner_leaks(ctx, mesh, problem, u, &*k);
      EXPECT_EQ(found.nodes, periodic ? 64 : 49);
      EXPECT_EQ(found.x, periodic ? 0 : 0.125);
      return whole || ctx.communicator()->rank() == 0 ? test::Values{found.leak, found.flow} : test::Values{};
    };
    test::expect_the_same_on_subdomains(1e-12, numbers);
  }
}

}  // namespace
