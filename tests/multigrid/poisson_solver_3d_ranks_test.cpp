// The direct solver in a box that several ranks share, threads of this process: answers are those of one rank.
#include <stratum/multigrid/poisson_solver_3d.hpp>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stratum/core/field/blas_3d.hpp>
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

TEST(PoissonSolver3DRanks, EveryBoundaryKindAndDirectionAsOnOne) {
  const std::vector<std::array<Kind, 6>> mixtures{
      {D, D, D, D, D, D}, {N, D, D, D, D, D}, {D, N, N, D, D, N}, {N, N, N, N, N, D}, {R, D, D, D, D, R},
      {R, R, R, R, R, R}, {N, R, D, N, R, D}, {P, P, D, D, D, D}, {D, D, P, P, N, D}, {D, D, D, D, P, P},
      {P, P, P, P, D, N}, {P, P, N, R, P, P}, {R, N, P, P, P, P}, {D, N, P, P, R, R}, {N, N, D, D, P, P}};
  for (const Backend backend : test::available_backends())
    for (std::size_t m = 0; m < mixtures.size(); ++m)
      for (const auto& [nx, ny, nz] : {std::array{5, 4, 17}, {4, 13, 5}, {19, 5, 4}}) {
        Random random(17 + static_cast<unsigned>(m));
        const TensorMesh<3> mesh = random_mesh(random, nx, ny, nz);
        const PoissonProblem3D problem = problem_of(mixtures[m], m % 2 == 1 ? 2.5 : 0);
        const Answer one = answer_on(backend, 1, mesh, problem);
        for (const int ranks : {2, 3, 5}) {
          SCOPED_TRACE(testing::Message() << "mixture " << m << ", " << nx << " x " << ny << " x " << nz << " cells, "
                                          << ranks << " ranks");
          expect_alike(answer_on(backend, ranks, mesh, problem), one);
        }
      }
}

TEST(PoissonSolver3DRanks, AgreesWithADenseAssembly) {
  Random random(3);
  const TensorMesh<3> mesh = random_mesh(random, 3, 4, 9);
  for (const Backend backend : test::available_backends())
    for (const auto& kinds : {std::array{D, N, R, D, N, D}, {N, D, D, R, P, P}, {P, P, D, D, R, R}}) {
      const PoissonProblem3D problem = problem_of(kinds, 0.5);
      const Answer answer = answer_on(backend, 3, mesh, problem);
      EXPECT_EQ(answer.report.status, Status::converged) << answer.report.reason;
      EXPECT_LT(test::relative_difference(answer.nodal, test::DenseBox(mesh, problem).solve()), 1e-10);
    }
}

TEST(PoissonSolver3DRanks, SingularProblemsAsOnOne) {
  Random random(5);
  for (const Backend backend : test::available_backends())
    for (const auto& kinds :
         {std::array{N, N, N, N, N, N}, {P, P, N, N, N, N}, {N, N, P, P, P, P}, {P, P, P, P, P, P}}) {
      const TensorMesh<3> mesh = random_mesh(random, 4, 5, 11);
      const PoissonProblem3D problem = problem_of(kinds);
      const Answer one = answer_on(backend, 1, mesh, problem, {.project = true});
      EXPECT_FALSE(one.compatibility->holds());
      for (const int ranks : {2, 3, 5}) {
        const Answer answer = answer_on(backend, ranks, mesh, problem, {.project = true});
        expect_alike(answer, one);
        EXPECT_NEAR(answer.fluxes.sum(), answer.fluxes.load, 1e-9 * (1 + std::abs(answer.fluxes.load)));
      }
      const auto refused = test::on_subdomains(backend, 2, [&](Context& ctx) {
        PoissonSolver3D(ctx, mesh, problem);
        return Values{};
      });
      for (const std::string& error : refused.errors) EXPECT_THAT(error, testing::HasSubstr("incompatible data"));
    }
}

