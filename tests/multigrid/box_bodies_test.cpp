// Bodies in boxes: against a dense system that is assembled and eliminated here, closed forms, and how few iterations they take.

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numbers>
#include <random>

#include <gmock/gmock.h>

#include <stratum/mesh/graded.hpp>
#include <stratum/multigrid/poisson_solver_3d.hpp>

#include "reference/elimination.hpp"
#include "support/backends.hpp"
#include "support/bodies.hpp"

namespace {

using namespace stratum;
using test::Values;
using testing::HasSubstr;
using Kind = BoundaryConditionType;
using test::all_neumann, test::contact, test::held, test::material, test::number, test::solid, test::unit_cube;

struct Solution {
  Values nodal;
  SolveReport report;
  BoundaryFluxes3D fluxes;
  std::vector<BoxBodyFlux> bodies;
};

Solution solve(Context& ctx, const TensorMesh<3>& mesh, const PoissonProblem3D& problem, bool project = false,
               double rtol = 1e-10, bool float_cycles = false) {
  PoissonSolver3DParams params;
  params.stop.rtol = rtol;
  params.project = project;
  params.float_cycles = float_cycles;
  PoissonSolver3D solver(ctx, mesh, problem, params);
  Solution found;
  found.report = solver.solve();
  EXPECT_EQ(found.report.status, Status::converged) << found.report.reason;
  found.nodal = solver.nodal_solution();
  found.fluxes = solver.fluxes();
  found.bodies = solver.body_fluxes();
  return found;
}

/// Elements by 2 x 2 x 2 Gauss points, live cells alone, f = 3, u = 2 at the left, 0 at the right, no flux elsewhere.
TEST(BoxBodies, SolveWhatADenseSystemSolves) {
  const Values hx{0.2, 0.3, 0.25, 0.25, 0.3}, hy{0.3, 0.2, 0.3, 0.2}, hz{0.25, 0.3, 0.2, 0.35, 0.3};
  const Axis x(hx), y(hy), z(hz);
  const ScalarFunction3D plate = box_shape({0.45, 0.25, 0.2}, {0.8, 0.6, 0.6}),
                         stone = box_shape({0.9, -1, 0.5}, {9, 9, 0.8}), wall = box_shape({-1, 0.75, -1}, {0.9, 2, 2});
  const auto place = [](const Axis& axis, std::size_t i) { return axis.coordinates()[i]; };
  const std::size_t nx = hx.size(), ny = hy.size(), nz = hz.size(), n = (nx + 1) * (ny + 1) * (nz + 1);
  const auto number_of = [&](std::size_t i, std::size_t j, std::size_t k) { return (k * (ny + 1) + j) * (nx + 1) + i; };
  std::vector<Values> a(n, Values(n, 0.0));
  Values b(n, 0.0);
  std::vector<int> state(n, 0);  // 1 touched by a live cell, 2 held, 3 a Dirichlet face
  for (std::size_t k = 0; k < nz; ++k)
    for (std::size_t j = 0; j < ny; ++j)
      for (std::size_t i = 0; i < nx; ++i) {
        Point3D centre;
        centre.x = place(x, i) + hx[i] / 2;
        centre.y = place(y, j) + hy[j] / 2;
        centre.z = place(z, k) + hz[k] / 2;
        std::array<std::size_t, 8> node{};
        for (std::size_t c = 0; c < 8; ++c) node[c] = number_of(i + (c & 1), j + (c >> 1 & 1), k + (c >> 2));
        if (plate(centre) > 0) {
          for (const std::size_t m : node) state[m] = std::max(state[m], 2);
          continue;
        }
        if (stone(centre) > 0) continue;
        for (const std::size_t m : node) state[m] = std::max(state[m], 1);
        const std::array<double, 3> conductivity =
            wall(centre) > 0 ? std::array{5.0, 2.0, 3.0} : std::array{1.0, 1.0, 1.0};
        const double volume = hx[i] * hy[j] * hz[k], offset = 0.5 / std::sqrt(3.0);
        for (std::size_t g = 0; g < 8; ++g) {
          const auto at = [&](std::size_t bit) { return (g >> bit & 1) == 0 ? 0.5 - offset : 0.5 + offset; };
          const std::array<double, 3> t{at(0), at(1), at(2)};
          std::array<std::array<double, 4>, 8> phi{};
          for (std::size_t c = 0; c < 8; ++c) {
            std::array<double, 3> v{}, s{};
            for (std::size_t d = 0; d < 3; ++d) {
              const bool last = (c >> d & 1) == 1;
              const double h = d == 0 ? hx[i] : d == 1 ? hy[j] : hz[k];
              v[d] = last ? t[d] : 1 - t[d];
              s[d] = (last ? 1 : -1) / h;
            }
            phi[c] = {v[0] * v[1] * v[2], s[0] * v[1] * v[2], v[0] * s[1] * v[2], v[0] * v[1] * s[2]};
          }
          for (std::size_t c = 0; c < 8; ++c) {
            b[node[c]] += 3 * volume / 8 * phi[c][0];
            for (std::size_t e = 0; e < 8; ++e)
              for (std::size_t d = 0; d < 3; ++d)
                a[node[c]][node[e]] += volume / 8 * conductivity[d] * phi[c][d + 1] * phi[e][d + 1];
          }
        }
      }
  for (std::size_t k = 0; k <= nz; ++k)
    for (std::size_t j = 0; j <= ny; ++j)
      for (const auto& [i, value] : {std::pair{std::size_t{0}, 2.0}, {nx, 0.0}}) {
        state[number_of(i, j, k)] = 3;
        b[number_of(i, j, k)] = value;
      }
  double out = 0;
  const std::vector<Values> whole = a;
  const Values load = b;
  for (std::size_t m = 0; m < n; ++m) {
    if (state[m] == 1) continue;
    std::fill(a[m].begin(), a[m].end(), 0.0);
    a[m][m] = 1;
    if (state[m] != 3) b[m] = state[m] == 2 ? 7 : 0;
  }
  const Values u = reference::eliminated(std::move(a), std::move(b));
  for (std::size_t m = 0; m < n; ++m)
    if (state[m] == 2) {
      out -= load[m];
      for (std::size_t e = 0; e < n; ++e) out += whole[m][e] * u[e];
    }
  PoissonProblem3D problem;
  all_neumann(problem);
  problem.boundaries[BoxFace::left] = {Kind::dirichlet, number(2), {}};
  problem.boundaries[BoxFace::right] = {Kind::dirichlet, {}, {}};
  problem.rhs = number(3);
  Body3D of_wall = material(wall, 5);
  of_wall.kyy = number(2);
  of_wall.kzz = number(3);
  problem.bodies = {held(plate, 7), solid(stone), of_wall};
  for (const Backend backend : test::available_backends())
    for (const bool in_float : {false, true}) {
      Context ctx = test::context_on(backend);
      const Solution found = solve(ctx, TensorMesh<3>(x, y, z, "small"), problem, false, 1e-11, in_float);
      for (std::size_t m = 0; m < n; ++m) {
        if (state[m] == 0)
          EXPECT_TRUE(std::isnan(found.nodal[m])) << m;
        else
          EXPECT_NEAR(found.nodal[m], u[m], 1e-8) << m;
      }
      EXPECT_NEAR(*found.bodies[0].flux, out, 1e-7);
      EXPECT_NEAR(found.fluxes.sum(), found.fluxes.load + *found.bodies[0].flux, 1e-7);
      EXPECT_EQ(found.bodies[1].flux, 0);
      EXPECT_FALSE(found.bodies[2].flux);
    }
}

/// Between concentric balls: staircases of cells err by the first order. A cube in a ball, whose capacitance in free space is
/// that of a ball of 0.6606785 of its edge.
TEST(BoxBodies, Capacitances) {
  Context ctx(Backend::cpu, 2);
  const auto beyond = [](const Point3D& p) { return std::hypot(p.x - 0.5, p.y - 0.5, p.z - 0.5) - 0.45; };
  const auto flux_at = [&](int n, const ScalarFunction3D& inside) {
    PoissonProblem3D problem;
    problem.rhs = number(0);
    problem.bodies = {held(inside, 1), held(beyond, 0)};
    const Solution found = solve(ctx, unit_cube(n), problem);
    EXPECT_NEAR(*found.bodies[0].flux, -*found.bodies[1].flux, 1e-7);
    return *found.bodies[0].flux;
  };
  const auto between = [](double radius) { return 4 * std::numbers::pi / (1 / radius - 1 / 0.45); };
  const ScalarFunction3D ball = ball_shape({0.5, 0.5, 0.5}, 0.2), cube = box_shape({0.4, 0.4, 0.4}, {0.6, 0.6, 0.6});
  const double coarse = flux_at(20, ball), fine = flux_at(40, ball);
  EXPECT_NEAR(fine / between(0.2), 1, 0.1);
  EXPECT_NEAR((2 * fine - coarse) / between(0.2), 1, 0.02);
  EXPECT_NEAR(flux_at(40, cube) / between(0.6606785 * 0.2), 1, 0.04);
}

/// A plane wall with resistances on both of its sides, on graded cells; ones of K are materials of an ordinary problem.
TEST(BoxBodies, ContactResistanceOfAWall) {
  Context ctx(Backend::cpu, 2);
  Values widths;
  for (int k = 0; k < 16; ++k) widths.push_back(k % 2 == 0 ? 0.05 : 0.075);
  const Axis side(Values(3, 0.3));
  PoissonProblem3D problem;
  all_neumann(problem);
  problem.boundaries[BoxFace::left] = {Kind::dirichlet, number(1), {}};
  problem.boundaries[BoxFace::right] = {Kind::dirichlet, {}, {}};
  problem.rhs = number(0);
  const ScalarFunction3D wall = box_shape({0.25, -1, -1}, {0.5, 2, 2});
  problem.bodies = {material(wall, 4), contact(wall, 0.3)};
  const Solution found = solve(ctx, TensorMesh<3>(Axis(widths), side, side, "wall"), problem);
  EXPECT_NEAR(found.fluxes[BoxFace::right], 0.81 / (0.75 + 0.25 / 4 + 0.6), 1e-8);
  EXPECT_FALSE(found.bodies[0].flux);
  EXPECT_EQ(found.bodies[0].cells, 36);
  problem.bodies[1] = contact(ball_shape({0.5, 0.5, 0.5}, 0.4), 0.3);
  EXPECT_THAT([&] { (void)solve(ctx, unit_cube(8), problem); },
              testing::ThrowsMessage<UsageError>(HasSubstr("do not fill a box")));
}

TEST(BoxBodies, RoomsAndTheirConstants) {
  Context ctx(Backend::cpu, 2);
  PoissonProblem3D problem;
  all_neumann(problem);
  problem.bodies = {solid(box_shape({0.4, -1, -1}, {0.6, 2, 2}))};
  problem.rhs = [](const Point3D& p) { return p.x < 0.5 ? std::cos(std::numbers::pi * p.y) : 3 * (p.z - 0.5); };
  const Solution found = solve(ctx, unit_cube(20), problem);
  for (std::size_t k = 0; k <= 20; ++k) {
    const double s = static_cast<double>(k) / 20, t = s - 0.5;
    EXPECT_NEAR(found.nodal[(7 * 21 + k) * 21], std::cos(std::numbers::pi * s) / (std::numbers::pi * std::numbers::pi),
                1e-3);
    EXPECT_NEAR(found.nodal[(k * 21 + 7) * 21 + 20], -t * t * t / 2 + 3 * t / 8, 1e-3);
  }
  EXPECT_TRUE(std::isnan(found.nodal[10]));
  problem.rhs = [](const Point3D& p) { return p.x < 0.5 ? std::cos(std::numbers::pi * p.y) : 1.0; };
  EXPECT_THAT([&] { (void)solve(ctx, unit_cube(20), problem); },
              testing::ThrowsMessage<UsageError>(
                  HasSubstr("nothing holds u in the room of 3200 cells around (0.625, 0.025, 0.025)")));
  const Solution projected = solve(ctx, unit_cube(20), problem, true);
  EXPECT_NEAR(projected.nodal[20], 0, 1e-9);
  EXPECT_NEAR(projected.fluxes.load, 0, 1e-9);
  // A constant less its mean leaves rounding, which is no load.
  problem.rhs = number(2);
  EXPECT_NEAR(solve(ctx, unit_cube(20), problem, true).nodal[20], 0, 1e-12);
  problem.rhs = [](const Point3D& p) { return p.x < 0.5 ? std::cos(std::numbers::pi * p.y) : 1.0; };
  problem.bodies.push_back(held(box_shape({0.9, -1, -1}, {2, 2, 2}), 5));
  const Solution half = solve(ctx, unit_cube(20), problem);
  EXPECT_NEAR(*half.bodies[1].flux, -0.3, 1e-8);
  EXPECT_NEAR(half.nodal[12], 5 + 0.3 * 0.3 / 2, 1e-8);
}

TEST(BoxBodies, TakeFewIterations) {
  const auto nozzle = [](const Point3D& p) {
    const double r = std::hypot(p.y - 0.5, p.z - 0.5), throat = 0.15 + 0.6 * (p.x - 0.5) * (p.x - 0.5);
    return p.x > 0.1 && p.x < 0.9 ? r - throat : -1.0;
  };
  for (const Backend backend : test::available_backends())
    for (const Body3D& body : {solid(nozzle), held(nozzle, 1), solid(box_shape({0.5, 0.2, 0.2}, {0.54, 0.8, 0.8})),
                               held(ball_shape({0.4, 0.5, 0.5}, 0.2), 1)}) {
      Context ctx = test::context_on(backend);
      PoissonProblem3D problem;
      problem.rhs = number(1);
      problem.bodies = {body};
      const Solution found = solve(ctx, unit_cube(32), problem, false, 1e-8, true);
      EXPECT_LE(found.report.iterations, 10);
    }
}

/// Thin cells, K that jumps in every cell, and bodies of single cells: a cycle in float is not positive definite.
TEST(BoxBodies, GoOnAroundACycleInDouble) {
  Context ctx(Backend::cpu, 1);
  const TensorMesh<3> mesh{geometric_with_smallest(1, 7, 1e-6, GradedSide::last),
                           geometric_with_smallest(1, 6, 1e-5, GradedSide::first),
                           geometric_with_smallest(1, 9, 1e-6, GradedSide::first)};
  std::array<Values, 3> nodes;
  for (std::size_t d = 0; d < 3; ++d) nodes[d] = mesh.axis(static_cast<int>(d)).coordinates();
  int in_double = 0;
  for (const bool holds : {false, true})
    for (unsigned seed = 1; seed <= 12; ++seed) {
      SCOPED_TRACE(testing::Message() << (holds ? "held bodies, seed " : "solids, seed ") << seed);
      const auto random = [&](const Point3D& p, unsigned which) {
        const std::array<double, 3> at{p.x, p.y, p.z};
        std::size_t cell = 0;
        for (std::size_t d = 0; d < 3; ++d)
          cell =
              10 * cell + static_cast<std::size_t>(std::upper_bound(nodes[d].begin() + 1, nodes[d].end() - 1, at[d]) -
                                                   nodes[d].begin() - 1);
        std::minstd_rand numbers(static_cast<unsigned>(cell) + 1000 * seed + which);
        numbers.discard(10);
        return static_cast<double>(numbers() % 1000) / 1000;
      };
      PoissonProblem3D problem;
      all_neumann(problem);
      problem.boundaries[BoxFace::bottom].kind = problem.boundaries[BoxFace::front].kind = Kind::dirichlet;
      problem.rhs = number(1);
      problem.diffusion.xx = [&](const Point3D& p) { return random(p, 7) < 0.5 ? 1.0 : 1e3; };
      const ScalarFunction3D cells = [&](const Point3D& p) { return (holds ? 0.05 : 0.12) - random(p, 13); };
      problem.bodies = {holds ? held(cells, 1) : solid(cells)};
      PoissonSolver3DParams params;
      PoissonSolver3D reference(ctx, mesh, problem, params);
      if (reference.solve().status != Status::converged) continue;
      params.float_cycles = true;
      PoissonSolver3D solver(ctx, mesh, problem, params);
      const SolveReport report = solver.solve();
      EXPECT_TRUE(report.status == Status::converged || report.status == Status::round_off_limit) << report.reason;
      if (report.reason.find("in double, since conjugate gradients around a cycle in float ended as breakdown") == 0)
        ++in_double;
    }
  EXPECT_GT(in_double, 0);
}

TEST(BoxBodies, BadInput) {
  Context ctx(Backend::cpu, 1);
  const auto refused = [&](std::vector<Body3D> bodies, const char* words,
                           const std::function<void(PoissonProblem3D&)>& change = {}) {
    PoissonProblem3D problem;
    problem.rhs = number(1);
    problem.bodies = std::move(bodies);
    if (change) change(problem);
    EXPECT_THAT([&] { (void)solve(ctx, unit_cube(8), problem); }, testing::ThrowsMessage<UsageError>(HasSubstr(words)));
  };
  const ScalarFunction3D all = number(1), left = box_shape({-1, -1, -1}, {0.5, 2, 2}),
                         middle = box_shape({0.25, 0, 0}, {0.75, 1, 1});
  refused({held(all, 1)}, "no unknown is left");
  refused({solid(all)}, "no unknown is left");
  refused({held(ball_shape({3, 3, 3}, 0.5), 1)}, "body 1 holds no cell of the mesh of 8 x 8 x 8: it lies outside");
  refused({held(ball_shape({0.5, 0.5, 0.5}, 0.07), 1)}, "thinner than a cell, take a finer mesh");
  refused({held(left, 1), held(middle, 2)}, "meet with different values");
  refused({held(left, 1), solid(middle)}, "overlap in the cell around");
  refused({material(left, 1), material(middle, 2)}, "a cell has one K");
  refused({material(left, -1)}, "K must be positive");
  refused({held(left, std::nan(""))}, "value of a body is nan");
  refused({held(left, 1), contact(left, 1)}, "belongs to a body that conducts");
  refused({contact(left, -1)}, "contact resistance of -1");
  refused({held(middle, 1)}, "reaction c", [](PoissonProblem3D& problem) { problem.reaction = 1; });
  refused({held(left, 1)}, "which is a Robin face", [](PoissonProblem3D& problem) {
    problem.boundaries[BoxFace::left] = {Kind::robin, number(1), number(1)};
  });
  refused({held(middle, 1)}, "leave the exact solution out",
          [](PoissonProblem3D& problem) { problem.exact = number(1); });
  EXPECT_THROW((void)ball_shape({0, 0, 0}, 0), UsageError);
  EXPECT_THROW((void)box_shape({0, 0, 0}, {1, 0, 1}), UsageError);
  EXPECT_THROW((void)cylinder_shape({0, 0, 0}, {0, 0, 0}, 1), UsageError);
}

}  // namespace
