#include <stratum/multigrid/heat_solver.hpp>

#include <cmath>
#include <utility>

#include <stratum/core/field/blas.hpp>
#include <stratum/multigrid/heat_operators.hpp>
#include <stratum/multigrid/heat_state.hpp>
#include <stratum/multigrid/heat_steps.hpp>
#include <stratum/solvers/preconditioners/mass_diagonal.hpp>
#include <stratum/solvers/row_scaled.hpp>

namespace stratum {

namespace {

/// With the bodies on the mesh, and data that do not count in them.
HeatProblem with_bodies_on(Context& ctx, const ProblemMesh& mesh, const HeatProblem& given, double start) {
  if (given.space.bodies.empty()) return given;
  HeatProblem problem = given;
  const auto map = bodies_on(ctx, mesh, at_time(given, start));
  const bool has_rhs = static_cast<bool>(given.space.rhs);
  problem.space = in_live_cells(given.space, map);
  if (!has_rhs) problem.space.rhs = {};
  problem.space.on_mesh = map;
  return problem;
}

/// The equation of a mesh of two dimensions, for HeatSteps.
class PlaneEquation {
 public:
  using Params = HeatParams;
  /// Numbers of Dirichlet nodes are those of all subdomains, on each.
  struct Vector {
    Field<double> unknowns;
    std::vector<double> sides;
  };

  PlaneEquation(Context& ctx, ProblemMesh mesh, const HeatProblem& p, const HeatParams& params, double s,
                const SmootherRegistry& registry)
      : geometry(std::move(mesh)), problem(with_bodies_on(ctx, geometry, p, params.start)),
        layout(PartitionLevels(ctx, mesh_hierarchy(geometry.logical()), params.solver.multigrid.partition()).finest()),
        first_row(layout.origin_y - geometry.logical().unknowns().origin_y),
        operators(ctx, geometry, problem, params.start, s, params.solver, registry),
        load_(ctx, layout), line_{Field<double>(ctx, GridLayout<2>{1, layout.ny}),
                                  Field<double>(ctx, GridLayout<2>{layout.nx, 1})} {
    boundary_sides_ = dirichlet_values(geometry, at(params.start)).size();
    if (const auto& map = problem.space.on_mesh; map && map->has_held()) {
      for (std::size_t n = 0; n < map->node.size(); ++n)
        if (map->node[n] == BodyMap::given) held_.push_back(n);
      for (Field<double>* const field : {&held_values_, &held_slopes_, &held_load_})
        *field = Field<double>(ctx, layout);
    }
    sides_ = boundary_sides_ + held_.size();
    if (geometry.logical().unknowns().nodes() == 0 || sides_ > 0) return;
    ones_ = Field<double>(ctx, layout);
    stratum::set(ctx, 1.0, ones_.view());
    keep_unknowns(ctx, ones_.view());
  }

  ProblemMesh geometry;
  HeatProblem problem;
  GridLayout<2> layout;
  int first_row;  // of this subdomain, of all rows of unknowns
  HeatOperators operators;

  /// Values of held nodes are those of the start, if not `with_values`.
  [[nodiscard]] PoissonProblem at(double t, bool with_values = false) const {
    PoissonProblem now = at_time(problem, t);
    if (with_values && !held_.empty() && !problem.steady_bodies) {
      auto map = std::make_shared<BodyMap>(*now.on_mesh);
      set_held_values(geometry, now.bodies, *map);
      now.on_mesh = std::move(map);
    }
    return now;
  }
  [[nodiscard]] HeatProblem with_values(double t) const {
    HeatProblem now = problem;
    now.space.on_mesh = at(t, true).on_mesh;
    return now;
  }
  [[nodiscard]] Vector vector(Context& ctx) const {
    return {Field<double>(ctx, layout), std::vector<double>(sides_, 0.0)};
  }
  [[nodiscard]] std::int64_t nodes() const { return layout.nodes(); }
  [[nodiscard]] std::size_t boundary_nodes() const { return sides_; }

