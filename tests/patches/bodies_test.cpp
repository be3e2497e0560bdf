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

/// The largest difference between solutions on the square in patches and on one grid, beside the size of u.
double difference_to_one_grid(const std::vector<Body>& bodies, const std::vector<PatchMask>& masks = {}) {
  Context ctx = test::context_on(Backend::cpu);
  PatchProblem problem;
  problem.rhs = [](const Point& p) { return 1 + p.x; };
  problem.diffusion = [](const Point& p) { return 1 + p.y; };
  const auto on = with_bodies(square(8), problem, bodies, 0, masks);
  PatchSolverParams params;
  params.stop.rtol = 1e-11;
  PatchPoissonSolver solver(ctx, on.mesh, on.problem, params);
  EXPECT_EQ(solver.solve().status, Status::converged);

  PoissonProblem one;
  one.rhs = problem.rhs;
  one.boundary = number(0);
  one.diffusion.xx = Coefficient(problem.diffusion);
  one.bodies = bodies;
  const TensorMesh<2> grid = make_mesh(mesh_family("U1"), 4);
  EXPECT_EQ(grid.x().size(), 16);
  const auto map = bodies_on(ctx, grid, one);
  for (std::size_t k = 0; k < bodies.size(); ++k)
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
  const PatchFluxes fluxes = solver.fluxes();
  EXPECT_NEAR(fluxes.sum(), fluxes.load, 1e-8 * fluxes.magnitudes);
  return largest / size;
}
Body contact_body(ScalarFunction inside, double resistance) {
  Body made = body(std::move(inside), BodyKind::contact);
  made.resistance = resistance;
  return made;
}

/// A square in patches without some of its cells has the matrix of a square in one grid whose bodies are identity rows: held
/// and solid bodies, along lines of the mesh, as staircases, in pinches, on the boundary, beside another K or a contact
/// resistance.
TEST(PatchBodies, AreThoseOfOneGrid) {
  const ScalarFunction box = rectangle_shape(0.25, 0.25, 0.75, 0.625), disc = disc_shape(0.45, 0.55, 0.3),
                       corner = rectangle_shape(-1, -1, 0.3, 0.2), other = rectangle_shape(0.8, 0.7, 1, 0.95),
                       strip = rectangle_shape(-1, 0.25, 2, 0.625), above = rectangle_shape(-1, 0.75, 2, 0.875);
  // Two boxes that meet in a corner.
  const ScalarFunction pinch = [a = rectangle_shape(0.25, 0.25, 0.5, 0.5), b = rectangle_shape(0.5, 0.5, 0.75, 0.75)](
                                   const Point& p) { return std::max(a(p), b(p)); };
  const ScalarFunction linear = [](const Point& p) { return 1 + p.x - p.y; };
  Body tensor = body(disc, BodyKind::coefficient, number(5));
  tensor.kxy = [](const Point& p) { return 2 * p.x; };
  tensor.kyy = number(3);
  const std::vector<std::vector<Body>> cases = {
      {body(box, BodyKind::value, linear)},
      {body(box, BodyKind::no_flux)},
      {body(box, BodyKind::coefficient, [](const Point& p) { return 3 + p.x; })},
      {body(disc, BodyKind::value, number(1)), body(corner, BodyKind::no_flux)},
      {body(disc, BodyKind::no_flux), body(corner, BodyKind::value, number(2)),
       body(other, BodyKind::coefficient, number(50))},
      {body(pinch, BodyKind::value, linear)},
      {body(corner, BodyKind::value, number(1)), body(rectangle_shape(0.3, -1, 0.5, 0.2), BodyKind::value, number(1))},
      {tensor},
      {tensor, body(corner, BodyKind::no_flux)},
      {contact_body(strip, 2)},
      {contact_body(strip, 2), body(strip, BodyKind::coefficient, number(10)), body(above, BodyKind::value, number(1))},
      {contact_body(strip, 0), tensor}};
  for (std::size_t n = 0; n < cases.size(); ++n) {
    SCOPED_TRACE(n);
    EXPECT_LT(difference_to_one_grid(cases[n]), 1e-8);
  }
}

