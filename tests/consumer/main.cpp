// What a program of someone else's looks like.
#include <cstdio>

#include <stratum/assembly/poisson_problem.hpp>
#include <stratum/mesh/named_meshes.hpp>
#include <stratum/multigrid/poisson_solver.hpp>

int main() {
  stratum::Context ctx;
  const auto mesh = stratum::make_mesh(stratum::mesh_family("A3"), 5);
  stratum::Vector<double> b(ctx, mesh.unknowns()), x(ctx, mesh.unknowns());
  stratum::assemble_load(ctx, mesh, {}, b.view());
  const auto report = stratum::PoissonSolver(ctx, mesh).solve(ctx, b.cview(), x.view());
  std::printf("%s after %d cycles\n", std::string(to_string(report.status)).c_str(), report.iterations);
  return stratum::exit_code(report.status);
}
