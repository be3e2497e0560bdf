// Bodies in time: steps against a dense system that is assembled and eliminated here, against closed forms and steady solutions.

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numbers>

#include <gmock/gmock.h>

#include <stratum/multigrid/heat_solver.hpp>

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

HeatParams steps_of(double dt, TimeMethod method = TimeMethod::euler) {
  HeatParams params;
  params.method = method;
  params.dt = dt;
  params.eta = 1e-11;
  return params;
}

/// M and A of all nodes of n x n cells by 2 x 2 Gauss points, live cells alone.
struct Dense {
  int n;
  std::vector<Values> m, a;
  Values f;

  Dense(int cells, const std::function<bool(double, double)>& is_live, const std::function<double(double, double)>& k,
        bool lumped)
      : n((cells + 1) * (cells + 1)), m(static_cast<std::size_t>(n), Values(static_cast<std::size_t>(n), 0.0)), a(m),
        f(static_cast<std::size_t>(n), 0.0) {
    const double h = 1.0 / cells, offset = 0.5 / std::sqrt(3.0);
    for (int q = 0; q < cells; ++q)
      for (int p = 0; p < cells; ++p) {
        if (!is_live((p + 0.5) * h, (q + 0.5) * h)) continue;
        const auto first = static_cast<std::size_t>(q * (cells + 1) + p), up = static_cast<std::size_t>(cells + 1);
        const std::array<std::size_t, 4> node{first, first + 1, first + up, first + up + 1};
        for (const double t : {0.5 - offset, 0.5 + offset})
          for (const double s : {0.5 - offset, 0.5 + offset}) {
            const std::array<double, 4> phi{(1 - t) * (1 - s), t * (1 - s), (1 - t) * s, t * s},
                dx{-(1 - s), 1 - s, -s, s}, dy{-(1 - t), -t, 1 - t, t};
            for (std::size_t i = 0; i < 4; ++i) {
              f[node[i]] += h * h / 4 * phi[i];
              for (std::size_t j = 0; j < 4; ++j) {
                m[node[i]][node[lumped ? i : j]] += h * h / 4 * phi[i] * phi[j];
                a[node[i]][node[j]] += k((p + 0.5) * h, (q + 0.5) * h) / 4 * (dx[i] * dx[j] + dy[i] * dy[j]);
              }
            }
          }
      }
  }
};

/// Euler, values of a boundary, of a body that changes with the time, a solid, another K.
TEST(HeatBodies, StepAsADenseSystemSteps) {
  constexpr int cells = 8;
  constexpr double dt = 0.01;
  const ScalarFunction plate = rectangle_shape(0.25, 0.25, 0.5, 0.5), stone = rectangle_shape(0.625, 0.5, 1.1, 0.875),
                       wall = rectangle_shape(-1, 0.75, 0.625, 1.1);
  const auto value = [](const Point& p) { return 1 + p.x + std::sin(40 * p.t); };
  const auto at = [](const ScalarFunction& shape, double x, double y) {
    Point p;
    p.x = x;
    p.y = y;
    return shape(p) > 0;
  };
  const auto on_body = [](double x, double y) { return x >= 0.25 && x <= 0.5 && y >= 0.25 && y <= 0.5; };
  const auto in_stone = [](double x, double y) { return x > 0.625 && y > 0.5 && y < 0.875; };
  for (const Backend backend : test::available_backends())
    for (const bool lumped : {false, true}) {
      Context ctx = test::context_on(backend);
      HeatProblem problem;
      problem.space.boundaries = {{Kind::dirichlet, number(2)}, neumann(), neumann(), neumann()};
      problem.space.rhs = number(3);
      problem.initial = [](const Point& p) { return p.x * p.y; };
      problem.space.bodies = {held(plate, value), solid(stone), material(wall, 5)};
      problem.lumped = lumped;
      HeatSolver solver(ctx, unit_square(cells), problem, steps_of(dt));
      const Dense dense(
          cells, [&](double x, double y) { return !at(plate, x, y) && !at(stone, x, y); },
          [&](double x, double y) { return at(wall, x, y) ? 5.0 : 1.0; }, lumped);
      const auto place = [](int n) {
        return std::pair{n % (cells + 1) / double{cells}, n / (cells + 1) / double{cells}};
      };
      const auto given = [&](int n, double t) -> std::optional<double> {
        const auto [x, y] = place(n);
        if (x == 0) return 2.0;
        if (on_body(x, y)) return 1 + x + std::sin(40 * t);
        if (in_stone(x, y)) return 0.0;
        return std::nullopt;
      };
      Values u;
      for (int n = 0; n < dense.n; ++n) {
        const auto [x, y] = place(n);
        u.push_back(given(n, 0).value_or(x * y));
      }
      for (int step = 1; step <= 3; ++step) {
        std::vector<Values> s = dense.a;
        Values b(u.size());
        for (std::size_t i = 0; i < u.size(); ++i) {
          b[i] = 3 * dense.f[i];
          for (std::size_t j = 0; j < u.size(); ++j) {
            s[i][j] += dense.m[i][j] / dt;
            b[i] += dense.m[i][j] / dt * u[j];
          }
        }
        for (std::size_t i = 0; i < u.size(); ++i)
          if (const auto g = given(static_cast<int>(i), step * dt)) {
            std::fill(s[i].begin(), s[i].end(), 0.0);
            s[i][i] = 1;
            b[i] = *g;
          }
        u = reference::eliminated(std::move(s), std::move(b));
      }
      ASSERT_EQ(solver.advance(ctx, 3 * dt).status, Status::converged) << solver.report().reason;
      const auto found = solver.nodal_solution(ctx);
      double heat = 0;
      for (std::size_t n = 0; n < u.size(); ++n) {
        const auto [x, y] = place(static_cast<int>(n));
        if (in_stone(x, y))
          EXPECT_TRUE(std::isnan(found[n])) << n;
        else
          EXPECT_NEAR(found[n], u[n], 1e-8) << x << ' ' << y << (lumped ? ", lumped" : "");
        heat += dense.f[n] * (in_stone(x, y) ? 0 : u[n]);
      }
      EXPECT_NEAR(solver.heat(ctx), heat, 1e-8);
    }
}

