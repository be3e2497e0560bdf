#include "system.hpp"

#include <utility>

#include <stratum/assembly/error_norms.hpp>
#include <stratum/assembly/operators.hpp>
#include <stratum/assembly/poisson_problem.hpp>
#include <stratum/core/field/blas.hpp>

#include "bench/settings.hpp"

namespace stratum::apps::bench {

System::System(Context& ctx, TensorMesh<2> m) : mesh(std::move(m)) {
  const GridLayout<2> shape = mesh.unknowns();
  expect_available(ctx, 3 * field_bytes<double>(ctx.backend(), shape));
  for (auto* vector : {&b, &x, &converged}) *vector = Field<double>(ctx, shape);
  assemble_load(ctx, mesh, {}, b);
}

void System::assemble_nine_band(Context& ctx) {
  if (nine_band.shape() == mesh.unknowns()) return;
  nine_band = k ? stored(ctx, assemble_diffusion(ctx, mesh, *k, {}), StorageFormat::nine_band)
                : assemble_laplace<double>(ctx, mesh, StorageFormat::nine_band);
}

double System::error(Context& ctx, const Field<double>& u) const {
  return relative_l2_error(ctx, mesh, {}, u).value_or(std::nan(""));
}

double System::algebraic_error(Context& ctx) {
  axpy<double, double>(ctx, -1, converged.cview(), x.view());
  const auto zero = [](const Point&) { return 0.0; };
  const double distance = relative_l2_error(ctx, mesh, {zero, zero, {}}, x).value_or(std::nan(""));
  // The norm of x (a - x) is a^(5/2) / sqrt(30).
  const double exact = std::pow(mesh.x().length() * mesh.y().length(), 2.5) / 30;
  return distance / (converged_error * exact);
}

}  // namespace stratum::apps::bench
