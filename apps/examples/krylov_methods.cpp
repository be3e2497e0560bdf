// Any Krylov method around any preconditioner: a cycle in float, and an inner solve that varies.
#include <cstdio>
#include <stratum/assembly/operators.hpp>
#include <stratum/assembly/poisson_problem.hpp>
#include <stratum/core/field/blas.hpp>
#include <stratum/mesh/named_meshes.hpp>
#include <stratum/multigrid/multigrid.hpp>
#include <stratum/solvers/inner_solve.hpp>
#include <stratum/solvers/mixed/precision_cast.hpp>
using namespace stratum;

int main() {
  Context ctx;
  const TensorMesh mesh = make_mesh(mesh_family("A5"), 9);
  const auto a = assemble_laplace<double>(ctx, mesh, StorageFormat::tensor);
  Field<double> b(ctx, a.shape()), x(ctx, a.shape());
  assemble_load(ctx, mesh, {}, b);
  Multigrid<float> cycle(ctx, mesh_hierarchy(mesh), StorageFormat::tensor, {.symmetric = true});
  PrecisionCast<double, float> m(ctx, a.shape(), cycle);
  for (const char* method : {"cg", "gcr", "gmres", "bicgstab"}) {
    set(ctx, 0.0, x.view());
    const auto report = make_solver<double>(ctx, method, a.shape())->solve(ctx, a, m, b.cview(), x.view());
    std::printf("%-8s %d iterations, %d cycles\n", method, report.iterations, report.inner_iterations);
  }
  InnerSolve<float> inner(cycle.level_operator(cycle.levels() - 1), make_solver<float>(ctx, "cr", a.shape()), cycle,
                          {.rtol = 1e-2});  // VPGCR: an inner solve in float, to two digits
  PrecisionCast<double, float> variable(ctx, a.shape(), inner);
  set(ctx, 0.0, x.view());
  const auto report = make_solver<double>(ctx, "gcr", a.shape())->solve(ctx, a, variable, b.cview(), x.view());
  std::printf("vpgcr    %d iterations, %d inner\n", report.iterations, report.inner_iterations);
  return exit_code(report.status);
}
