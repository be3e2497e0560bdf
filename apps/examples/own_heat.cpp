// Problems in time: a bend of two materials, K an array on cells, heated for a while at its inner side.
#include <cmath>
#include <cstdio>
#include <numbers>
#include <stratum/multigrid/heat_solver.hpp>
#include <stratum/stratum.hpp>
using namespace stratum;

int main() {
  Context ctx;
  const TensorMesh square(bisected(1.0, 6), bisected(1.0, 6));
  const auto radius = [](const Point& p) { return 1 + p.x; };
  const auto angle = [](const Point& p) { return std::numbers::pi / 2 * p.y; };
  const MappedMesh bend = mapped(
      ctx, square, [=](const Point& p) { return radius(p) * std::cos(angle(p)); },
      [=](const Point& p) { return radius(p) * std::sin(angle(p)); });
  HeatProblem problem;
  problem.space.diffusion.xx = CellValues{2, 1, {1, 1000}};  // the inner half and the outer one
  problem.space.boundaries = {{BoundaryConditionType::dirichlet, [](const Point& p) { return p.t < 1 ? 1.0 : 0.0; }},
                              {BoundaryConditionType::neumann},
                              {BoundaryConditionType::neumann},
                              {BoundaryConditionType::neumann}};
  problem.steady_coefficients = true;
  HeatParams params;
  params.tol = 1e-4;
  HeatSolver solver(ctx, bend, problem, params);
  for (const double t : {0.5, 1.0, 1.5}) {
    if (solver.advance(ctx, t).status != Status::converged) break;
    std::printf("t = %.1f: heat %.3f\n", t, solver.heat(ctx));
  }
  return exit_code(solver.report().status);
}
