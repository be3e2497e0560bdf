// Iterations to 1e-8 by size, precision, number of patches and boundaries, on meshes with thin cells along several walls.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <stratum/multigrid/patches/patch_poisson_solver.hpp>

#include "patches/meshes.hpp"
#include "support/backends.hpp"

using namespace stratum;
using test::thin_at_origin;
using test::thin_at_wall;
using test::with_cells;

namespace {

/// With a load that differs from patch to patch, about 8 x 8 cells a patch on the coarsest level, from zero.
int iterations(const PatchMeshParts& parts, bool in_float, PatchProblem problem = {}, bool project = false) {
  Context ctx = test::context_on(Backend::cpu);
  const PatchMesh mesh(parts);
  problem.rhs = [](const Point& p) { return 1 + std::sin(7 * p.x + 3 * p.y); };
  PatchSolverParams params;
  params.full_multigrid = false;
  params.float_cycles = in_float;
  params.project = project;
  params.coarsest_unknowns = std::min(64 * mesh.patches() + 100, params.coarsest_unknowns);
  PatchPoissonSolver solver(ctx, mesh, problem, params);
  const SolveReport report = solver.solve();
  EXPECT_EQ(report.status, Status::converged) << report.reason;
  return report.iterations;
}

/// Cells of h at all boundaries.
PatchMeshParts thin_at_all_walls(PatchMeshParts parts, int cells, double h) {
  parts.cells = cells;
  std::vector<int> walls;
  for (const auto& edge : parts.edges)
    if (!edge.boundary.empty() && edge.boundary != "outlet") walls.insert(walls.end(), {edge.first, edge.second});
  std::sort(walls.begin(), walls.end());
  walls.erase(std::unique(walls.begin(), walls.end()), walls.end());
  return graded_towards(std::move(parts), walls, {VertexGrading::Kind::smallest, h});
}

/// m x m patches with cells of h along all their edges.
PatchMeshParts thin_at_all_edges(int m, int cells, const std::string& h) {
  PatchMeshParts parts = with_cells(patch_grid(m, m), cells);
  for (const auto& patch : parts.patches)
    for (const std::size_t k : {0U, 1U}) {
      PatchEdgeParts edge;
      edge.first = patch[k];
      edge.second = patch[k + 1];
      edge.grading = parse_grading("geometric:h=" + h + ",both");
      parts.edges.push_back(edge);
    }
  return parts;
}

TEST(PatchCounts, InDoubleToo) {
  struct Case {
    std::string name;
    PatchMeshParts parts;
    int most;
  };
  const std::vector<Case> cases{{"cylinder, all walls 1e-6", thin_at_all_walls(cylinder_in_channel(), 32, 1e-6), 14},
                                {"cylinder, all walls 1e-3", thin_at_all_walls(cylinder_in_channel(), 32, 1e-3), 10},
                                {"hole, wall 1e-3", thin_at_wall(square_with_hole(), 32, 1e-3), 10},
                                {"C-grid, wall 1e-6", thin_at_wall(c_grid(), 32), 12},
                                {"star 5 A3", thin_at_origin(star(5), 32, {VertexGrading::Kind::bisected, 0.25}), 9},
                                {"3 x 3, all edges 1e-6", thin_at_all_edges(3, 32, "1e-6"), 10}};
  for (const auto& c : cases)
    for (const bool in_float : {false, true}) {
      SCOPED_TRACE(c.name + (in_float ? " in float" : ""));
      EXPECT_LE(iterations(c.parts, in_float), c.most);
    }
}

TEST(PatchCounts, BySize) {
  EXPECT_LE(iterations(thin_at_origin(l_shape(), 128), true), iterations(thin_at_origin(l_shape(), 16), true) + 3);
  EXPECT_LE(iterations(thin_at_wall(pipe_section(), 64), true), iterations(thin_at_wall(pipe_section(), 16), true) + 3);
}

TEST(PatchCounts, ByNumberOfPatches) {
  // One patch takes 6.
  for (const auto& parts :
       {thin_at_origin(patch_grid(8, 8), 16), with_cells(triangle_patches(6), 16), thin_at_wall(patch_ring(64), 16)}) {
    EXPECT_LE(iterations(parts, true), 10);
  }
}

TEST(PatchCounts, ByBoundaries) {
  for (auto parts : {with_cells(star(5), 32), thin_at_origin(l_shape(), 32), thin_at_wall(pipe_section(), 32)}) {
    const int all = iterations(parts, true);
    // u = 0 on one edge of one patch, which is a boundary of its own; or nowhere.
    const PatchMesh mesh(parts);
    int held = 0;
    while (!mesh.edge(held).on_boundary()) ++held;
    const std::string others = mesh.boundary_names()[0];
    PatchProblem problem;
    problem.boundaries[others] = {BoundaryConditionType::neumann};
    EXPECT_LE(iterations(parts, true, problem, true), all + 2);
    for (auto& edge : parts.edges) edge.boundary.clear();
    parts.other_boundaries = others;
    PatchEdgeParts edge;
    edge.first = mesh.edge(held).first;
    edge.second = mesh.edge(held).second;
    edge.boundary = "held";
    parts.edges.push_back(edge);
    EXPECT_LE(iterations(parts, true, problem), all + 2);
  }
}

}  // namespace
