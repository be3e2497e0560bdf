// Boundaries of other kinds, and a reaction term: -Laplace u + 2 u = 1 on cells up to 115 000 times as long as wide.
#include <cstdio>
#include <stratum/stratum.hpp>
using namespace stratum;

int main() {
  Context ctx;
  PoissonProblem problem;
  problem.rhs = [](const Point&) { return 1.0; };
  problem.boundaries.left = {BoundaryConditionType::robin, [](const Point&) { return 0.5; },
                             [](const Point&) { return 10.0; }};  // g, alpha
  problem.boundaries.right = {BoundaryConditionType::neumann, [](const Point& p) { return p.y; }, {}};
  problem.reaction = 2;
  const TensorMesh mesh = with_boundaries(make_mesh(mesh_family("A3"), 8), problem.boundaries);
  Field<double> b(ctx, mesh.unknowns()), u(ctx, mesh.unknowns());
  assemble_load(ctx, mesh, problem, b);
  PoissonSolverParams params;
  params.terms = operator_terms(mesh, problem);
  const SolveReport report = PoissonSolver(ctx, mesh, params).solve(ctx, b.cview(), u.view());
  std::printf("%d x %d unknowns, %d cycles\n", u.view().nx, u.view().ny, report.iterations);
  return exit_code(report.status);
}
