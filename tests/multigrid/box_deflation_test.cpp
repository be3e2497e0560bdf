// Isolated bodies of high K in a box: deflated where that is worth it, and what is left alone.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include <stratum/multigrid/box_deflation.hpp>
#include <stratum/multigrid/box_plan.hpp>
#include <stratum/multigrid/poisson_solver_3d.hpp>

#include "support/backends.hpp"

namespace {

using namespace stratum;
using testing::HasSubstr;
using testing::Not;

Axis uniform(int cells) { return Axis(std::vector<double>(static_cast<std::size_t>(cells), 1.0 / cells)); }
Axis graded(int cells) {
  std::vector<double> h;
  for (int k = 0; k < cells; ++k) h.push_back(std::pow(1.7, k));
  return Axis(h);
}

/// Six balls.
PoissonProblem3D balls(double k, double radius = 0.09) {
  PoissonProblem3D problem{.rhs = [](const Point3D& p) { return 1 + p.x + 2 * p.y * p.z; }};
  problem.diffusion = {[=](const Point3D& p) {
    for (const double at : {0.25, 0.5, 0.75})
      for (const double height : {0.3, 0.7}) {
        const double dx = p.x - at, dy = p.y - (1 - at), dz = p.z - height;
        if (dx * dx + dy * dy + dz * dz < radius * radius) return k;
      }
    return 1.0;
  }};
  return problem;
}

TEST(BoxDeflation, MendsIsolatedBodies) {
  for (const Backend backend : test::available_backends()) {
    Context ctx = test::context_on(backend);
    const TensorMesh<3> mesh{uniform(24), uniform(24), uniform(24)};
    for (const bool in_float : {false, true}) {
      PoissonSolver3DParams params{.stop = {.rtol = 1e-8}, .float_cycles = in_float};
      params.method = BoxMethod::multigrid;
      std::vector<double> u;
      for (const double k : {100.0, 1e6}) {
        PoissonSolver3D solver(ctx, mesh, balls(k), params);
        const SolveReport report = solver.solve();
        EXPECT_EQ(report.status, Status::converged) << report.reason;
        EXPECT_LE(report.iterations, 15) << k;
        EXPECT_THAT(report.choice, k > 1e3 ? testing::Matcher<std::string>(HasSubstr("each of 6 bodies of high K"))
                                           : testing::Matcher<std::string>(Not(HasSubstr("deflation"))));
        u = solver.nodal_solution();
      }
      // u is even within a ball.
      const auto at = [&](int i, int j, int l) { return u[static_cast<std::size_t>((l * 25 + j) * 25 + i)]; };
      EXPECT_NEAR(at(12, 12, 7) / at(12, 13, 7), 1, 1e-4);
      EXPECT_GT(at(12, 12, 7), 0);
    }
  }
}

TEST(BoxDeflation, LeavesOthersAlone) {
  Context ctx(Backend::cpu, 1);
  const auto choice = [&](const TensorMesh<3>& mesh, PoissonProblem3D problem) {
    PoissonSolver3DParams params;
    params.method = BoxMethod::multigrid;
    PoissonSolver3D solver(ctx, mesh, problem, params);
    const SolveReport report = solver.solve();
    EXPECT_TRUE(report.status == Status::converged || report.status == Status::round_off_limit) << report.reason;
    return report.choice;
  };
  const TensorMesh<3> even{uniform(16), uniform(16), uniform(16)};
  EXPECT_THAT(choice(even, balls(1e6, 0.12)), HasSubstr("deflation"));
  EXPECT_THAT(choice({uniform(16), uniform(16), graded(16)}, balls(1e6, 0.12)), Not(HasSubstr("deflation")));
  PoissonProblem3D reacting = balls(1e6, 0.12);
  reacting.reaction = 1;
  EXPECT_THAT(choice(even, reacting), Not(HasSubstr("deflation")));
  // They would save fewer iterations than they cost.
  EXPECT_THAT(choice(even, balls(2e3, 0.12)), Not(HasSubstr("deflation")));
}

TEST(BoxDeflation, PaysByBodiesAndJump) {
  struct Row {
    int bodies;
    double jump;
    bool in_double, in_single;
  };
  for (const auto& [bodies, jump, in_double, in_single] : {Row{0, 1e9, false, false},
                                                           {1, 900, false, false},
                                                           {7, 1e3, false, false},
                                                           {8, 1e3, true, false},
                                                           {16, 1e3, true, true},
                                                           {3, 1e4, false, false},
                                                           {4, 1e4, true, true},
                                                           {2, 1e5, false, true},
                                                           {1, 1e6, false, true},
                                                           {2, 1e6, true, true},
                                                           {400, 1e6, true, true},
                                                           {401, 1e6, false, false}}) {
    EXPECT_EQ(deflation_pays({bodies, jump, false}), in_double) << bodies << " bodies, K up to " << jump;
    EXPECT_EQ(deflation_pays({bodies, jump, true}), in_single) << bodies << " bodies, K up to " << jump;
  }
}

TEST(BoxDeflation, FindsBodiesThatNothingHolds) {
  const Axis plain = uniform(8), natural = plain.with_boundaries(BoundaryType::neumann, BoundaryType::dirichlet),
             round = plain.with_boundaries(BoundaryType::periodic, BoundaryType::periodic);
  const auto count = [](const TensorMesh<3>& mesh, const std::vector<std::array<int, 3>>& cells) {
    std::vector<double> k(512, 1.0);
    for (const auto& [x, y, z] : cells) k[static_cast<std::size_t>((z * 8 + y) * 8 + x)] = 1e4;
    return IsolatedBodies(mesh, k).count;
  };
  const TensorMesh<3> held{plain, plain, plain};
  EXPECT_EQ(count(held, {{2, 2, 2}, {4, 4, 4}}), 2);
  EXPECT_EQ(count(held, {{2, 2, 2}, {3, 3, 3}}), 1);  // they share a node
  EXPECT_EQ(count(held, {{2, 2, 2}, {0, 4, 4}, {4, 7, 4}}), 1);
  EXPECT_EQ(count({natural, plain, plain}, {{0, 4, 4}, {7, 2, 4}}), 1);
  EXPECT_EQ(count({round, plain, plain}, {{0, 4, 4}, {7, 4, 4}, {3, 4, 4}}), 2);
}

TEST(BoxDeflation, TakesRowsOnSurfacesAlone) {
  const Axis plain = uniform(8);
  std::vector<double> k(512, 1.0);
  for (int z = 2; z < 6; ++z)
    for (int y = 2; y < 6; ++y)
      for (int x = 2; x < 6; ++x) k[static_cast<std::size_t>((z * 8 + y) * 8 + x)] = 1e4;
  const IsolatedBodies bodies({plain, plain, plain}, k);
  EXPECT_EQ(bodies.jump, 1e4);
  // Nodes 2 .. 6 in each direction, unknowns 1 .. 5 of 7; inside 2 .. 4.
  const auto at = [](int x, int y, int z) { return static_cast<std::size_t>((z * 7 + y) * 7 + x); };
  EXPECT_EQ(std::count(bodies.of_unknown.begin(), bodies.of_unknown.end(), 0), 125);
  EXPECT_EQ(bodies.of_unknown[at(1, 5, 3)], 0);
  EXPECT_EQ(bodies.of_unknown[at(0, 5, 3)], -1);
  EXPECT_EQ(bodies.surface_unknowns, 343U - 27U);
  EXPECT_EQ(bodies.on_surface[at(3, 3, 3)], 0);
}

TEST(BoxDeflation, IsInTheMemoryThatIsExpected) {
  const Context ctx(Backend::cpu, 1);
  const TensorMesh<3> mesh{uniform(24), uniform(24), uniform(24)};
  PoissonSolver3DParams params;
  params.method = BoxMethod::multigrid;
  const auto memory = [&](double k) { return required_memory(ctx, mesh, balls(k), params); };
  EXPECT_GT(memory(1e6), memory(100) + 23 * 23 * 23 * 64);
}

}  // namespace
