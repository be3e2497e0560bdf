// Multigrid in a box that several ranks share, threads of this process: iterations and answers are those of one rank.
#include <stratum/multigrid/poisson_solver_3d.hpp>

#include <cmath>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stratum/mesh/graded.hpp>

#include "support/backends.hpp"
#include "support/box_ranks.hpp"
#include "support/dense_box.hpp"
#include "support/random.hpp"
#include "support/subdomains.hpp"

namespace {

using namespace stratum;
using namespace test::box_ranks;
using test::Random;
using test::Values;

const StoppingParams to_rounding{.rtol = 1e-11, .max_iterations = 100};
const PoissonSolver3DParams multigrid{.stop = to_rounding, .project = true, .method = BoxMethod::multigrid};

double jump(const Point3D& p) { return p.x + p.y > 1 && p.z > 0.4 ? 200.0 : 1.0; }

TEST(PoissonSolver3DMultigridRanks, EveryKindOfBoundaryAsOnOne) {
  const std::vector<std::array<Kind, 6>> mixtures{{D, D, D, D, D, D}, {D, N, N, D, N, D}, {R, D, N, R, D, R},
                                                  {P, P, D, N, P, P}, {N, N, N, N, N, N}, {P, P, N, N, P, P}};
  const TensorMesh<3> mesh(uniform(1, 14), uniform(1, 12), uniform(1, 34));
  for (const Backend backend : test::available_backends())
    for (std::size_t m = 0; m < mixtures.size(); ++m) {
      PoissonProblem3D problem = problem_of(mixtures[m], m % 2 == 1 ? 2.5 : 0);
      problem.diffusion.xx = jump;
      const Answer one = answer_on(backend, 1, mesh, problem, multigrid);
      EXPECT_EQ(one.report.status, Status::converged) << one.report.reason;
      const int ranks = m % 2 == 0 ? 3 : 2;
      SCOPED_TRACE(testing::Message() << "mixture " << m << ", " << ranks << " ranks");
      expect_alike(answer_on(backend, ranks, mesh, problem, multigrid), one, 1e-9);
    }
}

TEST(PoissonSolver3DMultigridRanks, GradedMeshesAnisotropicKAndFloatCyclesAsOnOne) {
  const TensorMesh<3> mesh(uniform(1, 12), geometric_with_smallest(1, 12, 1e-3, GradedSide::first),
                           geometric_with_smallest(1, 36, 1e-4, GradedSide::both));
  PoissonProblem3D problem = problem_of({D, D, N, D, D, N});
  problem.diffusion = {jump, [](const Point3D& p) { return 10 * jump(p); },
                       [](const Point3D& p) { return 1 + p.x * p.z; }};
  for (const Backend backend : test::available_backends())
    for (const bool in_float : {false, true}) {
      PoissonSolver3DParams params = multigrid;
      params.float_cycles = in_float;
      const Answer one = answer_on(backend, 1, mesh, problem, params),
                   several = answer_on(backend, 3, mesh, problem, params);
      if (!in_float) {
        expect_alike(several, one, 1e-9);
        continue;
      }
      EXPECT_EQ(several.report.status, Status::converged);
      EXPECT_NEAR(several.report.iterations, one.report.iterations, 1);
      EXPECT_LT(test::relative_difference(several.nodal, one.nodal), 1e-8);
    }
}

TEST(PoissonSolver3DMultigridRanks, AgreesWithADenseAssembly) {
  Random random(3);
  const TensorMesh<3> mesh = random_mesh(random, 3, 4, 9);
  for (const auto& kinds : {std::array{D, N, R, D, N, D}, {N, D, D, R, P, P}}) {
    PoissonProblem3D problem = problem_of(kinds, 0.5);
    problem.diffusion.xx = jump;
    const Answer answer = answer_on(Backend::cpu, 3, mesh, problem, multigrid);
    EXPECT_LT(test::relative_difference(answer.nodal, test::DenseBox(mesh, problem).solve()), 1e-9);
  }
}

TEST(PoissonSolver3DMultigridRanks, ChosenWhereKIsNotSeparable) {
  const TensorMesh<3> mesh(uniform(1, 30), uniform(1, 10), uniform(1, 12));  // lines along x would cost less
  PoissonProblem3D problem = problem_of({D, D, D, D, D, D});
  for (const bool is_smooth : {false, true}) {
    problem.diffusion.xx = jump;
    if (is_smooth) problem.diffusion.xx = [](const Point3D& p) { return 1 + 0.1 * p.x * p.y * p.z; };
    (void)test::on_subdomains(Backend::cpu, 2, [&](Context& ctx) {
      PoissonSolver3D solver(ctx, mesh, problem);
      EXPECT_EQ(solver.plan().kind, is_smooth ? BoxMethod::fd_cg : BoxMethod::multigrid);
      EXPECT_EQ(solver.nodes().axis, 2);
      EXPECT_EQ(solver.nodes().first, node_planes(ctx, mesh, problem).first);
      return Values{};
    });
  }
}

// Fast diagonalization scaled by K, with modes that all ranks share.
TEST(PoissonSolver3DMultigridRanks, SmoothKByScaledDiagonalizationAsOnOne) {
  const std::vector<std::array<Kind, 6>> mixtures{{D, D, D, D, D, D}, {D, N, R, D, N, R}, {P, P, D, N, P, P}};
  const TensorMesh<3> mesh(uniform(1, 12), geometric_with_smallest(1, 11, 1e-2, GradedSide::first), uniform(1, 17));
  for (const Backend backend : test::available_backends())
    for (std::size_t m = 0; m < mixtures.size(); ++m) {
      PoissonProblem3D problem = problem_of(mixtures[m], m == 1 ? 2.5 : 0);
      problem.diffusion.xx = [](const Point3D& p) { return std::exp(p.x * p.y + std::sin(6 * p.z)); };
      PoissonSolver3DParams params = multigrid;
      params.method = BoxMethod::fd_cg;
      const Answer one = answer_on(backend, 1, mesh, problem, params);
      EXPECT_EQ(one.report.status, Status::converged) << one.report.reason;
      for (const int ranks : {2, 4}) {
        SCOPED_TRACE(testing::Message() << "mixture " << m << ", " << ranks << " ranks");
        const Answer several = answer_on(backend, ranks, mesh, problem, params);
        // Of a periodic box eigenvalues are double ones, and rounding, of lines along another direction, may take one more.
        if (m < 2) expect_alike(several, one, 1e-9);
        EXPECT_NEAR(several.report.iterations, one.report.iterations, m == 2 ? 1 : 0);
        EXPECT_LT(test::relative_difference(several.nodal, one.nodal), 1e-9);
      }
    }
}

TEST(PoissonSolver3DMultigridRanks, IsolatedBodiesAreDeflatedAsOnOne) {
  const TensorMesh<3> mesh(uniform(1, 20), uniform(1, 20), uniform(1, 24));
  for (const bool around : {false, true}) {
    PoissonProblem3D problem = problem_of({D, D, D, N, around ? P : D, around ? P : D});
    // Some lie across cuts, one around a periodic box.
    problem.diffusion.xx = [around](const Point3D& p) {
      for (const double at : {0.25, 0.5, 0.75})
        for (const double height : {around ? 0.0 : 0.25, 0.5}) {
          const double dx = p.x - at, dy = p.y - (1 - at), dz = p.z - height;
          const double rise = around ? dz - std::round(dz) : dz;
          if (dx * dx + dy * dy + rise * rise < 0.012) return 1e6;
        }
      return 1.0;
    };
    PoissonSolver3DParams params = multigrid;
    params.stop.rtol = 1e-8;
    const Answer one = answer_on(Backend::cpu, 1, mesh, problem, params);
    EXPECT_THAT(one.report.choice, testing::HasSubstr("each of 6 bodies of high K"));
    const Answer several = answer_on(Backend::cpu, around ? 2 : 3, mesh, problem, params);
    EXPECT_EQ(several.report.choice, one.report.choice);
    EXPECT_EQ(several.report.status, Status::converged) << several.report.reason;
    EXPECT_NEAR(several.report.iterations, one.report.iterations, 1);
    EXPECT_LT(test::relative_difference(several.nodal, one.nodal), 1e-7);
  }
}

TEST(PoissonSolver3DMultigridRanks, RefusalsSayWhatToDo) {
  const TensorMesh<3> mesh(uniform(1, 12), uniform(1, 10), uniform(1, 5));
  PoissonProblem3D problem = problem_of({D, D, D, D, D, D});
  problem.diffusion.xx = jump;
  const auto errors_of = [&](int ranks, BoxMethod method) {
    return test::on_subdomains(Backend::cpu, ranks,
                               [&](Context& ctx) {
                                 PoissonSolver3D(ctx, mesh, problem, {.method = method});
                                 return Values{};
                               })
        .errors;
  };
  EXPECT_THAT(errors_of(5, BoxMethod::automatic),
              testing::Each(testing::HasSubstr("Take fewer ranks, or turn the box")));
  EXPECT_THAT(errors_of(5, BoxMethod::fd_cg), testing::Each(testing::HasSubstr("fd-cg gives every rank planes")));
  EXPECT_THAT(errors_of(2, BoxMethod::planes), testing::Each(testing::HasSubstr("and one rank on a CPU")));
}

TEST(PoissonSolver3DMultigridRanks, MemoryOfARankIsWhatWasSaid) {
  const TensorMesh<3> mesh(uniform(1, 20), uniform(1, 20), uniform(1, 64));
  PoissonProblem3D problem = problem_of({D, D, D, D, D, D});
  problem.diffusion.xx = jump;
  Context alone(Backend::cpu, 1);
  const std::int64_t one = required_memory(alone, mesh, problem, multigrid);
  (void)test::on_subdomains(Backend::cpu, 4, [&](Context& ctx) {
    const std::int64_t own = required_memory(ctx, mesh, problem, multigrid);
    EXPECT_LT(own, one / 2);
    PoissonSolver3D solver(ctx, mesh, problem, multigrid);
    (void)solver.solve();
    EXPECT_TRUE(solver.plan().levels[0].distributed);
    EXPECT_FALSE(solver.plan().levels[1].distributed);
    EXPECT_LE(ctx.memory()->peak_bytes, own);
    const std::int64_t allocations = ctx.memory()->allocations;
    (void)solver.solve();
    EXPECT_EQ(ctx.memory()->allocations, allocations);
    return Values{};
  });
}

}  // namespace
