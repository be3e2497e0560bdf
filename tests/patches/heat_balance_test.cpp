#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include <stratum/mesh/patches/patch_geometries.hpp>
#include <stratum/multigrid/patches/patch_heat_solver.hpp>

#include "patches/meshes.hpp"
#include "support/backends.hpp"

namespace {

using namespace stratum;

PatchMesh disc(int cells) { return PatchMesh(turned_at_random(test::with_cells(pipe_section(), cells), 3)); }

/// J_0(j r) exp(-j^2 t / C) decays in a disc; j is the first zero.
constexpr double first_zero = 2.404825557695773;
PatchHeatProblem decaying_mode() {
  PatchHeatProblem problem;
  problem.capacity = 2;
  problem.space.exact = [](const Point& p) {
    return std::cyl_bessel_j(0.0, first_zero * std::hypot(p.x, p.y)) * std::exp(-first_zero * first_zero / 2 * p.t);
  };
  const PatchMesh mesh = disc(4);
  for (const auto& name : mesh.boundary_names())
    problem.space.boundaries[name].value = [](const Point& /*p*/) { return 0.0; };
  problem.steady = true;
  return problem;
}

double error_of(const PatchHeatProblem& problem, const PatchHeatParams& params, int cells, double end) {
  Context ctx = test::context_on(Backend::cpu);
  PatchHeatSolver solver(ctx, disc(cells), problem, params);
  EXPECT_EQ(solver.advance(ctx, end).status, Status::converged) << solver.report().reason;
  return *solver.relative_l2_error(ctx);
}

/// By the mesh, for both masses.
TEST(PatchHeatBalance, AModeDecaysInADiscWithOrderTwoInSpace) {
  for (const bool lumped : {false, true}) {
    PatchHeatProblem problem = decaying_mode();
    problem.lumped = lumped;
    PatchHeatParams params;
    params.dt = 0.01;
    const double coarse = error_of(problem, params, 6, 0.2), fine = error_of(problem, params, 12, 0.2);
    EXPECT_NEAR(coarse / fine, 4, 0.4) << (lumped ? "lumped" : "consistent");
    EXPECT_LT(fine, 6e-3);
  }
}

/// Values and a load that change with the time, a capacity and K that change with the place.
TEST(PatchHeatBalance, MethodsHaveTheirOrderInTime) {
  PatchHeatProblem problem;
  // Linear in x and y: without an error of the mesh.
  problem.space.exact = [](const Point& p) { return (1 + p.x + 2 * p.y) * std::sin(4 * p.t); };
  problem.capacity = 0.5;
  problem.capacity_of_cells = [](const Point& p) { return p.x > 0 ? 2.0 : 6.0; };
  problem.space.rhs = [c = problem.capacity_of_cells](const Point& p) {
    return 0.5 * c(p) * 4 * (1 + p.x + 2 * p.y) * std::cos(4 * p.t);
  };
  for (const auto& [method, order] :
       {std::pair(TimeMethod::euler, 1), {TimeMethod::crank_nicolson, 2}, {TimeMethod::tr_bdf2, 2}}) {
    PatchHeatParams params;
    params.method = method;
    params.eta = 1e-10;
    double errors[2];
    for (const int steps : {8, 16}) {
      params.dt = 1.0 / steps;
      // The jump of the capacity is between cells.
      Context ctx = test::context_on(Backend::cpu);
      PatchHeatSolver solver(ctx, PatchMesh(test::with_cells(patch_grid(2, 2), 4)), problem, params);
      EXPECT_EQ(solver.advance(ctx, 1).status, Status::converged);
      errors[steps / 16] = *solver.relative_l2_error(ctx);
    }
    EXPECT_NEAR(errors[0] / errors[1], std::pow(2, order), 0.35) << to_string(method);
  }
}

/// What flows in and out, reacts and comes from f changes the heat: to what solving leaves, whatever the mesh and the steps.
TEST(PatchHeatBalance, FluxesBalanceTheChangeOfHeat) {
  for (const Backend backend : test::available_backends())
    for (const bool lumped : {false, true})
      for (const TimeMethod method : {TimeMethod::euler, TimeMethod::crank_nicolson, TimeMethod::tr_bdf2}) {
        Context ctx = test::context_on(backend);
        const PatchMesh mesh(turned_at_random(test::thin_at_wall(c_grid(), 8, 1e-3), 2));
        const auto& names = mesh.boundary_names();
        ASSERT_GE(names.size(), 2U);
        PatchHeatProblem problem;
        problem.lumped = lumped;
        problem.capacity_of_cells = [](const Point& p) { return 1 + p.x * p.x; };
        problem.space.rhs = [](const Point& p) { return 1 + p.y * p.t; };
        problem.space.reaction = 0.3;
        problem.space.boundaries[names[0]].value = [](const Point& p) { return p.x + std::sin(3 * p.t); };
        problem.space.boundaries[names[1]] = {BoundaryConditionType::robin, [](const Point& p) { return p.t; },
                                              [](const Point& /*p*/) { return 2.0; }};
        PatchHeatParams params;
        params.method = method;
        params.dt = 0.05;
        params.eta = 1e-11;
        PatchHeatSolver solver(ctx, mesh, problem, params);
        EXPECT_EQ(solver.fluxes(ctx).has_value(), method != TimeMethod::euler);
        EXPECT_EQ(solver.advance(ctx, 0.2).status, Status::converged);
        const PatchHeatFluxes fluxes = *solver.fluxes(ctx);
        EXPECT_NEAR(fluxes.sum() + fluxes.heat_rate, fluxes.load, 1e-7 * fluxes.magnitudes)
            << to_string(method) << (lumped ? ", lumped" : "");
        EXPECT_GT(std::abs(fluxes.heat_rate), 1e-2);
        EXPECT_GT(std::abs(fluxes.load), 1e-2);
      }
}

/// A lumped mass keeps u between its data where a consistent one does not.
TEST(PatchHeatBalance, ALumpedMassDoesNotUndershoot) {
  for (const bool lumped : {false, true}) {
    Context ctx = test::context_on(Backend::cpu);
    PatchHeatProblem problem;
    problem.lumped = lumped;
    const PatchMesh mesh(test::with_cells(patch_grid(2, 2), 8));
    for (const auto& name : mesh.boundary_names())
      problem.space.boundaries[name].value = [](const Point& /*p*/) { return 1.0; };
    PatchHeatParams params;
    params.method = TimeMethod::euler;
    params.dt = 3e-4;
    params.eta = 1e-10;
    PatchHeatSolver solver(ctx, mesh, problem, params);
    EXPECT_EQ(solver.advance(ctx, 3e-4).status, Status::converged);
    double least = 1;
    for (int p = 0; p < mesh.patches(); ++p)
      for (const double u : solver.nodal_solution(ctx, p)) least = std::min(least, u);
    if (lumped)
      EXPECT_GE(least, -1e-8);
    else
      EXPECT_LT(least, -5e-3);
  }
}

TEST(PatchHeatBalance, ACapacityThatIsNotPositiveIsRefused) {
  Context ctx = test::context_on(Backend::cpu);
  PatchHeatProblem problem;
  problem.capacity_of_cells = [](const Point& p) { return p.x; };
  PatchHeatParams params;
  params.dt = 0.1;
  try {
    const PatchHeatSolver solver(ctx, disc(4), problem, params);
    FAIL() << "nothing was refused";
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("the capacity is -"), std::string::npos) << error.what();
  }
}

}  // namespace