  static void copy(Context& ctx, const Vector& x, Vector& y) {
    copy_unknowns(ctx, x, y);
    y.sides = x.sides;
  }
  static void axpy(Context& ctx, double a, const Vector& x, Vector& y) {
    stratum::axpy(ctx, a, x.unknowns.cview(), y.unknowns.view());
    for (std::size_t n = 0; n < y.sides.size(); ++n) y.sides[n] += a * x.sides[n];
  }
  static void axpys(Context& ctx, double a, const Vector& x, double b, const Vector& y, Vector& z) {
    stratum::axpys(ctx, {a, b}, {x.unknowns.cview(), y.unknowns.cview()}, z.unknowns.view());
    for (std::size_t n = 0; n < z.sides.size(); ++n) z.sides[n] += a * x.sides[n] + b * y.sides[n];
  }
  static void slope(Context& ctx, double s, const Vector& x, Vector& k) {
    xpay(ctx, x.unknowns.cview(), -1, k.unknowns.view());
    stratum::axpy(ctx, s - 1, k.unknowns.cview(), k.unknowns.view());
    for (std::size_t n = 0; n < k.sides.size(); ++n) k.sides[n] = s * (x.sides[n] - k.sides[n]);
  }
  static void copy_unknowns(Context& ctx, const Vector& x, Vector& y) {
    stratum::copy(ctx, x.unknowns.cview(), y.unknowns.view());
  }
  static void set(Context& ctx, double a, Vector& x) { stratum::set(ctx, a, x.unknowns.view()); }
  [[nodiscard]] static double norm2(Context& ctx, const Vector& x) { return stratum::norm2(ctx, x.unknowns.cview()); }

  void mass(Context& ctx, const Vector& x, Vector& y) const {
    operators.mass().apply(ctx, x.unknowns.cview(), y.unknowns.view());
  }
  /// Whatever the capacity.
  [[nodiscard]] double size(Context& ctx, const Vector& x, Vector& scratch) const {
    operators.even_mass().apply(ctx, x.unknowns.cview(), scratch.unknowns.view());
    return std::sqrt(std::max(0.0, dot(ctx, x.unknowns.cview(), scratch.unknowns.cview())));
  }

  [[nodiscard]] bool size_leaves_mass() const { return &operators.even_mass() == &operators.mass(); }

  void set_boundary(Context& /*ctx*/, double t, Vector& x) const {
    const PoissonProblem now = at(t, true);
    x.sides = dirichlet_values(geometry, now);
    for (const std::size_t n : held_) x.sides.push_back(now.on_mesh->value[n]);
  }
  static void copy_boundary(Context& /*ctx*/, const Vector& x, Vector& y) { y.sides = x.sides; }
  void begin_boundary(Context& ctx, double t, double moment, const Vector& u, Vector& k) const {
    set_boundary(ctx, t + moment, k);
    for (std::size_t n = 0; n < k.sides.size(); ++n) k.sides[n] = (k.sides[n] - u.sides[n]) / moment;
  }
  void initial(Context& ctx, double t, Vector& u) const {
    if (nodes() == 0) return;
    const auto given =
        at_nodes(ctx, geometry, initial_function(problem, t), {layout.origin_y, layout.origin_y + layout.ny - 1});
    const auto columns = static_cast<std::size_t>(geometry.logical().x().size()) + 1;
    std::vector<double> unknowns;
    for (int j = 0; j < layout.ny; ++j)
      for (int i = 0; i < layout.nx; ++i) {
        const auto p = static_cast<std::size_t>(i + layout.origin_x);
        double value = given[static_cast<std::size_t>(j) * columns + p];
        const auto& map = problem.space.on_mesh;
        if (map && map->node_at(static_cast<int>(p), j + layout.origin_y) != BodyMap::unknown) value = 0;
        if (!std::isfinite(value)) {
          const Point point = Geometry(geometry).node(static_cast<int>(p), j + layout.origin_y);
          throw UsageError(
              message("the initial value is ", value, " at (", point.x, ", ", point.y, "); it must be finite"));
        }
        unknowns.push_back(value);
      }
    copy_from_host(ctx, unknowns.data(), u.unknowns.view());
  }

