// Ten lines: a Poisson problem on a mesh of one's own, half a billion times as long as wide in the thinnest cells.
#include <cmath>
#include <cstdio>
#include <stratum/stratum.hpp>
using namespace stratum;

int main() {
  Context ctx;
  const TensorMesh mesh(bisected(2.0, 9, ThinSide::first, 0.1), bisected(1.0, 9));
  const auto exact = [](const Point& p) { return std::sin(p.x) * std::sin(p.y); };
  const PoissonProblem problem{[=](const Point& p) { return 2 * exact(p); }, exact, {}};
  Field<double> b(ctx, mesh.unknowns()), u(ctx, mesh.unknowns());
  assemble_load(ctx, mesh, problem, b);
  const SolveReport report = PoissonSolver(ctx, mesh).solve(ctx, b.cview(), u.view());
  std::printf("%d cycles on cells of aspect ratio up to %.1e, error %.2e\n", report.iterations,
              mesh.largest_aspect_ratio(), *relative_l2_error(ctx, mesh, problem, u));
  return exit_code(report.status);
}