TEST(PoissonSolver3DRanks, OnePlaneAndTwoOfEachRank) {
  Random random(6);
  for (const Backend backend : test::available_backends())
    for (const auto& [cells, ranks, end] : {std::tuple{6, 5, D},
                                            {11, 5, D},
                                            {3, 2, D},
                                            {5, 5, P},
                                            {3, 3, P},
                                            {4, 2, P},
                                            {3, 3, N},
                                            {5, 3, N},
                                            {6, 5, N}}) {
      SCOPED_TRACE(testing::Message() << cells << " cells, " << ranks << " ranks");
      const TensorMesh<3> mesh = random_mesh(random, 3, 3, cells);
      const std::array<Kind, 6> kinds{D, N, D, D, end, end};
      // Lines along the last direction, or there are not planes enough.
      const PoissonProblem3D problem = problem_of(kinds, 1);
      expect_alike(answer_on(backend, ranks, mesh, problem), answer_on(backend, 1, mesh, problem));
    }
}

TEST(PoissonSolver3DRanks, CutsAnotherDirectionWhereTheCheapestHasTooFewPlanes) {
  Random random(7);
  // Periodic lines cost twice: one rank takes z, which has 6 planes.
  const TensorMesh<3> mesh = random_mesh(random, 8, 5, 7);
  const PoissonProblem3D problem = problem_of({P, P, D, D, D, D});
  Context one(Backend::cpu, 1);
  EXPECT_EQ(PoissonSolver3D(one, mesh, problem).plan().lines, 2);
  (void)test::on_subdomains(Backend::cpu, 7, [&](Context& ctx) {
    const PoissonSolver3D solver(ctx, mesh, problem);
    EXPECT_EQ(solver.plan().lines, 0);
    EXPECT_EQ(solver.nodes().axis, 0);
    return Values{};
  });
  expect_alike(answer_on(Backend::cpu, 7, mesh, problem), answer_on(Backend::cpu, 1, mesh, problem));
}

TEST(PoissonSolver3DRanks, TooManyRanksAreRefusedOnAll) {
  const TensorMesh<3> mesh(uniform(1, 4), uniform(1, 4), uniform(1, 5));
  const auto result = test::on_subdomains(Backend::cpu, 5, [&](Context& ctx) {
    PoissonSolver3D(ctx, mesh, PoissonProblem3D{});
    return Values{};
  });
  for (const std::string& error : result.errors) EXPECT_THAT(error, testing::HasSubstr("5 ranks need as many planes"));
}

/// Cells as thin as 1e-12 of the box at both ends, at the first, or at the last.
TensorMesh<3> layered(int nx, int ny, int nz) {
  return {geometric_with_smallest(1, nx, 1e-12, GradedSide::both),
          geometric_with_smallest(1, ny, 1e-12, GradedSide::first),
          geometric_with_smallest(1, nz, 1e-12, GradedSide::last)};
}

TEST(PoissonSolver3DRanks, LayersOf1e12AsAccurateAsOnOne) {
  for (const Backend backend : test::available_backends())
    for (const auto& [nx, ny, nz] : {std::array{23, 19, 61}, {59, 17, 23}}) {
      const TensorMesh<3> mesh = layered(nx, ny, nz);
      const PoissonProblem3D problem{};  // with a known solution
      const Answer one = answer_on(backend, 1, mesh, problem);
      for (const int ranks : {2, 3, 5}) {
        SCOPED_TRACE(testing::Message() << ranks << " ranks");
        const Answer answer = answer_on(backend, ranks, mesh, problem);
        expect_alike(answer, one);
        EXPECT_EQ(answer.report.iterations, 1);
        EXPECT_LT(answer.report.residual / answer.report.initial_residual, 1e-11);
        EXPECT_LT(answer.report.residual, 4 * one.report.residual);
        // Every number, not the largest alone: in the layers u is as small as they are.
        for (std::size_t n = 0; n < one.nodal.size(); ++n)
          ASSERT_NEAR(answer.nodal[n], one.nodal[n], 1e-10 * std::abs(one.nodal[n])) << n;
      }
    }
}