  [[nodiscard]] double s() const { return operators.s(); }
  bool update(Context& ctx, double t, double s) {
    if (coefficients_vary(problem)) ++updates_;
    return operators.set(ctx, t, s);
  }

  void stage_rhs(Context& ctx, double t, const Vector& p, const Vector& x, Vector& b) {
    mass(ctx, p, b);
    find_load(ctx, t);
    xpay(ctx, load_.cview(), s(), b.unknowns.view());
    for (std::size_t n = 0; n < sides_; ++n) b.sides[n] = s() * (x.sides[n] - p.sides[n]);
    add_boundary(ctx, at(t), x.sides, b.sides, b.unknowns.view());
  }
  void slope_rhs(Context& ctx, double t, const Vector& u, const Vector& k, Vector& b) {
    find_load(ctx, t);
    operators.a().residual(ctx, load_.cview(), u.unknowns.cview(), b.unknowns.view());
    add_boundary(ctx, at(t), u.sides, k.sides, b.unknowns.view());
  }
  void residual(Context& ctx, const Vector& b, const Vector& x, Vector& r) const {
    operators.sum().residual(ctx, b.unknowns.cview(), x.unknowns.cview(), r.unknowns.view());
  }

  SolveReport solve(Context& ctx, const StoppingParams& stop, const Vector& b, Vector& x, const Vector* /*r*/) {
    operators.solver().set_stop(stop);
    return operators.solver().solve(ctx, b.unknowns.cview(), x.unknowns.view());
  }
  SolveReport solve_error(Context& ctx, const StoppingParams& stop, const Vector& b, Vector& x) {
    return solve(ctx, stop, b, x, nullptr);
  }
  SolveReport solve_mass(Context& ctx, const StoppingParams& stop, const Vector& b, Vector& x) const {
    Field<double> entries(ctx, layout);
    diagonal(ctx, operators.mass(), entries.view());
    std::vector<double> on_host(static_cast<std::size_t>(nodes()));
    copy_to_host(ctx, entries.cview(), on_host.data());
    MassDiagonal jacobi(ctx, layout, on_host);
    return make_solver<double>(ctx, "cg", layout)
        ->solve(ctx, operators.mass(), jacobi, b.unknowns.cview(), x.unknowns.view(), stop);
  }
  [[nodiscard]] bool conserves() const { return !ones_.empty() && operators.conserves_heat(); }
  void conserve(Context& ctx, const Vector& b, Vector& x, Vector& scratch) const {
    if (!conserves()) return;
    // 1^T S = s 1^T M: a constant takes up the sum of the residual.
    residual(ctx, b, x, scratch);
    const double left = dot(ctx, ones_.cview(), scratch.unknowns.cview());
    operators.mass().apply(ctx, ones_.cview(), scratch.unknowns.view());
    stratum::axpy(ctx, left / (s() * dot(ctx, ones_.cview(), scratch.unknowns.cview())), ones_.cview(),
                  x.unknowns.view());
  }
  void count_memory(Context& ctx, bool slopes) {
    if (slopes) (void)make_solver<double>(ctx, "cg", layout);
    operators.count_memory_of_changes(ctx);
  }

  void forget_load() { load_known_ = false; }

  [[nodiscard]] std::vector<TimeFunction> functions_of_time() const {
    return stratum::functions_of_time(geometry, problem);
  }

 private:
  /// load = F(t), without what boundaries add.
  void find_load(Context& ctx, double t) {
    const auto& averaged = operators.averaged();
    const bool still_so = problem.steady_rhs && averaged == load_averaged_;
    if (load_known_ && (still_so || !problem.space.rhs || load_at_ == t)) return;
    assemble_heat_load(ctx, geometry, problem, t, load_, averaged);
    keep_unknowns(ctx, load_.view());
    load_averaged_ = averaged;
    if (operators.scale() != 1) xpay(ctx, load_.cview(), operators.scale() - 1, load_.view());
    load_at_ = t;
    load_known_ = true;
  }

