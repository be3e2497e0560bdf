// The du/dt that Crank-Nicolson and TR-BDF2 begin with, where it is far larger in some rows than in others.

#include <algorithm>
#include <cmath>
#include <vector>

#include <stratum/multigrid/heat_solver.hpp>

#include <gtest/gtest.h>

namespace {

using namespace stratum;
using enum BoundaryConditionType;

/// M_x s = e, M_x the mass matrix of n cells between Neumann boundaries and e one at the last node: s decreases to 0.27 of
/// itself, its sign changing, from node to node.
std::vector<double> smoothed_end(int n) {
  std::vector<double> s(static_cast<std::size_t>(n + 1));
  double pivot = 2, h = 1.0 / n;
  std::vector<double> ratio;  // s_j / s_j+1
  for (int j = 0; j < n; ++j) {
    ratio.push_back(-1 / pivot);
    pivot = (j + 1 < n ? 4 : 2) - 1 / pivot;
  }
  s.back() = 6 / (h * pivot);
  for (auto j = static_cast<std::size_t>(n); j-- > 0;) s[j] = ratio[j] * s[j + 1];
  return s;
}

// u = 0 at first and f = 1; a Robin boundary at the right with alpha = 1e8 wants u = 1. du/dt is 1 + alpha s, about 1e10 there
// and 1 far from it.
TEST(HeatSlope, IsRightFarFromARobinBoundaryWithALargeAlpha) {
  constexpr int cells = 96;
  constexpr double alpha = 1e8, dt = 1e-12;
  const Axis line(std::vector<double>(cells, 1.0 / cells), 1);
  const TensorMesh<2> mesh(line, line);
  HeatProblem problem;
  problem.space.rhs = [](const Point&) { return 1.0; };
  problem.space.boundaries.left = {neumann, {}, {}};
  problem.space.boundaries.bottom = {neumann, {}, {}};
  problem.space.boundaries.top = {neumann, {}, {}};
  problem.space.boundaries.right = {robin, [](const Point&) { return alpha; }, [](const Point&) { return alpha; }};
  problem.steady_coefficients = true;
  HeatParams params;
  params.method = TimeMethod::crank_nicolson;
  params.dt = dt;
  Context ctx(Backend::cpu, 1);
  HeatSolver solver(ctx, mesh, problem, params);
  const std::vector<double> slope = solver.state(ctx).slope;
  ASSERT_EQ(slope.size(), static_cast<std::size_t>((cells + 1) * (cells + 1)));
  const std::vector<double> s = smoothed_end(cells);
  double wrong = 0;
  for (std::size_t k = 0; k < slope.size(); ++k) {
    const double expected = 1 + alpha * s[k % s.size()];
    wrong = std::max(wrong, std::abs(slope[k] - expected) / (1 + std::abs(expected)));
  }
  EXPECT_LE(wrong, 1e-2);
}

}  // namespace
