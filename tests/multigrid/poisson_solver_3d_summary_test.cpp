// What PoissonSolver3D says of a solution where it is: the same as of its values on the host, on a CPU and on a GPU, whichever
// direction has the lines. Loads of expressions and constants are those of the same functions of C++.

#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <stratum/assembly/expressions/expression_source.hpp>
#include <stratum/mesh/graded.hpp>
#include <stratum/multigrid/poisson_solver_3d.hpp>

#include "support/backends.hpp"

namespace {

using namespace stratum;
using Kind = BoundaryConditionType;

constexpr double pi = std::numbers::pi;

double wave(const Point3D& p) { return std::sin(3 * p.x + 0.2) * p.y + p.z * p.z; }
double minus_laplace(const Point3D& p) { return 9 * std::sin(3 * p.x + 0.2) * p.y - 2; }

/// As the programs make them of texts; a GPU compiles these where the box has 2^16 nodes.
ScalarFunction3D of_text(const std::string& text, double (*value)(const Point3D&)) {
  return BoxFunctionOfText{{text, {1, 1, 1}, {true, true, true}}, value};
}

PoissonProblem3D mixed_problem() {
  PoissonProblem3D problem;
  problem.rhs = of_text("9*sin(3*x+0.2)*y-2", minus_laplace);
  problem.exact = of_text("sin(3*x+0.2)*y+z^2", wave);
  problem.boundaries[BoxFace::back] = {.kind = Kind::neumann, .value = [](const Point3D& p) { return 2 * p.z; }};
  problem.boundaries[BoxFace::left] = {
      .kind = Kind::robin,
      .value = [](const Point3D& p) { return -3 * std::cos(3 * p.x + 0.2) * p.y + 2 * wave(p); },
      .alpha = [](const Point3D& /*p*/) { return 2.0; }};
  return problem;
}

void expect_same(const NodalValue3D& a, const NodalValue3D& b, double scale) {
  EXPECT_NEAR(a.value, b.value, 1e-11 * scale);
  EXPECT_NEAR(a.x, b.x, 1e-14);
  EXPECT_NEAR(a.y, b.y, 1e-14);
  EXPECT_NEAR(a.z, b.z, 1e-14);
}

void expect_same_summary(const PoissonSolver3D& solver) {
  const std::vector<double> nodal = solver.nodal_solution();
  const auto errors = solver.relative_errors(), of_nodal = solver.relative_errors(nodal);
  ASSERT_TRUE(errors.has_value() && of_nodal.has_value());
  EXPECT_NEAR(errors->l2, of_nodal->l2, 1e-10 * of_nodal->l2 + 1e-15);
  EXPECT_NEAR(errors->energy, of_nodal->energy, 1e-10 * of_nodal->energy + 1e-15);
  EXPECT_NEAR(errors->largest, of_nodal->largest, 1e-10 * of_nodal->largest + 1e-15);
  const SolutionRange3D range = solver.range(), known = solver.range(nodal);
  expect_same(range.smallest, known.smallest, 1);
  expect_same(range.largest, known.largest, 1);
  expect_same(range.step_from, known.step_from, 1);
  expect_same(range.step_to, known.step_to, 1);
  EXPECT_EQ(range.smallest_on_boundary, known.smallest_on_boundary);
  EXPECT_EQ(range.largest_on_boundary, known.largest_on_boundary);
  const BoundaryFluxes3D fluxes = solver.fluxes(), by_nodal = solver.fluxes(nodal);
  for (std::size_t f = 0; f < 6; ++f) EXPECT_NEAR(fluxes.faces[f], by_nodal.faces[f], 1e-11);
  EXPECT_NEAR(fluxes.sum(), fluxes.load, 1e-9);
}

TEST(PoissonSolver3DSummary, IsThatOfTheValuesOnTheHost) {
  for (const Backend backend : test::available_backends())
    for (const auto& [nx, ny, nz] : {std::array{21, 17, 70}, {20, 81, 41}, {81, 23, 37}}) {
      Context ctx = test::context_on(backend);
      const Axis x = geometric_with_smallest(1, nx, 1e-3, GradedSide::first), y = uniform(1, ny), z = uniform(1, nz);
      PoissonSolver3D solver(ctx, {x, y, z}, mixed_problem());
      EXPECT_EQ(solver.solve().status, Status::converged);
      EXPECT_LT(solver.relative_errors()->l2, 2e-2);
      expect_same_summary(solver);
    }
}

TEST(PoissonSolver3DSummary, IsTheSameOnAGpu) {
  if (!test::available(Backend::cuda)) GTEST_SKIP() << "no GPU";
  for (const auto& [nx, ny, nz] : {std::array{31, 33, 70}, {40, 81, 41}, {81, 43, 37}})
    for (const bool polynomial : {false, true}) {
      Context cpu(Backend::cpu, 2), gpu(Backend::cuda);
      const TensorMesh<3> mesh{uniform(1, nx), geometric_with_smallest(1, ny, 1e-4, GradedSide::last), uniform(1, nz)};
      const PoissonProblem3D problem = polynomial ? PoissonProblem3D{} : mixed_problem();
      PoissonSolver3D one(cpu, mesh, problem), other(gpu, mesh, problem);
      (void)one.solve();
      (void)other.solve();
      const std::vector<double> a = one.nodal_solution(), b = other.nodal_solution();
      for (std::size_t n = 0; n < a.size(); n += 17) ASSERT_NEAR(a[n], b[n], 1e-12) << n;
      const auto errors = one.relative_errors(), there = other.relative_errors();
      EXPECT_NEAR(errors->l2, there->l2, 1e-8 * errors->l2);
      EXPECT_NEAR(errors->energy, there->energy, 1e-8 * errors->energy);
      EXPECT_NEAR(errors->largest, there->largest, 1e-8 * errors->largest);
      const BoundaryFluxes3D fluxes = one.fluxes(), on_gpu = other.fluxes();
      for (std::size_t f = 0; f < 6; ++f) EXPECT_NEAR(fluxes.faces[f], on_gpu.faces[f], 1e-10);
      EXPECT_NEAR(fluxes.load, on_gpu.load, 1e-12);
    }
}

TEST(PoissonSolver3DSummary, PeriodicDirectionsHaveBothEnds) {
  for (const Backend backend : test::available_backends())
    for (const auto& [nx, ny, nz] : {std::array{24, 30, 96}, {24, 96, 30}, {96, 30, 24}}) {
      Context ctx = test::context_on(backend);
      PoissonProblem3D problem;
      const auto mode = [](const Point3D& p) { return std::sin(2 * pi * p.x) * std::cos(2 * pi * p.z) * p.y; };
      problem.exact = mode;
      problem.rhs = of_text("8*pi^2*sin(2*pi*x)*cos(2*pi*z)*y", [](const Point3D& p) {
        return 8 * pi * pi * std::sin(2 * pi * p.x) * std::cos(2 * pi * p.z) * p.y;
      });
      for (const BoxFace face : {BoxFace::left, BoxFace::right, BoxFace::front, BoxFace::back})
        problem.boundaries[face].kind = Kind::periodic;
      PoissonSolver3D solver(ctx, {uniform(1, nx), uniform(1, ny), uniform(1, nz)}, problem);
      EXPECT_EQ(solver.solve().status, Status::converged);
      EXPECT_LT(solver.relative_errors()->l2, 2e-2);
      expect_same_summary(solver);
    }
}

// The load of a constant, of a polynomial and of an expression in one coordinate: not by Gauss points where that is not needed.
TEST(PoissonSolver3DSummary, ConstantsAreIntegratedAsTheyAre) {
  for (const Backend backend : test::available_backends()) {
    Context ctx = test::context_on(backend);
    const TensorMesh<3> mesh{uniform(1, 12), geometric_with_smallest(1, 9, 1e-3, GradedSide::first), uniform(2, 15)};
    const auto three = [](const Point3D& /*p*/) { return 3.0; };
    PoissonProblem3D of_function, of_constant;
    of_function.rhs = three;
    of_constant.rhs = BoxFunctionOfText{{"3", {1, 1, 2}, {}}, three};
    PoissonSolver3D one(ctx, mesh, of_function), other(ctx, mesh, of_constant);
    (void)one.solve();
    (void)other.solve();
    const auto a = one.nodal_solution(), b = other.nodal_solution();
    for (std::size_t n = 0; n < a.size(); ++n) ASSERT_NEAR(a[n], b[n], 1e-13);
    EXPECT_NEAR(one.fluxes().load, 6, 1e-12);
    EXPECT_NEAR(other.fluxes().load, 6, 1e-12);
    for (std::size_t f = 0; f < 6; ++f) EXPECT_NEAR(one.fluxes().faces[f], other.fluxes().faces[f], 1e-12);
  }
}

}  // namespace