  /// to = to + what Neumann or Robin boundaries give at this time - A_D values - M_D slopes
  void add_boundary(Context& ctx, const PoissonProblem& now, const std::vector<double>& values,
                    const std::vector<double>& slopes, FieldView<double> to) {
    BoundaryLoads boundaries(layout, first_row);
    add_fluxes(geometry, now, boundaries);
    for (auto* part : {&boundaries.left, &boundaries.right, &boundaries.bottom, &boundaries.top})
      for (double& value : *part) value *= operators.scale();
    for (const auto& entry : operators.dirichlet_entries_of_a())
      if (boundaries.has(entry.j)) boundaries(entry.i, entry.j) -= entry.times(values);
    for (const auto& entry : operators.dirichlet_entries_of_mass())
      if (boundaries.has(entry.j)) boundaries(entry.i, entry.j) -= entry.times(slopes);
    add(ctx, boundaries, line_, to);
    if (!held_.empty()) add_held(ctx, values, slopes, to);
    keep_unknowns(ctx, to);
  }
  /// to = to - A g - M k of held nodes.
  void add_held(Context& ctx, const std::vector<double>& values, const std::vector<double>& slopes,
                FieldView<double> to) {
    std::vector<double> now(values.begin() + static_cast<std::ptrdiff_t>(boundary_sides_), values.end());
    now.insert(now.end(), slopes.begin() + static_cast<std::ptrdiff_t>(boundary_sides_), slopes.end());
    if (now != held_now_ || held_update_ != updates_) {
      const auto put = [&](std::size_t first, Field<double>& field) {
        std::vector<double> rows(static_cast<std::size_t>(layout.nodes()), 0.0);
        const TensorMesh<2>& mesh = geometry.logical();
        const int columns = mesh.x().size() + 1;
        for (std::size_t n = 0; n < held_.size(); ++n) {
          const int i = unknown_at(mesh.x(), static_cast<int>(held_[n]) % columns),
                    j = unknown_at(mesh.y(), static_cast<int>(held_[n]) / columns) - first_row;
          if (i >= 0 && j >= 0 && j < layout.ny)
            rows[static_cast<std::size_t>(j) * static_cast<std::size_t>(layout.nx) + static_cast<std::size_t>(i)] =
                now[first + n];
        }
        copy_from_host(ctx, rows.data(), field.view());
        exchange(ctx, field);
      };
      put(0, held_values_);
      put(held_.size(), held_slopes_);
      stratum::set(ctx, 0.0, held_load_.view());
      operators.subtract_held(ctx, held_values_, held_slopes_, held_load_.view());
      held_now_ = std::move(now);
      held_update_ = updates_;
    }
    stratum::axpy(ctx, 1.0, held_load_.cview(), to);
  }
  /// Zero at nodes that are none.
  void keep_unknowns(Context& ctx, FieldView<double> x) const {
    if (const Field<double>* const keep = operators.keep(); keep != nullptr && !ctx.is_dry_run())
      times_rows(ctx, *keep, x, x);
  }

