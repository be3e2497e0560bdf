// Ten lines: a Poisson problem in a box whose cells are a million times as thin as wide, solved directly.
#include <cmath>
#include <cstdio>
#include <stratum/stratum.hpp>
using namespace stratum;

int main() {
  Context ctx;  // Context ctx(Backend::cuda) on a GPU
  const TensorMesh mesh(uniform(1, 32), uniform(2, 32), geometric_with_smallest(1, 96, 1e-6, GradedSide::first));
  const auto exact = [](const Point3D& p) { return std::sin(p.x) * std::cos(p.y) * std::exp(p.z); };
  PoissonProblem3D problem{.rhs = exact, .exact = exact};  // - u'' in x and y is u, in z - u
  problem.boundaries[BoxFace::back] = {.kind = BoundaryConditionType::neumann, .value = exact};
  PoissonSolver3D solver(ctx, mesh, problem);
  const SolveReport report = solver.solve();
  std::printf("%s: %d solve, error %.2e, %.4f leaves through the top\n", solver.plan().method.c_str(),
              report.iterations, solver.relative_errors()->l2, solver.fluxes()[BoxFace::top]);
  return exit_code(report.status);
}