/// Numbers of cells, patch after patch, in place of shapes: of the mesh, and of one that halving refines to it.
TEST(PatchBodies, AreMasks) {
  const ScalarFunction box = rectangle_shape(0.25, 0.25, 0.75, 0.5), bar = rectangle_shape(0, 0.75, 0.5, 1);
  const auto mask_of = [](int cells, const ScalarFunction& shape) {
    const PatchMesh mesh = square(cells);
    PatchMask mask;
    for (int p = 0; p < mesh.patches(); ++p) {
      const PatchNodes nodes = mesh.nodes_of(p);
      for (int j = 0; j < nodes.ny; ++j)
        for (int i = 0; i < nodes.nx; ++i) {
          const Position a = nodes.at[nodes.node(i, j)], c = nodes.at[nodes.node(i + 1, j + 1)];
          Point centre;
          centre.x = (a.x + c.x) / 2;
          centre.y = (a.y + c.y) / 2;
          mask.push_back(shape(centre) > 0 ? 1 : 0);
        }
    }
    return mask;
  };
  for (const int cells : {8, 2}) {
    EXPECT_LT(difference_to_one_grid({body(box, BodyKind::no_flux)}, {mask_of(cells, box)}), 1e-8);
    EXPECT_LT(
        difference_to_one_grid({body(bar, BodyKind::value, number(1)), body(box, BodyKind::coefficient, number(9))},
                               {{}, mask_of(cells, box)}),
        1e-8);
  }
  const std::vector<std::pair<std::vector<PatchMask>, const char*>> refused = {
      {{PatchMask(48, 1.0)},
       "its mask has 48 numbers; one for each cell of the mesh of patches, or of one that halving "
       "refines to it, is needed, patch after patch: 256 or 64 or 16 or 4"},
      {{{}, {}}, "2 masks are given for 1 bodies"}};
  for (const auto& [masks, words] : refused) try {
      (void)with_bodies(square(8), {}, {body(box, BodyKind::no_flux)}, 0, masks);
      FAIL() << words << ": nothing was refused";
    } catch (const UsageError& error) {
      EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
    }
}

/// A ring with a contact resistance on the circle between two of its layers: the flux of  ln r / K + R / r  in series.
TEST(PatchBodies, ContactResistanceOnACircle) {
  Context ctx = test::context_on(Backend::cpu);
  double before = 0;
  for (const int halvings : {0, 1, 2}) {
    const PatchMesh mesh = PatchMesh(test::with_cells(patch_ring(8), 8)).halved(halvings);
    const auto& names = mesh.boundary_names();
    ASSERT_EQ(names.size(), 2U);
    double inner = 1e300, outer = 0;
    for (int v = 0; v < mesh.vertices(); ++v) {
      inner = std::min(inner, std::hypot(mesh.vertex(v).x, mesh.vertex(v).y));
      outer = std::max(outer, std::hypot(mesh.vertex(v).x, mesh.vertex(v).y));
    }
    const double middle = (inner + outer) / 2, r = 0.7, k = 3;
    PatchProblem problem;
    const auto held = [&](const Point& p) { return std::hypot(p.x, p.y) < middle ? 1.0 : 0.0; };
    for (const auto& name : names) problem.boundaries[name] = {BoundaryConditionType::dirichlet, held, {}};
    const ScalarFunction disc = disc_shape(0, 0, middle);
    const auto on = with_bodies(mesh, problem, {contact_body(disc, r), body(disc, BodyKind::coefficient, number(k))});
    EXPECT_EQ(on.mesh.patches(), mesh.patches());
    PatchPoissonSolver solver(ctx, on.mesh, on.problem);
    EXPECT_EQ(solver.solve().status, Status::converged);
    const double expected =
        2 * std::acos(-1.0) / (std::log(middle / inner) / k + r / middle + std::log(outer / middle));
    double flux = 0;
    for (const double one : solver.fluxes().boundaries) flux = std::max(flux, one);
    const double error = std::abs(flux / expected - 1);
    EXPECT_LT(error, halvings == 0 ? 0.02 : before / 3) << flux << " " << expected;
    before = error;
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
  const Body contact = contact_body(box, 1);
  const std::vector<std::pair<std::vector<Body>, const char*>> cases = {
      {{contact_body(disc_shape(0.5, 0.5, 0.3), 1)}, "its surface crosses the cell at"},
      {{contact_body(rectangle_shape(0.25, 0.25, 0.47, 0.5), 1)}, "a contact resistance lies on edges of cells"},
      {{contact_body(box, -1)}, "has a contact resistance of -1"},
      {{contact, contact}, "a cell has one contact resistance"},
      {{contact, body(box, BodyKind::no_flux)}, "a contact resistance belongs to a body that conducts"},
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
  EXPECT_THROW((void)with_bodies(square(8), {}, {contact}, 0, {PatchMask(256, 1.0)}), UsageError);
  // Widths that positions do not have the digits of.
  const PatchMesh thin(test::thin_at_wall(c_grid(), 8, 1e-13));
  EXPECT_THROW((void)with_bodies(thin, {}, {body(disc_shape(3, 0.5, 0.3), BodyKind::no_flux)}), UsageError);
  // K of cells does not change the mesh.
  const auto on = with_bodies(thin, {}, {body(number(1), BodyKind::coefficient, number(2))});
  EXPECT_EQ(on.mesh.patches(), thin.patches());
}

}  // namespace
