// Steps in time by finite volumes: against closed forms of the discrete equation and a dense system, conservation, maximum
// principle, bodies, subdomains, restarts.

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include <gmock/gmock.h>

#include <stratum/mesh/graded.hpp>
#include <stratum/multigrid/heat_solver_volumes.hpp>

#include "reference/elimination.hpp"
#include "support/bodies.hpp"
#include "support/subdomains.hpp"

namespace {

using namespace stratum;
using test::Values;
using testing::HasSubstr;
using Kind = BoundaryConditionType;
using test::all_neumann, test::contact, test::held, test::material, test::neumann, test::number, test::solid,
    test::unit_square;
constexpr double pi = std::numbers::pi;

HeatParams steps_of(double dt, TimeMethod method = TimeMethod::euler) {
  HeatParams params;
  params.method = method;
  params.dt = dt;
  params.eta = 1e-11;
  return params;
}

TensorMesh<2> graded(int nx, int ny) {
  Values x, y;
  double sum_x = 0, sum_y = 0;
  for (int i = 0; i < nx; ++i) sum_x += x.emplace_back(1 + 0.8 * std::sin(1.7 * i));
  for (int j = 0; j < ny; ++j) sum_y += y.emplace_back(1 + 0.8 * std::cos(2.3 * j));
  for (double& h : x) h /= sum_x;
  for (double& h : y) h /= sum_y;
  return {Axis(std::move(x)), Axis(std::move(y)), "graded"};
}

double solved_to(Context& ctx, VolumeHeatSolver& solver, double end) {
  EXPECT_EQ(solver.advance(ctx, end).status, Status::converged) << solver.report().reason;
  return end;
}

/// A mode of the five-point matrix is one of the steps: sin at centres, lambda = 4 / h^2 sin^2(pi h / 2) a direction.
TEST(HeatVolumes, AModeDecaysAsItsEigenvalueSays) {
  Context ctx(Backend::cpu, 1);
  for (const auto method : {TimeMethod::euler, TimeMethod::crank_nicolson, TimeMethod::tr_bdf2}) {
    constexpr int n = 16, steps = 7;
    constexpr double dt = 0.004, h = 1.0 / n;
    HeatProblem problem;
    problem.initial = [](const Point& p) { return std::sin(pi * p.x) * std::sin(pi * p.y); };
    problem.capacity = 2.0;
    VolumeHeatSolver solver(ctx, unit_square(n), problem, steps_of(dt, method));
    (void)solved_to(ctx, solver, steps * dt);
    const double lambda = 2 * 4 / (h * h) * std::pow(std::sin(pi * h / 2), 2) / 2, z = lambda * dt;
    const double gamma = 2 - std::sqrt(2.0), d = gamma / 2, w = std::sqrt(2.0) / 4;
    const double stage = (1 - d * z) / (1 + d * z);
    const double factor = method == TimeMethod::euler            ? 1 / (1 + z)
                          : method == TimeMethod::crank_nicolson ? (1 - z / 2) / (1 + z / 2)
                                                                 : (1 - w * z - w * z * stage) / (1 + d * z);
    const auto cells = solver.cell_values(ctx);
    for (int j = 0; j < n; ++j)
      for (int i = 0; i < n; ++i) {
        const double exact = std::pow(factor, steps) * std::sin(pi * (i + 0.5) * h) * std::sin(pi * (j + 0.5) * h);
        ASSERT_NEAR(cells[static_cast<std::size_t>(j * n + i)], exact, 1e-10) << to_string(method);
      }
  }
}

/// All kinds of boundaries, K, c, capacity and alpha that change with the time, on cells of several widths.
TEST(HeatVolumes, IsOfSecondOrderWithDataThatChange) {
  Context ctx(Backend::cpu, 1);
  const auto u = [](const Point& p) { return (1 + p.x * p.x + p.y * p.y / 2) * std::cos(3 * p.t); };
  const auto u_t = [](const Point& p) { return -3 * (1 + p.x * p.x + p.y * p.y / 2) * std::sin(3 * p.t); };
  const auto k = [](const Point& p) { return 1 + p.x + p.t; };
  const auto u_x = [](const Point& p) { return 2 * p.x * std::cos(3 * p.t); };
  const auto u_y = [](const Point& p) { return p.y * std::cos(3 * p.t); };
  HeatProblem problem;
  problem.capacity = ScalarFunction([](const Point& p) { return 2 + p.x * p.y + p.t; });
  problem.space.diffusion.xx = ScalarFunction(k);
  problem.space.reaction_of_cells = ScalarFunction([](const Point& p) { return 1 + p.t; });
  problem.space.exact = u;
  problem.space.rhs = [=](const Point& p) {
    return (2 + p.x * p.y + p.t) * u_t(p) - k(p) * 3 * std::cos(3 * p.t) - u_x(p) + (1 + p.t) * u(p);
  };
  problem.space.boundaries.right = {Kind::neumann, [=](const Point& p) { return k(p) * u_x(p); }, {}};
  problem.space.boundaries.top = {Kind::robin, [=](const Point& p) { return k(p) * u_y(p) + (1 + p.t) * u(p); },
                                  [](const Point& p) { return 1 + p.t; }};
  Values errors;
  for (const int n : {8, 16}) {
    VolumeHeatSolver solver(
        ctx, TensorMesh<2>(test::unit_axis(n), hyperbolic_tangent(1, n, 1.5, GradedSide::both), "square"), problem,
        steps_of(0.1 / n, TimeMethod::tr_bdf2));
    (void)solved_to(ctx, solver, 0.2);
    errors.push_back(*solver.relative_l2_error(ctx));
    const auto balance = solver.balance(ctx);
    ASSERT_TRUE(balance.has_value());
    EXPECT_NEAR(balance->left(), 0, 1e-8);
  }
  EXPECT_LT(errors[1], 2e-3);
  EXPECT_NEAR(errors[0] / errors[1], 4, 0.4) << errors[1];
}

/// Layers in series with a contact resistance, from 0, warmed at the left: a dense system of one dimension.
TEST(HeatVolumes, ALayeredWallWarmsAsADenseSystem) {
  Context ctx(Backend::cpu, 1);
  constexpr int n = 12;
  constexpr double dt = 0.02, h = 1.0 / n, resistance = 0.3;
  HeatProblem problem;
  problem.space.boundaries = all_neumann();
  problem.space.boundaries.left = {Kind::dirichlet, number(1), {}};
  problem.space.boundaries.right = {Kind::robin, number(0), number(4)};
  problem.space.bodies = {material(rectangle_shape(0.25, -1, 0.5, 2), 0.05),
                          contact(rectangle_shape(0.25, -1, 0.5, 2), resistance)};
  const auto heavy = [](double x) { return x > 0.5 ? 3.0 : 1.0; };
  problem.capacity = ScalarFunction([=](const Point& p) { return heavy(p.x); });
  VolumeHeatSolver solver(ctx, TensorMesh<2>(test::unit_axis(n), test::unit_axis(3), "wall"), problem, steps_of(dt));
  (void)solved_to(ctx, solver, 5 * dt);

  const auto k = [&](int i) { return (i + 0.5) * h > 0.25 && (i + 0.5) * h < 0.5 ? 0.05 : 1.0; };
  const auto contact_at = [&](int i) { return i == n / 4 || i == n / 2 ? resistance : 0.0; };  // at the face before i
  Values u(n, 0.0);
  for (int step = 0; step < 5; ++step) {
    std::vector<Values> a(n, Values(n, 0.0));
    Values b(n);
    for (int i = 0; i < n; ++i) {
      const auto p = static_cast<std::size_t>(i);
      const double mass = heavy((i + 0.5) * h) * h / dt;
      a[p][p] += mass;
      b[p] = mass * u[p];
      if (i == 0) {
        a[p][p] += 2 * k(0) / h;
        b[p] += 2 * k(0) / h;
      }
      if (i + 1 == n) {
        a[p][p] += 1 / (h / 2 / k(i) + 1.0 / 4);
        continue;
      }
      const double t = 1 / (h / 2 / k(i) + h / 2 / k(i + 1) + contact_at(i + 1));
      a[p][p] += t;
      a[p + 1][p + 1] += t;
      a[p][p + 1] -= t;
      a[p + 1][p] -= t;
    }
    std::vector<double*> rows;
    for (Values& row : a) rows.push_back(row.data());
    u = reference::eliminate(rows, b);
  }
  const auto cells = solver.cell_values(ctx);
  for (std::size_t c = 0; c < cells.size(); ++c) EXPECT_NEAR(cells[c], u[c % n], 1e-10) << c;
  // What comes in at the left stays or leaves at the right.
  const auto balance = solver.balance(ctx);
  ASSERT_TRUE(balance.has_value());
  EXPECT_GT(balance->gain, 0.1);
  EXPECT_NEAR(balance->gain, -balance->fluxes.left - balance->fluxes.right, 1e-9);
  EXPECT_NEAR(balance->fluxes.left, 2 / h * (u[0] - 1), 1e-9);
}

/// Insulated: what is there stays, to rounding, in every method, with any K, on stretched cells, with solids in between.
TEST(HeatVolumes, InsulatedWallsKeepTheHeat) {
  Context ctx(Backend::cpu, 1);
  for (const bool with_solid : {false, true})
    for (const auto method : {TimeMethod::euler, TimeMethod::crank_nicolson, TimeMethod::tr_bdf2})
      for (const double dt : {1e-3, 10.0, 1e9}) {
        if (dt > 10 && method != TimeMethod::euler)
          continue;  // du/dt of the start, so far ahead, is no number of this size
        HeatProblem problem;
        problem.space.boundaries = all_neumann();
        problem.space.diffusion.xx = ScalarFunction([](const Point& p) { return p.x > 0.4 ? 1e-3 : 1.0; });
        problem.capacity = ScalarFunction([](const Point& p) { return 1 + p.y; });
        problem.initial = [](const Point& p) { return p.x < 0.5 ? 1.0 : 0.0; };
        if (with_solid) problem.space.bodies = {solid(disc_shape(0.6, 0.5, 0.2))};
        VolumeHeatSolver solver(ctx, graded(24, 17), problem, steps_of(dt, method));
        const double first = solver.heat(ctx);
        (void)solved_to(ctx, solver, 8 * dt);
        EXPECT_NEAR(solver.heat(ctx), first, 4e-15 * first) << to_string(method) << " " << dt;
        EXPECT_LT(solver.report().most_cycles, 14);
      }
}

/// Euler: u stays between its data, on cells 1000 times as long as wide, in steps of any length. Elements undershoot.
TEST(HeatVolumes, EulerStaysBetweenItsData) {
  Context ctx(Backend::cpu, 1);
  Values thin(16, 1e-3 / 16);
  const TensorMesh<2> mesh(test::unit_axis(20), Axis(std::move(thin)), "plate");
  for (const double dt : {1e-9, 1e-6, 1e-3, 1.0}) {
    HeatProblem problem;
    problem.space.boundaries = all_neumann();
    problem.space.boundaries.left = {Kind::dirichlet, number(1), {}};
    problem.initial = [](const Point& p) { return p.x > 0.5 && p.y < 5e-4 ? 1.0 : 0.0; };
    problem.space.bodies = {held(rectangle_shape(0.2, 0, 0.3, 2.5e-4), 0.0)};
    VolumeHeatSolver solver(ctx, mesh, problem, steps_of(dt));
    (void)solved_to(ctx, solver, 3 * dt);
    const auto cells = solver.cell_values(ctx);
    const auto [least, most] = std::minmax_element(cells.begin(), cells.end());
    EXPECT_GE(*least, -1e-10) << dt;
    EXPECT_LE(*most, 1 + 1e-10) << dt;
  }
}

/// A held body whose value changes, a solid, a room of its own behind it: what bodies give is what heat gains.
TEST(HeatVolumes, BodiesBalanceWhatHeatGains) {
  Context ctx(Backend::cpu, 1);
  HeatProblem problem;
  problem.space.boundaries = all_neumann();
  problem.space.bodies = {
      {rectangle_shape(0.125, 0.25, 0.25, 0.75), BodyKind::value, [](const Point& p) { return 1 + p.t; }},
      solid(rectangle_shape(0.5, -1, 0.625, 2))};
  problem.initial = [](const Point& p) { return p.x > 0.7 ? p.y : 0.0; };
  VolumeHeatSolver solver(ctx, unit_square(32), problem, steps_of(0.05));
  EXPECT_FALSE(solver.balance(ctx).has_value());
  double before = solver.heat(ctx);
  for (int step = 1; step <= 4; ++step) {
    (void)solved_to(ctx, solver, 0.05 * step);
    const auto balance = solver.balance(ctx);
    ASSERT_TRUE(balance.has_value());
    EXPECT_NEAR((solver.heat(ctx) - before) / 0.05, balance->from_held, 1e-9);
    EXPECT_NEAR(balance->left(), 0, 1e-9);
    EXPECT_NEAR(balance->bodies[1].flux, 0, 1e-12);
    before = solver.heat(ctx);
  }
  // Behind the solid heat stays: its mean goes to that of y.
  (void)solved_to(ctx, solver, 50);
  const auto cells = solver.cell_values(ctx);
  EXPECT_NEAR(cells[32 * 16 + 31], 0.3125 * 0.5 / 0.375, 1e-6);
  EXPECT_TRUE(std::isnan(cells[32 * 16 + 18]));
  EXPECT_NEAR(cells[32 * 16 + 5], 51, 1e-12);
}

/// As on one subdomain, with the same steps; and a state of one goes on on several.
TEST(HeatVolumes, SubdomainsStepAlike) {
  const auto numbers = [](Context& ctx) {
    HeatProblem problem;
    problem.space.boundaries = all_neumann();
    problem.space.boundaries.bottom = problem.space.boundaries.top = {Kind::periodic, {}, {}};
    problem.space.bodies = {solid(disc_shape(0.5, 0.5, 0.2)), held(rectangle_shape(0, 0, 0.1, 0.2), 2.0)};
    problem.initial = [](const Point& p) { return p.x; };
    problem.space.rhs = [](const Point& p) { return std::sin(30 * p.t) * p.y; };
    HeatParams params = steps_of(0.01, TimeMethod::tr_bdf2);
    params.solver.precision = Precision::full;
    VolumeHeatSolver solver(ctx, unit_square(24), problem, params);
    (void)solver.advance(ctx, 0.03);
    const HeatState state = solver.state(ctx);
    (void)solver.advance(ctx, 0.06);
    Values found = solver.cell_values(ctx);
    std::replace_if(
        found.begin(), found.end(), [](double v) { return std::isnan(v); }, -1.0);
    found.push_back(solver.heat(ctx));
    if (ctx.subdomains() == 1) {
      VolumeHeatSolver other(ctx, unit_square(24), problem, params);
      EXPECT_TRUE(other.restore(ctx, state));
      (void)other.advance(ctx, 0.06);
      EXPECT_EQ(other.heat(ctx), found.back());
    }
    return ctx.subdomains() == 1 || ctx.communicator()->rank() == 0 ? found : Values{};
  };
  const auto one = test::on_subdomains(Backend::cpu, 1, numbers);
  ASSERT_EQ(one.errors[0], "");
  for (const int count : {2, 3}) {
    const auto several = test::on_subdomains(Backend::cpu, count, numbers);
    ASSERT_THAT(several.errors, testing::Each(""));
    EXPECT_THAT(several.values, testing::Pointwise(testing::DoubleNear(1e-8), one.values)) << count;
  }
}

TEST(HeatVolumes, RefusesWhatCannotBe) {
  Context ctx(Backend::cpu, 1);
  const auto message_of = [&](const HeatProblem& problem, const HeatParams& params) -> std::string {
    try {
      VolumeHeatSolver solver(ctx, unit_square(8), problem, params);
      (void)solver.advance(ctx, 1);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "";
  };
  HeatProblem problem;
  problem.space.diffusion = {.xx = 1.0, .xy = 0.5, .yy = 1.0};
  EXPECT_THAT(message_of(problem, steps_of(0.1)), HasSubstr("diagonal K"));
  problem = {};
  problem.initial = [](const Point& p) { return 1 / (p.x - 0.0625); };
  EXPECT_THAT(message_of(problem, steps_of(0.1)), HasSubstr("the initial value is inf at (0.0625"));
  problem = {};
  problem.capacity = -1.0;
  EXPECT_THAT(message_of(problem, steps_of(0.1)), HasSubstr("capacity"));
  problem = {};
  problem.space.rhs = [](const Point& p) { return 1 / (p.t < 0.45 ? 1.0 : 0.0); };
  EXPECT_THAT(message_of(problem, steps_of(0.1)), HasSubstr("at t = 0.5"));
  HeatParams params = steps_of(0.1);
  params.solver.full_multigrid = true;
  EXPECT_THAT(message_of({}, params), HasSubstr("FMG"));
  VolumeHeatSolver solver(ctx, unit_square(8), {}, steps_of(0.1)), other(ctx, unit_square(4), {}, steps_of(0.1));
  const HeatState state = other.state(ctx);
  EXPECT_THROW((void)solver.restore(ctx, state), UsageError);
}

}  // namespace