  std::size_t sides_ = 0, boundary_sides_ = 0;  // Dirichlet nodes with those of held bodies behind them, and without
  std::vector<std::size_t> held_;               // nodes
  Field<double> held_values_, held_slopes_, held_load_;
  std::vector<double> held_now_;                 // that held_load_ is of
  std::int64_t updates_ = 0, held_update_ = -1;  // of the operators
  Field<double> load_, ones_;
  std::array<Field<double>, 2> line_;  // a column, a row: what boundaries add
  double load_at_ = 0;
  bool load_known_ = false;
  std::vector<std::size_t> load_averaged_;  // cells where it has the mean of f
};

}  // namespace

struct HeatSolver::Implementation : HeatSteps<PlaneEquation> {
  Implementation(Context& ctx, const Geometry& m, const HeatProblem& p, const HeatParams& given,
                 const SmootherRegistry& registry)
      : HeatSteps(ctx, given, [&](std::optional<PlaneEquation>& to, double s) {
          to.emplace(ctx, with_boundaries(m, p.space.boundaries), p, given, s, registry);
        }) {}
};

std::int64_t required_memory(const Context& ctx, const Geometry& mesh, const HeatProblem& problem,
                             const HeatParams& params, const SmootherRegistry& registry) {
  Context dry_run = ctx.memory_dry_run();
  const HeatSolver solver(dry_run, mesh, problem, params, registry);
  return dry_run.memory()->peak_bytes;
}

HeatSolver::HeatSolver(Context& ctx, const Geometry& mesh, const HeatProblem& problem, const HeatParams& params,
                       const SmootherRegistry& registry)
    : implementation_(std::make_unique<Implementation>(ctx, mesh, problem, params, registry)) {}
HeatSolver::~HeatSolver() = default;
HeatSolver::HeatSolver(HeatSolver&&) noexcept = default;
HeatSolver& HeatSolver::operator=(HeatSolver&&) noexcept = default;

const HeatReport& HeatSolver::advance(Context& ctx, double to, const Monitor& monitor) {
  return implementation_->advance(ctx, to, monitor);
}

double HeatSolver::time() const { return implementation_->report.t; }
const GridLayout<2>& HeatSolver::unknowns() const { return implementation_->equation->layout; }
FieldView<const double> HeatSolver::solution() const { return implementation_->u.unknowns.cview(); }
const HeatReport& HeatSolver::report() const { return implementation_->report; }
const TensorMesh<2>& HeatSolver::mesh() const { return geometry().logical(); }
const ProblemMesh& HeatSolver::geometry() const { return implementation_->equation->geometry; }
const StructuredSolver& HeatSolver::solver() const { return implementation_->equation->operators.solver(); }
double HeatSolver::round_off_of_films() const { return implementation_->equation->operators.round_off_of_films(); }

std::vector<double> HeatSolver::nodal_solution(Context& ctx) const {
  const PlaneEquation& equation = *implementation_->equation;
  return stratum::nodal_solution(ctx, equation.geometry, equation.at(time(), true), implementation_->u.unknowns);
}
double HeatSolver::heat(Context& ctx) const {
  const PlaneEquation& equation = *implementation_->equation;
  return total_heat(ctx, equation.geometry, equation.with_values(time()), time(), implementation_->u.unknowns);
}
std::optional<double> HeatSolver::relative_l2_error(Context& ctx) const {
  const PlaneEquation& equation = *implementation_->equation;
  if (!equation.problem.space.exact) return std::nullopt;
  // A reaction term, as steps have one: of singular problems, errors would leave out means.
  PoissonProblem now = equation.at(time(), true);
  now.reaction += 1;
  return stratum::relative_l2_error(ctx, equation.geometry, now, implementation_->u.unknowns);
}

HeatState HeatSolver::state(Context& ctx) const {
  const Implementation& self = *implementation_;
  HeatState state{self};
  state.boundary_slope = self.slope.sides;
  state.u = rows_on_first_subdomain(ctx, self.u.unknowns.cview());
  state.slope = rows_on_first_subdomain(ctx, self.slope.unknowns.cview());
  state.slope_before = rows_on_first_subdomain(ctx, self.slope_before.unknowns.cview());
  return state;
}

bool HeatSolver::restore(Context& ctx, const HeatState& state, bool same_data) {
  Implementation& self = *implementation_;
  PlaneEquation& equation = *self.equation;
  const auto nodes = static_cast<std::size_t>(mesh().unknowns().nodes());
  expects(state.u.size() == nodes && state.slope.size() == nodes && state.slope_before.size() == nodes &&
              state.boundary_slope.size() == equation.boundary_nodes(),
          "a state of ", state.u.size(), " unknowns and ", state.boundary_slope.size(),
          " nodes that boundaries and bodies hold is not one of ", nodes, " and ", equation.boundary_nodes());
  put_rows(ctx, state.u, equation.first_row, self.u.unknowns);
  put_rows(ctx, state.slope, equation.first_row, self.slope.unknowns);
  put_rows(ctx, state.slope_before, equation.first_row, self.slope_before.unknowns);
  self.slope.sides = state.boundary_slope;
  equation.forget_load();
  return self.go_on(ctx, state, same_data);
}

}  // namespace stratum
