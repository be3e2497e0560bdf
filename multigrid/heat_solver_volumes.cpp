#include <stratum/multigrid/heat_solver_volumes.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>
#include <variant>

#include <stratum/assembly/films.hpp>
#include <stratum/core/field/blas.hpp>
#include <stratum/multigrid/by_differences.hpp>
#include <stratum/multigrid/heat_state.hpp>
#include <stratum/multigrid/heat_steps.hpp>
#include <stratum/solvers/row_scaled.hpp>

namespace stratum {

namespace {

using Values = std::vector<double>;

SymmetricNineBand<double>& bands_of(GridOperator<double>& a) {
  return std::get<SymmetricNineBand<double>>(a.storage());
}

/// sum = a + s m
void add(Context& ctx, GridOperator<double>& a, double s, const Field<double>& m, GridOperator<double>& sum) {
  if (ctx.is_dry_run()) return;
  for (std::size_t k = 0; k < bands_of(a).band.size(); ++k) {
    Field<double>& to = bands_of(sum).band[k];
    copy(ctx, bands_of(a).band[k].cview(), to.view());
    if (k == 0) axpy(ctx, s, m.cview(), to.view());
    exchange(ctx, to);
  }
}

/// A diagonal matrix on the cells of a subdomain.
struct Diagonal {
  Field<double> field, flat;

  Diagonal(Context& ctx, const GridLayout<2>& cells)
      : field(ctx, cells), flat(ctx, GridLayout<2>::flat(static_cast<int>(cells.nodes()))) {}
  void assign(Context& ctx, const Values& values) {
    if (ctx.is_dry_run()) return;
    copy_from_host(ctx, values.data(), field.view());
    copy_from_host(ctx, values.data(), flat.view());
  }
  void apply(Context& ctx, FieldView<const double> x, FieldView<double> y) const { times_rows(ctx, flat, x, y); }
};

/// The equation of finite volumes, for HeatSteps.
class VolumeEquation {
 public:
  using Params = HeatParams;
  using Vector = Field<double>;

  VolumeEquation(Context& ctx, const TensorMesh<2>& mesh, const HeatProblem& p, const HeatParams& given, double s,
                 const SmootherRegistry& registry)
      : problem(p), varies_(coefficients_vary(p)), t_(given.start), s_(s), volumes(volumes_at(ctx, mesh, given.start)),
        params_(checked(given.solver)), layout(PoissonSolver::cells_of_subdomain(ctx, *volumes, params_)),
        first_row(layout.origin_y - volumes->centres().unknowns().origin_y), mass_(ctx, layout), even_(ctx, layout),
        inverse_(ctx, layout), load_(ctx, layout), ones_(ctx, layout) {
    conducts_ = volumes->rooms() != nullptr && volumes->bodies()->has_empty_cells;
    for (auto* const matrix : {&sum_, conducts_ ? &cycle_sum_ : nullptr})
      if (matrix != nullptr) *matrix = volumes->matrix(ctx, layout);
    if (!ctx.on_gpu() && volumes->round_off_of_films() > film) {
      sums_of_a_ = std::make_shared<Field<double>>(ctx, layout);
      sums_ = std::make_shared<Field<double>>(ctx, layout);
    }
    assemble(ctx);
    add_up(ctx);
    make_solver_of_stages(ctx, registry);
  }

  HeatProblem problem;

 private:
  bool varies_, conducts_ = false;
  double t_, s_;

 public:
  std::shared_ptr<const FiniteVolumes> volumes;

 private:
  PoissonSolverParams params_;

 public:
  GridLayout<2> layout;
  int first_row;  // of this subdomain, of all rows of cells
  std::optional<StructuredSolver> solver;

  [[nodiscard]] PoissonProblem at(double t) const { return at_time(problem, t); }
  [[nodiscard]] Vector vector(Context& ctx) const { return Vector(ctx, layout); }
  [[nodiscard]] std::int64_t nodes() const { return layout.nodes(); }

