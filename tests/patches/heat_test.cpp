#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include <stratum/mesh/named_meshes.hpp>
#include <stratum/multigrid/heat_solver.hpp>
#include <stratum/multigrid/patches/patch_heat_solver.hpp>

#include "patches/meshes.hpp"
#include "support/backends.hpp"

namespace {

using namespace stratum;

/// The largest, of all patches.
double difference(Context& ctx, const PatchMesh& mesh, const PatchHeatSolver& solver,
                  const std::function<double(const Position&)>& expected) {
  double largest = 0;
  for (int p = 0; p < mesh.patches(); ++p) {
    const PatchNodes nodes = mesh.nodes_of(p);
    const auto u = solver.nodal_solution(ctx, p);
    for (std::size_t k = 0; k < u.size(); ++k) largest = std::max(largest, std::abs(u[k] - expected(nodes.at[k])));
  }
  return largest;
}

PatchMeshParts square_with_sides(int cells) {
  PatchMeshParts parts = test::with_cells(patch_grid(2, 2), cells);
  parts.edges.clear();
  parts.other_boundaries = "others";
  for (const auto& patch : parts.patches)
    for (std::size_t k = 0; k < 4; ++k) {
      PatchEdgeParts edge;
      edge.first = patch[k];
      edge.second = patch[(k + 1) % 4];
      const auto x = [&](int v) { return parts.vertices[static_cast<std::size_t>(v)].x; };
      if (x(edge.first) != 1 || x(edge.second) != 1) continue;
      edge.boundary = "right";
      parts.edges.push_back(edge);
    }
  return turned_at_random(parts, 5);
}

/// On a square in four patches every step is that of the square in one grid.
TEST(PatchHeat, StepsAreThoseOfOneGrid) {
  const auto rhs = [](const Point& p) { return (1 + p.x * p.y) * std::cos(3 * p.t); };
  const auto wall = [](const Point& p) { return p.x - p.y + std::sin(2 * p.t); };
  const auto flux = [](const Point& p) { return 1 + p.t; };
  for (const Backend backend : test::available_backends())
    for (const TimeMethod method : {TimeMethod::euler, TimeMethod::crank_nicolson, TimeMethod::tr_bdf2})
      for (const bool adaptive : {false, true}) {
        if (adaptive && method != TimeMethod::tr_bdf2) continue;
        SCOPED_TRACE(std::string(to_string(method)) + (adaptive ? ", adaptive" : ""));
        Context ctx = test::context_on(backend);
        HeatProblem one;
        one.space.rhs = rhs;
        one.space.boundary = wall;
        one.space.boundaries.right = {BoundaryConditionType::neumann, flux};
        one.capacity = 3.0;
        HeatParams params;
        params.method = method;
        if (adaptive)
          params.tol = 1e-3;
        else
          params.dt = 0.02;
        params.eta = 1e-10;
        const TensorMesh<2> square = make_mesh(mesh_family("U1"), 3);
        HeatSolver expected(ctx, square, one, params);
        PatchHeatProblem problem;
        problem.space.rhs = rhs;
        problem.space.boundaries["others"].value = wall;
        problem.space.boundaries["right"] = {BoundaryConditionType::neumann, flux};
        problem.capacity = 3;
        PatchHeatParams own;
        own.method = params.method;
        own.dt = params.dt;
        own.tol = params.tol;
        own.eta = params.eta;
        const PatchMesh mesh(square_with_sides(4));
        PatchHeatSolver solver(ctx, mesh, problem, own);
        const double end = 0.06;
        EXPECT_EQ(expected.advance(ctx, end).status, Status::converged);
        const HeatReport report = solver.advance(ctx, end);
        EXPECT_EQ(report.status, Status::converged) << report.reason;
        // Estimates of errors have two digits.
        EXPECT_NEAR(static_cast<double>(report.steps), static_cast<double>(expected.report().steps), adaptive ? 3 : 0);
        const auto u = expected.nodal_solution(ctx);
        const int n = square.x().size();
        EXPECT_LE(difference(ctx, mesh, solver,
                             [&](const Position& at) {
                               const auto i = static_cast<std::size_t>(std::lround(at.x * n)),
                                          j = static_cast<std::size_t>(std::lround(at.y * n));
                               return u[j * (static_cast<std::size_t>(n) + 1) + i];
                             }),
                  adaptive ? 1e-4 : 1e-7);
      }
}

/// u = exp(-t) (1 - r^2): errors fall by four.
TEST(PatchHeat, ConvergesOnADisc) {
  Context ctx = test::context_on(Backend::cpu);
  std::vector<double> errors;
  for (const int cells : {6, 12}) {
    PatchHeatProblem problem;
    problem.space.exact = [](const Point& p) { return std::exp(-p.t) * (1 - p.x * p.x - p.y * p.y); };
    problem.space.rhs = [](const Point& p) { return std::exp(-p.t) * (4 - (1 - p.x * p.x - p.y * p.y)); };
    PatchHeatParams params;
    params.dt = 0.02;
    PatchHeatSolver solver(ctx, PatchMesh(test::with_cells(pipe_section(), cells)), problem, params);
    EXPECT_EQ(solver.advance(ctx, 0.2).status, Status::converged);
    errors.push_back(solver.relative_errors(ctx)->l2);
  }
  EXPECT_NEAR(errors[0] / errors[1], 4, 0.3);
  EXPECT_LT(errors[1], 1e-2);
}

/// Between natural boundaries heat stays, and a run goes on from its state.
TEST(PatchHeat, StaysWhereNothingFlows) {
  Context ctx = test::context_on(Backend::cpu);
  const PatchMesh mesh(turned_at_random(test::thin_at_wall(c_grid(), 8, 1e-3), 2));
  PatchHeatProblem problem;
  problem.initial = [](const Point& p) { return p.x > 0.5 ? 1.0 : 0.2; };
  problem.capacity = 2;
  for (const auto& name : mesh.boundary_names()) problem.space.boundaries[name].kind = BoundaryConditionType::neumann;
  for (int p = 0; p < mesh.patches(); ++p) problem.space.diffusion_of_patches.push_back(p % 2 == 0 ? 1 : 30);
  PatchHeatParams params;
  params.tol = 1e-3;
  PatchHeatSolver solver(ctx, mesh, problem, params), other(ctx, mesh, problem, params);
  const double before = solver.heat(ctx);
  EXPECT_EQ(solver.advance(ctx, 0.05).status, Status::converged);
  EXPECT_NEAR(solver.heat(ctx), before, 1e-10 * before);
  EXPECT_TRUE(other.restore(ctx, solver.state(ctx)));
  EXPECT_EQ(solver.advance(ctx, 0.1).status, Status::converged);
  EXPECT_EQ(other.advance(ctx, 0.1).status, Status::converged);
  EXPECT_EQ(solver.report().steps, other.report().steps);
  for (int p = 0; p < mesh.patches(); ++p) {
    const auto u = solver.nodal_solution(ctx, p), v = other.nodal_solution(ctx, p);
    for (std::size_t k = 0; k < u.size(); ++k) EXPECT_NEAR(u[k], v[k], 1e-6);
  }
}

/// Coefficients that are refused at one time leave a solver that refuses them again, and steps over that time.
TEST(PatchHeat, GoesOnBesideCoefficientsThatAreRefused) {
  Context ctx = test::context_on(Backend::cpu);
  PatchHeatProblem problem;
  problem.space.exact = [](const Point& p) { return p.x + 2 * p.y; };
  problem.space.rhs = [](const Point& /*p*/) { return 0.0; };
  problem.space.diffusion = [](const Point& p) { return std::abs(p.t - 0.5) < 0.1 ? -1 : 1 + p.t; };
  problem.coefficients_vary = true;
  PatchHeatParams params;
  params.method = TimeMethod::euler;
  params.dt = 0.5;
  PatchHeatSolver solver(ctx, PatchMesh(test::with_cells(patch_grid(2, 2), 8)), problem, params);
  for (int attempt = 0; attempt < 2; ++attempt) try {
      (void)solver.advance(ctx, 0.5);
      FAIL() << "nothing was refused";
    } catch (const UsageError& error) {
      EXPECT_NE(std::string(error.what()).find("at t = 0.5: K is -1 in cell"), std::string::npos) << error.what();
    }
  for (const double t : {0.3, 0.8}) EXPECT_EQ(solver.advance(ctx, t).status, Status::converged);
  EXPECT_LT(solver.relative_errors(ctx)->l2, 1e-7);
}

}  // namespace
