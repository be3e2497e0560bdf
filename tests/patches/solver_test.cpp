#include <stratum/multigrid/patches/patch_poisson_solver.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>

#include <stratum/core/field/blas.hpp>
#include <stratum/core/patches/patch_rows.hpp>
#include <stratum/multigrid/patches/patch_levels.hpp>

#include "patches/meshes.hpp"
#include "support/backends.hpp"

using namespace stratum;
using test::thin_at_origin;
using test::thin_at_wall;
using test::with_cells;

namespace {

std::size_t at(int k) { return static_cast<std::size_t>(k); }

PatchProblem wavy() {
  PatchProblem problem;
  problem.rhs = [](const Point& p) { return 1 + std::sin(7 * p.x + 3 * p.y); };
  return problem;
}

/// Iterations from zero to 1e-8, about 8 x 8 cells a patch on the coarsest level.
int iterations(Backend backend, const PatchMeshParts& parts, const PatchProblem& problem, bool in_float) {
  Context ctx = test::context_on(backend);
  const PatchMesh mesh(parts);
  PatchSolverParams params;
  params.full_multigrid = false;
  params.float_cycles = in_float;
  params.coarsest_unknowns = 64 * mesh.patches() + 100;
  PatchPoissonSolver solver(ctx, mesh, problem, params);
  const SolveReport report = solver.solve();
  EXPECT_EQ(report.status, Status::converged) << report.reason;
  EXPECT_LE(report.relative_residual(), 1e-8);
  return report.iterations;
}

TEST(PatchSolver, TakesAsManyIterationsAsOnOneGrid) {
  struct Case {
    std::string name;
    PatchMeshParts parts;
    int most;
  };
  const std::vector<Case> cases{
      {"L", with_cells(l_shape(), 64), 8},
      {"L corner 1e-6", thin_at_origin(l_shape(), 64), 8},
      {"L corner A3", thin_at_origin(l_shape(), 64, {VertexGrading::Kind::bisected, 0.25}), 8},
      {"hole", with_cells(square_with_hole(), 64), 9},
      {"hole, wall 1e-6", thin_at_wall(square_with_hole(), 64), 15},
      {"cylinder", with_cells(cylinder_in_channel(), 64), 9},
      {"cylinder, radial 1e-6", thin_at_wall(cylinder_in_channel(), 64), 9},
      {"C-grid", with_cells(c_grid(), 64), 9},
      {"C-grid, wall 1e-3", thin_at_wall(c_grid(), 64, 1e-3), 10},
      {"C-grid, wall 1e-6", thin_at_wall(c_grid(), 64), 15},
      {"pipe section", with_cells(pipe_section(), 64), 9},
      {"pipe section, wall 1e-6", thin_at_wall(pipe_section(), 64), 9},
      {"star 3, centre 1e-6", thin_at_origin(star(3), 64), 9},
      {"star 5", with_cells(star(5), 64), 9},
      {"star 5, centre 1e-6", thin_at_origin(star(5), 64), 9},
      {"star 6, centre 1e-6", thin_at_origin(star(6), 64), 9},
      {"24 patches in triangles", with_cells(triangle_patches(2), 32), 9},
      {"ring of 8, wall 1e-6", thin_at_wall(patch_ring(8), 32), 8},
      {"16 patches", with_cells(patch_grid(4, 4), 32), 8}};
  for (const Backend backend : test::available_backends())
    for (const auto& c : cases) {
      SCOPED_TRACE(c.name + " on " + test::backend_name(backend));
      EXPECT_LE(iterations(backend, c.parts, wavy(), true), c.most);
    }
}

TEST(PatchSolver, TakesTheSameIterationsWhereverPatchesTurn) {
  for (const auto& parts :
       {thin_at_origin(star(5), 32), thin_at_wall(cylinder_in_channel(), 32), thin_at_wall(c_grid(), 32)}) {
    const int straight = iterations(Backend::cpu, parts, wavy(), false);
    for (const std::uint64_t seed : {1U, 2U})
      EXPECT_EQ(iterations(Backend::cpu, turned_at_random(parts, seed), wavy(), false), straight);
  }
}

TEST(PatchSolver, TakesAnyNumbersOfCells) {
  for (const int cells : {1, 2, 3, 7, 12, 25, 50}) {
    SCOPED_TRACE(cells);
    EXPECT_LE(iterations(Backend::cpu, with_cells(star(5), cells), wavy(), true), 9);
    EXPECT_LE(iterations(Backend::cpu, with_cells(patch_grid(2, 3), cells), wavy(), true), 9);
  }
  // Down to patches of one cell.
  Context ctx = test::context_on(Backend::cpu);
  PatchSolverParams params;
  params.full_multigrid = false;
  params.coarsest_unknowns = 1;
  for (const int cells : {13, 16}) {
    PatchPoissonSolver solver(ctx, PatchMesh(with_cells(triangle_patches(2), cells)), wavy(), params);
    const SolveReport report = solver.solve();
    EXPECT_EQ(report.status, Status::converged);
    EXPECT_LE(report.iterations, 11);
  }
}

TEST(PatchSolver, TakesJumpsOfK) {
  for (const double jump : {1e3, 1e6}) {
    PatchProblem problem = wavy();
    std::mt19937 random(1);
    for (int p = 0; p < 16; ++p) problem.diffusion_of_patches.push_back((p % 4 + p / 4) % 2 == 0 ? 1 : jump);
    EXPECT_LE(iterations(Backend::cpu, with_cells(patch_grid(4, 4), 32), problem, true), 12);
    problem.diffusion_of_patches = {1, jump, 1, jump, jump};
    EXPECT_LE(iterations(Backend::cpu, thin_at_origin(star(5), 32), problem, true), 11);
  }
}

/// u of the study of orders, and f = -div grad u.
double smooth(const Point& p) { return std::sin(p.x + 2 * p.y) * std::exp(p.x / 2); }
double minus_laplace(const Point& p) {
  return (4.75 * std::sin(p.x + 2 * p.y) - std::cos(p.x + 2 * p.y)) * std::exp(p.x / 2);
}

TEST(PatchSolver, IsOfSecondOrder) {
  PatchProblem problem;
  problem.rhs = minus_laplace;
  problem.exact = smooth;
  for (const Backend backend : test::available_backends()) {
    Context ctx = test::context_on(backend);
    for (const auto& parts : {star(5), cylinder_in_channel(), pipe_section(), triangle_patches(2)}) {
      double before = 0;
      for (const int cells : {8, 16}) {
        PatchPoissonSolver solver(ctx, PatchMesh(with_cells(parts, cells)), problem);
        const SolveReport report = solver.solve();
        ASSERT_EQ(report.status, Status::converged) << report.reason;
        const double error = solver.relative_errors()->l2;
        if (before > 0) {
          EXPECT_NEAR(std::log2(before / error), 2, 0.05);
        }
        before = error;
      }
    }
  }
}

/// What a pass of full multigrid leaves of the discretisation error, in the energy norm. With u = 0 on the boundary the energy
/// of u - u_h is the difference of both energies, and that of u_h is (b, u_h).
TEST(PatchSolver, NeedsOnePassOfFullMultigrid) {
  const double pi = std::acos(-1.0);
  PatchProblem problem;
  problem.rhs = [=](const Point& p) { return 5 * pi * pi * std::sin(pi * p.x) * std::sin(2 * pi * p.y); };
  for (const Backend backend : test::available_backends()) {
    Context ctx = test::context_on(backend);
    const PatchMesh mesh(with_cells(triangle_patches(2), 32));
    PatchSolverParams params;
    params.coarsest_unknowns = 400;
    params.stop.rtol = 1e-10;
    PatchPoissonSolver solver(ctx, mesh, problem, params);
    const PatchSystem system = assemble(ctx, mesh, problem);
    const PatchRows rows(ctx, system.layout);
    const PatchOperator<double> a(ctx, system.rows, nodes_of_edges(system.layout, system.fixed_edges));
    const Partial<double> b{vector_from_host(ctx, system.load)};
    const auto solution = [&] {
      std::vector<double> numbers(at(system.layout.size()), 0.0);
      for (int p = 0; p < mesh.patches(); ++p) {
        const auto u = solver.nodal_solution(p);
        const auto& patch = system.layout.patch(p);
        for (int j = 0; j <= patch.ny; ++j)
          for (int i = 0; i <= patch.nx; ++i) numbers[at(patch.node(i, j))] = u[at(j * (patch.nx + 1) + i)];
      }
      return Consistent<double>{vector_from_host(ctx, numbers)};
    };
    ASSERT_EQ(solver.solve().status, Status::converged);
    auto u = solution();
    const double discretisation = 5 * pi * pi / 4 - dot(ctx, b.numbers.cview(), u.numbers.cview());
    EXPECT_GT(discretisation, 0);
    (void)solver.full_multigrid_pass();
    auto difference = solution();
    axpy(ctx, -1, u.numbers.cview(), difference.numbers.view());
    auto product_of = partial<double>(ctx, system.layout);
    product(ctx, rows, a, difference, product_of);
    const double left = dot(ctx, difference.numbers.cview(), product_of.numbers.cview());
    EXPECT_LE(std::sqrt(left / discretisation), 0.05);
  }
}

TEST(PatchSolver, TakesNeumannAndRobinBoundaries) {
  Context ctx = test::context_on(Backend::cpu);
  // n.K grad u on the sides of the unit square, K = 2, u = smooth, c = 3.
  const auto ux = [](const Point& p) {
    return (std::cos(p.x + 2 * p.y) + 0.5 * std::sin(p.x + 2 * p.y)) * std::exp(p.x / 2);
  };
  const auto uy = [](const Point& p) { return 2 * std::cos(p.x + 2 * p.y) * std::exp(p.x / 2); };
  PatchProblem problem;
  problem.exact = smooth;
  problem.diffusion_of_patches.assign(6, 2.0);
  problem.reaction = 1;
  problem.reaction_of_cells = [](const Point&) { return 2.0; };
  problem.rhs = [](const Point& p) { return 2 * minus_laplace(p) + 3 * smooth(p); };
  problem.boundaries["left"] = {BoundaryConditionType::neumann, [=](const Point& p) { return -2 * ux(p); }};
  problem.boundaries["right"] = {BoundaryConditionType::robin,
                                 [=](const Point& p) { return 2 * ux(p) + (1 + p.y) * smooth(p); },
                                 [](const Point& p) { return 1 + p.y; }};
  problem.boundaries["top"] = {BoundaryConditionType::neumann, [=](const Point& p) { return 2 * uy(p); }};
  double before = 0;
  for (const int cells : {8, 16}) {
    PatchPoissonSolver solver(ctx, PatchMesh(turned_at_random(with_cells(patch_grid(3, 2), cells), 5)), problem);
    ASSERT_EQ(solver.solve().status, Status::converged);
    const double error = solver.relative_errors()->l2;
    if (before > 0) {
      EXPECT_NEAR(std::log2(before / error), 2, 0.06);
    }
    before = error;
  }
}

TEST(PatchSolver, TakesSingularProblems) {
  for (const Backend backend : test::available_backends()) {
    Context ctx = test::context_on(backend);
    PatchProblem problem;
    const double pi = std::acos(-1.0);
    problem.exact = [=](const Point& p) { return std::cos(pi * p.x) * std::cos(2 * pi * p.y); };
    problem.rhs = [=](const Point& p) { return 5 * pi * pi * std::cos(pi * p.x) * std::cos(2 * pi * p.y); };
    for (const auto* name : {"left", "right", "bottom", "top"})
      problem.boundaries[name] = {BoundaryConditionType::neumann};
    const PatchMesh mesh(with_cells(patch_grid(2, 2), 32));
    PatchSolverParams params;
    params.coarsest_unknowns = 300;
    PatchPoissonSolver solver(ctx, mesh, problem, params);
    const SolveReport report = solver.solve();
    EXPECT_EQ(report.status, Status::converged) << report.reason;
    EXPECT_LE(report.iterations, 9);
    EXPECT_LE(solver.relative_errors()->l2, 2e-3);
    problem.rhs = [](const Point&) { return 1.0; };
    EXPECT_THROW(PatchPoissonSolver(ctx, mesh, problem, params), UsageError);
    params.project = true;
    PatchPoissonSolver projected(ctx, mesh, problem, params);
    EXPECT_NEAR(projected.compatibility()->mean, 1, 1e-12);
    EXPECT_EQ(projected.solve().status, Status::converged);
  }
}

/// Nodes that patches share have the same bits in all of them.
TEST(PatchSolver, GivesSharedNodesOneValue) {
  Context ctx = test::context_on(Backend::cpu);
  const PatchMesh mesh(turned_at_random(thin_at_wall(cylinder_in_channel(), 16), 3));
  PatchProblem problem = wavy();
  problem.exact = smooth;
  PatchPoissonSolver solver(ctx, mesh, problem);
  EXPECT_EQ(solver.solve().status, Status::converged);
  std::map<std::pair<long long, long long>, double> values;
  int shared = 0;
  for (int p = 0; p < mesh.patches(); ++p) {
    const auto nodes = mesh.nodes_of(p);
    const auto u = solver.nodal_solution(p);
    for (std::size_t k = 0; k < u.size(); ++k) {
      const std::pair key(std::llround(nodes.at[k].x * 1e10), std::llround(nodes.at[k].y * 1e10));
      const auto [found, is_new] = values.emplace(key, u[k]);
      EXPECT_EQ(found->second, u[k]);
      shared += is_new ? 0 : 1;
    }
  }
  EXPECT_GT(shared, 250);
}

TEST(PatchSolver, EndsAtTheRoundOffLimit) {
  Context ctx = test::context_on(Backend::cpu);
  PatchSolverParams params;
  params.stop.rtol = 1e-16;
  PatchPoissonSolver solver(ctx, PatchMesh(thin_at_origin(star(5), 32)), wavy(), params);
  const SolveReport report = solver.solve();
  EXPECT_EQ(report.status, Status::round_off_limit) << report.reason;
  EXPECT_LE(report.iterations, 40);
}

/// Rows beside a Robin boundary with a large alpha make a norm that says nothing of the others.
TEST(PatchSolver, JudgesTheErrorWhereTheResidualSaysNothing) {
  Context ctx = test::context_on(Backend::cpu);
  PatchProblem problem = wavy();
  const auto large = [](const Point&) { return 1e9; };
  problem.boundaries["wall"] = {BoundaryConditionType::robin, large, large};
  const PatchMesh mesh(thin_at_wall(square_with_hole(), 16, 1e-3));
  PatchSolverParams params;
  params.coarsest_unknowns = 300;
  PatchPoissonSolver solver(ctx, mesh, problem, params);
  EXPECT_EQ(solver.solve().status, Status::converged);
  params.stop.rtol = 1e-15;
  params.float_cycles = false;
  PatchPoissonSolver exact(ctx, mesh, problem, params);
  EXPECT_EQ(exact.solve().status, Status::round_off_limit);
  double largest = 0, error = 0;
  for (int p = 0; p < mesh.patches(); ++p) {
    const auto u = solver.nodal_solution(p), there = exact.nodal_solution(p);
    for (std::size_t k = 0; k < u.size(); ++k) {
      largest = std::max(largest, std::abs(there[k]));
      error = std::max(error, std::abs(u[k] - there[k]));
    }
  }
  EXPECT_LE(error, 2e-6 * largest);
}

TEST(PatchSolver, ContinuesInDoubleWhereFloatIsInsufficient) {
  Context ctx = test::context_on(Backend::cpu);
  PatchProblem problem = wavy();
  problem.boundaries["wall"] = {BoundaryConditionType::neumann};
  PatchSolverParams params;
  params.coarsest_unknowns = 600;
  params.stop.rtol = 1e-5;
  PatchPoissonSolver solver(ctx, PatchMesh(thin_at_wall(square_with_hole(), 32, 1e-9)), problem, params);
  const SolveReport report = solver.solve();
  EXPECT_EQ(report.status, Status::converged) << report.reason;
  EXPECT_THAT(report.reason, testing::HasSubstr("double-precision fallback"));
}

TEST(PatchSolver, RepeatsAPassOfFullMultigridInDoubleWhereFloatIsInsufficient) {
  // Cells of 1e-12 at the corner: the cycle in float leaves more than it began with.
  Context ctx = test::context_on(Backend::cpu);
  const PatchMesh mesh(thin_at_origin(l_shape(), 128, {VertexGrading::Kind::smallest, 1e-12}));
  PatchProblem problem;
  problem.rhs = [](const Point&) { return 1.0; };
  PatchSolverParams params;
  params.retry_in_double = false;
  PatchPoissonSolver in_float(ctx, mesh, problem, params);
  const SolveReport diverged = in_float.full_multigrid_pass();
  EXPECT_EQ(diverged.status, Status::diverged);
  EXPECT_THAT(diverged.reason, testing::HasSubstr("the FMG cycle blew up"));
  params.retry_in_double = true;
  PatchPoissonSolver solver(ctx, mesh, problem, params);
  const SolveReport report = solver.full_multigrid_pass();
  EXPECT_EQ(report.status, Status::converged) << report.reason;
  EXPECT_THAT(report.reason, testing::HasSubstr("double-precision fallback"));
  EXPECT_EQ(report.iterations, 1);
  EXPECT_LT(report.residual, 0.1 * report.initial_residual);
}

/// The residual of a cycle in float may fall while u is wrong: cells of 1e-9 at a Neumann boundary.
TEST(PatchSolver, LooksAtFloatCyclesBeforeAPassOfFullMultigrid) {
  Context ctx = test::context_on(Backend::cpu);
  for (const double thinnest : {1e-3, 1e-9}) {
    const PatchMesh mesh(thin_at_wall(square_with_hole(), 32, thinnest));
    PatchProblem problem = wavy();
    problem.boundaries["wall"] = {BoundaryConditionType::neumann};
    PatchSolverParams params;
    params.coarsest_unknowns = 600;
    params.stop.rtol = 1e-9;
    PatchPoissonSolver solver(ctx, mesh, problem, params);
    const SolveReport report = solver.full_multigrid_pass();
    EXPECT_EQ(report.status, Status::converged) << report.reason;
    EXPECT_EQ(report.reason.find("double-precision fallback (cycles in float differ") == 0, thinnest < 1e-6)
        << report.reason;
    params.float_cycles = false;
    PatchPoissonSolver exact(ctx, mesh, problem, params);
    (void)exact.solve();
    double largest = 0, error = 0;
    for (int p = 0; p < mesh.patches(); ++p) {
      const auto u = solver.nodal_solution(p), there = exact.nodal_solution(p);
      for (std::size_t k = 0; k < u.size(); ++k) {
        largest = std::max(largest, std::abs(there[k]));
        error = std::max(error, std::abs(u[k] - there[k]));
      }
    }
    EXPECT_LE(error, 0.02 * largest);
  }
}

TEST(PatchSolver, RefusesBadProblems) {
  Context ctx = test::context_on(Backend::cpu);
  const PatchMesh mesh(with_cells(patch_grid(2, 1), 4));
  const auto refused = [&](const PatchProblem& problem, const std::string& text) {
    try {
      PatchPoissonSolver solver(ctx, mesh, problem);
      ADD_FAILURE() << "not refused: " << text;
    } catch (const UsageError& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr(text));
    }
  };
  PatchProblem problem;
  problem.boundaries["lid"] = {};
  refused(problem, "no boundary 'lid'");
  problem = {};
  problem.boundaries["top"] = {BoundaryConditionType::periodic};
  refused(problem, "cannot be periodic");
  problem = {};
  problem.boundaries["top"] = {BoundaryConditionType::robin, {}, [](const Point&) { return -1.0; }};
  refused(problem, "must not be negative");
  problem = {};
  problem.diffusion_of_patches = {1};
  refused(problem, "K is given of 1 patches, but the mesh has 2");
  problem.diffusion_of_patches = {1, 0};
  refused(problem, "K is 0 in cell (0, 0) of patch 1");
  problem = {};
  problem.rhs = [](const Point& p) { return 1 / (p.x - p.x); };
  refused(problem, "right-hand side");
  problem = {};
  problem.reaction = -1;
  refused(problem, "-1");
}

}  // namespace