  static void copy(Context& ctx, const Vector& x, Vector& y) { stratum::copy(ctx, x.cview(), y.view()); }
  static void axpy(Context& ctx, double a, const Vector& x, Vector& y) { stratum::axpy(ctx, a, x.cview(), y.view()); }
  static void axpys(Context& ctx, double a, const Vector& x, double b, const Vector& y, Vector& z) {
    stratum::axpys(ctx, {a, b}, {x.cview(), y.cview()}, z.view());
  }
  static void slope(Context& ctx, double s, const Vector& x, Vector& k) {
    xpay(ctx, x.cview(), -1, k.view());
    stratum::axpy(ctx, s - 1, k.cview(), k.view());
  }
  static void copy_unknowns(Context& ctx, const Vector& x, Vector& y) { copy(ctx, x, y); }
  static void set(Context& ctx, double a, Vector& x) { stratum::set(ctx, a, x.view()); }
  [[nodiscard]] static double norm2(Context& ctx, const Vector& x) { return stratum::norm2(ctx, x.cview()); }

  void mass(Context& ctx, const Vector& x, Vector& y) const { mass_.apply(ctx, x.cview(), y.view()); }
  /// Whatever the capacity.
  [[nodiscard]] double size(Context& ctx, const Vector& x, Vector& scratch) const {
    even_.apply(ctx, x.cview(), scratch.view());
    return std::sqrt(std::max(0.0, dot(ctx, x.cview(), scratch.cview())));
  }
  [[nodiscard]] static bool size_leaves_mass() { return false; }

  // There are no Dirichlet nodes.
  static void set_boundary(Context& /*ctx*/, double /*t*/, Vector& /*x*/) {}
  static void copy_boundary(Context& /*ctx*/, const Vector& /*x*/, Vector& /*y*/) {}
  static void begin_boundary(Context& /*ctx*/, double /*t*/, double /*moment*/, const Vector& /*u*/, Vector& /*k*/) {}

  void initial(Context& ctx, double t, Vector& u) const {
    if (nodes() == 0) return;
    // The nodes of `points` have the faces of boundaries around the centres.
    const TensorMesh<2>& points = volumes->points();
    const auto given =
        at_nodes(ctx, Geometry(points), initial_function(problem, t), {first_row + 1, first_row + layout.ny});
    const auto columns = static_cast<std::size_t>(layout.nx) + 2;
    Values cells;
    for (int j = 0; j < layout.ny; ++j)
      for (int i = 0; i < layout.nx; ++i) {
        const double value =
            is_live(i, j) ? given[static_cast<std::size_t>(j) * columns + static_cast<std::size_t>(i) + 1] : 0;
        if (!std::isfinite(value)) {
          const Point p = Geometry(points).node(i + 1, j + first_row + 1);
          throw UsageError(message("the initial value is ", value, " at (", p.x, ", ", p.y, "); it must be finite"));
        }
        cells.push_back(value);
      }
    copy_from_host(ctx, cells.data(), u.view());
  }

  [[nodiscard]] double s() const { return s_; }
  bool update(Context& ctx, double t, double s) {
    const bool moved = varies_ && t != t_;
    if (!moved && s == s_) return false;
    s_ = s;
    if (moved) {
      t_ = t;
      volumes = volumes_at(ctx, volumes->mesh(), t);
      assemble(ctx);
    }
    add_up(ctx);
    if (conducts_)
      solver->update(ctx, cycle_sum_, nullptr, sum_);
    else
      solver->update(ctx, sum_);
    return true;
  }

