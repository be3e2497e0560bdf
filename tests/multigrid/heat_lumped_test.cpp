// A lumped mass: what it is, that u stays between its data where the consistent one undershoots, and that it keeps heat and
// order.

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include <gtest/gtest.h>

#include <stratum/multigrid/heat_operators.hpp>
#include <stratum/multigrid/heat_solver.hpp>

#include "support/subdomains.hpp"

namespace {

using namespace stratum;
using Kind = BoundaryConditionType;

Axis even(int cells) { return Axis(std::vector<double>(static_cast<std::size_t>(cells), 1.0 / cells), 1); }

/// Cold, beside walls that are suddenly hot: at x = 0 a value, at y = 0 a flux that comes in.
HeatProblem sudden(bool lumped) {
  HeatProblem problem;
  problem.space.boundaries.left.value = [](const Point&) { return 1.0; };
  problem.space.boundaries.right.kind = problem.space.boundaries.top.kind = Kind::neumann;
  problem.space.boundaries.bottom = {Kind::neumann, [](const Point&) { return 0.5; }, {}};
  problem.capacity = ScalarFunction([](const Point& p) { return p.x < 0.5 ? 1.0 : 3.0; });
  problem.steady_coefficients = true;
  problem.lumped = lumped;
  return problem;
}

std::vector<double> after_steps(Context& ctx, const HeatProblem& problem, const Geometry& mesh, int steps) {
  HeatParams params;
  params.method = TimeMethod::euler;
  params.dt = 1e-5;  // below h^2 / 6
  params.eta = 1e-12;
  HeatSolver solver(ctx, mesh, problem, params);
  solver.advance(ctx, steps * *params.dt);
  return solver.nodal_solution(ctx);
}

TEST(LumpedMass, KeepsUBetweenItsDataWhereTheConsistentOneUndershoots) {
  for (const Backend backend : test::available_backends()) {
    Context ctx = test::context_on(backend);
    const TensorMesh<2> mesh(even(32), even(32));
    const auto least = [&](bool lumped, const Geometry& geometry) {
      const auto u = after_steps(ctx, sudden(lumped), geometry, 3);
      return *std::min_element(u.begin(), u.end());
    };
    EXPECT_LT(least(false, mesh), -1e-2);
    EXPECT_GT(least(true, mesh), -1e-10);
    // The same with quadrilaterals' bands.
    const auto identity = mapped(
        ctx, mesh, [](const Point& p) { return p.x; }, [](const Point& p) { return p.y; });
    EXPECT_GT(least(true, identity), -1e-10);
  }
}

TEST(LumpedMass, IsTheIntegralOfEachHat) {
  Context ctx = test::context_on(Backend::cpu);
  const TensorMesh<2> mesh(Axis({1, 2, 4}), Axis({3, 1}));
  HeatProblem problem;
  problem.space.boundaries.right.kind = problem.space.boundaries.top.kind = Kind::neumann;
  problem.capacity = 2.0;
  problem.lumped = true;
  const TensorMesh<2> with_ends = with_boundaries(mesh, problem.space.boundaries);
  HeatOperators operators(ctx, with_ends, problem, 0, 1, {}, builtin_smoothers());
  EXPECT_TRUE(operators.dirichlet_entries_of_mass().empty());
  Field<double> one(ctx, with_ends.unknowns()), d(ctx, with_ends.unknowns());
  set(ctx, 1.0, one.view());
  operators.mass().apply(ctx, one.cview(), d.view());
  std::vector<double> found(6);
  copy_to_host(ctx, d.cview(), found.data());
  const std::vector<double> in_x{1.5, 3, 2}, in_y{2, 0.5};
  for (std::size_t k = 0; k < found.size(); ++k) EXPECT_NEAR(found[k], 2 * in_x[k % 3] * in_y[k / 3], 1e-14);
}

/// Between walls heat stays, and order 2 stays too, with K and alpha that change with the time.
TEST(LumpedMass, KeepsHeatAndOrder) {
  Context ctx = test::context_on(Backend::cpu);
  HeatProblem closed;
  for (BoundaryCondition* side : {&closed.space.boundaries.left, &closed.space.boundaries.right,
                                  &closed.space.boundaries.bottom, &closed.space.boundaries.top})
    side->kind = Kind::neumann;
  closed.initial = [](const Point& p) { return p.x < 0.3 ? 1.0 : 0.0; };
  closed.lumped = true;
  HeatParams params;
  params.tol = 1e-3;
  HeatSolver still(ctx, TensorMesh<2>(even(16), even(16)), closed, params);
  const double before = still.heat(ctx);
  still.advance(ctx, 0.5);
  EXPECT_NEAR(still.heat(ctx), before, 1e-10);

  const auto error = [&](int cells) {
    HeatProblem problem;
    const auto k = [](const Point& p) { return 1 + p.x + p.t; };
    problem.space.exact = [](const Point& p) { return std::exp(-p.t) * std::sin(p.x + 2 * p.y); };
    problem.space.diffusion.xx = ScalarFunction(k);
    problem.space.rhs = [k](const Point& p) {
      const double phase = p.x + 2 * p.y, e = std::exp(-p.t);
      return e * (-std::sin(phase) - std::cos(phase) + 5 * k(p) * std::sin(phase));
    };
    problem.space.boundaries.right = {Kind::robin,
                                      [k](const Point& p) {
                                        const double phase = p.x + 2 * p.y;
                                        return std::exp(-p.t) * (k(p) * std::cos(phase) + (2 + p.t) * std::sin(phase));
                                      },
                                      [](const Point& p) { return 2 + p.t; }};
    problem.lumped = true;
    HeatParams steps;
    steps.dt = 1.0 / cells;
    HeatSolver solver(ctx, TensorMesh<2>(even(cells), even(cells)), problem, steps);
    solver.advance(ctx, 0.25);
    return *solver.relative_l2_error(ctx);
  };
  EXPECT_GT(error(8) / error(16), 3.6);
}

TEST(LumpedMass, IsTheSameOnSubdomains) {
  const auto on = [&](int count) {
    return test::on_subdomains(Backend::cpu, count, [&](Context& ctx) {
      const TensorMesh<2> mesh(even(32), even(32));
      HeatParams params;
      params.method = TimeMethod::euler;
      params.dt = 1e-3;
      params.eta = 1e-11;
      params.solver.multigrid.distributed_levels = 1;
      HeatSolver solver(ctx, mesh, sudden(true), params);
      solver.advance(ctx, 5e-3);
      test::Values own(static_cast<std::size_t>(solver.unknowns().nodes()));
      copy_to_host(ctx, solver.solution(), own.data());
      return own;
    });
  };
  const auto alone = on(1), several = on(3);
  EXPECT_FALSE(several.failed());
  EXPECT_LT(test::relative_difference(several.values, alone.values), 1e-8);
}

}  // namespace
