// PoissonSolver3D where K is not separable: against an assembly of its own, exact solutions, and the choice of the method.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <numeric>

#include <stratum/mesh/graded.hpp>
#include <stratum/multigrid/poisson_solver_3d.hpp>

#include "support/backends.hpp"
#include "support/dense_box.hpp"
#include "support/random.hpp"

namespace {

using namespace stratum;
using Kind = BoundaryConditionType;
using test::Random;
using testing::HasSubstr;

Axis uniform(double length, int n) { return Axis(std::vector<double>(static_cast<std::size_t>(n), length / n)); }

double wave(const Point3D& p) { return std::sin(3 * p.x + 1) * std::cos(2 * p.y) * std::exp(p.z) + p.x * p.y + 0.3; }
/// Different in every cell, from 0.05 to 20.
double rough(const Point3D& p) { return std::exp(3 * std::sin(37 * p.x + 91 * p.y + 53 * p.z + 20 * p.x * p.y * p.z)); }

BoundaryCondition3D condition(Kind kind, double shift) {
  BoundaryCondition3D of_face{.kind = kind};
  if (kind != Kind::periodic) of_face.value = [shift](const Point3D& p) { return wave(p) + shift; };
  if (kind == Kind::robin) of_face.alpha = [shift](const Point3D& /*p*/) { return 1.5 + shift; };
  return of_face;
}

constexpr Kind D = Kind::dirichlet, N = Kind::neumann, R = Kind::robin, P = Kind::periodic;

PoissonProblem3D problem_with(const std::array<Kind, 6>& kinds) {
  PoissonProblem3D problem{.rhs = wave};
  for (std::size_t f = 0; f < kinds.size(); ++f)
    problem.boundaries.faces[f] = condition(kinds[f], 0.1 * static_cast<double>(f));
  problem.diffusion.xx = rough;
  return problem;
}

TEST(PoissonSolver3DCells, AgreesWithADenseAssembly) {
  Random random(31);
  const std::vector<std::array<Kind, 6>> mixtures{{D, D, D, D, D, D}, {N, D, D, R, D, N}, {R, R, R, R, R, R},
                                                  {P, P, D, D, N, R}, {N, D, P, P, P, P}, {N, R, N, D, R, D}};
  for (const Backend backend : test::available_backends()) {
    Context ctx = test::context_on(backend);
    for (std::size_t m = 0; m < mixtures.size(); ++m)
      for (int kind = 0; kind < 3; ++kind) {
        SCOPED_TRACE(testing::Message() << "mixture " << m << ", kind " << kind);
        const TensorMesh<3> mesh{Axis(random.widths(4, 1)), Axis(random.widths(5, 1)), Axis(random.widths(3, 1))};
        PoissonProblem3D problem = problem_with(mixtures[m]);
        if (kind == 1) problem.reaction = 2.5;
        if (kind == 2) {
          problem.diffusion.yy = [](const Point3D& p) { return 3 * rough(p) + p.x; };
          problem.diffusion.zz = [](const Point3D& p) { return 0.1 + p.y * p.z; };
        }
        PoissonSolver3D solver(ctx, mesh, problem, {.stop = {.rtol = 1e-12, .rounding_will_do = true}});
        const SolveReport report = solver.solve();
        EXPECT_EQ(solver.plan().kind, BoxMethod::multigrid);
        EXPECT_LE(static_cast<int>(report.status), static_cast<int>(Status::round_off_limit)) << report.reason;
        EXPECT_LT(test::relative_difference(solver.nodal_solution(), test::DenseBox(mesh, problem).solve()), 1e-9);
        const BoundaryFluxes3D fluxes = solver.fluxes();
        EXPECT_NEAR(fluxes.sum(), fluxes.load, 1e-9 * (std::abs(fluxes.load) + 1 + fluxes.rounding * 1e16));
      }
  }
}

TEST(PoissonSolver3DCells, SolvesSingularProblemsWithoutAMean) {
  Random random(32);
  for (const Backend backend : test::available_backends()) {
    Context ctx = test::context_on(backend);
    for (const auto& kinds : {std::array{N, N, N, N, N, N}, {P, P, N, N, P, P}, {P, P, P, P, P, P}}) {
      const TensorMesh<3> mesh{Axis(random.widths(7, 1)), Axis(random.widths(6, 1)), Axis(random.widths(8, 1))};
      PoissonProblem3D problem = problem_with(kinds);
      for (auto& face : problem.boundaries.faces) face.value = {};
      PoissonSolver3D solver(ctx, mesh, problem, {.project = true});
      const SolveReport report = solver.solve();
      EXPECT_LE(static_cast<int>(report.status), static_cast<int>(Status::round_off_limit)) << report.reason;
      ASSERT_TRUE(solver.compatibility().has_value());
      // The mean that was taken off f is taken off that of the dense equations, too.
      const double mean = solver.compatibility()->mean;
      problem.rhs = [mean](const Point3D& p) { return wave(p) - mean; };
      EXPECT_LT(test::relative_difference(solver.nodal_solution(), test::DenseBox(mesh, problem).solve(true)), 1e-7);
    }
  }
}

/// u and a smooth K that is no product, f by hand: -div(K grad u).
constexpr double pi = std::numbers::pi;
double smooth_k(const Point3D& p) { return 2 + p.x * p.y * p.z + std::sin(p.x + 2 * p.y + 3 * p.z); }
double exact_u(const Point3D& p) { return std::sin(pi * p.x) * std::cos(2 * p.y) * std::exp(p.z); }
double rhs_of_u(const Point3D& p) {
  const double s = std::cos(p.x + 2 * p.y + 3 * p.z), u = exact_u(p);
  const std::array<double, 3> of_k{p.y * p.z + s, p.x * p.z + 2 * s, p.x * p.y + 3 * s};
  const std::array<double, 3> of_u{pi * std::cos(pi * p.x) * std::cos(2 * p.y) * std::exp(p.z),
                                   -2 * std::sin(pi * p.x) * std::sin(2 * p.y) * std::exp(p.z), u};
  return -(of_k[0] * of_u[0] + of_k[1] * of_u[1] + of_k[2] * of_u[2] + smooth_k(p) * (1 - 4 - pi * pi) * u);
}

TEST(PoissonSolver3DCells, ConvergesWithOrderTwo) {
  for (const Backend backend : test::available_backends()) {
    Context ctx = test::context_on(backend);
    for (const BoxMethod method : {BoxMethod::multigrid, BoxMethod::fd_cg}) {
      PoissonProblem3D problem{.rhs = rhs_of_u, .exact = exact_u};
      problem.diffusion.xx = smooth_k;
      double before = 0;
      for (const int n : {6, 12, 24}) {
        // Stretched alike on all levels: quarters of the cells, thin at one end.
        std::vector<double> widths;
        for (int i = 0; i < n; ++i) widths.push_back(i < n / 2 ? 0.2 / n : 1.8 / n);
        const TensorMesh<3> mesh{uniform(1, n), Axis(widths), uniform(1, n)};
        PoissonSolver3D solver(ctx, mesh, problem, {.method = method});
        const SolveReport report = solver.solve();
        EXPECT_EQ(report.status, Status::converged) << report.reason;
        const double error = solver.relative_errors()->l2;
        if (before > 0) {
          EXPECT_NEAR(std::log2(before / error), 2, 0.1);
        }
        before = error;
      }
      EXPECT_LT(before, 3e-3);
    }
  }
}

TEST(PoissonSolver3DCells, MethodsAgree) {
  for (const Backend backend : test::available_backends()) {
    Context ctx = test::context_on(backend);
    const TensorMesh<3> mesh{uniform(1, 14), bisected(1, 4, ThinSide::first, 0.25), uniform(2, 11)};
    PoissonProblem3D problem = problem_with({D, N, R, D, D, D});
    problem.reaction = 1;
    for (const bool separable : {true, false}) {
      problem.diffusion = {};
      if (!separable) problem.diffusion.xx = smooth_k;
      const auto solution = [&](BoxMethod method, bool in_float = false) {
        PoissonSolver3D solver(ctx, mesh, problem, {.method = method, .float_cycles = in_float});
        const SolveReport report = solver.solve();
        EXPECT_EQ(report.status, Status::converged) << report.reason;
        EXPECT_EQ(solver.plan().kind, method);
        return solver.nodal_solution();
      };
      const auto u = solution(BoxMethod::multigrid);
      EXPECT_LT(test::relative_difference(solution(BoxMethod::fd_cg), u), 1e-8);
      EXPECT_LT(test::relative_difference(solution(BoxMethod::multigrid, true), u), 1e-8);
      if (separable) {
        EXPECT_LT(test::relative_difference(solution(BoxMethod::direct), u), 1e-8);
      }
    }
  }
}

TEST(PoissonSolver3DCells, ChoosesTheMethodAndSaysWhy) {
  Context ctx(Backend::cpu, 1);
  const TensorMesh<3> mesh{uniform(1, 12), uniform(1, 12), uniform(1, 12)};
  const auto plan_with = [&](const PoissonProblem3D& problem, BoxMethod method = BoxMethod::automatic) {
    return PoissonSolver3D(ctx, mesh, problem, {.project = true, .method = method}).plan();
  };
  PoissonProblem3D problem{.rhs = wave};
  EXPECT_EQ(plan_with(problem).kind, BoxMethod::direct);
  problem.diffusion.xx = [](const Point3D& p) { return (1 + p.x) * (2 - p.y) * std::exp(p.z); };
  EXPECT_EQ(plan_with(problem).kind, BoxMethod::direct);
  // A reaction makes it one that is not separable.
  problem.reaction = 1;
  EXPECT_EQ(plan_with(problem).kind, BoxMethod::fd_cg);
  EXPECT_THAT(plan_with(problem).reason, HasSubstr("a reaction c = 1"));
  problem.reaction = 0;
  problem.diffusion.xx = smooth_k;
  EXPECT_EQ(plan_with(problem).kind, BoxMethod::fd_cg);
  EXPECT_THAT(plan_with(problem).reason, HasSubstr("K is smooth"));
  problem.diffusion.xx = [](const Point3D& p) { return p.x + p.y > 1 ? 100.0 : 1.0; };
  EXPECT_EQ(plan_with(problem).kind, BoxMethod::multigrid);
  EXPECT_THAT(plan_with(problem).reason, HasSubstr("K differs by a factor of 100 between neighbouring cells"));
  EXPECT_THAT(plan_with(problem).method, HasSubstr("V-cycles"));
  EXPECT_EQ(plan_with(problem).levels.front().unknowns, (std::array{11, 11, 11}));
  for (auto& face : problem.boundaries.faces) face.kind = Kind::neumann;
  EXPECT_EQ(plan_with(problem).kind, BoxMethod::multigrid);
  EXPECT_THROW((void)plan_with(problem, BoxMethod::fd_cg), UsageError);
  EXPECT_THROW((void)plan_with(problem, BoxMethod::direct), UsageError);
}

/// Fast diagonalization scaled by K is no preconditioner where K differs by little between two cells, one of them thin: across a
/// periodic face or inside.
TEST(PoissonSolver3DCells, SmallStepsOfKBesideThinCellsAreNotSmooth) {
  Context ctx(Backend::cpu, 1);
  const auto taken = [&](const Axis& x, Kind at_ends, double step, double slope) {
    PoissonProblem3D problem{.rhs = [](const Point3D& p) { return std::sin(2 * std::numbers::pi * p.x) + p.y; }};
    problem.boundaries[BoxFace::left].kind = problem.boundaries[BoxFace::right].kind = at_ends;
    problem.diffusion.xx = [=](const Point3D& p) {
      return 1 + (p.x < 0.5 ? 0 : step) + slope * p.x + 0.1 * std::sin(p.x * p.y + p.z);
    };
    PoissonSolver3D solver(ctx, {x, uniform(1, 12), uniform(1, 12)}, problem);
    const SolveReport report = solver.solve();
    EXPECT_EQ(report.status, Status::converged) << report.reason;
    EXPECT_LE(report.iterations, 14);
    return solver.plan();
  };
  const Axis thin_end = geometric_with_smallest(1, 24, 1e-6, GradedSide::first);
  std::vector<double> widths;
  for (int i = 0; i < 12; ++i) widths.push_back(std::pow(3.0, 11 - i));
  widths.insert(widths.end(), widths.rbegin(), widths.rend());
  const double sum = std::accumulate(widths.begin(), widths.end(), 0.0);
  for (double& h : widths) h /= sum;
  EXPECT_EQ(taken(thin_end, P, 0, 0.5).kind, BoxMethod::multigrid);
  EXPECT_THAT(taken(thin_end, P, 0, 0.5).reason, HasSubstr("too much for thin cells"));
  EXPECT_EQ(taken(thin_end, P, 0, 1).kind, BoxMethod::multigrid);
  EXPECT_EQ(taken(Axis(widths), N, 0.1, 0).kind, BoxMethod::multigrid);
  // Steps of wide cells, and slopes in thin ones, are smooth.
  EXPECT_EQ(taken(uniform(1, 24), P, 0, 0.3).kind, BoxMethod::fd_cg);
  EXPECT_EQ(taken(uniform(1, 24), P, 0, 1).kind, BoxMethod::multigrid);
  EXPECT_EQ(taken(uniform(1, 24), N, 0.1, 0).kind, BoxMethod::fd_cg);
  EXPECT_EQ(taken(thin_end, N, 0, 0.5).kind, BoxMethod::fd_cg);
  EXPECT_EQ(taken(Axis(widths), N, 0, 1).kind, BoxMethod::fd_cg);
}

/// A layer of K = diag(1, 1, 1e4) everywhere is a box of another shape: the gate sees it by K.
TEST(PoissonSolver3DCells, CoarsensByAnisotropicK) {
  Context ctx(Backend::cpu, 1);
  const TensorMesh<3> mesh{uniform(1, 24), uniform(1, 24), uniform(1, 24)};
  const auto iterations = [&](double kz) {
    PoissonProblem3D problem{.rhs = [](const Point3D& p) { return 1 + p.x + 2 * p.y * p.z; }};
    // Not separable by its last digits.
    const auto k = [](double size) {
      return [size](const Point3D& p) { return size * (1 + 0.01 * std::sin(9 * p.x * p.y * p.z)); };
    };
    problem.diffusion = {k(1), k(1), k(kz)};
    PoissonSolver3D solver(ctx, mesh, problem, {.stop = {.rtol = 1e-8}});
    const SolveReport report = solver.solve();
    EXPECT_EQ(report.status, Status::converged) << report.reason;
    return report.iterations;
  };
  EXPECT_LE(iterations(1), 10);
  EXPECT_LE(iterations(1e4), 12);
  EXPECT_LE(iterations(1e-4), 12);
}

TEST(PoissonSolver3DCells, MemoryIsWhatTheDryRunSays) {
  for (const bool thin : {false, true}) {
    Context ctx(Backend::cpu, 1);
    const Axis axis = thin ? bisected(1, 5, ThinSide::first, 0.25) : uniform(1, 32);
    const TensorMesh<3> mesh{axis, axis, axis};
    PoissonProblem3D problem{.rhs = wave};
    problem.diffusion.xx = rough;
    const std::int64_t needed = required_memory(ctx, mesh, problem);
    PoissonSolver3D solver(ctx, mesh, problem);
    (void)solver.solve();
    EXPECT_LE(ctx.memory()->peak_bytes, needed);
    EXPECT_GT(static_cast<double>(ctx.memory()->peak_bytes), 0.6 * static_cast<double>(needed));
    const std::int64_t allocations = ctx.memory()->allocations;
    (void)solver.solve();
    EXPECT_EQ(ctx.memory()->allocations, allocations);
  }
}

}  // namespace