/// What lies between two plates decays as a sine does; order 2 of TR-BDF2 in steps of one length.
TEST(HeatBodies, DecayBetweenPlates) {
  Context ctx(Backend::cpu, 2);
  const double rate = 4 * std::numbers::pi * std::numbers::pi;
  HeatProblem problem;
  problem.space.boundaries = all_neumann();
  problem.space.bodies = {held(rectangle_shape(-1, -1, 0.25, 2), number(1)),
                          held(rectangle_shape(0.75, -1, 2, 2), number(1))};
  problem.initial = [](const Point& p) { return 1 + std::sin(2 * std::numbers::pi * (p.x - 0.25)); };
  problem.steady_bodies = problem.steady_coefficients = true;
  double before = 0;
  for (const int n : {16, 32, 64}) {
    HeatSolver solver(ctx, unit_square(n), problem, steps_of(0.16 / n, TimeMethod::tr_bdf2));
    solver.advance(ctx, 0.04);
    EXPECT_EQ(solver.report().status, Status::converged) << solver.report().reason;
    const double error =
        std::abs(solver.nodal_solution(ctx)[static_cast<std::size_t>(n / 2)] - 1 - std::exp(-rate * 0.04));
    if (before > 0) {
      EXPECT_GT(before / error, 3.5) << n;
    }
    before = error;
  }
  EXPECT_LT(before, 1e-3);
}

/// Adaptive steps to the end come to the answer of the plane wall with contact resistances; a solid conserves heat beside it.
TEST(HeatBodies, ComeToRestAtTheSteadySolution) {
  Context ctx(Backend::cpu, 2);
  HeatProblem problem;
  problem.space.boundaries = {{Kind::dirichlet, number(1)}, {Kind::dirichlet, number(0)}, neumann(), neumann()};
  const ScalarFunction wall = rectangle_shape(0.25, -1, 0.5, 2);
  problem.space.bodies = {material(wall, 4), contact(wall, 0.3), solid(rectangle_shape(0.625, 0.25, 0.75, 0.5))};
  problem.steady_coefficients = true;
  HeatParams params;
  params.tol = 1e-5;
  HeatSolver solver(ctx, unit_square(32), problem, params);
  solver.advance(ctx, 30);
  EXPECT_EQ(solver.report().status, Status::converged) << solver.report().reason;
  PoissonProblem steady = problem.space;
  steady.rhs = number(0);
  const TensorMesh<2> mesh = with_boundaries(unit_square(32), steady.boundaries);
  PoissonSolverParams of_steady;
  of_steady.coefficients = std::make_shared<const CellCoefficients>(*cell_coefficients(ctx, mesh, steady));
  of_steady.stop.rtol = 1e-10;
  PoissonSolver poisson(ctx, mesh, of_steady);
  Field<double> b(ctx, mesh.unknowns()), x(ctx, mesh.unknowns());
  assemble_load(ctx, mesh, steady, b);
  (void)poisson.solve(ctx, b.cview(), x.view());
  const auto expected = nodal_solution(ctx, mesh, steady, x), found = solver.nodal_solution(ctx);
  for (std::size_t n = 0; n < found.size(); ++n)
    if (!std::isnan(expected[n])) {
      EXPECT_NEAR(found[n], expected[n], 1e-4) << n;
    }
}