TEST(PoissonSolver3DRanks, SeparableCoefficientsAsOnOne) {
  Random random(8);
  for (const Backend backend : test::available_backends())
    for (const auto& [nx, ny, nz] : {std::array{3, 4, 11}, {4, 12, 3}, {13, 4, 5}}) {
      const TensorMesh<3> mesh = random_mesh(random, nx, ny, nz);
      PoissonProblem3D problem = problem_of({D, N, R, D, D, N}, 1.5);
      problem.diffusion = {[](const Point3D& p) { return 1 + p.x * p.x; },
                           [](const Point3D& p) { return std::exp(-p.y); },
                           [](const Point3D& p) { return 2 + std::sin(p.z); }};
      expect_alike(answer_on(backend, 3, mesh, problem), answer_on(backend, 1, mesh, problem));
      PoissonProblem3D product = problem_of({D, N, N, D, P, P});
      product.diffusion.xx = [](const Point3D& p) { return (1 + p.x) * (2 + p.y) * (3 - p.z / 9); };
      expect_alike(answer_on(backend, 3, mesh, product), answer_on(backend, 1, mesh, product));
    }
}

TEST(PoissonSolver3DRanks, ARankThatFindsAFaultSaysSo) {
  const TensorMesh<3> mesh(uniform(1, 5), uniform(1, 4), uniform(1, 9));
  const auto errors_of = [&](const PoissonProblem3D& problem) {
    const auto result = test::on_subdomains(Backend::cpu, 3, [&](Context& ctx) {
      PoissonSolver3D(ctx, mesh, problem);
      return Values{};
    });
    return result.errors;
  };
  PoissonProblem3D problem{.rhs = wave};
  problem.diffusion.xx = [](const Point3D& p) { return p.z > 0.9 && p.y > 0.5 && p.x > 0.5 ? -2.0 : 1.0; };
  EXPECT_THAT(errors_of(problem), testing::Contains(testing::HasSubstr("kxx is -2 at")));
  problem = {.rhs = [](const Point3D& p) { return p.z < 0.2 ? std::nan("") : 1.0; }};
  EXPECT_THAT(errors_of(problem), testing::Contains(testing::HasSubstr("right-hand side is nan")));
}

TEST(PoissonSolver3DRanks, OtherRightHandSidesAsOnOne) {
  Random random(9);
  for (const Backend backend : test::available_backends())
    for (const auto& [nx, ny, nz] : {std::array{4, 5, 11}, {11, 4, 5}}) {
      const TensorMesh<3> mesh = random_mesh(random, nx, ny, nz);
      const PoissonProblem3D problem = problem_of({D, N, P, P, R, D}, 0.5);
      const Values f = random.values(count_of(mesh, 0) * count_of(mesh, 1) * count_of(mesh, 2), -1, 1);
      const auto nodal = [&](PoissonSolver3D& solver) {
        Values own;
        for (const std::size_t n : own_nodes(mesh, solver.nodes())) own.push_back(f[n]);
        solver.set_nodal_rhs(own);
      };
      const auto function = [](PoissonSolver3D& solver) {
        (void)solver.solve();  // of another one, before
        solver.set_rhs([](const Point3D& p) { return p.x - p.y * p.z; });
      };
      const auto load = [](PoissonSolver3D& solver) { solver.set_load(Values(solver.nodal_solution().size(), 0)); };
      for (const int ranks : {2, 4}) {
        expect_alike(answer_on(backend, ranks, mesh, problem, {}, nodal),
                     answer_on(backend, 1, mesh, problem, {}, nodal));
        expect_alike(answer_on(backend, ranks, mesh, problem, {}, function),
                     answer_on(backend, 1, mesh, problem, {}, function));
        expect_alike(answer_on(backend, ranks, mesh, problem, {}, load),
                     answer_on(backend, 1, mesh, problem, {}, load));
      }
    }
}

