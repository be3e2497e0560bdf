#include <stratum/multigrid/plane_multigrid.hpp>

#include <algorithm>

#include <stratum/core/field/blas.hpp>

namespace stratum {

namespace {

PoissonSolverParams params_of(double reaction) {
  PoissonSolverParams params;
  params.terms.reaction = reaction;
  params.stop.rtol = PlaneMultigrid::plane_rtol;
  params.stop.rounding_will_do = true;
  return params;
}

/// lambda + c; of a memory dry run, too.
std::vector<double> reactions_of(const std::vector<double>& values, double c) {
  std::vector<double> sums(values);
  for (double& sum : sums) sum += c;
  return sums;
}

}  // namespace

PlaneMultigrid::PlaneMultigrid(Context& ctx, const TensorMesh<2>& planes, const AxisFactors& across, double reaction)
    : PlaneMultigrid(ctx, planes, across, reaction,
                     ctx.is_dry_run()
                         ? LineModes{{}, std::vector<double>(static_cast<std::size_t>(across.unknowns()), 1.0)}
                         : ModeProducts::modes(ctx, across)) {}

PlaneMultigrid::PlaneMultigrid(Context& ctx, const TensorMesh<2>& planes, const AxisFactors& across, double reaction,
                               const LineModes& modes)
    : values_(modes.values), reactions_(reactions_of(values_, reaction)), modes_(ctx, across, modes),
      b_(ctx, planes.unknowns()), x_(ctx, planes.unknowns()),
      rows_(allocate(ctx, static_cast<std::size_t>(ctx.threads() * room()) * sizeof(double))) {
  const auto first = std::find_if(reactions_.begin(), reactions_.end(), [](double sum) { return sum > 0; });
  if (first != reactions_.end()) solver_.emplace(ctx, planes, params_of(*first));
  if (reactions_.front() == 0 || ctx.is_dry_run()) without_reaction_.emplace(ctx, planes, params_of(0));
}

void PlaneMultigrid::set_reaction(double c) { reactions_ = reactions_of(values_, c); }

std::int64_t PlaneMultigrid::room() const {
  return static_cast<std::int64_t>(modes_.scratch()) +
         std::int64_t{b_.shape().nx} * static_cast<std::int64_t>(reactions_.size());
}

void PlaneMultigrid::multiply_planes(const Context& ctx, ModeProducts::Product product, FieldView<const double, 3> in,
                                     FieldView<double, 3> out, bool add) {
  const int nx = b_.shape().nx, ny = b_.shape().ny, modes = static_cast<int>(reactions_.size());
#pragma omp parallel for schedule(static) num_threads(ctx.threads()) if (ctx.threads() > 1)
  for (int thread = 0; thread < ctx.threads(); ++thread) {
    double* const scratch = static_cast<double*>(rows_.get()) + thread * room();
    double* const row = scratch + modes_.scratch();
    const int end = static_cast<int>(std::int64_t{ny} * (thread + 1) / ctx.threads());
    for (int j = static_cast<int>(std::int64_t{ny} * thread / ctx.threads()); j < end; ++j) {
      modes_.across_rows(product, nx, in.row(j, 0), in.strides.plane, row, nx, scratch);
      for (int k = 0; k < modes; ++k) {
        const double* const from = row + std::int64_t{k} * nx;
        double* const to = out.row(j, k);
        for (int i = 0; i < nx; ++i) to[i] = add ? to[i] + from[i] : from[i];
      }
    }
  }
}

void PlaneMultigrid::apply(Context& ctx, FieldView<const double, 3> b, FieldView<double, 3> v, FieldView<double, 3> x,
                           bool add) {
  if (ctx.is_dry_run()) return;
  multiply_planes(ctx, ModeProducts::Product::to_modes, b, v, false);
  const FieldView<double> plane = b_.view(), solution = x_.view();
  for (int a = 0; a < static_cast<int>(reactions_.size()); ++a) {
    const double reaction = reactions_[static_cast<std::size_t>(a)];
    if (reaction > 0) solver_->set_reaction(ctx, reaction);
    PoissonSolver& solver = reaction > 0 ? *solver_ : *without_reaction_;
    for (int j = 0; j < plane.ny; ++j) std::copy_n(v.row(j, a), plane.nx, &plane(0, j));
    set(ctx, 0.0, solution);
    (void)solver.solve(ctx, b_.cview(), solution);
    for (int j = 0; j < plane.ny; ++j) std::copy_n(&solution(0, j), plane.nx, v.row(j, a));
  }
  multiply_planes(ctx, ModeProducts::Product::from_modes, v, x, add);
}

}  // namespace stratum
