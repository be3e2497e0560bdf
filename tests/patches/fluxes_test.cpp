#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include <stratum/multigrid/patches/patch_poisson_solver.hpp>

#include "patches/meshes.hpp"
#include "support/backends.hpp"

namespace {

using namespace stratum;

PatchFluxes fluxes_of(const PatchMeshParts& parts, const PatchProblem& problem) {
  Context ctx = test::context_on(Backend::cpu);
  PatchSolverParams params;
  params.stop.rtol = 1e-12;
  PatchPoissonSolver solver(ctx, PatchMesh(parts), problem, params);
  EXPECT_LT(solver.solve().relative_residual(), 1e-9);
  return solver.fluxes();
}

/// Conditions of all kinds in turn, K that jumps, c: what flows out and reacts is the integral of f.
TEST(PatchFluxes, BalanceTheLoad) {
  using namespace test;
  for (const auto& [name, parts] : std::vector<std::pair<std::string, PatchMeshParts>>{
           {"C-grid", turned_at_random(thin_at_wall(c_grid(), 12, 1e-3), 3)},
           {"cylinder", with_cells(cylinder_in_channel(), 8)},
           {"pipe", thin_at_wall(pipe_section(), 8)},
           {"L", with_cells(l_shape(), 9)}})
    for (int turn = 0; turn < 4; ++turn) {
      SCOPED_TRACE(name + ", turn " + std::to_string(turn));
      const PatchMesh mesh(parts);
      PatchProblem problem;
      problem.rhs = [](const Point& p) { return 1 + p.x * p.x; };
      if (turn == 2) problem.reaction = 3;
      for (int p = 0; p < mesh.patches(); ++p) problem.diffusion_of_patches.push_back(p % 2 == 0 ? 1 : 7);
      const auto& names = mesh.boundary_names();
      for (std::size_t k = 0; k < names.size(); ++k) {
        BoundaryCondition& condition = problem.boundaries[names[k]];
        switch ((k + static_cast<std::size_t>(turn)) % 3) {
          case 0: condition.kind = BoundaryConditionType::dirichlet; break;
          case 1: condition.kind = BoundaryConditionType::neumann; break;
          default:
            condition.kind = BoundaryConditionType::robin;
            condition.alpha = [](const Point& p) { return 1 + p.y * p.y; };
        }
        condition.value = [](const Point& p) { return std::sin(p.x) + 2 * p.y; };
      }
      // Not natural alone.
      if (names.size() == 1 && problem.boundaries[names[0]].kind == BoundaryConditionType::neumann) continue;
      const PatchFluxes fluxes = fluxes_of(parts, problem);
      ASSERT_EQ(fluxes.boundaries.size(), names.size());
      double size = std::abs(fluxes.load);
      for (const double flux : fluxes.boundaries) size += std::abs(flux);
      EXPECT_GT(size, 0.1);
      EXPECT_NEAR(fluxes.sum(), fluxes.load, 1e-8 * size + fluxes.rounding);
      if (turn == 2) {
        EXPECT_NE(fluxes.reaction, 0);
      }
    }
}

/// Of u = x + 2 y on an L, 4 flow in and 4 out through sides along x, and 2 and 2 through those along y: nothing in all, through
/// a boundary of one name.
TEST(PatchFluxes, MagnitudesDoNotCancel) {
  PatchProblem problem;
  problem.exact = [](const Point& p) { return p.x + 2 * p.y; };
  const PatchFluxes fluxes = fluxes_of(test::with_cells(l_shape(), 9), problem);
  ASSERT_EQ(fluxes.boundaries.size(), 1U);
  EXPECT_NEAR(fluxes.sum(), 0, 1e-8);
  EXPECT_GE(fluxes.magnitudes, 12 - 1e-8);
  EXPECT_LE(fluxes.magnitudes, 18);
}

/// Of u = x y + x^2 / 2 on the unit square in four patches: f = -1; out through x = 1 flow -3/2, through x = 0 1/2, through y = 1
/// -1/2 and through y = 0 1/2. Of second order.
TEST(PatchFluxes, AreThoseOfEverySide) {
  PatchMeshParts parts = patch_grid(2, 2);
  parts.edges.clear();
  parts.other_boundaries.clear();
  const auto on = [&](int v, double Position::*axis, double value) {
    return std::abs(parts.vertices[static_cast<std::size_t>(v)].*axis - value) < 1e-12;
  };
  for (const auto& patch : parts.patches)
    for (std::size_t k = 0; k < 4; ++k) {
      PatchEdgeParts edge;
      edge.first = patch[k];
      edge.second = patch[(k + 1) % 4];
      for (const auto& [name, axis, value] :
           std::vector<std::tuple<std::string, double Position::*, double>>{{"left", &Position::x, 0},
                                                                            {"right", &Position::x, 1},
                                                                            {"bottom", &Position::y, 0},
                                                                            {"top", &Position::y, 1}})
        if (on(edge.first, axis, value) && on(edge.second, axis, value)) edge.boundary = name;
      if (!edge.boundary.empty()) parts.edges.push_back(edge);
    }
  PatchProblem problem;
  problem.rhs = [](const Point&) { return -1.0; };
  problem.exact = [](const Point& p) { return p.x * p.y + p.x * p.x / 2; };
  const auto error = [&](const PatchMeshParts& mesh) {
    const PatchFluxes fluxes = fluxes_of(mesh, problem);
    const auto names = PatchMesh(mesh).boundary_names();
    double largest = 0;
    for (std::size_t k = 0; k < names.size(); ++k) {
      const double expected = names[k] == "right" ? -1.5 : names[k] == "top" ? -0.5 : 0.5;
      largest = std::max(largest, std::abs(fluxes.boundaries[k] - expected));
    }
    return largest;
  };
  // At corners the derivative in the last cell has an error of first order, over one interval.
  for (const Position middle : {Position{0.5, 0.5}, Position{0.6, 0.45}}) {
    for (auto& v : parts.vertices)
      if (v.x != 0 && v.x != 1 && v.y != 0 && v.y != 1) v = middle;
    const double coarse = error(test::with_cells(parts, 8)), fine = error(test::with_cells(parts, 16));
    EXPECT_GT(coarse, 1e-7);
    EXPECT_LT(fine, 0.3 * coarse);
    EXPECT_LT(fine, 1e-3);
  }
}

}  // namespace