TEST(PoissonSolver3DRanks, RightHandSidesInTheContextsMemory) {
  Random random(10);
  const PoissonProblem3D problem = problem_of({N, N, N, N, P, P});
  for (const Backend backend : test::available_backends())
    for (const auto& [nx, ny, nz] : {std::array{4, 5, 11}, {11, 5, 4}}) {
      const TensorMesh<3> mesh = random_mesh(random, nx, ny, nz);
      const auto nodes = static_cast<std::size_t>(with_boundaries(mesh, problem.boundaries).unknowns().nodes());
      const Values rhs = random.values(nodes, -1, 1);
      const auto solved = [&](int ranks) {
        Values solution(nodes);
        const auto result = test::on_subdomains(backend, ranks, [&](Context& ctx) {
          PoissonSolver3D solver(ctx, mesh, problem, {.project = true});
          const GridLayout<3> own = solver.unknowns(), whole = solver.mesh().unknowns();
          const auto at = [&](int i, int j, int k) {
            const auto from = [&](std::size_t d) { return own.first[d] - whole.first[d]; };
            return static_cast<std::size_t>(
                (std::int64_t{k + from(2)} * whole.extents.ny + j + from(1)) * whole.extents.nx + i + from(0));
          };
          Values mine;
          for (int k = 0; k < own.extents.nz; ++k)
            for (int j = 0; j < own.extents.ny; ++j)
              for (int i = 0; i < own.extents.nx; ++i) mine.push_back(rhs[at(i, j, k)]);
          Field<double, 3> b(ctx, own.with_ghosts(0)), x(ctx, own.with_ghosts(1));
          copy_from_host(ctx, mine.data(), b.view());
          EXPECT_EQ(solver.solve(b.cview(), x.view()).status, Status::converged);
          copy_to_host(ctx, x.cview(), mine.data());
          std::size_t next = 0;
          for (int k = 0; k < own.extents.nz; ++k)
            for (int j = 0; j < own.extents.ny; ++j)
              for (int i = 0; i < own.extents.nx; ++i) solution[at(i, j, k)] = mine[next++];
          EXPECT_THROW((void)solver.fluxes(), UsageError);
          return Values{};
        });
        EXPECT_FALSE(result.failed()) << testing::PrintToString(result.errors);
        return solution;
      };
      const Values one = solved(1);
      for (const int ranks : {2, 3, 5}) EXPECT_LT(test::relative_difference(solved(ranks), one), 1e-11) << ranks;
    }
}

TEST(PoissonSolver3DRanks, MemoryOfARankIsItsShare) {
  const TensorMesh<3> mesh(uniform(1, 32), uniform(1, 32), uniform(1, 256));
  for (const Backend backend : test::available_backends()) {
    Context alone(backend, 1);
    const std::int64_t one = required_memory(alone, mesh, PoissonProblem3D{});
    (void)test::on_subdomains(backend, 4, [&](Context& ctx) {
      const std::int64_t own = required_memory(ctx, mesh, PoissonProblem3D{});
      EXPECT_LT(own, one * 2 / 5);
      PoissonSolver3D solver(ctx, mesh, PoissonProblem3D{});
      EXPECT_EQ(solver.solve().iterations, 1);
      if (backend == Backend::cpu) {
        EXPECT_LE(ctx.memory()->peak_bytes, own);
      }
      const std::int64_t allocations = ctx.memory()->allocations, gathers = ctx.communicator()->gathers(),
                         exchanges = ctx.communicator()->exchanges();
      (void)solver.solve();
      EXPECT_EQ(ctx.memory()->allocations, allocations);
      // The ends of lines are gathered once, and the norm of the residual; planes go to the neighbours before it.
      EXPECT_EQ(ctx.communicator()->gathers() - gathers, 2);
      EXPECT_EQ(ctx.communicator()->exchanges() - exchanges, 1);
      return Values{};
    });
  }
}

}  // namespace
