// Fluxes balance the load over mixtures of boundaries, and those of known solutions converge.

#include <stratum/assembly/boundary_fluxes.hpp>

#include <cmath>
#include <numbers>
#include <numeric>

#include <gmock/gmock.h>

#include <stratum/assembly/gauss_rules.hpp>
#include <stratum/assembly/solution_range.hpp>
#include <stratum/multigrid/poisson_solver.hpp>

#include "support/backends.hpp"

namespace {

using namespace stratum;
using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr double pi = std::numbers::pi;

/// u_h at all nodes, and the load as the solver had it.
struct Solution {
  std::vector<double> nodal;
  double load = 0;
};

Solution solution_of(Context& ctx, const Geometry& mesh, PoissonProblem& problem) {
  const auto cells = cell_coefficients(ctx, mesh, problem);
  PoissonSolverParams params;
  params.terms = operator_terms(mesh, problem);
  if (cells) params.coefficients = std::make_shared<const CellCoefficients>(*cells);
  params.stop.rtol = 1e-15;
  const auto shape = mesh.logical().unknowns();
  Field<double> b(ctx, shape), x(ctx, shape);
  assemble_load(ctx, mesh, problem, b, cells ? &*cells : nullptr);
  if (is_singular(ctx, mesh, problem)) {
    const double mean = make_compatible(ctx, mesh, b).mean;
    problem.rhs = [f = problem.rhs, mean](const Point& p) { return f(p) - mean; };
  }
  (void)PoissonSolver(ctx, mesh, params).solve(ctx, b.cview(), x.view());
  return {nodal_solution(ctx, mesh, problem, x), load_integral(ctx, mesh, problem, b)};
}

double rhs(const Point& p) { return 3 + p.x - std::cos(5 * p.y); }

double integral(const Geometry& mesh, const ScalarFunction& f) {
  double sum = 0;
  for (int j = 0; j < mesh.logical().y().size(); ++j)
    for (int i = 0; i < mesh.logical().x().size(); ++i)
      for (const auto& [s, weight_y] : gauss4)
        for (const auto& [t, weight_x] : gauss4)
          sum += weight_x * weight_y * mesh.cell(i, j).measure(t, s) * f(mesh.cell(i, j).at(t, s));
  return sum;
}

/// Each with data that vary.
BoundaryCondition side(BoundaryConditionType kind) {
  BoundaryCondition condition;
  condition.kind = kind;
  if (kind == BoundaryConditionType::periodic) return condition;
  condition.value = [](const Point& p) { return 1 + 2 * p.x - p.y * p.y; };
  if (kind == BoundaryConditionType::robin) condition.alpha = [](const Point& p) { return 1 + p.x + p.y; };
  return condition;
}

enum class Terms { laplace, reaction, cells };

PoissonProblem with_terms(const BoundaryConditions& boundaries, Terms terms) {
  PoissonProblem problem;
  problem.rhs = rhs;
  problem.boundaries = boundaries;
  if (terms != Terms::laplace) problem.reaction = 2;
  if (terms != Terms::cells) return problem;
  problem.diffusion.xx = ScalarFunction([](const Point& p) { return 2 + p.x * p.y; });
  problem.diffusion.xy = ScalarFunction([](const Point& p) { return 0.5 * p.y; });
  problem.diffusion.yy = ScalarFunction([](const Point& p) { return 1 + p.x; });
  problem.reaction_of_cells = ScalarFunction([](const Point& p) { return 3 * p.x; });
  return problem;
}

Field<double> at_unknowns(Context& ctx, const TensorMesh<2>& mesh, const std::vector<double>& nodal) {
  Field<double> u(ctx, mesh.unknowns());
  std::vector<double> numbers;
  for (int j = 0; j < u.cview().ny; ++j)
    for (int i = 0; i < u.cview().nx; ++i)
      numbers.push_back(
          nodal[static_cast<std::size_t>(j + mesh.y().first_unknown()) * static_cast<std::size_t>(mesh.x().size() + 1) +
                static_cast<std::size_t>(i + mesh.x().first_unknown())]);
  copy_from_host(ctx, numbers.data(), u.view());
  return u;
}

class BoundaryFluxesTest : public test::OnEveryBackend {};

TEST_P(BoundaryFluxesTest, BalanceTheLoadOverAllMixturesOfSides) {
  constexpr auto d = BoundaryConditionType::dirichlet, n = BoundaryConditionType::neumann,
                 r = BoundaryConditionType::robin, p = BoundaryConditionType::periodic;
  const std::vector<std::pair<BoundaryConditionType, BoundaryConditionType>> pairs{{d, d}, {d, n}, {r, d},
                                                                                   {n, r}, {n, n}, {p, p}};
  const TensorMesh<2> rectangle(bisected(1.5, 3, ThinSide::last, 0.4), Axis({0.1, 0.3, 0.2, 0.2, 0.1}));
  for (const auto& in_x : pairs)
    for (const auto& in_y : pairs)
      for (const Terms terms : {Terms::laplace, Terms::reaction, Terms::cells})
        for (const bool deformed : {false, true}) {
          const BoundaryConditions boundaries{side(in_x.first), side(in_x.second), side(in_y.first), side(in_y.second)};
          PoissonProblem problem = with_terms(boundaries, terms);
          const TensorMesh<2> logical = with_boundaries(rectangle, boundaries);
          const MappedMesh sheared = mapped(
              ctx(), logical, [](const Point& q) { return q.x + 0.3 * q.y; }, [](const Point& q) { return q.y; });
          const Geometry mesh = deformed ? Geometry(sheared) : Geometry(logical);
          const auto [nodal, load] = solution_of(ctx(), mesh, problem);
          const auto fluxes = boundary_fluxes(ctx(), mesh, problem, nodal);
          const auto where = testing::Message() << to_string(in_x.first) << ' ' << to_string(in_x.second) << ' '
                                                << to_string(in_y.first) << ' ' << to_string(in_y.second) << " terms "
                                                << static_cast<int>(terms) << " deformed " << deformed;
          const double size = 1 + std::abs(fluxes.left) + std::abs(fluxes.right) + std::abs(fluxes.bottom) +
                              std::abs(fluxes.top) + std::abs(fluxes.reaction);
          EXPECT_NEAR(load, integral(mesh, problem.rhs), 1e-12 * size) << where;
          EXPECT_NEAR(fluxes.sum(), load, 2e-11 * size) << where;
          if (in_x.first == p) {
            EXPECT_NEAR(fluxes.left, -fluxes.right, 2e-11 * size) << where;
          }
          if (in_y.first == p) {
            EXPECT_NEAR(fluxes.bottom, -fluxes.top, 2e-11 * size) << where;
          }
          EXPECT_EQ(fluxes.reaction != 0, terms != Terms::laplace) << where;
          const auto same = boundary_fluxes(ctx(), mesh, problem, at_unknowns(ctx(), logical, nodal));
          for (const auto& [a, b] : {std::pair{same.left, fluxes.left},
                                     {same.right, fluxes.right},
                                     {same.bottom, fluxes.bottom},
                                     {same.top, fluxes.top},
                                     {same.reaction, fluxes.reaction}})
            EXPECT_NEAR(a, b, 1e-12 * size) << where;
        }
}

/// - integral of n.K grad u over the polygon that the side is.
double exact_flux(const Geometry& mesh, const BoundaryPlace& side,
                  const std::function<std::pair<double, double>(const Point&)>& k_grad) {
  const bool row = side.along == Direction::x;
  double flux = 0;
  for (int k = 0; k < mesh.along(side).size(); ++k) {
    const Point a = mesh.on_boundary(side, k, 0), b = mesh.on_boundary(side, k, 1);
    const double sign = row == side.last ? -1 : 1;
    for (const auto& [t, weight] : gauss4) {
      const auto [x, y] = k_grad(mesh.on_boundary(side, k, t));
      flux -= weight * sign * ((b.y - a.y) * x - (b.x - a.x) * y);
    }
  }
  return flux;
}
constexpr BoundaryPlace places[] = {
    {Direction::y, false}, {Direction::y, true}, {Direction::x, false}, {Direction::x, true}};

/// Largest of the four errors.
double error_of(const BoundaryFluxes& fluxes, const Geometry& mesh,
                const std::function<std::pair<double, double>(const Point&)>& k_grad) {
  const double found[] = {fluxes.left, fluxes.right, fluxes.bottom, fluxes.top};
  double error = 0;
  for (int k = 0; k < 4; ++k) error = std::max(error, std::abs(found[k] - exact_flux(mesh, places[k], k_grad)));
  return error;
}

// K = [2 1/2; 1/2 1], u = sin(x + 2 y) + x x.
std::pair<double, double> k_grad(const Point& p) {
  const double ux = std::cos(p.x + 2 * p.y) + 2 * p.x, uy = 2 * std::cos(p.x + 2 * p.y);
  return {2 * ux + 0.5 * uy, 0.5 * ux + uy};
}

TEST_P(BoundaryFluxesTest, AreOfSecondOrder) {
  for (const bool neumann : {false, true})
    for (const bool deformed : {false, true}) {
      double before = 0;
      for (int level = 3; level <= 6; ++level) {
        PoissonProblem problem;
        problem.diffusion = {2.0, 0.5, 1.0};
        problem.exact = [](const Point& p) { return std::sin(p.x + 2 * p.y) + p.x * p.x; };
        problem.rhs = [](const Point& p) { return 8 * std::sin(p.x + 2 * p.y) - 4; };
        if (neumann) {
          problem.boundaries.right = {BoundaryConditionType::robin,
                                      [&](const Point& p) { return k_grad(p).first + 3 * problem.exact(p); },
                                      [](const Point&) { return 3.0; }};
          problem.boundaries.bottom = {
              BoundaryConditionType::neumann, [](const Point& p) { return -k_grad(p).second; }, {}};
        }
        const TensorMesh<2> logical = with_boundaries(
            TensorMesh<2>(bisected(1.0, level, ThinSide::last, 0.8), bisected(0.5, level)), problem.boundaries);
        // Boundaries stay where they are.
        const auto bump = [](const Point& p) { return 0.1 * std::sin(pi * p.x) * std::sin(2 * pi * p.y); };
        const MappedMesh bent = mapped(
            ctx(), logical, [&](const Point& p) { return p.x + bump(p); },
            [&](const Point& p) { return p.y + bump(p); });
        const Geometry mesh = deformed ? Geometry(bent) : Geometry(logical);
        const auto nodal = solution_of(ctx(), mesh, problem).nodal;
        const double error = error_of(boundary_fluxes(ctx(), mesh, problem, nodal), mesh, k_grad);
        if (before > 0) {
          EXPECT_GT(before / error, 3.3) << level << ' ' << neumann << deformed;
        }
        before = error;
      }
      EXPECT_LT(before, 2e-3);
    }
}

TEST_P(BoundaryFluxesTest, OfBilinearFunctionsAreExact) {
  PoissonProblem problem;
  problem.rhs = [](const Point&) { return 0.0; };
  problem.exact = [](const Point& p) { return 2 * p.x + 3 * p.y + p.x * p.y; };
  const TensorMesh<2> mesh(bisected(1.0, 4, ThinSide::first, 0.3), bisected(2.0, 3));
  const auto nodal = solution_of(ctx(), mesh, problem).nodal;
  const auto fluxes = boundary_fluxes(ctx(), mesh, problem, nodal);
  EXPECT_LT(error_of(fluxes, mesh, [](const Point& p) { return std::pair{2 + p.y, 3 + p.x}; }), 1e-10);
}

TEST_P(BoundaryFluxesTest, ThroughPeriodicBoundariesAreOfSecondOrder) {
  double before = 0;
  for (int level = 3; level <= 6; ++level) {
    PoissonProblem problem;
    const auto wave = [](const Point& p) { return std::sin(2 * pi * p.x + 1); };
    problem.exact = [=](const Point& p) { return wave(p) * (1 + p.y); };
    problem.rhs = [=](const Point& p) { return 4 * pi * pi * wave(p) * (1 + p.y); };
    problem.boundaries.left.kind = problem.boundaries.right.kind = BoundaryConditionType::periodic;
    const TensorMesh<2> mesh =
        with_boundaries(TensorMesh<2>(bisected(1.0, level), bisected(1.0, level)), problem.boundaries);
    const auto nodal = solution_of(ctx(), mesh, problem).nodal;
    const double error = error_of(boundary_fluxes(ctx(), mesh, problem, nodal), mesh, [=](const Point& p) {
      return std::pair{2 * pi * std::cos(2 * pi * p.x + 1) * (1 + p.y), wave(p)};
    });
    if (before > 0) {
      EXPECT_GT(before / error, 3.3) << level;
    }
    before = error;
  }
}

// u = 1 beside a cell of 1e-17: no double tells a flux there.
TEST_P(BoundaryFluxesTest, RoundingIsThatOfThinCells) {
  PoissonProblem problem;
  problem.rhs = [](const Point&) { return 1.0; };
  problem.boundary = [](const Point&) { return 1.0; };
  for (const double thinnest : {1e-3, 1e-17}) {
    const TensorMesh<2> mesh(Axis({0.5, 0.25, 0.25, thinnest}), bisected(1.0, 2));
    const auto nodal = solution_of(ctx(), mesh, problem).nodal;
    const double rounding = boundary_fluxes(ctx(), mesh, problem, nodal).rounding;
    EXPECT_EQ(rounding<1e-9, thinnest> 1e-10) << rounding;
    EXPECT_EQ(rounding > 1, thinnest < 1e-10) << rounding;
  }
}

TEST_P(BoundaryFluxesTest, AnotherNumberOfValuesIsRefused) {
  const TensorMesh<2> mesh(bisected(1.0, 2), bisected(1.0, 2));
  const std::vector<double> few(24);
  EXPECT_THAT([&] { (void)boundary_fluxes(ctx(), mesh, {}, few); }, ThrowsMessage<UsageError>(HasSubstr("24")));
  EXPECT_THAT([&] { (void)solution_range(ctx(), mesh, few); }, ThrowsMessage<UsageError>(HasSubstr("24")));
}

TEST_P(BoundaryFluxesTest, ExtremesAndTheLargestStep) {
  const TensorMesh<2> mesh(bisected(2.0, 2), Axis({0.25, 0.25, 0.5}));  // nodes 5 x 4
  std::vector<double> nodal(20, 1.0);
  nodal[0] = -5;         // a corner, beside 1 on both sides: given
  nodal[2 * 5 + 3] = 4;  // x 1.5, y 0.5
  nodal[1 * 5 + 3] = 2;
  const auto range = solution_range(ctx(), mesh, nodal);
  EXPECT_EQ(range.smallest.value, -5);
  EXPECT_EQ(range.largest.value, 4);
  EXPECT_EQ(range.largest.x, 1.5);
  EXPECT_EQ(range.largest.y, 0.5);
  EXPECT_EQ(range.smallest_on_boundary, -5);
  EXPECT_EQ(range.largest_on_boundary, 1);
  EXPECT_EQ(range.largest_step(), 3.0 / 9);
  EXPECT_EQ(range.step_from.y, 0.5);
  EXPECT_EQ(range.step_from.x, 1.5);
  EXPECT_EQ(range.step_to.x, 1.0);
  EXPECT_EQ(solution_range(ctx(), mesh, std::vector<double>(20, 7.0)).largest_step(), 0);
  EXPECT_EQ(smallest_width(mesh), 0.25);
  const MappedMesh twice = mapped(
      ctx(), mesh, [](const Point& p) { return 2 * p.x; }, [](const Point& p) { return p.y / 2; });
  EXPECT_DOUBLE_EQ(smallest_width(twice), 0.125);
}

INSTANTIATE_ON_EVERY_BACKEND(BoundaryFluxesTest);

}  // namespace