TEST(HeatBodies, SolidsConserveHeatAndTakeFewCycles) {
  const auto nozzle = [](const Point& p) {
    const double y = std::abs(p.y - 0.5), throat = 0.15 + 0.6 * (p.x - 0.5) * (p.x - 0.5);
    return p.x > 0.1 && p.x < 0.9 ? y - throat : -1.0;
  };
  for (const Backend backend : test::available_backends())
    for (const bool has_value : {false, true})
      for (const int n : {64, 128}) {
        Context ctx = test::context_on(backend);
        HeatProblem problem;
        problem.space.boundaries = all_neumann();
        problem.initial = [](const Point& p) { return p.x < 0.3 ? 1.0 : 0.0; };
        problem.steady_bodies = problem.steady_coefficients = true;
        problem.space.bodies = {has_value ? held(nozzle, number(1)) : solid(nozzle)};
        HeatSolver solver(ctx, unit_square(n), problem, steps_of(0.01, TimeMethod::tr_bdf2));
        const double before = solver.heat(ctx);
        solver.advance(ctx, 0.05);
        EXPECT_EQ(solver.report().status, Status::converged) << solver.report().reason;
        EXPECT_LE(solver.report().most_cycles, 10) << n;
        if (!has_value) {
          EXPECT_NEAR(solver.heat(ctx), before, 1e-11);
        }
      }
}

TEST(HeatBodies, Subdomains) {
  HeatProblem problem;
  problem.space.boundaries = {neumann(), {Kind::robin, number(1), number(2)}, {Kind::periodic}, {Kind::periodic}};
  problem.space.rhs = [](const Point& p) { return p.x * p.y; };
  problem.space.bodies = {held(disc_shape(0.3, 0.3, 0.15), [](const Point& p) { return 1 + p.t; }),
                          solid(disc_shape(0.7, 0.6, 0.2)), material(rectangle_shape(0.1, 0.6, 0.3, 0.8), 20)};
  const auto numbers = [&](Context& ctx) {
    HeatSolver solver(ctx, unit_square(40), problem, steps_of(0.02, TimeMethod::tr_bdf2));
    const HeatReport& report = solver.advance(ctx, 0.06);
    return Values{solver.heat(ctx), static_cast<double>(report.steps), static_cast<double>(report.status)};
  };
  test::expect_the_same_on_subdomains(1e-8, numbers);
}

TEST(HeatBodies, BadInput) {
  Context ctx(Backend::cpu, 1);
  const auto refused = [&](std::vector<Body> bodies, const char* words) {
    HeatProblem problem;
    problem.space.bodies = std::move(bodies);
    try {
      HeatSolver solver(ctx, unit_square(8), problem, steps_of(0.1));
      solver.advance(ctx, 0.2);
      ADD_FAILURE() << "not refused: " << words;
    } catch (const UsageError& error) {
      EXPECT_THAT(error.what(), HasSubstr(words));
    }
  };
  const ScalarFunction left = rectangle_shape(-1, -1, 0.5, 2), right = rectangle_shape(0.5, -1, 0.75, 2);
  refused({held(number(1), number(1))}, "no unknown is left");
  refused({held(disc_shape(3, 3, 0.5), number(1))}, "holds no cell");
  refused({held(left, number(1)), solid(rectangle_shape(0, 0, 0.75, 1))}, "overlap");
  // They meet with equal values at first.
  refused({held(left, number(1)), held(right, [](const Point& p) { return 1 + p.t; })}, "meet with different values");
  refused({held(left, [](const Point& p) { return p.t > 0.05 ? std::nan("") : 1.0; })}, "value of a body is nan");
}

}  // namespace
