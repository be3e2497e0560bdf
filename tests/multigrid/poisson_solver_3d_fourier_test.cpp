#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include <stratum/mesh/graded.hpp>
#include <stratum/multigrid/poisson_solver_3d.hpp>

namespace {

using namespace stratum;
using Values = std::vector<double>;

/// Equal widths but for one that is 1e-9 wider, which no transform is for.
Axis nearly_uniform(int cells) {
  Values widths(static_cast<std::size_t>(cells), 1.0 / cells);
  widths[1] *= 1 + 1e-9;
  return Axis(widths);
}

double f(double x, double y, double z) { return std::exp(x) * (y - 0.3) + std::cos(4 * z * x); }

/// Of the same box with and without transforms, the largest difference of both solutions beside the largest value.
double difference(const std::array<int, 3>& cells, const BoundaryConditions3D& boundaries, const Axis& third,
                  const std::array<bool, 3>& expected) {
  PoissonProblem3D problem;
  problem.rhs = [](const Point3D& p) { return f(p.x, p.y, p.z); };
  problem.boundaries = boundaries;
  std::array<Values, 2> found;
  for (const bool by_fourier : {false, true}) {
    Context ctx(Backend::cpu, 2);
    const auto axis = [&](int n) { return by_fourier ? uniform(1, n) : nearly_uniform(n); };
    PoissonSolver3D solver(ctx, {axis(cells[0]), axis(cells[1]), third}, problem,
                           {.project = true, .quadrature_points = 1, .method = BoxMethod::direct});
    EXPECT_EQ(solver.plan().fourier, (by_fourier ? expected : std::array<bool, 3>{})) << solver.plan().reason;
    const SolveReport report = solver.solve();
    EXPECT_EQ(report.status, Status::converged) << report.reason;
    EXPECT_LE(report.iterations, 2);
    found[by_fourier ? 1 : 0] = solver.nodal_solution();
  }
  double largest = 0, most = 0;
  for (std::size_t p = 0; p < found[0].size(); ++p) {
    largest = std::max(largest, std::abs(found[0][p]));
    most = std::max(most, std::abs(found[0][p] - found[1][p]));
  }
  return most / largest;
}

BoundaryConditions3D ends(BoundaryConditionType left, BoundaryConditionType right, BoundaryConditionType bottom,
                          BoundaryConditionType top) {
  BoundaryConditions3D boundaries;
  boundaries[BoxFace::left].kind = left;
  boundaries[BoxFace::right].kind = right;
  boundaries[BoxFace::bottom].kind = bottom;
  boundaries[BoxFace::top].kind = top;
  return boundaries;
}

TEST(PoissonSolver3D, SolvesByFourierTransformsOfUniformDirections) {
  using enum BoundaryConditionType;
  const Axis short_axis = uniform(1, 5), thin = geometric_with_smallest(1, 200, 1e-10, GradedSide::both);
  constexpr double close = 1e-7;  // the perturbed width
  EXPECT_LE(difference({128, 144, 5}, ends(dirichlet, dirichlet, neumann, dirichlet), short_axis, {true, false, false}),
            close);
  EXPECT_LE(difference({96, 7, 200}, ends(periodic, periodic, neumann, dirichlet), thin, {true, false, false}), close);
  EXPECT_LE(difference({9, 128, 200}, ends(dirichlet, neumann, dirichlet, neumann), thin, {false, true, false}), close);
  // Known up to a constant: back and front are natural, too.
  BoundaryConditions3D natural = ends(neumann, neumann, periodic, periodic);
  natural[BoxFace::front].kind = natural[BoxFace::back].kind = neumann;
  EXPECT_LE(difference({96, 4, 130}, natural, uniform(1, 130), {true, false, false}), close);
}

TEST(PoissonSolver3D, GivesLinesToTheDirectionThatHasNoTransform) {
  const Axis graded = geometric_with_smallest(1, 120, 1e-4, GradedSide::first);
  Context ctx(Backend::cpu, 1);
  const PoissonSolver3D solver(ctx, {uniform(1, 128), graded, uniform(1, 160)}, {});
  EXPECT_EQ(solver.plan().lines, 1) << solver.plan().reason;
  EXPECT_EQ(solver.plan().fourier, (std::array{true, false, true})) << solver.plan().reason;
  EXPECT_NE(solver.plan().reason.find("Fourier transform"), std::string::npos) << solver.plan().reason;
}

}  // namespace
