// Deformed meshes, solved: counts of cycles and the order of errors.

#include <cmath>
#include <numbers>

#include <gmock/gmock.h>

#include <stratum/assembly/mapped_operators.hpp>
#include <stratum/assembly/poisson_problem.hpp>
#include <stratum/assembly/sample_maps.hpp>
#include <stratum/mesh/graded.hpp>
#include <stratum/multigrid/poisson_solver.hpp>

#include "support/backends.hpp"

namespace {

using namespace stratum;
using std::numbers::pi;
using testing::HasSubstr;
using testing::ThrowsMessage;

TensorMesh<2> squares(int level) { return {uniform(1, 1 << level), uniform(1, 1 << level)}; }

class MappedCycles : public test::OnEveryBackend {
 protected:
  /// V-cycles or iterations of CG; -1 where they do not end.
  int iterations(const SampleMap& map, int level, Method method, int sweeps, Precision precision) {
    PoissonProblem problem;
    problem.rhs = [](const Point&) { return 1.0; };
    const MappedMesh mesh = mapped(ctx(), squares(level), map.x, map.y);
    PoissonSolverParams params;
    params.method = method;
    params.multigrid.sweeps = sweeps;
    params.precision = precision;
    Field<double> b(ctx(), mesh.logical().unknowns()), x(ctx(), mesh.logical().unknowns());
    assemble_load(ctx(), mesh, problem, b);
    const auto report = PoissonSolver(ctx(), mesh, params).solve(ctx(), b.cview(), x.view());
    return report.status == Status::converged ? report.iterations : -1;
  }
  void expect(const SampleMap& map, Method method, int sweeps, int most) {
    const int in_double = iterations(map, 7, method, sweeps, Precision::full),
              mixed = iterations(map, 7, method, sweeps, Precision::mixed);
    EXPECT_TRUE(in_double > 0 && in_double <= most) << map.name << ": " << in_double;
    EXPECT_TRUE(mixed > 0 && mixed <= most + 1) << map.name << ", mixed: " << mixed;
  }
};
INSTANTIATE_ON_EVERY_BACKEND(MappedCycles);

TEST_P(MappedCycles, SmootherAutoGoesByTheMatrix) {
  PoissonProblem problem;
  problem.rhs = [](const Point&) { return 1.0; };
  struct Case {
    SampleMap map;
    Method method;
    Cycle cycle;
    int most;
  };
  for (const auto& [map, method, cycle, most] :
       {Case{shear_map(30), Method::cg, Cycle::v, 8}, Case{shear_map(60), Method::cg, Cycle::v, 11},
        Case{annulus_map(10), Method::cg, Cycle::v, 7}, Case{sine_map(0.1), Method::cg, Cycle::v, 9},
        Case{kershaw_map(0.5), Method::fcg, Cycle::k, 16}, Case{shear_map(80), Method::fcg, Cycle::k, 19}})
    for (const auto precision : {Precision::mixed, Precision::full}) {
      const MappedMesh mesh = mapped(ctx(), squares(7), map.x, map.y);
      PoissonSolverParams params;
      params.multigrid.smoother = "auto";
      params.precision = precision;
      Field<double> b(ctx(), mesh.logical().unknowns()), x(ctx(), mesh.logical().unknowns());
      assemble_load(ctx(), mesh, problem, b);
      PoissonSolver solver(ctx(), mesh, params);
      EXPECT_EQ(solver.params().method, method) << map.name << ": " << solver.choice();
      EXPECT_EQ(solver.params().multigrid.cycle, cycle) << map.name;
      const auto report = solver.solve(ctx(), b.cview(), x.view());
      EXPECT_EQ(report.status, Status::converged) << map.name << ": " << report.reason;
      EXPECT_LE(report.iterations, most) << map.name;
    }
}

TEST_P(MappedCycles, DeformationsTakeFewIterations) {
  expect(shear_map(30), Method::multigrid, 4, 6);
  expect(shear_map(45), Method::multigrid, 4, 6);
  expect(shear_map(60), Method::cg, 2, 10);
  expect(annulus_map(10), Method::multigrid, 4, 6);
  expect(sine_map(0.10), Method::multigrid, 4, 8);
  expect(sine_map(0.10), Method::cg, 2, 9);
  expect(kershaw_map(0.5), Method::cg, 4, 13);
}

// u = exp(x / 2) sin(y) + x y, and what belongs to it.
struct Manufactured {
  double xx, xy, yy, c;

