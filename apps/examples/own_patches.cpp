// A Poisson problem on patches: an L whose cells shrink towards its re-entrant corner. Three patches share vertices; edges that
// face each other across patches have the same widths, so that it takes a few words to say them.
#include <cmath>
#include <cstdio>
#include <stratum/multigrid/patches/patch_poisson_solver.hpp>
#include <utility>
using namespace stratum;

int main() {
  PatchMeshParts parts;
  parts.vertices = {{-1, -1}, {0, -1}, {-1, 0}, {0, 0}, {1, 0}, {-1, 1}, {0, 1}, {1, 1}};
  parts.patches = {{0, 1, 3, 2}, {2, 3, 6, 5}, {3, 4, 7, 6}};
  parts.cells = 64;
  parts.other_boundaries = "wall";
  for (const auto& [from, corner] : {std::pair{2, 3}, {4, 3}, {1, 3}, {6, 3}}) {
    PatchEdgeParts edge;
    edge.first = from;
    edge.second = corner;
    edge.grading = parse_grading("geometric:h=1e-6,last");
    parts.edges.push_back(edge);
  }
  const PatchMesh mesh(parts);

  PatchProblem problem;
  problem.exact = [](const Point& p) { return std::cbrt(std::hypot(p.x, p.y)) * p.x; };
  problem.rhs = [](const Point& p) {  // of u = r^(1/3) x
    const double r = std::hypot(p.x, p.y);
    return r > 0 ? -7.0 / 9 * p.x * std::pow(r, -5.0 / 3) : 0;
  };
  problem.boundaries["wall"].value = problem.exact;

  Context ctx;
  PatchPoissonSolver solver(ctx, mesh, problem);
  const SolveReport report = solver.solve();
  const double corner_value = solver.nodal_solution(0).back();  // node (nx, ny) of the first patch
  std::printf("%d iterations for %lld unknowns on %d patches, error %.2e, %g at the corner\n", report.iterations,
              static_cast<long long>(solver.unknowns()), mesh.patches(), solver.relative_errors()->l2, corner_value);
  return exit_code(report.status);
}
