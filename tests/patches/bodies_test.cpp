#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <stratum/assembly/patch_values.hpp>
#include <stratum/assembly/patches/patch_bodies.hpp>
#include <stratum/mesh/named_meshes.hpp>
#include <stratum/mesh/patches/patch_geometries.hpp>
#include <stratum/multigrid/patches/patch_heat_solver.hpp>
#include <stratum/multigrid/patches/patch_poisson_solver.hpp>
#include <stratum/multigrid/poisson_solver.hpp>

#include "patches/meshes.hpp"
#include "support/backends.hpp"

namespace {

using namespace stratum;

ScalarFunction number(double value) {
  return [value](const Point& /*p*/) { return value; };
}
Body body(ScalarFunction inside, BodyKind kind, ScalarFunction value = {}) {
  Body made;
  made.inside = std::move(inside);
  made.kind = kind;
  made.value = std::move(value);
  return made;
}

/// The unit square in four patches of `cells` x `cells`, turned at random.
PatchMesh square(int cells) { return PatchMesh(turned_at_random(test::with_cells(patch_grid(2, 2), cells), 7)); }

/// A square in patches without some of its cells has the matrix of a square in one grid whose bodies are identity rows: held
/// and solid bodies, along lines of the mesh, as staircases, in pinches, on the boundary, beside another K.
TEST(PatchBodies, AreThoseOfOneGrid) {
  const ScalarFunction box = rectangle_shape(0.25, 0.25, 0.75, 0.625), disc = disc_shape(0.45, 0.55, 0.3),
                       corner = rectangle_shape(-1, -1, 0.3, 0.2), other = rectangle_shape(0.8, 0.7, 1, 0.95);
  // Two boxes that meet in a corner.
  const ScalarFunction pinch = [a = rectangle_shape(0.25, 0.25, 0.5, 0.5), b = rectangle_shape(0.5, 0.5, 0.75, 0.75)](
                                   const Point& p) { return std::max(a(p), b(p)); };
  const ScalarFunction linear = [](const Point& p) { return 1 + p.x - p.y; };
  const std::vector<std::vector<Body>> cases = {
      {body(box, BodyKind::value, linear)},
      {body(box, BodyKind::no_flux)},
      {body(box, BodyKind::coefficient, [](const Point& p) { return 3 + p.x; })},
      {body(disc, BodyKind::value, number(1)), body(corner, BodyKind::no_flux)},
      {body(disc, BodyKind::no_flux), body(corner, BodyKind::value, number(2)),
       body(other, BodyKind::coefficient, number(50))},
      {body(pinch, BodyKind::value, linear)},
      {body(corner, BodyKind::value, number(1)), body(rectangle_shape(0.3, -1, 0.5, 0.2), BodyKind::value, number(1))}};
  for (std::size_t n = 0; n < cases.size(); ++n) {
    SCOPED_TRACE(n);
    Context ctx = test::context_on(Backend::cpu);
    PatchProblem problem;
    problem.rhs = [](const Point& p) { return 1 + p.x; };
    problem.diffusion = [](const Point& p) { return 1 + p.y; };
    const auto on = with_bodies(square(8), problem, cases[n]);
    PatchSolverParams params;
    params.stop.rtol = 1e-11;
    PatchPoissonSolver solver(ctx, on.mesh, on.problem, params);
    EXPECT_EQ(solver.solve().status, Status::converged);

    PoissonProblem one;
    one.rhs = problem.rhs;
    one.boundary = number(0);
    one.diffusion.xx = Coefficient(problem.diffusion);
    one.bodies = cases[n];
    const TensorMesh<2> grid = make_mesh(mesh_family("U1"), 4);
    ASSERT_EQ(grid.x().size(), 16);
    const auto map = bodies_on(ctx, grid, one);
    for (std::size_t k = 0; k < cases[n].size(); ++k)
      EXPECT_EQ(on.cells[k], static_cast<std::int64_t>(map->cells[k].size()));
    PoissonSolverParams of_one;
    of_one.stop.rtol = 1e-11;
    of_one.terms = operator_terms(grid, one);
    const auto cells = std::make_shared<const CellCoefficients>(*cell_coefficients(ctx, grid, one));
    of_one.coefficients = cells;
    PoissonSolver expected(ctx, grid, of_one);
    Field<double> b(ctx, expected.fine_operator().shape()), x(ctx, expected.fine_operator().shape());
    assemble_load(ctx, grid, one, b, cells.get());
    EXPECT_EQ(expected.solve(ctx, b.cview(), x.view()).status, Status::converged);
    const auto u = nodal_solution(ctx, grid, one, x);
    double largest = 0, size = 0;
    for (int p = 0; p < on.mesh.patches(); ++p) {
      const PatchNodes nodes = on.mesh.nodes_of(p);
      const auto own = solver.nodal_solution(p);
      for (std::size_t k = 0; k < own.size(); ++k) {
        const auto i = static_cast<std::size_t>(std::lround(16 * nodes.at[k].x)),
                   j = static_cast<std::size_t>(std::lround(16 * nodes.at[k].y));
        largest = std::max(largest, std::abs(own[k] - u[j * 17 + i]));
        size = std::max(size, std::abs(own[k]));
      }
    }
    EXPECT_LT(largest, 1e-8 * size);
    const PatchFluxes fluxes = solver.fluxes();
    EXPECT_NEAR(fluxes.sum(), fluxes.load, 1e-8 * fluxes.magnitudes);
  }
}

/// Where two solids meet in a corner, what lies on both sides of it does not meet: its node is there twice.
TEST(PatchBodies, CornersOfTwoSolidsKeepApart) {
  const auto on = with_bodies(square(8), {},
                              {body(rectangle_shape(0.25, 0.25, 0.5, 0.5), BodyKind::no_flux),
                               body(rectangle_shape(0.5, 0.5, 0.75, 0.75), BodyKind::no_flux)});
  EXPECT_EQ(on.mesh.cells(), 256 - 32);
  EXPECT_EQ(on.mesh.nodes(), 17 * 17 - 2 * 9 + 1);
}

/// Around a body along the lines of the mesh, of many cells: the iterations of a mesh without one.
TEST(PatchBodies, TakeNoMoreIterations) {
  Context ctx = test::context_on(Backend::cpu);
  PatchProblem problem;
  problem.rhs = number(1);
  const auto on = with_bodies(square(64), problem,
                              {body(rectangle_shape(0.25, 0.25, 0.75, 0.625), BodyKind::value, number(1)),
                               body(rectangle_shape(0.75, 0.25, 0.875, 0.75), BodyKind::no_flux)});
  EXPECT_LE(on.mesh.patches(), 20);
  PatchPoissonSolver solver(ctx, on.mesh, on.problem);
  EXPECT_LE(solver.solve().iterations, 9);
}

/// A wall that keeps heat in one of two rooms: both parts have their own, in time; a steady u is not determined there.
TEST(PatchBodies, RoomsThatDoNotMeet) {
  Context ctx = test::context_on(Backend::cpu);
  const PatchMesh mesh = square(8);
  PatchHeatProblem problem;
  problem.initial = [](const Point& p) { return p.x < 0.5 ? 2.0 : 1.0; };
  for (const auto& name : mesh.boundary_names()) problem.space.boundaries[name].kind = BoundaryConditionType::neumann;
  const std::vector<Body> wall{body(rectangle_shape(0.4, -1, 0.6, 2), BodyKind::no_flux)};
  const auto on = with_bodies(mesh, problem.space, wall);
  problem.space = on.problem;
  PatchHeatParams params;
  params.dt = 0.1;
  PatchHeatSolver solver(ctx, on.mesh, problem, params);
  EXPECT_EQ(solver.advance(ctx, 0.5).status, Status::converged);
  for (int p = 0; p < on.mesh.patches(); ++p) {
    const PatchNodes nodes = on.mesh.nodes_of(p);
    const auto u = solver.nodal_solution(ctx, p);
    for (std::size_t k = 0; k < u.size(); ++k) EXPECT_NEAR(u[k], nodes.at[k].x < 0.5 ? 2 : 1, 1e-8);
  }
  try {
    const PatchPoissonSolver steady(ctx, on.mesh, on.problem);
    FAIL() << "nothing was refused";
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("the mesh has 2 parts that do not meet"), std::string::npos)
        << error.what();
  }
}