  static double u(const Point& p) { return std::exp(p.x / 2) * std::sin(p.y) + p.x * p.y; }
  [[nodiscard]] double f(const Point& p) const {
    const double e = std::exp(p.x / 2), s = std::sin(p.y);
    return -(xx * e * s / 4 + 2 * xy * (e * std::cos(p.y) / 2 + 1) - yy * e * s) + c * u(p);
  }
  /// n.K grad u
  [[nodiscard]] double flux(const Point& p, double nx, double ny) const {
    const double ux = std::exp(p.x / 2) * std::sin(p.y) / 2 + p.y, uy = std::exp(p.x / 2) * std::cos(p.y) + p.x;
    return nx * (xx * ux + xy * uy) + ny * (xy * ux + yy * uy);
  }
  [[nodiscard]] PoissonProblem problem() const {
    PoissonProblem of;
    of.rhs = [*this](const Point& p) { return f(p); };
    of.exact = u;
    of.reaction = c;
    of.diffusion.xx = xx;
    if (xy != 0) of.diffusion.xy = xy;
    if (yy != xx) of.diffusion.yy = yy;
    return of;
  }
};
const Manufactured tensors[] = {{1, 0, 1, 0}, {2, 0, 2, 1}, {1, 0, 4, 0}, {2, 0.7, 1, 3}};

class MappedSolutions : public test::OnEveryBackend {
 protected:
  double error(const SampleMap& map, int level, const PoissonProblem& problem, const PoissonSolverParams& params = {}) {
    const MappedMesh mesh = with_boundaries(mapped(ctx(), squares(level), map.x, map.y), problem.boundaries);
    const GridLayout<2> shape = mesh.logical().unknowns();
    PoissonSolverParams all = params;
    all.terms = operator_terms(mesh, problem);
    if (auto k = cell_coefficients(ctx(), mesh, problem))
      all.coefficients = std::make_shared<const CellCoefficients>(std::move(*k));
    all.stop.rtol = 1e-10;
    Field<double> b(ctx(), shape), x(ctx(), shape);
    assemble_load(ctx(), mesh, problem, b);
    const bool singular = is_singular(ctx(), mesh, problem);
    if (singular) compatibility_ = make_compatible(ctx(), mesh, b);
    const auto report = PoissonSolver(ctx(), mesh, all).solve(ctx(), b.cview(), x.view());
    EXPECT_TRUE(report.status == Status::converged || report.status == Status::round_off_limit) << report.reason;
    if (singular) subtract_integral_mean(ctx(), mesh, x);
    return *relative_l2_error(ctx(), mesh, problem, x);
  }
  void expect_second_order(const SampleMap& map, const PoissonProblem& problem) {
    const double coarse = error(map, 4, problem), fine = error(map, 5, problem);
    EXPECT_LT(fine, 4e-3) << map.name;
    EXPECT_NEAR(coarse / fine, 4, 0.25) << map.name << ": " << coarse << ", " << fine;
  }
  Compatibility compatibility_;
};
INSTANTIATE_ON_EVERY_BACKEND(MappedSolutions);

TEST_P(MappedSolutions, AreOfSecondOrderWithDirichletSides) {
  for (const auto& k : tensors)
    for (const auto& map : {shear_map(40), annulus_map(3), sine_map(0.1)}) expect_second_order(map, k.problem());
}

/// Normals of a sheared square and of a quarter of an annulus, outward.
TEST_P(MappedSolutions, AreOfSecondOrderWithFluxesGiven) {
  const double tilt = 40 * pi / 180;
  using Normal = std::function<std::pair<double, double>(const Point&)>;
  const auto constant = [](double x, double y) { return Normal([=](const Point&) { return std::pair(x, y); }); };
  const auto radial = [](double sign) {
    return Normal([=](const Point& p) {
      const double r = std::hypot(p.x, p.y);
      return std::pair(sign * p.x / r, sign * p.y / r);
    });
  };
  struct Case {
    SampleMap map;
    Normal left, right, bottom, top;
  };
  const Case cases[] = {{shear_map(40), constant(-std::cos(tilt), std::sin(tilt)),
                         constant(std::cos(tilt), -std::sin(tilt)), constant(0, -1), constant(0, 1)},
                        {annulus_map(3), constant(-1, 0), constant(0, -1), radial(-1), radial(1)}};
  for (const auto& [map, left, right, bottom, top] : cases)
    for (const auto& k : tensors) {
      const auto side = [&k](const Normal& normal, bool robin) {
        const auto alpha = [](const Point& p) { return 1 + p.x * p.x + p.y; };
        BoundaryCondition condition;
        condition.kind = robin ? BoundaryConditionType::robin : BoundaryConditionType::neumann;
        condition.value = [k, normal, robin, alpha](const Point& p) {
          const auto [nx, ny] = normal(p);
          return k.flux(p, nx, ny) + (robin ? alpha(p) * Manufactured::u(p) : 0);
        };
        if (robin) condition.alpha = alpha;
        return condition;
      };
      PoissonProblem problem = k.problem();
      problem.boundaries = {side(left, true), {}, side(bottom, false), side(top, true)};
      expect_second_order(map, problem);
      problem.boundaries = {side(left, false), side(right, true), {}, side(top, false)};
      expect_second_order(map, problem);
      // Everywhere fluxes: with c = 0 known up to a constant.
      problem.boundaries = {side(left, false), side(right, false), side(bottom, false), side(top, false)};
      expect_second_order(map, problem);
      EXPECT_LE(std::abs(compatibility_.sum), 0.01 * compatibility_.sum_of_magnitudes);
    }
}

TEST_P(MappedSolutions, GoAroundAFullAnnulus) {
  // log r, between circles that are polygons here.
  const SampleMap full{"full annulus", [](const Point& p) { return (2 - p.y) * std::cos(2 * pi * p.x); },
                       [](const Point& p) { return (2 - p.y) * std::sin(2 * pi * p.x); }};
  PoissonProblem problem;
  problem.rhs = [](const Point&) { return 0.0; };
  problem.exact = [](const Point& p) { return std::log(std::hypot(p.x, p.y)) + p.x / (p.x * p.x + p.y * p.y); };
  problem.boundaries.left.kind = problem.boundaries.right.kind = BoundaryConditionType::periodic;
  const double coarse = error(full, 4, problem), fine = error(full, 5, problem);
  EXPECT_NEAR(coarse / fine, 4, 0.25) << coarse << ", " << fine;
}

TEST_P(MappedSolutions, JumpsAlongTheMeshLines) {
  // K = 1 and 100 in the two halves of an annulus, u radial: u' r K is constant.
  PoissonProblem problem;
  const auto ring = annulus_map(3);
  const auto radius = [](const Point& p) { return std::hypot(p.x, p.y); };
  problem.rhs = [](const Point&) { return 0.0; };
  problem.exact = [radius](const Point& p) {
    const double r = radius(p);
    return r <= 2 ? std::log(r) : std::log(2.0) + std::log(r / 2) / 100;
  };
  problem.diffusion.xx = ScalarFunction([radius](const Point& p) { return radius(p) < 2 ? 1.0 : 100.0; });
  const double coarse = error(ring, 4, problem), fine = error(ring, 5, problem);
  EXPECT_NEAR(coarse / fine, 4, 0.3) << coarse << ", " << fine;
}

TEST_P(MappedSolutions, FullMultigridAndBatchesAgreeWithTheSolver) {
  const auto problem = tensors[3].problem();
  const double converged = error(sine_map(0.1), 5, problem);
  PoissonSolverParams params;
  params.full_multigrid = true;
  params.full_multigrid_from_x = true;
  params.continue_after_full_multigrid = true;
  EXPECT_NEAR(error(sine_map(0.1), 5, problem, params), converged, 1e-6 * converged);

  const MappedMesh mesh = mapped(ctx(), squares(5), sine_map(0.1).x, sine_map(0.1).y);
  const GridLayout<2> shape = mesh.logical().unknowns();
  test::Random random(77);
  PoissonSolver solver(ctx(), mesh, {});
  std::vector<Field<double>> b, x;
  for (int k = 0; k < 3; ++k) {
    b.push_back(test::random_vector<double>(ctx(), random, shape));
    x.emplace_back(ctx(), shape);
  }
  const std::vector<FieldView<const double>> bs{b[0].cview(), b[1].cview(), b[2].cview()};
  const std::vector<FieldView<double>> xs{x[0].view(), x[1].view(), x[2].view()};
  const auto reports = solver.solve(ctx(), bs, xs);
  for (std::size_t k = 0; k < 3; ++k) {
    Field<double> alone(ctx(), shape);
    const auto report = solver.solve(ctx(), bs[k], alone.view());
    EXPECT_EQ(report.iterations, reports[k].iterations);
    EXPECT_EQ(test::to_host(ctx(), alone), test::to_host(ctx(), x[k]));
  }
}

TEST_P(MappedSolutions, MemoryIsFoundByADryRun) {
  const auto map = sine_map(0.1);
  const MappedMesh mesh = mapped(ctx(), squares(7), map.x, map.y);
  Context fresh(GetParam(), 1);
  const auto expected = required_memory(fresh, mesh, {});
  const auto before = fresh.memory()->bytes.load();
  Field<double> b(fresh, mesh.logical().unknowns()), x(fresh, mesh.logical().unknowns());
  const PoissonSolver solver(fresh, mesh);
  EXPECT_NEAR(static_cast<double>(fresh.memory()->peak_bytes - before), static_cast<double>(expected),
              0.02 * static_cast<double>(expected));
}

TEST_P(MappedSolutions, SplitInterpolationIsForRectangles) {
  const auto problem = tensors[3].problem();
  for (const auto kind : {InterpolationKind::conductance, InterpolationKind::bilinear, InterpolationKind::matrix}) {
    PoissonSolverParams params;
    params.interpolation = kind;
    EXPECT_LT(error(shear_map(40), 4, problem, params), 4e-3);
  }
  PoissonSolverParams params;
  params.interpolation = InterpolationKind::split;
  EXPECT_THAT([&] { (void)error(shear_map(40), 4, problem, params); },
              ThrowsMessage<UsageError>(HasSubstr("split is for rectangles")));
}

}  // namespace