  void stage_rhs(Context& ctx, double t, const Vector& p, const Vector& /*x*/, Vector& b) {
    mass(ctx, p, b);
    find_load(ctx, t);
    xpay(ctx, load_.cview(), s_, b.view());
  }
  void slope_rhs(Context& ctx, double t, const Vector& u, const Vector& /*k*/, Vector& b) {
    find_load(ctx, t);
    if (sums_of_a_)
      FiveBandsByDifferences(a_, sums_of_a_).residual(ctx, load_.cview(), u.cview(), b.view());
    else
      a_.residual(ctx, load_.cview(), u.cview(), b.view());
    ones_.apply(ctx, b.cview(), b.view());
  }
  void residual(Context& ctx, const Vector& b, const Vector& x, Vector& r) const {
    if (by_differences_)
      by_differences_->residual(ctx, b.cview(), x.cview(), r.view());
    else
      solver->fine_operator().residual(ctx, b.cview(), x.cview(), r.view());
  }

  SolveReport solve(Context& ctx, const StoppingParams& stop, const Vector& b, Vector& x, const Vector* /*r*/) {
    StoppingParams own = stop;
    // In long steps between insulated walls the constant is held by less than float has digits for beside the diagonal. What
    // cycles leave of it conserve() takes away: no estimate waits for it.
    constexpr double held_well = 0.03, rounding = 4 * std::numeric_limits<double>::epsilon();
    if (!by_differences_ && lost_in_float() > held_well) {
      own.error_tol = std::numeric_limits<double>::infinity();
      own.atol =
          std::max(own.atol, rounding * diagonal_ / std::sqrt(static_cast<double>(volumes->cells())) * norm2(ctx, x));
    }
    solver->set_stop(own);
    return solver->solve(ctx, b.cview(), x.view());
  }
  SolveReport solve_error(Context& ctx, const StoppingParams& stop, const Vector& b, Vector& x) {
    return solve(ctx, stop, b, x, nullptr);
  }
  SolveReport solve_mass(Context& ctx, const StoppingParams& /*stop*/, const Vector& b, Vector& x) const {
    inverse_.apply(ctx, b.cview(), x.view());
    SolveReport direct;
    direct.status = Status::converged;
    return direct;
  }
  [[nodiscard]] bool conserves() const { return conserves_; }
  void conserve(Context& ctx, const Vector& b, Vector& x, Vector& /*scratch*/) const {
    if (!conserves_) return;
    // 1^T S = s 1^T M, whatever the rounding of A: a constant takes up the sum of the residual.
    const auto ones = ones_.field.cview(), m = mass_.field.cview();
    const double left = dot(ctx, ones, b.cview()) - s_ * dot(ctx, m, x.cview());
    stratum::axpy(ctx, left / (s_ * dot(ctx, ones, m)), ones, x.view());
  }
  void count_memory(Context& ctx, bool /*slopes*/) {
    if (varies_) assemble(ctx);
  }

  void forget_load() { load_known_ = false; }

  [[nodiscard]] std::vector<TimeFunction> functions_of_time() const {
    return stratum::functions_of_time(volumes->mesh(), problem);
  }

  /// Of all subdomains.
  [[nodiscard]] static double sum_of(const Context& ctx, const Values& own) {
    const double sum = std::accumulate(own.begin(), own.end(), 0.0);
    if (ctx.subdomains() == 1) return sum;
    const auto all = ctx.communicator()->gather_on_host(sum);
    return std::accumulate(all.begin(), all.end(), 0.0);
  }
  /// The sum of M x over all subdomains, in the order of rows.
  [[nodiscard]] double sum_of_mass(Context& ctx, FieldView<const double> x) const {
    Values own(static_cast<std::size_t>(nodes())), rows(static_cast<std::size_t>(layout.ny), 0.0);
    if (!own.empty()) copy_to_host(ctx, x, own.data());
    for (std::size_t k = 0; k < own.size(); ++k)
      rows[k / static_cast<std::size_t>(layout.nx)] += mass_values_[k] * own[k];
    if (ctx.subdomains() > 1) rows = ctx.communicator()->join_on_host(rows);
    return std::accumulate(rows.begin(), rows.end(), 0.0);
  }
  /// The integral of f at this time.
  [[nodiscard]] double source(Context& ctx, double t) const {
    Vector scratch = vector(ctx);
    return volumes->assemble_load(ctx, at(t), means_of_rhs(ctx, t), scratch);
  }

