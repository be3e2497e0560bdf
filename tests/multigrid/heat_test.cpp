// Steps in time: orders with data of every kind that change with the time, stiff starts, conservation, counts, restarts, bad input.

#include <cmath>
#include <numbers>

#include <stratum/mesh/graded.hpp>
#include <stratum/mesh/named_meshes.hpp>
#include <stratum/multigrid/heat_solver.hpp>

#include <gmock/gmock.h>

#include "support/backends.hpp"

namespace {

using namespace stratum;
using enum SideKind;
constexpr double pi = std::numbers::pi;
constexpr TimeMethod every_method[] = {TimeMethod::euler, TimeMethod::crank_nicolson, TimeMethod::tr_bdf2};

/// u = (1 + x^2 + y^2 / 2) cos 3t + (x + 2 y) sin t: exact in space up to a smooth part, with data of all kinds that change with the time.
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
  static TensorMesh square(int cells) {
    return {Line(std::vector<double>(static_cast<std::size_t>(cells), 1.0 / cells), 1),
            Line(std::vector<double>(static_cast<std::size_t>(cells), 1.0 / cells), 1)};
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
  double error_at(const TensorMesh& mesh, const HeatProblem& problem, const HeatParams& params, double end) {
    HeatSolver solver(ctx(), mesh, problem, params);
    const auto& report = solver.advance(ctx(), end);
    EXPECT_EQ(report.status, Status::converged) << report.reason;
    EXPECT_EQ(solver.time(), end);
    return *solver.relative_l2_error(ctx());
  }
  /// Dirichlet at the left and the bottom, Neumann at the right, Robin at the top, all with values that change.
  static HeatProblem every_side(double kappa = 1, double capacity = 1, double c = 0) {
    HeatProblem problem;
    problem.capacity = capacity;
    problem.space.exact = smooth;
    problem.space.reaction = c;
    if (kappa != 1) problem.space.diffusion.xx = kappa;
    problem.space.rhs = [=](const Point& p) { return capacity * smooth_t(p) - kappa * laplacian(p) + c * smooth(p); };
    problem.space.sides.right = {neumann, [=](const Point& p) { return kappa * smooth_x(p); }, {}};
    problem.space.sides.top = {robin, [=](const Point& p) { return kappa * smooth_y(p) + 2 * smooth(p); },
                               [](const Point&) { return 2.0; }};
    problem.steady_coefficients = true;
    return problem;
  }
  /// K = 1 + x + t, capacity 2 + x y + t, c = 1 + t, alpha = 1 + t.
  static HeatProblem everything_changes() {
    HeatProblem problem = every_side();
    const auto k = [](const Point& p) { return 1 + p.x + p.t; };
    const auto capacity = [](const Point& p) { return 2 + p.x * p.y + p.t; };
    problem.capacity = ScalarFunction(capacity);
    problem.space.diffusion.xx = ScalarFunction(k);
    problem.space.reaction_of_cells = ScalarFunction([](const Point& p) { return 1 + p.t; });
    problem.space.rhs = [=](const Point& p) {
      return capacity(p) * smooth_t(p) - k(p) * laplacian(p) - smooth_x(p) + (1 + p.t) * smooth(p);
    };
    problem.space.sides.right.value = [=](const Point& p) { return k(p) * smooth_x(p); };
    problem.space.sides.top.value = [=](const Point& p) { return k(p) * smooth_y(p) + (1 + p.t) * smooth(p); };
    problem.space.sides.top.alpha = [](const Point& p) { return 1 + p.t; };
    problem.steady_coefficients = false;
    return problem;
  }
  /// Errors of the steps alone: the difference to a solution with far shorter ones, at the unknowns.
  std::vector<double> values_at(const TensorMesh& mesh, const HeatProblem& problem, const HeatParams& params,
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
  void expect_orders(const TensorMesh& mesh, const HeatProblem& problem, double end) {
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

TEST_P(HeatTest, OrderInTimeWithSidesThatChange) { expect_orders(square(12), every_side(), 1.3); }

TEST_P(HeatTest, OrderInTimeWithConstantCoefficients) { expect_orders(square(9), every_side(0.3, 2.5, 0.7), 1.3); }

TEST_P(HeatTest, OrderInTimeWhereEverythingChanges) { expect_orders(square(8), everything_changes(), 1.1); }

TEST_P(HeatTest, OrderInTimeWithDirichletSidesAllAround) {
  HeatProblem problem = every_side();
  problem.space.sides = {};
  expect_orders(square(8), problem, 1.3);
}

TEST_P(HeatTest, OrderInSpace) {
  for (const bool changing : {false, true}) {
    const HeatProblem problem = changing ? everything_changes() : every_side(0.3, 2.5, 0.7);
    const double coarse = error_at(square(8), problem, fixed(TimeMethod::tr_bdf2, 1e-2), 0.3);
    const double fine = error_at(square(16), problem, fixed(TimeMethod::tr_bdf2, 1e-2), 0.3);
    EXPECT_LT(coarse, 3e-3);
    EXPECT_NEAR(coarse / fine, 4, 0.6) << coarse << " " << fine;
  }
}

}  // namespace
