#include <stratum/multigrid/heat_solver_3d.hpp>

#include <stratum/multigrid/heat_box_equation.hpp>
#include <stratum/multigrid/heat_steps.hpp>

namespace stratum {

struct HeatSolver3D::Implementation : HeatSteps<BoxEquation> {
  Implementation(Context& ctx, const TensorMesh<3>& mesh, const HeatProblem3D& problem, const HeatParams3D& given)
      : HeatSteps(ctx, given,
                  [&](std::optional<BoxEquation>& to, double s) { to.emplace(ctx, mesh, problem, given, s); }) {}
};

HeatSolver3D::HeatSolver3D(Context& ctx, const TensorMesh<3>& mesh, const HeatProblem3D& problem,
                           const HeatParams3D& params)
    : implementation_(std::make_unique<Implementation>(ctx, mesh, problem, params)) {}
HeatSolver3D::~HeatSolver3D() = default;
HeatSolver3D::HeatSolver3D(HeatSolver3D&&) noexcept = default;
HeatSolver3D& HeatSolver3D::operator=(HeatSolver3D&&) noexcept = default;

const HeatReport& HeatSolver3D::advance(Context& ctx, double to, const Monitor& monitor) {
  return implementation_->advance(ctx, to, monitor);
}

double HeatSolver3D::time() const { return implementation_->report.t; }
FieldView<const double, 3> HeatSolver3D::solution() const { return implementation_->u.cview(); }
const HeatReport& HeatSolver3D::report() const { return implementation_->report; }
const TensorMesh<3>& HeatSolver3D::mesh() const { return implementation_->equation->mesh; }
NodePlanes HeatSolver3D::nodes() const { return implementation_->equation->planes(); }
GridLayout<3> HeatSolver3D::unknowns() const {
  return implementation_->equation->slabs().unknowns(implementation_->equation->mesh);
}
const BoxSolverPlan& HeatSolver3D::plan() const { return implementation_->equation->plan(); }

std::vector<double> HeatSolver3D::nodal_solution(Context& ctx) const {
  const BoxEquation& equation = *implementation_->equation;
  auto nodal = to_host(ctx, equation.filled_nodes_of(ctx, implementation_->u));
  if (equation.solids) equation.solids->solids().hide_inactive(nodal, equation.planes().first);
  return nodal;
}
std::vector<BoxBodyFlux> HeatSolver3D::body_fluxes(Context& ctx) const {
  BoxEquation& equation = *implementation_->equation;
  const auto& bodies = equation.problem.space.on_mesh;
  if (!bodies) return {};
  auto found = equation.slabs().means(ctx, equation.mesh, *bodies, nodal_solution(ctx));
  if (equation.solids) equation.add_fluxes(ctx, time(), implementation_->u, implementation_->slope, found);
  return found;
}
double HeatSolver3D::heat(Context& ctx) const {
  const BoxEquation& equation = *implementation_->equation;
  const StoredBox<double> u = equation.filled_nodes_of(ctx, implementation_->u);
  const double integral = equation.solids
                              ? equation.solids->solids().integral(ctx, to_host(ctx, u), equation.planes().first)
                              : equation.discretization->integral(ctx, u);
  return equation.problem.capacity * integral;
}
std::optional<double> HeatSolver3D::relative_l2_error(Context& ctx) const {
  BoxEquation& equation = *implementation_->equation;
  if (!equation.problem.space.exact) return std::nullopt;
  PoissonProblem3D now = at_time(equation.problem, time());
  now.reaction = 1;  // means are included
  equation.discretization->set_data(ctx, now);
  const StoredBox<double> u = equation.filled_nodes_of(ctx, implementation_->u);
  Context own = ctx.alone();
  const auto errors = equation.discretization->relative_errors(ctx, own, u);
  return errors ? std::optional(errors->l2) : std::nullopt;
}

HeatState HeatSolver3D::state(Context& ctx) const {
  Implementation& self = *implementation_;
  HeatState state{self};
  const BoxEquation& equation = *self.equation;
  state.u = equation.all_unknowns(ctx, self.u);
  state.slope = equation.all_unknowns(ctx, self.slope);
  state.slope_before = equation.all_unknowns(ctx, self.slope_before);
  state.boundary_slope = equation.all_boundary_values(ctx, self.slope);
  return state;
}

bool HeatSolver3D::restore(Context& ctx, const HeatState& state, bool same_data) {
  Implementation& self = *implementation_;
  const BoxEquation& equation = *self.equation;
  const auto nodes = static_cast<std::size_t>(equation.mesh.unknowns().nodes()),
             sides = static_cast<std::size_t>(equation.all_boundary_nodes());
  expects(state.u.size() == nodes && state.slope.size() == nodes && state.slope_before.size() == nodes &&
              state.boundary_slope.size() == sides,
          "a state of ", state.u.size(), " unknowns and ", state.boundary_slope.size(),
          " nodes of boundaries is not one of ", nodes, " and ", sides);
  equation.set_unknowns(ctx, state.u, self.u);
  equation.set_unknowns(ctx, state.slope, self.slope);
  equation.set_unknowns(ctx, state.slope_before, self.slope_before);
  equation.set_boundary_values(ctx, state.boundary_slope, self.slope);
  self.equation->forget_load();
  return self.go_on(ctx, state, same_data);
}

std::int64_t required_memory(const Context& ctx, const TensorMesh<3>& mesh, const HeatProblem3D& problem,
                             const HeatParams3D& params) {
  Context dry_run = ctx.memory_dry_run();
  const HeatSolver3D solver(dry_run, mesh, problem, params);
  return dry_run.memory()->peak_bytes;
}

}  // namespace stratum