TEST(PatchBodies, WhatCannotBeIsRefused) {
  const auto box = rectangle_shape(0.25, 0.25, 0.5, 0.5), right = rectangle_shape(0.5, 0.25, 0.75, 0.5);
  Body contact = body(box, BodyKind::contact), tensor = body(box, BodyKind::coefficient, number(1));
  tensor.kyy = number(2);
  const std::vector<std::pair<std::vector<Body>, const char*>> cases = {
      {{contact}, "contact resistances are for rectangles"},
      {{tensor}, "K is one number, not a tensor"},
      {{body(box, BodyKind::value)}, "held at a value that is not given"},
      {{body(disc_shape(5, 5, 1), BodyKind::no_flux)}, "holds no cell of the mesh of patches"},
      {{body(number(1), BodyKind::no_flux)}, "the bodies cover all cells"},
      {{body(box, BodyKind::no_flux), body(box, BodyKind::value, number(1))}, "a cell belongs to a body of one kind"},
      {{body(box, BodyKind::coefficient, number(1)), body(box, BodyKind::coefficient, number(1))}, "a cell has one K"},
      {{body(box, BodyKind::value, number(1)), body(right, BodyKind::value, number(2))}, "meet with different values"}};
  for (const auto& [bodies, words] : cases) try {
      (void)with_bodies(square(8), {}, bodies);
      FAIL() << words << ": nothing was refused";
    } catch (const UsageError& error) {
      EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
    }
  // Widths that positions do not have the digits of.
  const PatchMesh thin(test::thin_at_wall(c_grid(), 8, 1e-13));
  EXPECT_THROW((void)with_bodies(thin, {}, {body(disc_shape(3, 0.5, 0.3), BodyKind::no_flux)}), UsageError);
  // K of cells does not change the mesh.
  const auto on = with_bodies(thin, {}, {body(number(1), BodyKind::coefficient, number(2))});
  EXPECT_EQ(on.mesh.patches(), thin.patches());
}

}  // namespace
