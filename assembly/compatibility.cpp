// Singular problems (poisson_problem.hpp): whether a load has a solution, and the solution whose mean is zero.

#include <stratum/assembly/host_loads.hpp>
#include <stratum/assembly/rectangle_fields.hpp>
#include <stratum/core/field/blas.hpp>

namespace stratum {

namespace {

using detail::add_load;
using detail::HostGrid;

/// Integrals of phi_i of the unknowns, or of those of a subdomain, whose rows begin with `first_row`.
Field<double> hat_integrals(Context& ctx, const MappedMesh& mesh, const GridLayout<2>& unknowns, int first_row) {
  HostGrid hats(unknowns.nx, unknowns.ny, first_row);
  add_load(
      ctx, mesh, gauss3, [](const Point&) { return 1.0; }, hats);
  Field<double> there(ctx, unknowns);
  copy_from_host(ctx, hats.values.data(), there.view());
  return there;
}
HatIntegrals hat_integrals(const TensorMesh<2>& mesh, int first_row) {
  return {at_unknowns(mesh.x(), hat_integrals(mesh.x())), at_unknowns(mesh.y(), hat_integrals(mesh.y())), first_row};
}

}  // namespace

void expect_compatible(const Compatibility& found, bool project, const char* what) {
  expects(found.holds() || project,
          "singular problem (only Neumann or periodic boundaries, no reaction) with incompatible data: ", what, " is ",
          found.sum, ", ", 100 * std::abs(found.sum) / found.sum_of_magnitudes,
          " % of the sum of magnitudes. Use --project (`project` in code) to subtract the mean of f");
}

Compatibility make_compatible(Context& ctx, const Geometry& mesh, const GridFunction<double>& b) {
  const int first_row = first_row_of(ctx, "the load vector", mesh.logical(), b);
  if (mesh.mapped() == nullptr) return make_compatible(ctx, hat_integrals(mesh.logical(), first_row), b.view);
  return make_compatible(ctx, hat_integrals(ctx, *mesh.mapped(), layout_of(mesh.logical(), b), first_row).cview(),
                         b.view);
}

void subtract_integral_mean(Context& ctx, const Geometry& mesh, const GridFunction<double>& u) {
  const int first_row = first_row_of(ctx, "the solution", mesh.logical(), u);
  if (mesh.mapped() == nullptr) return subtract_integral_mean(ctx, hat_integrals(mesh.logical(), first_row), u.view);
  subtract_integral_mean(ctx, hat_integrals(ctx, *mesh.mapped(), layout_of(mesh.logical(), u), first_row).cview(),
                         u.view);
}

}  // namespace stratum
