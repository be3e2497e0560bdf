// Largest and energy errors, and differences of levels.

#include <stratum/assembly/error_norms.hpp>

#include <algorithm>
#include <cmath>

#include <gmock/gmock.h>

#include <stratum/core/field/blas.hpp>

namespace {

using namespace stratum;

/// The same errors by derivatives that are known, of nodal interpolation.
TEST(ErrorNorms, AreThoseOfKnownDerivatives) {
  Context ctx(Backend::cpu, 2);
  PoissonProblem problem;
  problem.rhs = [](const Point&) { return 1.0; };
  // Quadratic: gradients through three points are exact. u_h interpolates, and on a cell e = hx^2 t (1 - t) / 2 * 2.
  problem.exact = [](const Point& p) { return p.x * p.x; };
  problem.diffusion.xx = 3.0;
  problem.reaction = 2;
  const TensorMesh<2> mesh(Axis({0.5, 0.25, 0.25}), bisected(2.0, 2, ThinSide::first, 0.5));
  const auto found = relative_errors(ctx, mesh, problem, at_nodes(ctx, mesh, problem.exact));
  // integral of (2 x - slope)^2 = h^3 / 3, of (x^2 - u_h)^2 = h^5 / 30 on an interval h.
  double error = 0, square = 0;
  for (const double h : mesh.x().widths()) {
    error += 2 * (3 * h * h * h / 3 + 2 * std::pow(h, 5) / 30);
    square += 2 * std::pow(h, 5) / 30;
  }
  const double exact = 2 * (3 * 4.0 / 3 + 2 * 1.0 / 5);
  EXPECT_NEAR(found->energy, std::sqrt(error / exact), 1e-12);
  EXPECT_NEAR(found->l2, std::sqrt(square / (2 * 1.0 / 5)), 1e-12);
  // At the middle of the first interval; u is largest at the last Gauss point.
  EXPECT_NEAR(found->largest, 0.0625 / std::pow(1 - 0.25 * 0.1127016653792583, 2), 1e-12);
  EXPECT_FALSE(relative_errors(ctx, mesh, PoissonProblem{.rhs = problem.rhs}, std::vector<double>(20)).has_value());
}

TEST(ErrorNorms, DoNotDependOnTheMesh) {
  Context ctx(Backend::cpu, 2);
  PoissonProblem problem;
  problem.rhs = [](const Point&) { return 1.0; };
  problem.exact = [](const Point& p) { return p.x * p.x - p.y; };
  problem.diffusion = {2.0, 0.5, 1.0};
  const TensorMesh<2> mesh(Axis({0.5, 0.25, 0.25}), bisected(2.0, 2));
  const auto nodal = at_nodes(ctx, mesh, problem.exact);
  const MappedMesh same = mapped(
      ctx, mesh, [](const Point& p) { return p.x; }, [](const Point& p) { return p.y; });
  const auto a = relative_errors(ctx, mesh, problem, nodal), b = relative_errors(ctx, same, problem, nodal);
  EXPECT_NEAR(a->l2, b->l2, 1e-13);
  EXPECT_NEAR(a->energy, b->energy, 1e-13);
  EXPECT_NEAR(a->largest, b->largest, 1e-13);
}

// Where u is known up to a constant no constant is an error.
TEST(ErrorNorms, LeaveConstantsOutWhereTheProblemIsSingular) {
  Context ctx(Backend::cpu, 1);
  PoissonProblem problem;
  problem.rhs = [](const Point&) { return 0.0; };
  problem.exact = [](const Point& p) { return p.x; };
  for (auto* side :
       {&problem.boundaries.left, &problem.boundaries.right, &problem.boundaries.bottom, &problem.boundaries.top})
    side->kind = BoundaryConditionType::neumann;
  const TensorMesh<2> mesh = with_boundaries(TensorMesh<2>(bisected(1.0, 2), bisected(1.0, 2)), problem.boundaries);
  const auto nodal = at_nodes(ctx, mesh, [](const Point& p) { return p.x + 7; });
  const auto found = relative_errors(ctx, mesh, problem, nodal);
  EXPECT_LT(found->l2, 1e-13);
  EXPECT_LT(found->largest, 1e-13);
  EXPECT_LT(found->energy, 1e-13);
  // Of a constant errors are absolute, as of zero.
  problem.exact = [](const Point&) { return 293.0; };
  const auto zero = relative_errors(ctx, mesh, problem, std::vector<double>(25, 0.0));
  EXPECT_LT(std::max({zero->l2, zero->largest, zero->energy}), 1e-9);
  const auto tilted = relative_errors(ctx, mesh, problem, nodal);
  EXPECT_NEAR(tilted->l2, std::sqrt(1.0 / 12), 1e-9);
  EXPECT_NEAR(tilted->energy, 1, 1e-9);
  // Beside a large mean by the farthest values, which are less than twice the root of the mean of squares; that is 2.58e-7.
  problem.exact = [](const Point& p) { return 1e6 + p.x + 1e-6 * p.x * (1 - p.x); };
  const double beside_mean = relative_errors(ctx, mesh, problem, nodal)->l2;
  EXPECT_GT(beside_mean, 1.3e-7);
  EXPECT_LT(beside_mean, 5.2e-7);
}

TEST(ErrorNorms, OfUnknownsAreThoseOfNodalValues) {
  Context ctx(Backend::cpu, 1);
  PoissonProblem problem;
  problem.rhs = [](const Point&) { return 1.0; };
  problem.exact = [](const Point& p) { return 1 + p.x * p.y; };
  problem.boundaries.left.kind = BoundaryConditionType::neumann;
  const TensorMesh<2> mesh = with_boundaries(TensorMesh<2>(bisected(1.0, 3), bisected(1.0, 2)), problem.boundaries);
  Field<double> u(ctx, mesh.unknowns());
  set(ctx, 0.5, u.view());
  const auto a = relative_errors(ctx, mesh, problem, u),
             b = relative_errors(ctx, mesh, problem, nodal_solution(ctx, mesh, problem, u));
  EXPECT_GT(a->l2, 0.1);
  EXPECT_EQ(a->l2, b->l2);
  EXPECT_EQ(a->largest, b->largest);
  EXPECT_EQ(a->energy, b->energy);
  EXPECT_EQ(a->l2, relative_l2_error(ctx, mesh, problem, u));
}

TEST(ErrorNorms, OfWhatIsNotANumberAreNone) {
  Context ctx(Backend::cpu, 1);
  const TensorMesh<2> mesh(bisected(1.0, 2), bisected(1.0, 2));
  auto nodal = at_nodes(ctx, mesh, [](const Point& p) { return p.x; });
  nodal[12] = std::nan("");
  const auto found = relative_errors(ctx, mesh, {}, nodal);
  EXPECT_TRUE(std::isnan(found->l2));
  EXPECT_TRUE(std::isnan(found->largest));
  EXPECT_TRUE(std::isnan(found->energy));
}

TEST(ErrorNorms, DifferencesOfLevels) {
  Context ctx(Backend::cpu, 1);
  const TensorMesh<2> coarse(Axis({0.5, 0.5}), Axis({1.0})), fine(Axis({0.25, 0.25, 0.25, 0.25}), Axis({0.5, 0.5}));
  auto values = at_nodes(ctx, coarse, [](const Point& p) { return p.x; });
  const auto on_fine = at_nodes(ctx, fine, [](const Point& p) { return p.x; });
  EXPECT_EQ(level_difference(coarse, values, on_fine).l2, 0);
  values[1] += 0.1;  // at (1/2, 0), a quarter of whose cells has area 1/4
  const auto found = level_difference(coarse, values, on_fine);
  EXPECT_NEAR(found.largest, 0.1, 1e-15);
  // || x ||^2: both nodes at x = 1/2 have weight 1/4, those at x = 1 have 1/8.
  EXPECT_NEAR(found.l2, std::sqrt(0.25 * 0.01 / (2 * 0.25 * 0.25 + 2 * 0.125)), 1e-15);
  EXPECT_THROW((void)level_difference(coarse, values, values), UsageError);
}

}  // namespace
