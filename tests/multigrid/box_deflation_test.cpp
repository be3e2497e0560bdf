// Isolated bodies of high K in a box: deflated where that is worth it, and what is left alone.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include <stratum/multigrid/box_deflation.hpp>
#include <stratum/multigrid/box_plan.hpp>
#include <stratum/multigrid/poisson_solver_3d.hpp>

#include "support/backends.hpp"
#include "support/random.hpp"

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

TEST(BoxDeflation, FindsBodiesOfRandomCells) {
  test::Random random(7);
  const auto below = [&random](int n) { return std::min(static_cast<int>(random.uniform(0, n)), n - 1); };
  for (int round = 0; round < 300; ++round) {
    const std::array<int, 3> n{1 + below(7), 1 + below(5), 2 + below(5)};
    std::array<bool, 3> around{};
    std::vector<Axis> axes;
    for (std::size_t d = 0; d < 3; ++d) {
      const int kind = below(3);
      around[d] = kind == 0 && n[d] > 2;
      const auto end = around[d] ? BoundaryType::periodic : kind == 1 ? BoundaryType::dirichlet : BoundaryType::neumann;
      axes.push_back(uniform(n[d]).with_boundaries(end, end));
    }
    std::vector<double> k(static_cast<std::size_t>(n[0] * n[1] * n[2]));
    for (double& value : k) value = below(4) == 0 ? 1e4 : 1;
    // A body is what the smallest number of its cells reaches.
    std::vector<int> body(k.size(), -1);
    for (std::size_t c = 0; c < k.size(); ++c) body[c] = k[c] > 1 ? static_cast<int>(c) : -1;
    std::vector<char> held(k.size(), 0);
    for (bool changed = true; changed;) {
      changed = false;
      for (int c = 0; c < static_cast<int>(k.size()); ++c) {
        int& own = body[static_cast<std::size_t>(c)];
        if (own < 0) continue;
        for (int o = 0; o < 27; ++o) {
          std::array<int, 3> to{c % n[0] + o % 3 - 1, c / n[0] % n[1] + o / 3 % 3 - 1, c / n[0] / n[1] + o / 9 - 1};
          bool inside = true;
          for (std::size_t d = 0; d < 3; ++d) {
            if (around[d]) to[d] = (to[d] + n[d]) % n[d];
            if (to[d] >= 0 && to[d] < n[d]) continue;
            inside = false;
            if (axes[d].first_boundary() == BoundaryType::dirichlet) held[static_cast<std::size_t>(c)] = 1;
          }
          const auto other = static_cast<std::size_t>((to[2] * n[1] + to[1]) * n[0] + to[0]);
          if (!inside || body[other] < 0 || body[other] >= own) continue;
          own = body[other];
          changed = true;
        }
      }
    }
    std::set<int> all, of_held;
    for (std::size_t c = 0; c < k.size(); ++c)
      if (body[c] >= 0) {
        all.insert(body[c]);
        if (held[c] != 0) of_held.insert(body[c]);
      }
    const bool is_flat = *std::min_element(k.begin(), k.end()) == *std::max_element(k.begin(), k.end());
    const IsolatedBodies found({axes[0], axes[1], axes[2]}, k);
    EXPECT_EQ(found.count, is_flat ? 0 : static_cast<int>(all.size() - of_held.size())) << "round " << round;
  }
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
