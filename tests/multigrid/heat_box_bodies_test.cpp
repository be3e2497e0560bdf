// Bodies in boxes in time: steps against dense systems that are assembled and eliminated here, what bodies give and heat gains,
// symmetry, rooms, restarts.

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include <gmock/gmock.h>

#include <stratum/multigrid/heat_solver_3d.hpp>

#include "reference/elimination.hpp"
#include "support/bodies.hpp"

namespace {

using namespace stratum;
using Values = std::vector<double>;
using testing::HasSubstr;
using Kind = BoundaryConditionType;
using test::all_neumann, test::contact, test::held, test::material, test::number, test::solid, test::unit_axis,
    test::unit_cube;

HeatParams3D steps_of(double dt, TimeMethod method = TimeMethod::euler) {
  HeatParams3D params;
  params.method = method;
  params.dt = dt;
  params.eta = 1e-12;
  return params;
}
void solved_to(Context& ctx, HeatSolver3D& solver, double end) {
  EXPECT_EQ(solver.advance(ctx, end).status, Status::converged) << solver.report().reason;
}

/// Elements by 2 x 2 x 2 Gauss points in live cells, a lumped mass; f = 3, u = 2 + sin 5t at the left, a body that is held at
/// 1 + t + x, a solid, a solid column.
TEST(HeatBoxBodies, StepAsADenseSystemSteps) {
  Context ctx(Backend::cpu, 1);
  const Values hx{0.2, 0.3, 0.25, 0.25}, hy{0.3, 0.2, 0.3, 0.2}, hz{0.25, 0.3, 0.2};
  const std::array<std::size_t, 3> n{hx.size(), hy.size(), hz.size()};
  constexpr double dt = 0.05, capacity = 1.5;
  const auto k_at = [](std::size_t i) { return i == 3 ? 5.0 : 1.0; };
  enum { live, empty, given };
  const auto kind = [](std::size_t i, std::size_t j, std::size_t k) {
    return i == 2 && j == 1 && k >= 1 ? given : (j == 3 && k == 0) || (i == 3 && j == 3) ? empty : live;
  };
  const auto sum_to = [](const Values& h, std::size_t i) {
    double sum = 0;
    for (std::size_t p = 0; p < i; ++p) sum += h[p];
    return sum;
  };
  const auto cell_at = [&](const Values& h, double x) {
    std::size_t i = 0;
    while (i + 1 < h.size() && sum_to(h, i + 1) < x) ++i;
    return i;
  };
  const auto shape = [&](int of) {
    return
        [=](const Point3D& p) { return kind(cell_at(hx, p.x), cell_at(hy, p.y), cell_at(hz, p.z)) == of ? 1.0 : -1.0; };
  };
  HeatProblem3D problem;
  problem.capacity = capacity;
  problem.initial = [](const Point3D& p) { return p.y * p.z; };
  all_neumann(problem.space);
  problem.space.boundaries.faces[0] = {Kind::dirichlet, [](const Point3D& p) { return 2 + std::sin(5 * p.t); }, {}};
  problem.space.rhs = number(3);
  problem.space.diffusion.xx = [&](const Point3D& p) { return k_at(cell_at(hx, p.x)); };
  const auto g = [](double x, double t) { return 1 + t + x; };
  problem.space.bodies = {{shape(given), BodyKind::value, [=](const Point3D& p) { return g(p.x, p.t); }},
                          solid(shape(empty))};
  const TensorMesh<3> mesh(Axis(hx), Axis(hy), Axis(hz), "box");
  HeatSolver3D solver(ctx, mesh, problem, steps_of(dt));
  solved_to(ctx, solver, 3 * dt);

  const std::array<std::size_t, 3> nodes{n[0] + 1, n[1] + 1, n[2] + 1};
  const std::size_t all = nodes[0] * nodes[1] * nodes[2];
  const auto node = [&](std::size_t i, std::size_t j, std::size_t k) { return (k * nodes[1] + j) * nodes[0] + i; };
  std::vector<Values> a(all, Values(all, 0.0));
  Values m(all, 0.0), f(all, 0.0);
  std::vector<int> is(all, empty);
  for (const int pass : {live, given})
    for (std::size_t k = 0; k < n[2]; ++k)
      for (std::size_t j = 0; j < n[1]; ++j)
        for (std::size_t i = 0; i < n[0]; ++i) {
          if (kind(i, j, k) != pass) continue;
          for (std::size_t p = 0; p < 8; ++p) {
            const std::size_t row = node(i + (p & 1), j + (p >> 1 & 1), k + (p >> 2));
            is[row] = pass;
            if (pass == given) continue;
            const std::array<double, 3> h{hx[i], hy[j], hz[k]};
            const double volume = h[0] * h[1] * h[2];
            m[row] += capacity * volume / 8;
            f[row] += 3 * volume / 8;
            for (std::size_t q = 0; q < 8; ++q) {
              double entry = 0;
              for (std::size_t d = 0; d < 3; ++d) {
                double product = 1;
                for (std::size_t e = 0; e < 3; ++e) {
                  const bool same = (p >> e & 1) == (q >> e & 1);
                  product *= e == d ? (same ? 1 : -1) / h[e] : h[e] * (same ? 2 : 1) / 6;
                }
                entry += product;
              }
              a[row][node(i + (q & 1), j + (q >> 1 & 1), k + (q >> 2))] += k_at(i) * entry;
            }
          }
        }
  Values u(all);
  const auto x_of = [&](std::size_t of) { return sum_to(hx, of % nodes[0]); };
  for (std::size_t r = 0; r < all; ++r)
    u[r] = sum_to(hy, r / nodes[0] % nodes[1]) * sum_to(hz, r / (nodes[0] * nodes[1]));
  Values flux_of(1, 0.0);
  for (int step = 1; step <= 3; ++step) {
    const double t = step * dt;
    const Values before = u;
    std::vector<Values> s = a;
    Values b(all);
    for (std::size_t r = 0; r < all; ++r) {
      s[r][r] += m[r] / dt;
      b[r] = f[r] + m[r] / dt * u[r];
      const bool left = r % nodes[0] == 0;
      if (is[r] == live && !left) continue;
      s[r].assign(all, 0.0);
      s[r][r] = 1;
      b[r] = left ? 2 + std::sin(5 * t) : is[r] == given ? g(x_of(r), t) : 0;
    }
    std::vector<double*> rows;
    for (Values& row : s) rows.push_back(row.data());
    u = reference::eliminate(rows, b);
    double flux = 0;
    for (std::size_t r = 0; r < all; ++r) {
      if (is[r] != given) continue;
      for (std::size_t c = 0; c < all; ++c) flux += a[r][c] * u[c];
      flux += -f[r] + (step == 1 ? m[r] * (g(x_of(r), dt) - g(x_of(r), 0)) / dt : m[r] * (u[r] - before[r]) / dt);
    }
    flux_of[0] = flux;
  }
  const auto nodal = solver.nodal_solution(ctx);
  for (std::size_t r = 0; r < all; ++r) {
    if (is[r] != empty) {
      EXPECT_NEAR(nodal[r], u[r], 1e-9) << r;
    } else if (r % nodes[0] != 0) {
      EXPECT_TRUE(std::isnan(nodal[r])) << r;
    }
  }
  EXPECT_NEAR(*solver.body_fluxes(ctx)[0].flux, flux_of[0], 1e-8);
  double heat = 0;
  for (std::size_t r = 0; r < all; ++r) heat += m[r] * u[r];
  EXPECT_NEAR(solver.heat(ctx), heat, 1e-10);
}

/// A wall of layers with a contact resistance, nothing across y and z: elements of one dimension, with the consistent mass.
TEST(HeatBoxBodies, ALayeredWallWarmsAsOneDimensionDoes) {
  Context ctx(Backend::cpu, 1);
  constexpr int n = 12;
  constexpr double dt = 0.02, h = 1.0 / n, resistance = 0.4;
  HeatProblem3D problem;
  all_neumann(problem.space);
  problem.space.boundaries.faces[0] = {Kind::dirichlet, number(1), {}};
  problem.initial = number(0);
  problem.space.rhs = number(0);
  const ScalarFunction3D layer = box_shape({0.25, -1, -1}, {0.5, 2, 2});
  problem.space.bodies = {material(layer, 0.1), contact(layer, resistance)};
  for (const auto method : {BoxMethod::automatic, BoxMethod::multigrid}) {
    HeatParams3D params = steps_of(dt);
    params.solver.method = method;
    HeatSolver3D solver(ctx, TensorMesh<3>(unit_axis(n), unit_axis(3), unit_axis(4), "wall"), problem, params);
    solved_to(ctx, solver, 4 * dt);
    Values u(n + 1, 0.0);
    const auto k = [&](int i) {
      const bool inside = i >= n / 4 && i < n / 2, outer = i == n / 4 || i + 1 == n / 2;
      return inside ? 1 / (1 / 0.1 + (outer ? resistance / h : 0)) : 1.0;
    };
    for (int step = 0; step < 4; ++step) {
      std::vector<Values> s(n + 1, Values(n + 1, 0.0));
      Values b(n + 1, 0.0), old = u;
      old[0] = 1;  // held from the start
      for (int i = 0; i < n; ++i)
        for (int p = 0; p < 2; ++p)
          for (int q = 0; q < 2; ++q) {
            const double mass = h / 6 * (p == q ? 2 : 1) / dt;
            const auto row = static_cast<std::size_t>(i + p), column = static_cast<std::size_t>(i + q);
            s[row][column] += mass + k(i) / h * (p == q ? 1 : -1);
            b[row] += mass * old[column];
          }
      s[0].assign(n + 1, 0.0);
      s[0][0] = b[0] = 1;
      std::vector<double*> rows;
      for (Values& row : s) rows.push_back(row.data());
      u = reference::eliminate(rows, b);
    }
    const auto nodal = solver.nodal_solution(ctx);
    for (std::size_t r = 0; r < nodal.size(); ++r) EXPECT_NEAR(nodal[r], u[r % (n + 1)], 1e-9) << r;
    EXPECT_EQ(solver.body_fluxes(ctx)[0].cells, 3 * 12);
  }
}

/// A warm ball in an insulated box: what it gives is what heat gains, and all octants are alike.
TEST(HeatBoxBodies, ABallGivesWhatHeatGains) {
  Context ctx(Backend::cpu, 1);
  constexpr int n = 12;
  HeatProblem3D problem;
  all_neumann(problem.space);
  problem.space.bodies = {
      {ball_shape({0.5, 0.5, 0.5}, 0.2), BodyKind::value, [](const Point3D& p) { return 1 + p.t; }}};
  problem.initial = number(0);
  problem.capacity = 2;
  HeatSolver3D solver(ctx, unit_cube(n), problem, steps_of(0.03));
  double before = solver.heat(ctx);
  for (int step = 1; step <= 3; ++step) {
    solved_to(ctx, solver, 0.03 * step);
    EXPECT_NEAR((solver.heat(ctx) - before) / 0.03, *solver.body_fluxes(ctx)[0].flux, 1e-8) << step;
    EXPECT_NEAR(solver.body_fluxes(ctx)[0].mean, 1 + 0.03 * step, 1e-12);
    before = solver.heat(ctx);
  }
  const auto nodal = solver.nodal_solution(ctx);
  const auto at = [&](int i, int j, int k) { return nodal[static_cast<std::size_t>((k * (n + 1) + j) * (n + 1) + i)]; };
  for (int k = 0; k <= n; ++k)
    for (int j = 0; j <= n; ++j)
      for (int i = 0; i <= n; ++i) {
        EXPECT_NEAR(at(i, j, k), at(n - i, j, n - k), 1e-10);
        EXPECT_NEAR(at(i, j, k), at(j, k, i), 1e-10);
      }
  EXPECT_LT(at(0, 0, 0), at(2, 2, 2));
}

/// A plate without flux makes two rooms, which keep their heat together; Euler stays between its data in short steps.
TEST(HeatBoxBodies, RoomsKeepTheirHeat) {
  Context ctx(Backend::cpu, 1);
  for (const auto method : {TimeMethod::euler, TimeMethod::crank_nicolson, TimeMethod::tr_bdf2})
    for (const double dt : {1e-6, 0.1})
      for (const bool in_float : {false, true}) {
        HeatProblem3D problem;
        all_neumann(problem.space);
        problem.space.bodies = {solid(box_shape({0.5, -1, -1}, {0.6, 2, 2}))};
        problem.initial = [](const Point3D& p) { return p.x < 0.25 ? 1.0 : p.x > 0.7 && p.y > 0.5 ? 2.0 : 0.0; };
        HeatParams3D params = steps_of(dt, method);
        params.solver.float_cycles = in_float;
        HeatSolver3D solver(ctx, unit_cube(10), problem, params);
        EXPECT_FALSE(solver.plan().float_cycles);  // nothing holds u
        const double first = solver.heat(ctx);
        solved_to(ctx, solver, 5 * dt);
        EXPECT_NEAR(solver.heat(ctx), first, 1e-13 * first);
        EXPECT_LT(solver.report().most_cycles, 16);
        if (method != TimeMethod::euler) continue;
        for (const double u : solver.nodal_solution(ctx))
          if (!std::isnan(u)) {
            EXPECT_GE(u, -1e-10);
            EXPECT_LE(u, 2 + 1e-10);
          }
      }
}

/// A step that adapts goes on from a state with the same bits, and comes to the steady state of poisson3d.
TEST(HeatBoxBodies, GoOnFromAState) {
  Context ctx(Backend::cpu, 1);
  HeatProblem3D problem;
  all_neumann(problem.space);
  problem.space.boundaries.faces[5] = {Kind::dirichlet, number(3), {}};
  problem.space.bodies = {held(ball_shape({0.4, 0.5, 0.4}, 0.25), 1.0), solid(box_shape({0.8, 0, 0}, {1, 0.5, 0.5}))};
  problem.space.rhs = number(1);
  problem.initial = number(0);
  HeatParams3D params;
  params.tol = 1e-3;
  HeatSolver3D through(ctx, unit_cube(8), problem, params), second(ctx, unit_cube(8), problem, params);
  solved_to(ctx, through, 0.2);
  const HeatState state = through.state(ctx);
  solved_to(ctx, through, 40);
  EXPECT_TRUE(second.restore(ctx, state));
  solved_to(ctx, second, 40);
  const auto one = through.nodal_solution(ctx), other = second.nodal_solution(ctx);
  PoissonSolver3D steady(ctx, unit_cube(8), problem.space);
  EXPECT_EQ(steady.solve().status, Status::converged);
  const auto rest = steady.nodal_solution();
  for (std::size_t n = 0; n < one.size(); ++n) {
    if (std::isnan(rest[n])) {
      EXPECT_TRUE(std::isnan(one[n]));
      continue;
    }
    EXPECT_EQ(one[n], other[n]);
    EXPECT_NEAR(one[n], rest[n], 1e-4);
  }
  EXPECT_NEAR(*through.body_fluxes(ctx)[0].flux, *steady.body_fluxes()[0].flux, 1e-2);
}

TEST(HeatBoxBodies, RefuseWhatCannotBe) {
  Context ctx(Backend::cpu, 1);
  const auto message_of = [&](const HeatProblem3D& problem) -> std::string {
    try {
      const HeatSolver3D solver(ctx, unit_cube(6), problem, steps_of(0.1));
    } catch (const UsageError& error) {
      return error.what();
    }
    return "";
  };
  HeatProblem3D problem;
  problem.space.bodies = {held(ball_shape({0.5, 0.5, 0.5}, 0.2), 1.0)};
  EXPECT_EQ(message_of(problem), "");
  problem.space.exact = number(1);
  EXPECT_THAT(message_of(problem), HasSubstr("leave the exact solution out"));
  problem.space.exact = {};
  problem.space.reaction = 1;
  EXPECT_THAT(message_of(problem), HasSubstr("cannot be combined with a reaction c"));
  problem.space.reaction = 0;
  problem.space.bodies = {held(box_shape({-1, -1, -1}, {2, 2, 2}), 1.0)};
  EXPECT_THAT(message_of(problem), HasSubstr("no unknown is left"));
  problem.space.bodies = {held(ball_shape({0.5, 0.5, 0.5}, 0.2), 1.0)};
  problem.initial = [](const Point3D& p) { return std::hypot(p.x - 0.5, p.y - 0.5, p.z - 0.5) < 0.01 ? NAN : 0.0; };
  EXPECT_EQ(message_of(problem), "");  // within the body
  problem.initial = [](const Point3D& p) { return p.x > 0.8 ? NAN : 0.0; };
  EXPECT_THAT(message_of(problem), HasSubstr("initial value"));
}

}  // namespace
