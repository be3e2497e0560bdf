#include <stratum/assembly/cell_fields.hpp>

#include <stratum/core/field/blas.hpp>

namespace stratum {

namespace {

FieldView<const double> given(Context& ctx, const std::vector<double>& numbers, int nx, int ny, Field<double>& copy) {
  if (numbers.empty()) return {};
  if (!ctx.on_gpu()) return {numbers.data(), nx, ny, nx};
  if (copy.empty()) copy = Field<double>(ctx, GridLayout<2>{nx, ny, 0, 0});
  if (!ctx.is_dry_run()) copy_from_host(ctx, numbers.data(), copy.view());
  return copy.cview();
}

}  // namespace

CellFields::CellFields(Context& ctx, const TensorMesh<2>& mesh) {
  view_.hx = given(ctx, mesh.x().widths(), mesh.x().size(), 1, hx_).data;
  view_.hy = given(ctx, mesh.y().widths(), mesh.y().size(), 1, hy_).data;
}

CellFields::CellFields(Context& ctx, const TensorMesh<2>& mesh, const CellCoefficients& k, double constant_reaction)
    : CellFields(ctx, mesh) {
  const int nx = mesh.x().size(), ny = mesh.y().size();
  expects(k.nx == nx && k.ny == ny, "the coefficients are of ", k.nx, " x ", k.ny, " cells, the mesh has ", nx, " x ",
          ny);
  view_.constant_reaction = constant_reaction;
  has_c_ = !k.c.empty();
  assign(ctx, k);
}

void CellFields::assign(Context& ctx, const CellCoefficients& k) {
  view_.xx = given(ctx, k.xx, k.nx, k.ny, copies_[0]);
  view_.xy = given(ctx, k.xy, k.nx, k.ny, copies_[1]);
  view_.yy = given(ctx, k.yy, k.nx, k.ny, copies_[2]);
  view_.c = given(ctx, k.c, k.nx, k.ny, copies_[3]);
}

}  // namespace stratum
