#include <stratum/multigrid/plane_multigrid.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <stratum/mesh/graded.hpp>
#include <stratum/multigrid/box_plan.hpp>
#include <stratum/multigrid/poisson_solver_3d.hpp>

namespace {

using namespace stratum;
using Values = std::vector<double>;

Values solution(const TensorMesh<3>& mesh, const PoissonProblem3D& problem, BoxMethod method, int threads) {
  Context ctx(Backend::cpu, threads);
  const std::int64_t needed = required_memory(ctx, mesh, problem, {.method = method});
  PoissonSolver3D solver(ctx, mesh, problem, {.method = method});
  EXPECT_EQ(solver.plan().kind, method);
  const SolveReport report = solver.solve();
  EXPECT_TRUE(report.status == Status::converged || report.status == Status::round_off_limit) << report.reason;
  EXPECT_LE(report.iterations, 3);
  EXPECT_LE(ctx.memory()->peak_bytes, needed);
  return solver.nodal_solution();
}

void expect_same(const TensorMesh<3>& mesh, const PoissonProblem3D& problem, int threads = 1) {
  const Values direct = solution(mesh, problem, BoxMethod::direct, threads),
               planes = solution(mesh, problem, BoxMethod::planes, threads);
  double largest = 0, most = 0;
  for (std::size_t p = 0; p < direct.size(); ++p) {
    largest = std::max(largest, std::abs(direct[p]));
    most = std::max(most, std::abs(direct[p] - planes[p]));
  }
  EXPECT_LE(most, 1e-9 * largest) << mesh.name();
}

TEST(PlaneMultigrid, SolvesAsFastDiagonalizationDoes) {
  const Axis thin = geometric_with_smallest(1, 33, 1e-6, GradedSide::first),
             layers = geometric_with_smallest(2, 40, 1e-5, GradedSide::both), few = uniform(0.3, 6);
  PoissonProblem3D problem;
  problem.rhs = [](const Point3D& p) { return std::exp(p.x) * (p.y - 0.3) + p.z; };
  expect_same({thin, layers, few}, problem);
  // A mode of constants.
  problem.boundaries[BoxFace::front].kind = problem.boundaries[BoxFace::back].kind = BoundaryConditionType::neumann;
  expect_same({thin, layers, few}, problem);
  problem.boundaries[BoxFace::front].kind = problem.boundaries[BoxFace::back].kind = BoundaryConditionType::dirichlet;
  // Modes of x, and of y; values, a natural and a Robin face, a period, a reaction.
  problem.boundary = [](const Point3D& p) { return p.x * p.y - p.z; };
  problem.boundaries[BoxFace::top].kind = BoundaryConditionType::neumann;
  problem.boundaries[BoxFace::right] = {.kind = BoundaryConditionType::robin,
                                        .value = [](const Point3D&) { return 1.0; },
                                        .alpha = [](const Point3D&) { return 3.0; }};
  expect_same({few, layers, thin}, problem, 2);
  problem.boundaries[BoxFace::right] = {.kind = BoundaryConditionType::dirichlet};
  problem.boundaries[BoxFace::front].kind = problem.boundaries[BoxFace::back].kind = BoundaryConditionType::periodic;
  problem.boundaries[BoxFace::bottom].kind = BoundaryConditionType::neumann;
  problem.reaction = 2;
  expect_same({layers, few, uniform(1, 32)}, problem);
}

TEST(PlaneMultigrid, RefusesWhatItIsNotFor) {
  Context ctx(Backend::cpu, 1);
  const auto refused = [&](const PoissonProblem3D& problem) {
    try {
      const PoissonSolver3D solver(ctx, {uniform(1, 8), uniform(1, 8), uniform(1, 4)}, problem,
                                   {.method = BoxMethod::planes});
      ADD_FAILURE() << "it solves by " << solver.plan().method;
    } catch (const UsageError& error) {
      EXPECT_NE(std::string(error.what()).find("planes are for K = 1"), std::string::npos) << error.what();
    }
  };
  PoissonProblem3D problem;
  problem.diffusion.xx = [](const Point3D& p) { return 1 + p.x; };
  refused(problem);
  PoissonProblem3D natural;
  for (const BoxFace face : all_box_faces) natural.boundaries[face].kind = BoundaryConditionType::neumann;
  refused(natural);
}

TEST(PlaneMultigrid, IsTakenWhereMatricesCostMore) {
  const Context ctx(Backend::cpu, 1);
  const auto plan_of = [&](int n, bool natural) {
    const Axis axis = geometric_with_smallest(1, n, 1e-5, GradedSide::first);
    PoissonProblem3D problem;
    if (natural)
      problem.boundaries[BoxFace::front].kind = problem.boundaries[BoxFace::back].kind = BoundaryConditionType::neumann;
    const TensorMesh<3> mesh = with_boundaries({axis, axis, uniform(1, 12)}, problem.boundaries);
    return select_box_method(ctx, mesh, problem, find_material(ctx, mesh, problem), BoxMethod::automatic);
  };
  EXPECT_EQ(plan_of(1500, false).kind, BoxMethod::direct);
  const BoxSolverPlan planes = plan_of(2200, false);
  EXPECT_EQ(planes.kind, BoxMethod::planes);
  EXPECT_EQ(planes.lines, 2);
  EXPECT_NE(planes.reason.find("multigrid in planes"), std::string::npos) << planes.reason;
  EXPECT_EQ(plan_of(2200, true).kind, BoxMethod::planes);
}

}  // namespace
