// What a program of someone else's looks like; and what crosses the border of a shared library: exceptions, variants.
#include <cstdio>
#include <string>

#include <stratum/stratum.hpp>

int main() {
  stratum::Context ctx;
  const auto mesh = stratum::make_mesh(stratum::mesh_family("A3"), 5);
  stratum::Field<double> b(ctx, mesh.unknowns()), x(ctx, mesh.unknowns());
  stratum::assemble_load(ctx, mesh, {}, b);
  const auto report = stratum::PoissonSolver(ctx, mesh).solve(ctx, b.cview(), x.view());
  try {
    (void)stratum::mesh_family("none of these");
    return 1;
  } catch (const stratum::UsageError&) {
  }
  const auto a = stratum::assemble_laplace<double>(ctx, mesh, stratum::StorageFormat::nine_band);
  if (!a.visit([](const auto& view) { return view.template coefficient<0, 0>(0, 0) > 0; })) return 1;
  std::printf("%s after %d cycles\n", std::string(to_string(report.status)).c_str(), report.iterations);
  return stratum::exit_code(report.status);
}
