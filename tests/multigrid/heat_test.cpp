// Steps in time: orders with data of every kind that change with the time, stiff starts, conservation, counts, restarts, bad
// input.

#include <cmath>
#include <numbers>

#include <stratum/assembly/sample_maps.hpp>
#include <stratum/mesh/graded.hpp>
#include <stratum/mesh/named_meshes.hpp>
#include <stratum/multigrid/heat_solver.hpp>

#include <gmock/gmock.h>

#include "support/backends.hpp"

namespace {

using namespace stratum;
using enum BoundaryConditionType;
constexpr double pi = std::numbers::pi;
constexpr TimeMethod every_method[] = {TimeMethod::euler, TimeMethod::crank_nicolson, TimeMethod::tr_bdf2};

/// u = (1 + x^2 + y^2 / 2) cos 3t + (x + 2 y) sin t: exact in space up to a smooth part, with data of all kinds that change
/// with the time.
double smooth(const Point& p) {
  return (1 + p.x * p.x + p.y * p.y / 2) * std::cos(3 * p.t) + (p.x + 2 * p.y) * std::sin(p.t);
}
double smooth_x(const Point& p) { return 2 * p.x * std::cos(3 * p.t) + std::sin(p.t); }
double smooth_y(const Point& p) { return p.y * std::cos(3 * p.t) + 2 * std::sin(p.t); }
double smooth_t(const Point& p) {
  return -3 * (1 + p.x * p.x + p.y * p.y / 2) * std::sin(3 * p.t) + (p.x + 2 * p.y) * std::cos(p.t);
}
double laplacian(const Point& p) { return 3 * std::cos(3 * p.t); }

class HeatTest : public test::OnEveryBackend {
 protected:
  static TensorMesh<2> square(int cells) {
    return {Axis(std::vector<double>(static_cast<std::size_t>(cells), 1.0 / cells), 1),
            Axis(std::vector<double>(static_cast<std::size_t>(cells), 1.0 / cells), 1)};
  }
  static HeatParams fixed(TimeMethod method, double dt) {
    HeatParams params;
    params.method = method;
    params.dt = dt;
    params.eta = 1e-11;
    return params;
  }
  static HeatParams adaptive(double tol) {
    HeatParams params;
    params.tol = tol;
    return params;
  }
  double error_at(const Geometry& mesh, const HeatProblem& problem, const HeatParams& params, double end) {
    HeatSolver solver(ctx(), mesh, problem, params);
    const auto& report = solver.advance(ctx(), end);
    EXPECT_EQ(report.status, Status::converged) << report.reason;
    EXPECT_EQ(solver.time(), end);
    return *solver.relative_l2_error(ctx());
  }
  MappedMesh on_quadrilaterals(const TensorMesh<2>& mesh, const SampleMap& map) {
    return mapped(ctx(), mesh, map.x, map.y);
  }
  /// Dirichlet at the left and the bottom, Neumann at the right, Robin at the top, all with values that change.
  static HeatProblem every_boundary(double kappa = 1, double capacity = 1, double c = 0) {
    HeatProblem problem;
    problem.capacity = capacity;
    problem.space.exact = smooth;
    problem.space.reaction = c;
    if (kappa != 1) problem.space.diffusion.xx = kappa;
    problem.space.rhs = [=](const Point& p) { return capacity * smooth_t(p) - kappa * laplacian(p) + c * smooth(p); };
    problem.space.boundaries.right = {neumann, [=](const Point& p) { return kappa * smooth_x(p); }, {}};
    problem.space.boundaries.top = {robin, [=](const Point& p) { return kappa * smooth_y(p) + 2 * smooth(p); },
                                    [](const Point&) { return 2.0; }};
    problem.steady_coefficients = true;
    return problem;
  }
  /// K = 1 + x + t, capacity 2 + x y + t, c = 1 + t, alpha = 1 + t.
  static HeatProblem everything_changes() {
    HeatProblem problem = every_boundary();
    const auto k = [](const Point& p) { return 1 + p.x + p.t; };
    const auto capacity = [](const Point& p) { return 2 + p.x * p.y + p.t; };
    problem.capacity = ScalarFunction(capacity);
    problem.space.diffusion.xx = ScalarFunction(k);
    problem.space.reaction_of_cells = ScalarFunction([](const Point& p) { return 1 + p.t; });
    problem.space.rhs = [=](const Point& p) {
      return capacity(p) * smooth_t(p) - k(p) * laplacian(p) - smooth_x(p) + (1 + p.t) * smooth(p);
    };
    problem.space.boundaries.right.value = [=](const Point& p) { return k(p) * smooth_x(p); };
    problem.space.boundaries.top.value = [=](const Point& p) { return k(p) * smooth_y(p) + (1 + p.t) * smooth(p); };
    problem.space.boundaries.top.alpha = [](const Point& p) { return 1 + p.t; };
    problem.steady_coefficients = false;
    return problem;
  }
  /// Errors of the steps alone: the difference to a solution with far shorter ones, at the unknowns.
  std::vector<double> values_at(const Geometry& mesh, const HeatProblem& problem, const HeatParams& params,
                                double end) {
    HeatSolver solver(ctx(), mesh, problem, params);
    EXPECT_EQ(solver.advance(ctx(), end).status, Status::converged) << solver.report().reason;
    return solver.nodal_solution(ctx());
  }
  static double distance(const std::vector<double>& a, const std::vector<double>& b) {
    double sum = 0, size = 0;
    for (std::size_t n = 0; n < a.size(); ++n) {
      sum += (a[n] - b[n]) * (a[n] - b[n]);
      size += b[n] * b[n];
    }
    return std::sqrt(sum / size);
  }
  void expect_orders(const Geometry& mesh, const HeatProblem& problem, double end) {
    const auto exact = values_at(mesh, problem, fixed(TimeMethod::tr_bdf2, end / 256), end);
    for (const auto method : every_method) {
      SCOPED_TRACE(to_string(method));
      std::vector<double> errors;
      for (const int steps : {8, 16, 32})
        errors.push_back(distance(values_at(mesh, problem, fixed(method, end / steps), end), exact));
      const double order = method == TimeMethod::euler ? 1 : 2;
      EXPECT_NEAR(std::log2(errors[0] / errors[1]), order, 0.2) << errors[0] << " " << errors[1];
      EXPECT_NEAR(std::log2(errors[1] / errors[2]), order, 0.15) << errors[1] << " " << errors[2];
    }
  }
};
INSTANTIATE_ON_EVERY_BACKEND(HeatTest);

TEST_P(HeatTest, OrderInTimeWithSidesThatChange) { expect_orders(square(12), every_boundary(), 1.3); }

TEST_P(HeatTest, OrderInTimeWithConstantCoefficients) { expect_orders(square(9), every_boundary(0.3, 2.5, 0.7), 1.3); }

TEST_P(HeatTest, OrderInTimeWhereEverythingChanges) { expect_orders(square(8), everything_changes(), 1.1); }

TEST_P(HeatTest, OrderInTimeWithDirichletSidesAllAround) {
  HeatProblem problem = every_boundary();
  problem.space.boundaries = {};
  expect_orders(square(8), problem, 1.3);
}

TEST_P(HeatTest, OrderInSpace) {
  for (const bool changing : {false, true}) {
    const HeatProblem problem = changing ? everything_changes() : every_boundary(0.3, 2.5, 0.7);
    const double coarse = error_at(square(8), problem, fixed(TimeMethod::tr_bdf2, 1e-2), 0.3);
    const double fine = error_at(square(16), problem, fixed(TimeMethod::tr_bdf2, 1e-2), 0.3);
    EXPECT_LT(coarse, 3e-3);
    EXPECT_NEAR(coarse / fine, 4, 0.6) << coarse << " " << fine;
  }
}

TEST_P(HeatTest, ConstantDiagonalTensorsAreTensorOperators) {
  HeatProblem problem = every_boundary(1, 2.5, 0.7);
  problem.space.boundaries.right = {robin, [](const Point& p) { return p.y * std::cos(p.t); },
                                    [](const Point&) { return 3.0; }};
  problem.space.diffusion = {3.0, {}, 0.2};
  HeatProblem by_cells = problem;  // that might change
  by_cells.space.diffusion.xx = ScalarFunction([](const Point&) { return 3.0; });
  by_cells.steady_coefficients = false;
  const TensorMesh<2> mesh(shishkin(1.0, 17, 1e-2, GradedSide::last), Axis(std::vector<double>(12, 1.0 / 12)));
  for (const auto method : every_method) {
    HeatSolver solver(ctx(), mesh, problem, fixed(method, 0.05));
    EXPECT_EQ(solver.solver().params().format, StorageFormat::tensor);
    EXPECT_EQ(solver.advance(ctx(), 0.5).status, Status::converged);
    EXPECT_LT(distance(solver.nodal_solution(ctx()), values_at(mesh, by_cells, fixed(method, 0.05), 0.5)), 1e-9);
  }
}

TEST_P(HeatTest, QuadrilateralsThatAreARectangle) {
  const TensorMesh<2> mesh = square(12);
  const MappedMesh same = on_quadrilaterals(mesh, sine_map(0));
  for (const auto& problem : {every_boundary(0.3, 2.5, 0.7), everything_changes()})
    for (const auto method : every_method) {
      const HeatParams params = fixed(method, 0.05);
      EXPECT_LT(distance(values_at(same, problem, params, 0.5), values_at(mesh, problem, params, 0.5)), 1e-9);
      EXPECT_NEAR(error_at(same, problem, params, 0.2), error_at(mesh, problem, params, 0.2), 1e-9);
    }
}

TEST_P(HeatTest, OrdersOnQuadrilaterals) {
  // A map that leaves the boundaries where they are.
  const auto deformed = [&](int cells) { return on_quadrilaterals(square(cells), sine_map(0.08)); };
  const MappedMesh mesh = deformed(8);
  expect_orders(mesh, everything_changes(), 1.1);
  for (const auto& problem : {every_boundary(0.3, 2.5, 0.7), everything_changes()}) {
    const HeatParams params = fixed(TimeMethod::tr_bdf2, 1e-2);
    const double coarse = error_at(deformed(16), problem, params, 0.3),
                 fine = error_at(deformed(32), problem, params, 0.3);
    EXPECT_LT(coarse, 3e-3);
    EXPECT_NEAR(coarse / fine, 4, 0.6) << coarse << " " << fine;
  }
}

TEST_P(HeatTest, WallsOfQuadrilateralsKeepTheHeat) {
  HeatProblem problem;
  problem.initial = [](const Point& p) { return p.x < 1 ? 1 + p.y : 0.0; };
  problem.space.boundaries = {{neumann}, {neumann}, {neumann}, {neumann}};
  problem.space.diffusion.xx = ScalarFunction([](const Point& p) { return p.y > 0.5 ? 1000.0 : 1.0; });
  problem.capacity = ScalarFunction([](const Point& p) { return 3 + p.x; });
  problem.steady_coefficients = true;
  HeatProblem around = problem;
  around.space.boundaries.left = around.space.boundaries.right = {BoundaryConditionType::periodic};
  const SampleMap ring{"ring", [](const Point& p) { return (1 + p.y) * std::sin(2 * pi * p.x); },
                       [](const Point& p) { return (1 + p.y) * std::cos(2 * pi * p.x); }};
  for (const auto& [of, mesh] : {std::pair{problem, on_quadrilaterals(square(24), annulus_map(2))},
                                 {around, on_quadrilaterals(square(24), ring)}}) {
    HeatSolver solver(ctx(), mesh, of, adaptive(1e-3));
    const double before = solver.heat(ctx());
    const auto& report = solver.advance(ctx(), 0.5);
    EXPECT_EQ(report.status, Status::converged) << report.reason;
    EXPECT_LT(report.most_cycles, 15);
    EXPECT_NEAR(solver.heat(ctx()) / before, 1, 1e-11);
  }
  // The area, by a heat of one.
  problem.capacity = 1.0;
  problem.initial = [](const Point&) { return 1.0; };
  const MappedMesh sheared = on_quadrilaterals(square(5), shear_map(45));
  EXPECT_NEAR(HeatSolver(ctx(), sheared, problem, adaptive(1e-3)).heat(ctx()), 1, 1e-14);
}

TEST_P(HeatTest, AdaptiveStepsMeetTheTolerance) {
  for (const bool changing : {false, true}) {
    const HeatProblem problem = changing ? everything_changes() : every_boundary();
    const double end = 1;
    const auto exact = values_at(square(8), problem, fixed(TimeMethod::tr_bdf2, end / 512), end);
    double rough = 0;
    for (const double tol : {1e-2, 1e-3, 1e-5}) {
      HeatSolver solver(ctx(), square(8), problem, adaptive(tol));
      EXPECT_EQ(solver.advance(ctx(), end).status, Status::converged);
      const double error = distance(solver.nodal_solution(ctx()), exact);
      // Errors of steps add up.
      EXPECT_LT(error, tol * static_cast<double>(solver.report().steps)) << solver.report().steps;
      EXPECT_LT(solver.report().rejected, solver.report().steps / 3);
      if (tol == 1e-3) rough = error;
      if (tol == 1e-5) {
        EXPECT_LT(error, rough / 5);
      }
    }
  }
}

TEST_P(HeatTest, AdaptiveStepsGrowAsTheSolutionRests) {
  HeatProblem problem;
  problem.initial = [](const Point& p) { return p.x < 0.5 ? 1.0 : 0.0; };
  problem.space.boundary = [](const Point& p) { return p.x; };
  HeatSolver solver(ctx(), square(32), problem, adaptive(1e-4));
  const auto& report = solver.advance(ctx(), 1e4);
  EXPECT_EQ(report.status, Status::converged);
  EXPECT_LT(report.shortest_dt, 1e-4);
  EXPECT_GT(report.longest_dt, 1e3);
  EXPECT_LT(report.steps, 120);
  const auto u = solver.nodal_solution(ctx());
  EXPECT_NEAR(u[33 * 16 + 8], 0.25, 1e-6);
}

TEST_P(HeatTest, AJumpInTimeIsSteppedOver) {
  HeatProblem problem;
  problem.space.boundaries = {{neumann}, {neumann}, {neumann}, {neumann}};
  problem.space.rhs = [](const Point& p) { return p.t > 0.5 ? 1.0 : 0.0; };
  problem.space.reaction = 1;
  HeatSolver solver(ctx(), square(4), problem, adaptive(1e-4));
  const auto& report = solver.advance(ctx(), 1);
  EXPECT_EQ(report.status, Status::converged) << report.reason;
  EXPECT_GT(report.forced, 0);
  EXPECT_LT(report.forced, 10);
  EXPECT_LT(report.steps + report.rejected, 200);
  EXPECT_NEAR(solver.heat(ctx()), 1 - std::exp(-0.5), 1e-3);
}

// At a time that steps end at they come as near to it as they may, and go over.
TEST_P(HeatTest, AJumpAtTheEndIsSteppedOnto) {
  HeatProblem problem;
  problem.space.boundaries.left.value = [](const Point& p) { return p.t < 1 ? 1.0 : 0.0; };
  problem.steady_coefficients = true;
  HeatParams params = adaptive(1e-4);
  params.max_steps = 1000;
  HeatSolver solver(ctx(), square(16), problem, params);
  for (const double end : {1.0, 1.5}) {
    const auto& report = solver.advance(ctx(), end);
    EXPECT_EQ(report.status, Status::converged) << report.reason;
    EXPECT_GT(report.forced, 0);
  }
  EXPECT_LT(solver.heat(ctx()), 0.01);
}

// What solves leave in rows of little mass is no error of a step: shorter steps would not mend it, and were tried without end.
TEST_P(HeatTest, RowsOfLittleMassAreSolvedAsWell) {
  HeatProblem problem;
  problem.initial = [](const Point&) { return 1.0; };
  problem.capacity = ScalarFunction([](const Point& p) { return p.y < 0.5 ? 1.0 : 1000.0; });
  problem.steady_coefficients = true;
  problem.space.boundaries = {{neumann}, {dirichlet}, {neumann}, {neumann}};
  const TensorMesh<2> mesh(Axis(shishkin(1.0, 17, 1e-3, GradedSide::last)), Axis(std::vector<double>(7, 1.0 / 7), 1));
  HeatSolver solver(ctx(), mesh, problem, adaptive(1e-5));
  const auto& report = solver.advance(ctx(), 1e-3);
  EXPECT_EQ(report.status, Status::converged) << report.reason;
  EXPECT_LT(report.steps, 120);
  EXPECT_LT(report.rejected, 50);
}

TEST_P(HeatTest, LStableMethodsDoNotRing) {
  // A jump, and steps thousands of times as long as the finest parts take to decay.
  HeatProblem problem;
  problem.initial = [](const Point& p) { return p.x > 0.4 && p.x < 0.6 && p.y > 0.4 && p.y < 0.6 ? 1.0 : 0.0; };
  const auto most_negative = [&](TimeMethod method) {
    HeatSolver solver(ctx(), square(64), problem, fixed(method, 0.02));
    (void)solver.advance(ctx(), 0.08);
    const auto u = solver.nodal_solution(ctx());
    return *std::min_element(u.begin(), u.end());
  };
  EXPECT_GT(most_negative(TimeMethod::euler), -1e-9);
  EXPECT_GT(most_negative(TimeMethod::tr_bdf2), -1e-3);
  EXPECT_LT(most_negative(TimeMethod::crank_nicolson), -0.1);
}

TEST_P(HeatTest, BackwardEulerTakesFewCyclesForEveryStep) {
  for (const char* name : {"U1", "A3"})
    for (const int level : {6, 7, 8})
      for (const auto precision : {Precision::mixed, Precision::full}) {
        const TensorMesh<2> mesh = make_mesh(mesh_family(name), level);
        Field<double> b(ctx(), mesh.unknowns()), x(ctx(), mesh.unknowns());
        assemble_load(ctx(), mesh, {}, b);
        PoissonSolverParams params;
        params.precision = precision;
        params.multigrid.sweeps = 4;
        params.terms.reaction = 1;
        PoissonSolver solver(ctx(), mesh, params);
        const std::int64_t allocations = ctx().memory()->allocations;
        for (const double dt : {1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1.0}) {
          solver.set_reaction(ctx(), 1 / dt);
          set(ctx(), 0.0, x.view());
          const auto report = solver.solve(ctx(), b.cview(), x.view());
          EXPECT_EQ(report.status, Status::converged) << report.reason;
          EXPECT_LE(report.iterations, 6) << name << " level " << level << " dt " << dt;
        }
        EXPECT_EQ(ctx().memory()->allocations, allocations);
      }
}

TEST_P(HeatTest, AnotherReactionIsAsGoodAsANewSolver) {
  const TensorMesh<2> mesh = with_boundaries(make_mesh(mesh_family("A2"), 6), {{neumann}, {}, {}, {}});
  for (const auto precision : {Precision::mixed, Precision::full}) {
    PoissonSolverParams params;
    params.precision = precision;
    params.terms.reaction = 3e4;
    PoissonSolver updated(ctx(), mesh, params);
    updated.set_reaction(ctx(), 7);
    params.terms.reaction = 7;
    PoissonSolver made(ctx(), mesh, params);
    Field<double> b(ctx(), mesh.unknowns()), x(ctx(), mesh.unknowns()), y(ctx(), mesh.unknowns());
    set(ctx(), 1.0, b.view());
    const auto first = updated.solve(ctx(), b.cview(), x.view()), second = made.solve(ctx(), b.cview(), y.view());
    EXPECT_EQ(first.iterations, second.iterations);
    const auto u = test::to_host(ctx(), x), v = test::to_host(ctx(), y);
    for (std::size_t n = 0; n < u.size(); ++n) ASSERT_NEAR(u[n], v[n], 1e-9 * std::abs(v[n]));
    EXPECT_THROW(updated.set_reaction(ctx(), 0), UsageError);
    EXPECT_THROW(updated.set_reaction(ctx(), -1), UsageError);
    EXPECT_THROW(updated.update(ctx(), made.fine_operator()), UsageError);
  }
  PoissonSolver without(ctx(), mesh);
  EXPECT_THROW(without.set_reaction(ctx(), 1), UsageError);
}

TEST_P(HeatTest, StepsAllocateNothingOnTheDevice) {
  HeatProblem jump = every_boundary();
  jump.space.diffusion.xx = ScalarFunction([](const Point& p) { return p.x > 0.5 ? 100.0 : 1.0; });
  jump.steady_coefficients = true;
  HeatProblem moving = jump;
  moving.space.diffusion.xx = ScalarFunction([](const Point& p) { return p.x > p.t ? 100.0 : 1.0; });
  moving.steady_coefficients = false;
  moving.space.boundaries.top = {};
  for (const HeatProblem& problem : {every_boundary(), jump, moving}) {
    HeatSolver solver(ctx(), square(16), problem, adaptive(1e-3));
    (void)solver.advance(ctx(), 0.1);
    const std::int64_t allocations = ctx().memory()->allocations, updates = solver.report().updates;
    (void)solver.advance(ctx(), 0.3);
    EXPECT_GT(solver.report().updates, updates);
    EXPECT_EQ(ctx().memory()->allocations, allocations);
  }
}

TEST_P(HeatTest, FewCyclesAStep) {
  for (const char* name : {"U1", "A3"}) {
    HeatProblem problem;
    problem.initial = [](const Point& p) { return std::sin(pi * p.x) * std::sin(2 * pi * p.y) + p.x * p.y; };
    HeatSolver solver(ctx(), make_mesh(mesh_family(name), 7), problem, adaptive(1e-4));
    const auto& report = solver.advance(ctx(), 0.5);
    EXPECT_EQ(report.status, Status::converged);
    EXPECT_LE(report.most_cycles, 6);
    EXPECT_LE(static_cast<double>(report.cycles), 3.0 * static_cast<double>(report.solves)) << name;
  }
}

TEST_P(HeatTest, NeumannWallsConserveHeat) {
  HeatProblem problem;
  problem.initial = [](const Point& p) { return p.x < 0.3 ? 1 + p.y : 0.0; };
  problem.space.boundaries = {{neumann}, {neumann}, {neumann}, {neumann}};
  problem.steady_coefficients = true;
  HeatProblem jump = problem;
  jump.space.diffusion.xx = ScalarFunction([](const Point& p) { return p.y > 0.5 ? 1000.0 : 1.0; });
  jump.capacity = ScalarFunction([](const Point& p) { return 1 + p.x; });
  HeatProblem periodic = problem;
  periodic.space.boundaries.left = periodic.space.boundaries.right = {BoundaryConditionType::periodic};
  for (const auto& p : {problem, jump, periodic})
    for (const auto method : every_method) {
      HeatParams params = fixed(method, 1e-2);
      params.eta = 1e-4;  // solved as roughly as steps with a tolerance of a hundredth solve
      HeatSolver solver(ctx(), make_mesh(mesh_family("A1"), 5), p, params);
      const double before = solver.heat(ctx());
      EXPECT_EQ(solver.advance(ctx(), 0.5).status, Status::converged);
      EXPECT_NEAR(solver.heat(ctx()) / before, 1, 1e-12) << to_string(method);
    }
  // Heat that a reaction takes away is not put back.
  HeatProblem later = problem;
  later.space.reaction_of_cells = ScalarFunction([](const Point& p) { return p.t; });
  later.initial = [](const Point&) { return 1.0; };
  later.steady_coefficients = false;
  HeatSolver taken(ctx(), square(4), later, fixed(TimeMethod::crank_nicolson, 1e-2));
  (void)taken.advance(ctx(), 1);
  EXPECT_NEAR(taken.heat(ctx()), std::exp(-0.5), 1e-5);
  // A source adds what it gives.
  problem.space.rhs = [](const Point& p) { return p.x * p.t; };
  HeatSolver heated(ctx(), square(8), problem, fixed(TimeMethod::crank_nicolson, 0.1));
  const double before = heated.heat(ctx());
  (void)heated.advance(ctx(), 2);
  EXPECT_NEAR(heated.heat(ctx()) - before, 0.5 * 2, 1e-10);
}

TEST_P(HeatTest, RestartsEqualTheUninterruptedRun) {
  for (const bool changing : {false, true})
    for (const bool adapts : {false, true}) {
      const HeatProblem problem = changing ? everything_changes() : every_boundary(0.5, 2, 1);
      const HeatParams params = adapts ? adaptive(1e-3) : fixed(TimeMethod::crank_nicolson, 0.03);
      HeatSolver whole(ctx(), square(12), problem, params), first(ctx(), square(12), problem, params);
      (void)whole.advance(ctx(), 0.4);
      (void)whole.advance(ctx(), 1);
      (void)first.advance(ctx(), 0.4);
      HeatSolver second(ctx(), square(12), problem, params);
      second.restore(ctx(), first.state(ctx()));
      EXPECT_EQ(second.time(), 0.4);
      (void)second.advance(ctx(), 1);
      EXPECT_EQ(second.nodal_solution(ctx()), whole.nodal_solution(ctx()));
      EXPECT_EQ(second.report().steps, whole.report().steps);
      EXPECT_EQ(second.report().cycles, whole.report().cycles);
      HeatSolver other(ctx(), square(10), problem, params);
      EXPECT_THROW(other.restore(ctx(), first.state(ctx())), UsageError);
    }
}

TEST_P(HeatTest, TheLoadOfSidesIsThatOfTheWholeLoad) {
  // Of problems that are steady, steps stay at the solution.
  HeatProblem problem = every_boundary();
  problem.initial = {};
  const auto steady = [](const ScalarFunction& f) {
    return [f](Point p) {
      p.t = 0.4;
      return f(p);
    };
  };
  const HeatProblem base = everything_changes();
  const PoissonProblem now = at_time(base, 0.4);
  HeatProblem still = base;
  still.space = now;
  still.capacity = at_time(base.capacity, 0.4);
  still.space.rhs =
      steady([](const Point& p) { return -(1 + p.x + p.t) * laplacian(p) - smooth_x(p) + (1 + p.t) * smooth(p); });
  HeatSolver solver(ctx(), square(8), still, fixed(TimeMethod::euler, 1e5));
  (void)solver.advance(ctx(), 1e6);
  const TensorMesh<2> mesh = with_boundaries(square(8), still.space.boundaries);
  Field<double> b(ctx(), mesh.unknowns()), r(ctx(), mesh.unknowns());
  assemble_load(ctx(), mesh, still.space, b);
  PoissonSolverParams params;
  params.coefficients = std::make_shared<CellCoefficients>(*cell_coefficients(ctx(), mesh, still.space));
  params.terms = operator_terms(mesh, still.space);
  const PoissonSolver poisson(ctx(), mesh, params);
  poisson.fine_operator().residual(ctx(), b.cview(), solver.solution(), r.view());
  EXPECT_LT(norm2(ctx(), r.cview()), 1e-6 * norm2(ctx(), b.cview()));
}

TEST_P(HeatTest, LoadsThatChangeAreThoseOfSteadyOnes) {
  HeatProblem changing;
  changing.space.rhs = [](const Point& p) { return (1 + p.x * p.x) * (2 - p.y) * p.t; };  // both rules are exact
  HeatProblem steady = changing;
  steady.steady_rhs = true;
  const auto mixed = BoundaryConditions{{neumann}, {}, {}, {neumann}},
             around = BoundaryConditions{{BoundaryConditionType::periodic}, {BoundaryConditionType::periodic}, {}, {}},
             both = BoundaryConditions{
                 {neumann}, {neumann}, {BoundaryConditionType::periodic}, {BoundaryConditionType::periodic}};
  for (const BoundaryConditions& boundaries : {BoundaryConditions{}, mixed, around, both}) {
    changing.space.boundaries = steady.space.boundaries = boundaries;
    const TensorMesh<2> mesh = with_boundaries({uniform(2, 5), geometric(1, 7, 1.3, GradedSide::both)}, boundaries);
    Field<double> b(ctx(), mesh.unknowns()), c(ctx(), mesh.unknowns());
    assemble_heat_load(ctx(), mesh, changing, 3, b);
    assemble_heat_load(ctx(), mesh, steady, 3, c);
    EXPECT_LT(reference::relative_difference(test::to_host(ctx(), b), test::to_host(ctx(), c)), 1e-13);
  }
}

TEST_P(HeatTest, BadInputIsRefused) {
  const TensorMesh<2> mesh = square(4);
  const auto refused = [&](const HeatProblem& problem, const HeatParams& params, const char* what) {
    try {
      HeatSolver solver(ctx(), mesh, problem, params);
      (void)solver.advance(ctx(), 1);
      FAIL() << "not refused: " << what;
    } catch (const UsageError& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr(what));
    }
  };
  const HeatProblem good;
  HeatProblem problem;
  problem.capacity = -1.0;
  refused(problem, adaptive(1e-3), "the capacity must be positive");
  problem.capacity = ScalarFunction([](const Point& p) { return 0.5 - p.t; });
  refused(problem, adaptive(1e-3), "at t = 0.");
  problem = {};
  problem.space.rhs = [](const Point& p) { return 1 / (p.t - 0.5); };
  refused(problem, fixed(TimeMethod::euler, 0.1), "at t = 0.5: the right-hand side is");
  problem = {};
  problem.initial = [](const Point& p) { return 1 / (p.x - 0.5); };
  refused(problem, adaptive(1e-3), "the initial value is inf at (0.5, 0.25)");
  problem = {};
  problem.space.diffusion.xx = ScalarFunction([](const Point& p) { return 0.3 - p.t; });
  refused(problem, fixed(TimeMethod::crank_nicolson, 0.25), "K must be positive definite");
  refused(good, fixed(TimeMethod::euler, 0), "positive and finite, not 0");
  refused(good, fixed(TimeMethod::euler, -1), "positive and finite, not -1");
  refused(good, adaptive(0), "must lie in (0, 1), not 0");
  refused(good, {}, "steps need a length");
  HeatParams params = adaptive(1e-3);
  params.method = TimeMethod::euler;
  refused(good, params, "a tolerance goes with tr-bdf2");
  params = adaptive(1e-3);
  params.solver.precision = Precision::single;
  refused(good, params, "single precision");
  params = fixed(TimeMethod::euler, 1e-9);
  refused(good, params, "at most 10000000 are taken");
  HeatSolver solver(ctx(), mesh, good, adaptive(1e-3));
  (void)solver.advance(ctx(), 0.3);
  const auto steps = solver.report().steps;
  (void)solver.advance(ctx(), 3 * 0.1);  // the next number: no step
  EXPECT_EQ(solver.report().steps, steps);
  EXPECT_EQ(solver.time(), 3 * 0.1);
  EXPECT_THROW((void)solver.advance(ctx(), -1), UsageError);
}

TEST_P(HeatTest, AStageThatIsNotSolvedIsSaid) {
  HeatProblem problem;
  problem.initial = [](const Point& p) { return p.x < 0.5 ? 1.0 : 0.0; };
  HeatParams params = fixed(TimeMethod::euler, 1);
  params.solver.stop.max_iterations = 1;
  HeatSolver solver(ctx(), make_mesh(mesh_family("A5"), 6), problem, params);
  const auto& report = solver.advance(ctx(), 3);
  EXPECT_EQ(report.status, Status::max_iterations);
  EXPECT_EQ(solver.time(), 0);
  EXPECT_THAT(report.reason, testing::HasSubstr("a step of 1 at t = 0 was not solved"));
}

}  // namespace
