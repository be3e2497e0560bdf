// A mesh of one patch is solved as one grid, with the bits of its solver.

#include <stratum/multigrid/patches/patch_poisson_solver.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <vector>

#include <stratum/multigrid/poisson_solver.hpp>

#include "patches/meshes.hpp"
#include "support/backends.hpp"

using namespace stratum;

namespace {

std::size_t at(int k) { return static_cast<std::size_t>(k); }

double wave(const Point& p) { return 1 + std::sin(7 * p.x + 3 * p.y); }
double hill(const Point& p) { return 2 + std::cos(3 * p.x - p.y); }

/// [1, 2] x [-1, 0] with cells of 1e-9 at its corner (1, -1), from its `first` vertex on, anticlockwise. All numbers of cells
/// and widths differ in x and y.
PatchMeshParts rectangle(int first) {
  PatchMeshParts parts;
  parts.vertices = {{1, -1}, {2, -1}, {2, 0}, {1, 0}};
  parts.patches = {{first, (first + 1) % 4, (first + 2) % 4, (first + 3) % 4}};
  PatchEdgeParts bottom, right, top, left;
  bottom = {
      .first = 0, .second = 1, .cells = 40, .grading = parse_grading("geometric:h=1e-9,first"), .boundary = "floor"};
  right = {
      .first = 1, .second = 2, .cells = 24, .grading = parse_grading("geometric:h=1e-3,first"), .boundary = "outlet"};
  top = {.first = 3, .second = 2, .boundary = "lid"};
  left = {.first = 0, .second = 3, .boundary = "inlet"};
  parts.edges = {bottom, right, top, left};
  return parts;
}

/// What the solver of one grid gives at all nodes.
std::vector<double> on_one_grid(Context& ctx, const Geometry& mesh, const PoissonProblem& problem, bool one_pass) {
  PoissonSolverParams params;
  if (!one_pass) params.method = Method::cg;
  params.full_multigrid = true;
  params.continue_after_full_multigrid = !one_pass;
  params.full_multigrid_from_x = true;
  params.stop.reference_norm = ReferenceNorm::initial;
  params.terms = operator_terms(mesh, problem);
  if (auto k = cell_coefficients(ctx, mesh, problem))
    params.coefficients = std::make_shared<const CellCoefficients>(std::move(*k));
  PoissonSolver solver(ctx, mesh, params);
  Field<double> b(ctx, mesh.logical().unknowns()), x(ctx, mesh.logical().unknowns());
  assemble_load(ctx, mesh, problem, b, params.coefficients.get());
  lift_boundary(ctx, mesh, problem, x);
  EXPECT_EQ(solver.solve(ctx, b.cview(), x.view()).status, Status::converged);
  return nodal_solution(ctx, mesh, problem, x);
}

TEST(OnePatch, HasTheBitsOfARectangle) {
  PoissonProblem problem;
  problem.rhs = wave;
  problem.diffusion.xx = ScalarFunction(hill);
  problem.reaction = 3;
  problem.boundaries.left = {BoundaryConditionType::robin, wave, hill};
  problem.boundaries.bottom = {BoundaryConditionType::dirichlet, wave};
  problem.boundaries.right = {BoundaryConditionType::dirichlet, hill};
  problem.boundaries.top = {BoundaryConditionType::neumann, hill};
  PatchProblem given;
  given.rhs = wave;
  given.diffusion = hill;
  given.reaction = 3;
  given.boundaries = {{"inlet", problem.boundaries.left},
                      {"floor", problem.boundaries.bottom},
                      {"outlet", problem.boundaries.right},
                      {"lid", problem.boundaries.top}};
  // At the corner (2, -1) the boundary named first has its value, on the patch; on the grid the right one has.
  problem.boundaries.right.value = [](const Point& p) { return p.y == -1 ? wave(p) : hill(p); };
  for (const Backend backend : test::available_backends()) {
    Context ctx = test::context_on(backend);
    const Axis x = make_line(parse_grading("geometric:h=1e-9,first"), 1, 40).starting_at(1),
               y = make_line(parse_grading("geometric:h=1e-3,first"), 1, 24).starting_at(-1);
    const TensorMesh<2> mesh = with_boundaries(TensorMesh<2>(x, y), problem.boundaries);
    for (const bool one_pass : {false, true}) {
      const auto expected = on_one_grid(ctx, mesh, problem, one_pass);
      for (int first = 0; first < 4; ++first) {
        PatchPoissonSolver solver(ctx, PatchMesh(rectangle(first)), given);
        EXPECT_EQ(solver.solved_as(), "a rectangle");
        const SolveReport report = one_pass ? solver.full_multigrid_pass() : solver.solve();
        EXPECT_EQ(report.status, Status::converged) << report.reason;
        EXPECT_THAT(report.choice, testing::HasSubstr("one patch, solved as a rectangle"));
        const auto u = solver.nodal_solution(0);
        ASSERT_EQ(u.size(), expected.size());
        int wrong = 0;
        for (int j = 0; j <= 24; ++j)
          for (int i = 0; i <= 40; ++i) {
            // Where a patch from this vertex on has the node.
            const std::array<std::size_t, 4> places{at(j * 41 + i), at((40 - i) * 25 + j), at((24 - j) * 41 + 40 - i),
                                                    at(i * 25 + 24 - j)};
            wrong += u[places[at(first)]] == expected[at(j * 41 + i)] ? 0 : 1;
          }
        EXPECT_EQ(wrong, 0) << "from vertex " << first << (one_pass ? ", one pass" : "");
      }
    }
  }
}

TEST(OnePatch, HasTheBitsOfADeformedGrid) {
  PatchMeshParts parts = test::with_cells(rectangle(0), 16);
  parts.vertices = {{1, 0}, {2, 0}, {0, 2}, {0, 1}};
  for (PatchEdgeParts& edge : parts.edges) edge.grading.reset();
  parts.edges[1].curve = parts.edges[3].curve = {EdgeCurve::Kind::arc, {0, 0}, {}};
  const PatchMesh patches(parts);
  const PatchNodes nodes = patches.nodes_of(0);
  std::vector<double> x, y;
  for (const Position& p : nodes.at) {
    x.push_back(p.x);
    y.push_back(p.y);
  }
  PoissonProblem problem;
  problem.rhs = wave;
  problem.boundary = hill;
  PatchProblem given;
  given.rhs = wave;
  for (const auto* name : {"inlet", "floor", "outlet", "lid"})
    given.boundaries[name] = {BoundaryConditionType::dirichlet, hill};
  Context ctx = test::context_on(Backend::cpu);
  const MappedMesh mesh({patches.axis(0, Direction::x), patches.axis(0, Direction::y)}, x, y);
  PatchPoissonSolver solver(ctx, patches, given);
  EXPECT_EQ(solver.solved_as(), "a deformed grid");
  EXPECT_EQ(solver.solve().status, Status::converged);
  EXPECT_EQ(solver.nodal_solution(0), on_one_grid(ctx, mesh, problem, false));
}

/// Both ways to solve give the same, and so do loads as numbers.
TEST(OnePatch, AgreesWithTheSolverOfPatches) {
  Context ctx = test::context_on(Backend::cpu);
  PatchProblem problem;
  problem.rhs = wave;
  problem.exact = hill;
  problem.diffusion_of_patches = {3};
  problem.boundaries["inlet"] = {BoundaryConditionType::neumann, wave};
  for (const int first : {0, 3}) {
    const PatchMesh mesh(rectangle(first));
    PatchProblem by_numbers = problem;
    by_numbers.rhs = {};
    const PatchProblem no_data{.rhs = wave,
                               .boundaries = {{"inlet", {BoundaryConditionType::neumann}},
                                              {"floor", {BoundaryConditionType::neumann}},
                                              {"outlet", {BoundaryConditionType::neumann}},
                                              {"lid", {BoundaryConditionType::neumann}}}};
    const PatchLayout layout = layout_of(mesh);
    const auto load = assemble_data(ctx, mesh, layout, no_data).load;
    const auto& p = layout.patch(0);
    by_numbers.load.emplace_back();
    for (int j = 0; j <= p.ny; ++j)
      for (int i = 0; i <= p.nx; ++i) by_numbers.load[0].push_back(load[at(p.node(i, j))]);
    by_numbers.diffusion_of_patches.clear();
    by_numbers.diffusion_of_cells.emplace_back(at(p.nx) * at(p.ny), 3.0);
    PatchSolverParams params;
    params.stop.rtol = 1e-12;
    const auto solved = [&](const PatchProblem& own, bool one_grid) {
      params.one_grid = one_grid;
      PatchPoissonSolver solver(ctx, mesh, own, params);
      EXPECT_EQ(solver.solved_as().empty(), !one_grid);
      const SolveReport report = solver.solve();
      EXPECT_TRUE(report.status == Status::converged || report.status == Status::round_off_limit) << report.reason;
      return std::tuple(solver.nodal_solution(0), solver.fluxes(), *solver.relative_errors());
    };
    const auto [u, fluxes, errors] = solved(problem, false);
    for (const auto* own : {&problem, &by_numbers}) {
      const auto [v, own_fluxes, own_errors] = solved(*own, true);
      double apart = 0, largest = 0;
      for (std::size_t k = 0; k < u.size(); ++k) {
        apart = std::max(apart, std::abs(u[k] - v[k]));
        largest = std::max(largest, std::abs(u[k]));
      }
      EXPECT_LE(apart, 1e-8 * largest);  // rounding in cells of 1e-9
      EXPECT_NEAR(own_errors.l2, errors.l2, 1e-9);
      for (std::size_t k = 0; k < fluxes.boundaries.size(); ++k)
        EXPECT_NEAR(own_fluxes.boundaries[k], fluxes.boundaries[k], 1e-6) << k;
      EXPECT_NEAR(own_fluxes.load, fluxes.load, 1e-6);
      EXPECT_NEAR(own_fluxes.sum(), own_fluxes.load, 1e-6);
    }
  }
}

TEST(OnePatch, StaysAPatchWhereItIsNoGrid) {
  Context ctx = test::context_on(Backend::cpu);
  const auto solved_as = [&](const PatchMesh& mesh) {
    PatchPoissonSolver solver(ctx, mesh, {.rhs = wave});
    EXPECT_EQ(solver.solve().status, Status::converged);
    EXPECT_EQ(solver.nodal_solution(0).size(), mesh.nodes_of(0).at.size());
    return solver.solved_as();
  };
  // All nodes are Dirichlet nodes.
  EXPECT_EQ(solved_as(PatchMesh(test::with_cells(patch_grid(1, 1), 1))), "");
  EXPECT_EQ(solved_as(PatchMesh(test::with_cells(patch_grid(1, 1), 2))), "a rectangle");
  // Thin cells beside an arc are no differences of positions.
  PatchMeshParts parts = rectangle(0);
  parts.vertices = {{1, 0}, {2, 0}, {0, 2}, {0, 1}};
  parts.edges[0].grading = parse_grading("geometric:h=1e-12,first");
  parts.edges[1].curve = parts.edges[3].curve = {EdgeCurve::Kind::arc, {0, 0}, {}};
  EXPECT_EQ(solved_as(PatchMesh(parts)), "");
  // A ring that meets itself.
  GridPatchParts ring;
  PatchGrid grid{12, 4, {}};
  for (int j = 0; j <= 4; ++j)
    for (int i = 0; i <= 12; ++i) {
      grid.nodes.push_back(12 * j + i % 12);
      const double angle = std::acos(-1.0) * i / 6, radius = 2 - j / 4.0;
      if (i < 12) ring.nodes.push_back({radius * std::cos(angle), radius * std::sin(angle)});
    }
  ring.patches = {grid};
  ring.other_boundaries = "wall";
  EXPECT_EQ(solved_as(PatchMesh(ring)), "");
}

TEST(OnePatch, RefusesWhatPatchesRefuse) {
  Context ctx = test::context_on(Backend::cpu);
  const PatchMesh mesh(rectangle(0));
  PatchProblem problem;
  problem.boundaries["roof"] = {};
  EXPECT_THROW(PatchPoissonSolver(ctx, mesh, problem), UsageError);
  PatchProblem singular{.rhs = [](const Point&) { return 1.0; }};
  for (const auto* name : {"inlet", "floor", "outlet", "lid"})
    singular.boundaries[name] = {BoundaryConditionType::neumann};
  EXPECT_THROW(PatchPoissonSolver(ctx, mesh, singular), UsageError);
  PatchSolverParams params;
  params.project = true;
  PatchPoissonSolver solver(ctx, mesh, singular, params);
  EXPECT_NEAR(solver.compatibility()->mean, 1, 1e-12);
  EXPECT_EQ(solver.solve().status, Status::converged);
  Field<double> b, x;
  EXPECT_THROW((void)solver.solve_system(b, x, {}), UsageError);
}

}  // namespace
