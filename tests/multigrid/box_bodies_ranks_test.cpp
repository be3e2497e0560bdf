// Bodies in a box that several ranks share, threads of this process: solutions, fluxes and rooms are those of one rank.

#include <cmath>
#include <vector>

#include <gmock/gmock.h>

#include <stratum/mesh/graded.hpp>
#include <stratum/multigrid/poisson_solver_3d.hpp>

#include "support/backends.hpp"
#include "support/bodies.hpp"
#include "support/box_ranks.hpp"
#include "support/subdomains.hpp"

namespace {

using namespace stratum;
using test::contact, test::held, test::material, test::solid;
using test::Values;
using test::box_ranks::D, test::box_ranks::N, test::box_ranks::P;

struct Solution {
  Values nodal;
  SolveReport report;
  BoundaryFluxes3D fluxes;
  SolutionRange3D range;
  std::vector<BoxBodyFlux> bodies;
  std::vector<Compatibility> rooms;
};

Solution solve(Backend backend, int ranks, const TensorMesh<3>& mesh, const PoissonProblem3D& problem, bool in_float) {
  const auto count = [&](int d) { return test::box_ranks::count_of(mesh, d); };
  Values all(count(0) * count(1) * count(2), HUGE_VAL);
  std::vector<Solution> of_ranks(static_cast<std::size_t>(ranks));
  const auto result = test::on_subdomains(backend, ranks, [&](Context& ctx) {
    PoissonSolver3D solver(ctx, mesh, problem, {.project = true, .float_cycles = in_float});
    Solution& own = of_ranks[static_cast<std::size_t>(ranks > 1 ? ctx.communicator()->rank() : 0)];
    own.report = solver.solve();
    own.nodal = solver.nodal_solution();
    own.fluxes = solver.fluxes();
    own.range = solver.range();
    own.bodies = solver.body_fluxes();
    own.rooms = solver.compatibility_of_rooms();
    const auto there = test::box_ranks::own_nodes(mesh, solver.nodes());
    for (int r = 0; r < ranks; ++r) {
      if (ranks > 1) ctx.communicator()->barrier();
      if (&own != &of_ranks[static_cast<std::size_t>(r)]) continue;
      for (std::size_t n = 0; n < there.size(); ++n) all[there[n]] = own.nodal[n];
    }
    return Values{};
  });
  EXPECT_FALSE(result.failed()) << testing::PrintToString(result.errors);
  of_ranks[0].nodal = all;
  return of_ranks[0];
}

void expect_as_on_one(const TensorMesh<3>& mesh, const PoissonProblem3D& problem, const std::vector<int>& counts,
                      bool in_float = false) {
  for (const Backend backend : test::available_backends()) {
    const Solution one = solve(backend, 1, mesh, problem, in_float);
    EXPECT_EQ(one.report.status, Status::converged) << one.report.reason;
    for (const int ranks : counts) {
      SCOPED_TRACE(testing::Message() << ranks << " ranks");
      const Solution several = solve(backend, ranks, mesh, problem, in_float);
      EXPECT_EQ(several.report.status, Status::converged) << several.report.reason;
      EXPECT_NEAR(several.report.iterations, one.report.iterations, in_float ? 1 : 0);
      const double range = one.range.range(), rounding = (in_float ? 1e-7 : 1e-9) * range;
      EXPECT_NEAR(several.range.range(), range, rounding);
      for (std::size_t n = 0; n < one.nodal.size(); ++n) {
        ASSERT_EQ(std::isnan(several.nodal[n]), std::isnan(one.nodal[n])) << n;
        if (!std::isnan(one.nodal[n])) {
          ASSERT_NEAR(several.nodal[n], one.nodal[n], rounding) << n;
        }
      }
      for (std::size_t f = 0; f < 6; ++f) EXPECT_NEAR(several.fluxes.faces[f], one.fluxes.faces[f], 1e-6) << f;
      EXPECT_NEAR(several.fluxes.load, one.fluxes.load, 1e-9);
      ASSERT_EQ(several.bodies.size(), one.bodies.size());
      for (std::size_t b = 0; b < one.bodies.size(); ++b) {
        EXPECT_EQ(several.bodies[b].cells, one.bodies[b].cells);
        EXPECT_EQ(several.bodies[b].volume, one.bodies[b].volume);
        EXPECT_NEAR(several.bodies[b].mean, one.bodies[b].mean, rounding);
        ASSERT_EQ(several.bodies[b].flux.has_value(), one.bodies[b].flux.has_value());
        if (one.bodies[b].flux) {
          EXPECT_NEAR(*several.bodies[b].flux, *one.bodies[b].flux, 1e-6);
        }
      }
      ASSERT_EQ(several.rooms.size(), one.rooms.size());
      for (std::size_t r = 0; r < one.rooms.size(); ++r) EXPECT_NEAR(several.rooms[r].sum, one.rooms[r].sum, 1e-10);
    }
  }
}

PoissonProblem3D problem_of(const std::array<BoundaryConditionType, 6>& kinds) {
  PoissonProblem3D problem{.rhs = [](const Point3D& p) { return 1 + p.x - p.z; }};
  for (std::size_t f = 0; f < kinds.size(); ++f) problem.boundaries.faces[f].kind = kinds[f];
  return problem;
}

// Bodies lie across the cuts.
TEST(BoxBodiesRanks, HeldBodiesSolidsAndContactsAsOnOne) {
  PoissonProblem3D problem = problem_of({D, N, N, D, N, N});
  const ScalarFunction3D wall = box_shape({0.7, -1, 0.2}, {0.9, 2, 0.7});
  problem.bodies = {held(ball_shape({0.3, 0.3, 0.45}, 0.2), 2), solid(box_shape({0.2, 0.6, -1}, {0.5, 0.8, 0.66})),
                    material(wall, 5), contact(wall, 0.1)};
  expect_as_on_one({uniform(1, 14), uniform(1, 13), uniform(1, 36)}, problem, {2, 3});
  expect_as_on_one({uniform(1, 14), uniform(1, 13), uniform(1, 36)}, problem, {2}, true);
}

TEST(BoxBodiesRanks, RoomsThatNothingHoldsAsOnOne) {
  PoissonProblem3D problem = problem_of({N, N, N, N, N, N});
  // Two rooms, each across cuts, and a stone in one.
  problem.bodies = {solid(box_shape({0.4, -1, -1}, {0.6, 2, 2})), solid(box_shape({0.7, 0.2, 0.2}, {0.9, 0.6, 0.7}))};
  expect_as_on_one({uniform(1, 14), uniform(1, 12), uniform(1, 30)}, problem, {3});
}

TEST(BoxBodiesRanks, PeriodicBoxesAndGradedCellsAsOnOne) {
  PoissonProblem3D problem = problem_of({D, D, N, N, P, P});
  problem.bodies = {held(box_shape({0.3, 0.3, -1}, {0.5, 0.6, 0.1}), 1),
                    held(box_shape({0.3, 0.3, 0.9}, {0.5, 0.6, 2}), 1), solid(ball_shape({0.7, 0.7, 0.5}, 0.2))};
  expect_as_on_one({uniform(1, 15), geometric_with_smallest(1, 12, 1e-2, GradedSide::first), uniform(1, 33)}, problem,
                   {2, 3});
}

/// A box that wraps around in direction d, of which each coordinate goes from 0 to 1; `shift` moves it.
ScalarFunction3D wrapped(std::size_t d, double shift, std::array<double, 3> first, std::array<double, 3> last) {
  return [=, inside = box_shape(first, last)](Point3D p) {
    double& along = *std::array{&p.x, &p.y, &p.z}[d];
    along = along - shift + (along < shift ? 1 : 0);
    return inside(p);
  };
}

// Bodies that move along a periodic direction, over its ends too: the solution moves with them.
TEST(BoxBodiesRanks, PeriodicDirectionsHaveNoEnds) {
  constexpr int n = 8;
  const TensorMesh<3> mesh{uniform(1, n), uniform(1, n), uniform(1, n)};
  for (std::size_t d = 0; d < 3; ++d)
    for (const int ranks : {1, 2})
      for (const bool leaves_room : {true, false}) {
        std::array<BoundaryConditionType, 6> kinds{};
        kinds.fill(N);
        kinds[2 * d] = kinds[2 * d + 1] = P;
        kinds[2 * ((d + 1) % 3)] = D;
        PoissonProblem3D problem = problem_of(kinds);
        problem.rhs = [](const Point3D&) { return 1; };
        const auto solution = [&](int cells) {
          const double shift = static_cast<double>(cells) / n;
          std::array<double, 3> low{0.25, 0.25, 0.25}, high{0.5, 0.5, 0.5};
          problem.bodies = {solid(wrapped(d, shift, low, high))};
          low[d] = 0.75;
          high[d] = 0.875;
          if (!leaves_room) problem.bodies.push_back(held(wrapped(d, shift, low, high), 2));
          return solve(Backend::cpu, ranks, mesh, problem, false);
        };
        const Solution base = solution(0);
        for (int cells = 1; cells < n; ++cells) {
          SCOPED_TRACE(testing::Message() << ranks << " ranks, by " << cells << " cells along " << axis_names[d]);
          const Solution moved = solution(cells);
          ASSERT_EQ(moved.report.status, Status::converged) << moved.report.reason;
          std::array<std::size_t, 3> at{};
          const auto number = [](const std::array<std::size_t, 3>& node) {
            return (node[2] * (n + 1) + node[1]) * (n + 1) + node[0];
          };
          for (at[2] = 0; at[2] <= n; ++at[2])
            for (at[1] = 0; at[1] <= n; ++at[1])
              for (at[0] = 0; at[0] <= n; ++at[0]) {
                auto to = at;
                to[d] = (at[d] + static_cast<std::size_t>(cells)) % n;
                const double u = moved.nodal[number(to)], expected = base.nodal[number(at)];
                ASSERT_EQ(std::isnan(u), std::isnan(expected)) << number(at);
                if (!std::isnan(u)) {
                  ASSERT_NEAR(u, expected, 1e-8) << number(at);
                }
              }
          double out = moved.fluxes.sum() - moved.fluxes.load;
          for (std::size_t b = 0; b < base.bodies.size(); ++b) {
            EXPECT_NEAR(*moved.bodies[b].flux, *base.bodies[b].flux, 1e-7);
            EXPECT_NEAR(moved.bodies[b].mean, base.bodies[b].mean, 1e-8);
            out -= *moved.bodies[b].flux;
          }
          EXPECT_NEAR(out, 0, 1e-7);
          for (std::size_t face = 0; face < 6; ++face) {
            if (face / 2 == d) continue;
            EXPECT_NEAR(moved.fluxes.faces[face], base.fluxes.faces[face], 1e-7) << face;
          }
          EXPECT_NEAR(moved.fluxes.faces[2 * d], -moved.fluxes.faces[2 * d + 1], 1e-7);
        }
      }
}

TEST(BoxBodiesRanks, OtherKAloneAsOnOne) {
  PoissonProblem3D problem = problem_of({D, N, N, D, N, N});
  problem.bodies = {material(ball_shape({0.5, 0.5, 0.5}, 0.3), 20)};
  expect_as_on_one({uniform(1, 10), uniform(1, 11), uniform(1, 24)}, problem, {2});
}

TEST(BoxBodiesRanks, RanksOfTwoPlanesAreRefused) {
  PoissonProblem3D problem = problem_of({D, D, D, D, D, D});
  problem.bodies = {held(ball_shape({0.5, 0.5, 0.5}, 0.2), 1)};
  const auto result = test::on_subdomains(Backend::cpu, 4, [&](Context& ctx) {
    PoissonSolver3D(ctx, {uniform(1, 10), uniform(1, 10), uniform(1, 10)}, problem);
    return Values{};
  });
  EXPECT_THAT(result.errors,
              testing::Each(testing::HasSubstr("every rank needs 3 planes across z: 4 ranks need 12, and "
                                               "this box has 9")));
  const auto ends = [](int cells) {
    return test::on_subdomains(Backend::cpu, 2, [&](Context& ctx) {
      PoissonProblem3D natural = problem_of({D, D, D, D, D, N});
      natural.bodies = {held(ball_shape({0.5, 0.5, 0.5}, 0.2), 1)};
      PoissonSolver3D(ctx, {uniform(1, 10), uniform(1, 10), uniform(1, cells)}, natural);
      return Values{};
    });
  };
  EXPECT_THAT(ends(6).errors, testing::Each(testing::HasSubstr("the last one another one at a natural face: 2 ranks "
                                                               "need 7, and this box has 6")));
  EXPECT_FALSE(ends(7).failed());
}

}  // namespace