 private:
  [[nodiscard]] std::shared_ptr<const FiniteVolumes> volumes_at(Context& ctx, const TensorMesh<2>& mesh,
                                                                double t) const {
    return std::make_shared<const FiniteVolumes>(ctx, mesh, at(t));
  }
  [[nodiscard]] PoissonSolverParams checked(PoissonSolverParams params) const {
    expects(params.precision == Precision::mixed || params.precision == Precision::full,
            "steps in time are not for single or double-single precision: take mixed or double");
    expects(!params.full_multigrid, "an FMG cycle takes no start, which a step in time has; take cycles");
    params.coefficients.reset();
    params.terms = {};
    if (volumes->is_plain() && !params.interpolation) params.interpolation = InterpolationKind::bilinear;
    return params;
  }
  /// What rounding the diagonal in float may be of what holds a constant between insulated walls.
  [[nodiscard]] double lost_in_float() const {
    return conserves_ ? std::numeric_limits<float>::epsilon() / 2 * diagonal_ / (s_ * sum_of_masses_) : 0;
  }
  [[nodiscard]] bool is_live(int i, int j) const {
    return volumes->rooms() == nullptr || volumes->rooms()->of_cell[cell(i, j)] >= 0;
  }
  /// Of all cells, by its place in the subdomain.
  [[nodiscard]] std::size_t cell(int i, int j) const {
    return static_cast<std::size_t>(j + first_row) * static_cast<std::size_t>(layout.nx) + static_cast<std::size_t>(i);
  }

  /// A and M at t_, and what follows from them.
  void assemble(Context& ctx) {
    load_known_ = false;
    a_ = volumes->matrix(ctx, layout);
    if (sums_of_a_ && !ctx.is_dry_run()) copy_from_host(ctx, volumes->row_sums(layout).data(), sums_of_a_->view());
    if (conducts_) cycle_a_ = volumes->with_solids_that_conduct().matrix(ctx, layout);
    const TensorMesh<2>& mesh = volumes->mesh();
    const auto capacity = capacity_on_cells(ctx, Geometry(mesh), at_time(problem.capacity, t_));
    Values even, inverse, ones;
    mass_values_.clear();
    for (int j = 0; j < layout.ny; ++j)
      for (int i = 0; i < layout.nx; ++i) {
        const bool live = is_live(i, j);
        even.push_back(live ? volumes->volume(i, j + first_row) : 0);
        ones.push_back(live ? 1 : 0);
        mass_values_.push_back(capacity[cell(i, j)] * even.back());
        inverse.push_back(live ? 1 / mass_values_.back() : 0);
      }
    const Rooms* const rooms = volumes->rooms();
    conserves_ = rooms == nullptr ? volumes->is_singular()
                                  : !volumes->bodies()->has_held() &&
                                        std::all_of(rooms->rooms.begin(), rooms->rooms.end(),
                                                    [](const Rooms::Room& room) { return room.singular; });
    if (conserves_ && !ctx.is_dry_run()) {
      diagonal_ = stratum::norm2(ctx, bands_of(a_).band[0].cview());
      sum_of_masses_ = sum_of(ctx, mass_values_);
    }
    mass_.assign(ctx, mass_values_);
    even_.assign(ctx, even);
    inverse_.assign(ctx, inverse);
    ones_.assign(ctx, ones);
  }
  void add_up(Context& ctx) {
    add(ctx, a_, s_, mass_.field, sum_);
    if (sums_ && !ctx.is_dry_run()) {
      stratum::copy(ctx, sums_of_a_->cview(), sums_->view());
      stratum::axpy(ctx, s_, mass_.field.cview(), sums_->view());
    }
    if (conducts_) add(ctx, cycle_a_, s_, mass_.field, cycle_sum_);
  }
  void make_solver_of_stages(Context& ctx, const SmootherRegistry& registry) {
    StructuredProblem stage{.mesh = volumes->centres(), .matrix = conducts_ ? cycle_sum_ : sum_};
    stage.facts.emplace();
    stage.facts->symmetric = true;
    stage.facts->lost_in_float =
        std::max(volumes->lost_by_rounding(std::numeric_limits<float>::epsilon() / 2), lost_in_float());
    if (volumes->rooms() != nullptr) {
      stage.facts->has_identity_rows = true;
      stage.identity_rows = volumes->bodies()->has_held();
    }
    if (conducts_) {
      SingularParts parts;  // none; cells that are no unknowns
      for (int j = 0; j < layout.ny; ++j)
        for (int i = 0; i < layout.nx; ++i)
          parts.of_node.push_back(is_live(i, j) ? SingularParts::regular : SingularParts::fixed);
      stage.iterated_on = sum_;
      stage.means = PartMeans(ctx, layout, parts);
    }
    if (sums_) stage.by_differences = by_differences_ = std::make_shared<FiveBandsByDifferences>(sum_, sums_);
    solver.emplace(ctx, std::move(stage), params_, registry);
  }

