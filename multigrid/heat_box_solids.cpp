#include <stratum/multigrid/heat_box_solids.hpp>

#include <algorithm>
#include <utility>

#include <stratum/core/errors.hpp>
#include <stratum/core/field/blas.hpp>
#include <stratum/core/field/blas_3d.hpp>
#include <stratum/multigrid/box_plan.hpp>
#include <stratum/solvers/row_scaled.hpp>

namespace stratum {

BoxHeatSolids::BoxHeatSolids(Context& ctx, const TensorMesh<3>& mesh, const HeatProblem3D& problem,
                             const BoxMaterial& material, const BoxCoefficients& c, const std::vector<int>& cuts,
                             const PoissonSolver3DParams& params, double s)
    : mesh_(mesh), problem_(problem), plan_(select_box_method(ctx, mesh, at_time(problem, 0), material, params.method)),
      stop_(params.stop), steady_(has_steady_bodies(problem)) {
  expects(
      !problem.space.exact,
      "errors around bodies that hold u or let nothing in are not computed in a box: leave the exact solution out, and "
      "give the initial and the boundary values");
  solids_.emplace(ctx, mesh, problem.space, material, c, cuts, params.float_cycles, s * problem.capacity);
  plan_.float_cycles = solids_->has_float_cycle();
  if (params.float_cycles && !plan_.float_cycles)
    plan_.reason += solids_->is_singular() ? "; cycles in double, since nothing but the steps holds u in some room"
                                           : broken_in_float;
  plan_.set_distributed(solids_->distributed_levels());
  shape_ = solids_->matrix().shape();
  iteration_.emplace(ctx, solids_->matrix(), solids_->cycle(), in_double(*solids_));
  std::vector<double> mass = solids_->masses(), inverse = mass;
  for (double& m : mass) m *= problem.capacity;
  std::transform(mass.begin(), mass.end(), inverse.begin(), [](double m) { return m > 0 ? 1 / m : 0; });
  mass_ = flat(ctx, mass);
  inverse_ = flat(ctx, inverse);
  kept_ = flat(ctx, solids_->kept());
  std::vector<double> of_surfaces = solids_->masses(BoxBodies::given);
  for (double& m : of_surfaces) m *= problem.capacity;
  of_surfaces_ = flat(ctx, of_surfaces);
  for (auto* const rows : {&values_, &scratch_, &more_}) *rows = Field<double>(ctx, rows_of(shape_));
}

Field<double> BoxHeatSolids::flat(Context& ctx, const std::vector<double>& values) const {
  Field<double> made(ctx, GridLayout<2>::flat(static_cast<int>(values.size())));
  if (!ctx.is_dry_run()) copy_from_host(ctx, values.data(), made.view());
  return made;
}

void BoxHeatSolids::times(Context& ctx, const Field<double>& d, ConstView x, View y) const {
  copy(ctx, x, box_of(shape_, scratch_.view()));
  times_rows(ctx, d, scratch_.cview(), scratch_.view());
  copy(ctx, ConstView(box_of(shape_, scratch_.view())), y);
}

void BoxHeatSolids::take_unknowns(Context& ctx, ConstView x, View y) const {
  // y + kept (x - y)
  copy(ctx, x, box_of(shape_, more_.view()));
  axpy(ctx, -1.0, ConstView(y), box_of(shape_, more_.view()));
  times_rows(ctx, kept_, more_.cview(), more_.view());
  axpy(ctx, 1.0, ConstView(box_of(shape_, more_.view())), y);
}
void BoxHeatSolids::take_others(Context& ctx, ConstView x, View y) const {
  // x - kept x + kept y
  copy(ctx, x, box_of(shape_, more_.view()));
  times_rows(ctx, kept_, more_.cview(), scratch_.view());
  axpy(ctx, -1.0, scratch_.cview(), more_.view());
  keep(ctx, y);
  axpy(ctx, 1.0, ConstView(box_of(shape_, more_.view())), y);
}

void BoxHeatSolids::set_values(Context& ctx, double t, View x) {
  if (!values_at_ || (!steady_ && *values_at_ != t)) {
    const auto values = solids_->held_values(mesh_, at_time(problem_, t));
    copy_from_host<double>(ctx, values.data(), box_of(shape_, values_.view()));
    values_at_ = t;
  }
  keep(ctx, x);
  axpy(ctx, 1.0, ConstView(box_of(shape_, values_.view())), x);
}

void BoxHeatSolids::set_shift(Context& ctx, double s) {
  if (!solids_->set_shift(ctx, s * problem_.capacity)) return;
  iteration_.reset();  // makes room
  iteration_.emplace(ctx, solids_->matrix(), solids_->cycle(), in_double(*solids_));
}

double BoxHeatSolids::sum_of_mass(Context& ctx) const { return dot(ctx, mass_.cview(), kept_.cview()); }

void BoxHeatSolids::warm_surfaces(Context& ctx, ConstView b, ConstView k, View y) const {
  times(ctx, of_surfaces_, k, y);
  xpay(ctx, b, -1.0, y);
}

void BoxHeatSolids::add_constant(Context& ctx, double a, View x) const {
  set(ctx, a, scratch_.view());
  times_rows(ctx, kept_, scratch_.cview(), scratch_.view());
  axpy(ctx, 1.0, ConstView(box_of(shape_, scratch_.view())), x);
}

SolveReport BoxHeatSolids::solve(Context& ctx, ConstView b, View x) {
  copy(ctx, b, box_of(shape_, iteration_->b.view()));
  SolveReport report = iteration_->solve(ctx, stop_, {});
  copy(ctx, ConstView(box_of(shape_, iteration_->x.view())), x);
  return report;
}

}  // namespace stratum
