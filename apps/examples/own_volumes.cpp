// Cell-centred finite volumes: pressure between two walls, with a mobility for each cell.
#include <cstdio>
#include <stratum/stratum.hpp>
using namespace stratum;

int main() {
  Context ctx;
  const TensorMesh mesh(Axis(std::vector<double>(8, 0.125)), Axis(std::vector<double>(8, 0.125)));
  PoissonProblem problem;
  problem.rhs = [](const Point&) { return 0.0; };
  std::vector<double> mobility(64, 1.0);
  mobility[8 * 3 + 4] = 1e-3;  // one tight cell
  problem.diffusion.xx = CellValues{8, 8, mobility};
  problem.boundaries.left = {BoundaryConditionType::dirichlet, [](const Point&) { return 1.0; }, {}};
  problem.boundaries.bottom.kind = problem.boundaries.top.kind = BoundaryConditionType::neumann;
  const FiniteVolumes volumes(ctx, mesh, problem);
  Field<double> b(ctx, volumes.centres().unknowns()), p(ctx, volumes.centres().unknowns());
  volumes.assemble_load(ctx, problem, b);
  const SolveReport report = PoissonSolver(ctx, volumes).solve(ctx, b.cview(), p.view());
  const BoundaryFluxes fluxes = volumes.fluxes(problem, volumes.cell_values(ctx, problem, p));
  std::printf("%d cycles; %.4f flows in and %.4f out\n", report.iterations, -fluxes.left, fluxes.right);
  return exit_code(report.status);
}