  [[nodiscard]] Values means_of_rhs(Context& ctx, double t) const {
    if (!problem.space.rhs) return Values(static_cast<std::size_t>(nodes()), 0.0);
    constexpr int steady = 4, moving = 2;
    return volumes->means(ctx, at_time(problem.space.rhs, t), first_row, layout.ny,
                          problem.steady_rhs ? steady : moving);
  }
  /// load = F(t)
  void find_load(Context& ctx, double t) {
    if (load_known_ && load_at_ == t) return;
    const bool means_stay = problem.steady_rhs || !problem.space.rhs;
    if (!means_stay || means_.empty()) means_ = means_of_rhs(ctx, t);
    (void)volumes->assemble_load(ctx, at(t), means_, load_);
    load_at_ = t;
    load_known_ = true;
  }

  GridOperator<double> a_, sum_;
  std::shared_ptr<Field<double>> sums_of_a_, sums_;  // of rows of A and S, in films
  std::shared_ptr<const FiveBandsByDifferences> by_differences_;
  GridOperator<double> cycle_a_, cycle_sum_;  // of the cycle, where solids conduct next to nothing
  Values mass_values_, means_;
  Diagonal mass_, even_, inverse_;  // M, M of the capacity 1, 1 / M
  Vector load_;
  Diagonal ones_;  // of cells that are unknowns
  bool conserves_ = false, load_known_ = false;
  double diagonal_ = 0, sum_of_masses_ = 1;  // the norm of A's
  double load_at_ = 0;
};

}  // namespace

struct VolumeHeatSolver::Implementation : HeatSteps<VolumeEquation> {
  Implementation(Context& ctx, const TensorMesh<2>& mesh, const HeatProblem& problem, const HeatParams& given,
                 const SmootherRegistry& registry)
      : HeatSteps(ctx, given, [&](std::optional<VolumeEquation>& to, double s) {
          to.emplace(ctx, mesh, problem, given, s, registry);
        }) {}
};

VolumeHeatSolver::VolumeHeatSolver(Context& ctx, const TensorMesh<2>& mesh, const HeatProblem& problem,
                                   const HeatParams& params, const SmootherRegistry& registry)
    : implementation_(std::make_unique<Implementation>(ctx, mesh, problem, params, registry)) {}
VolumeHeatSolver::~VolumeHeatSolver() = default;
VolumeHeatSolver::VolumeHeatSolver(VolumeHeatSolver&&) noexcept = default;
VolumeHeatSolver& VolumeHeatSolver::operator=(VolumeHeatSolver&&) noexcept = default;

const HeatReport& VolumeHeatSolver::advance(Context& ctx, double to, const Monitor& monitor) {
  return implementation_->advance(ctx, to, monitor);
}

double VolumeHeatSolver::time() const { return implementation_->report.t; }
const GridLayout<2>& VolumeHeatSolver::unknowns() const { return implementation_->equation->layout; }
FieldView<const double> VolumeHeatSolver::solution() const { return implementation_->u.cview(); }
const HeatReport& VolumeHeatSolver::report() const { return implementation_->report; }
const FiniteVolumes& VolumeHeatSolver::volumes() const { return *implementation_->equation->volumes; }
const StructuredSolver& VolumeHeatSolver::solver() const { return *implementation_->equation->solver; }

std::vector<double> VolumeHeatSolver::cell_values(Context& ctx) const {
  return volumes().cell_values(ctx, implementation_->equation->at(time()), implementation_->u);
}
std::vector<double> VolumeHeatSolver::point_values(Context& ctx) const {
  return volumes().point_values(implementation_->equation->at(time()), cell_values(ctx));
}
double VolumeHeatSolver::heat(Context& ctx) const {
  return implementation_->equation->sum_of_mass(ctx, implementation_->u.cview());
}

std::optional<HeatBalance> VolumeHeatSolver::balance(Context& ctx) const {
  const Implementation& self = *implementation_;
  if (self.known_slopes == 0) return std::nullopt;
  const PoissonProblem now = self.equation->at(time());
  const auto cells = cell_values(ctx);
  HeatBalance found{self.equation->sum_of_mass(ctx, self.slope.cview()), self.equation->source(ctx, time()), 0,
                    volumes().fluxes(now, cells), volumes().body_fluxes(now, cells)};
  for (std::size_t n = 0; n < found.bodies.size(); ++n)
    if (now.bodies[n].kind == BodyKind::value) found.from_held += found.bodies[n].flux;
  return found;
}

std::optional<double> VolumeHeatSolver::relative_l2_error(Context& ctx) const {
  PoissonProblem now = implementation_->equation->at(time());
  if (!now.exact) return std::nullopt;
  const auto cells = cell_values(ctx);
  // A reaction term, as steps have one: of singular problems, errors would leave out means.
  now.reaction += 1;
  const auto errors = FiniteVolumes(ctx, volumes().mesh(), now).errors(ctx, now, cells);
  return errors ? std::optional(errors->l2) : std::nullopt;
}

HeatState VolumeHeatSolver::state(Context& ctx) const {
  const Implementation& self = *implementation_;
  HeatState state{self};
  state.u = rows_on_first_subdomain(ctx, self.u.cview());
  state.slope = rows_on_first_subdomain(ctx, self.slope.cview());
  state.slope_before = rows_on_first_subdomain(ctx, self.slope_before.cview());
  return state;
}

bool VolumeHeatSolver::restore(Context& ctx, const HeatState& state, bool same_data) {
  Implementation& self = *implementation_;
  VolumeEquation& equation = *self.equation;
  const auto cells = static_cast<std::size_t>(volumes().cells());
  expects(state.u.size() == cells && state.slope.size() == cells && state.slope_before.size() == cells &&
              state.boundary_slope.empty(),
          "a state of ", state.u.size(), " unknowns and ", state.boundary_slope.size(),
          " nodes of boundaries is not one of ", cells, " cells");
  put_rows(ctx, state.u, equation.first_row, self.u);
  put_rows(ctx, state.slope, equation.first_row, self.slope);
  put_rows(ctx, state.slope_before, equation.first_row, self.slope_before);
  equation.forget_load();
  return self.go_on(ctx, state, same_data);
}

std::int64_t required_memory_of_volumes(const Context& ctx, const TensorMesh<2>& mesh, const HeatProblem& problem,
                                        const HeatParams& params) {
  Context dry_run = ctx.memory_dry_run();
  const VolumeHeatSolver solver(dry_run, mesh, problem, params);
  return dry_run.memory()->peak_bytes;
}

}  // namespace stratum
