#include <stratum/multigrid/patches/patch_poisson_solver.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>

#include <stratum/assembly/patches/patch_cells.hpp>
#include <stratum/core/clock.hpp>
#include <stratum/core/errors.hpp>
#include <stratum/core/field/blas.hpp>
#include <stratum/core/patches/patch_updates.hpp>
#include <stratum/core/patches/split_nodes.hpp>
#include <stratum/multigrid/full_multigrid_solve.hpp>
#include <stratum/multigrid/patches/one_patch_solver.hpp>
#include <stratum/multigrid/patches/patch_multigrid.hpp>
#include <stratum/solvers/error_estimate.hpp>
#include <stratum/solvers/mixed/mixed_refinement.hpp>
#include <stratum/solvers/rounding.hpp>

namespace stratum {

namespace {

/// Of all levels, a third more than the finest: vectors and bands in double and in the precision of cycles, weights; set-up on
/// the host; the inverse of the coarsest level on a GPU.
std::int64_t needed_bytes(const Context& ctx, const PatchLayout& layout, const PatchSolverParams& params) {
  constexpr double levels = 4.0 / 3;
  constexpr std::int64_t of_double = 12 * 8, of_set_up = 13 * 8;
  const std::int64_t of_cycles = 14 * (params.float_cycles ? 4 : 8);
  const std::int64_t coarsest = std::min<std::int64_t>(layout.nodes(), params.coarsest_unknowns);
  const auto node = static_cast<double>(of_double) + levels * static_cast<double>(of_cycles) +
                    (ctx.on_gpu() ? 0 : levels * static_cast<double>(of_set_up));
  return static_cast<std::int64_t>(node * layout.size()) + (ctx.on_gpu() ? 8 * coarsest * coarsest : 0);
}

}  // namespace

struct PatchPoissonSolver::Implementation {
  Implementation(Context& context, const PatchMesh& mesh_, const PatchProblem& problem_,
                 const PatchSolverParams& params_, const PatchAddition& addition_)
      : ctx(context), mesh(mesh_), problem(problem_), params(params_), addition(addition_) {
    params.stop.validate();
    expects(params.coarsest_unknowns >= 1, "the coarsest level has 1 unknown or more, not ", params.coarsest_unknowns);
    const auto begin = Clock::now();
    expect_memory(ctx, "the solver on patches", needed_bytes(ctx, layout_of(ctx, mesh), params));
    PatchSystem system = whole_system();
    layout = system.layout;
    singular = system.singular;
    if (singular) balance(system);
    measure = std::move(system.measure);
    load = sum_of(std::accumulate(system.load.begin(), system.load.end(), 0.0));
    rows = std::make_unique<PatchRows>(ctx, *layout);
    shared = std::make_unique<SharedNodes>(ctx, *layout);
    split = std::make_unique<SplitNodes>(ctx, *layout);
    a = std::make_unique<PatchOperator<double>>(ctx, system.rows, nodes_of_edges(*layout, system.fixed_edges));
    b.numbers = vector_from_host(ctx, system.load);
    boundary.numbers = vector_from_host(ctx, system.boundary_values);
    x = consistent<double>(ctx, *layout);
    p = consistent<double>(ctx, *layout);
    r = partial<double>(ctx, *layout);
    q = partial<double>(ctx, *layout);
    const auto& values = system.boundary_values;
    const bool has_values = std::any_of(values.begin(), values.end(), [](double value) { return value != 0; });
    if (sum_of(has_values ? 1 : 0) > 0) extension.numbers = vector_from_host(ctx, extended(mesh, system));
    const auto levels_on_host = levels_of(system);
    if (params.float_cycles) {
      auto& cycles = float_cycles.emplace();
      cycles.multigrid = std::make_unique<PatchMultigrid<float>>(ctx, levels_on_host, singular, params.sweeps);
      cycles.r = partial<float>(ctx, *layout);
      cycles.z = consistent<float>(ctx, *layout);
    } else {
      double_cycles = std::make_unique<PatchMultigrid<double>>(ctx, levels_on_host, singular, params.sweeps);
      t = consistent<double>(ctx, *layout);
    }
    for (const auto& level : levels_on_host) {
      PatchLevelPlan plan;
      plan.unknowns = level.unknowns;
      plan.colours = level.lines.colours;
      if (plan.colours > 0)
        plan.phases = static_cast<int>(level.lines.phases.size() + level.lines.vertex_phases.size()) - 2;
      plan.crossed_edges = level.lines.crossed_edges;
      plan.distributed = level.layout.is_part();
      if (level.distributed)
        plan.gathers = static_cast<int>(std::count_if(
            level.distributed->counts.begin(), level.distributed->counts.end(), [](const std::vector<int>& counts) {
              return std::any_of(counts.begin(), counts.end(), [](int n) { return n > 0; });
            }));
      plans.push_back(plan);
    }
    steps.emplace(ctx, *layout);
    reserve_reductions(ctx, GridLayout<2>::flat(layout->size()));
    ctx.synchronise();
    setup_seconds = seconds_since(begin);
  }

  [[nodiscard]] PatchSystem whole_system() {
    PatchSystem system = assemble(ctx, mesh, problem);
    if (!addition.rows) {
      expect_determined(mesh, problem);
      return system;
    }
    system.singular = false;
    for (const auto band : {&PatchRowsOnHost::excess, &PatchRowsOnHost::east, &PatchRowsOnHost::north,
                            &PatchRowsOnHost::north_east, &PatchRowsOnHost::north_west}) {
      auto& to = system.rows.*band;
      const auto& more = (*addition.rows).*band;
      expects(more.size() == to.size(), "rows of ", more.size(), " numbers are added to rows of ", to.size());
      for (std::size_t k = 0; k < to.size(); ++k) to[k] += addition.factor * more[k];
    }
    return system;
  }
  std::vector<PatchLevelOnHost> levels_of(PatchSystem& system) const {
    return patch_levels(system.layout, std::move(system.rows), std::move(system.conductances), system.fixed_edges,
                        params.coarsest_unknowns, ctx.threads(), ctx.communicator(), least_distributed());
  }
  [[nodiscard]] std::int64_t least_distributed() const {
    constexpr std::int64_t of_rank = 4096, on_gpus = 1'000'000;
    return params.least_distributed.value_or(ctx.on_gpu() ? on_gpus : of_rank * ctx.subdomains());
  }
  /// Of all ranks.
  [[nodiscard]] double sum_of(double own) const {
    if (ctx.subdomains() == 1) return own;
    const auto all = ctx.communicator()->gather_on_host(own);
    return std::accumulate(all.begin(), all.end(), 0.0);
  }
  /// Where float was not enough.
  void continue_in_double() {
    float_cycles.reset();
    PatchSystem system = whole_system();
    t = consistent<double>(ctx, system.layout);
    double_cycles = std::make_unique<PatchMultigrid<double>>(ctx, levels_of(system), singular, params.sweeps);
  }

  void balance(PatchSystem& system) {
    Compatibility found;
    // Of copies of one node the sum counts; magnitudes of copies are a little more than that, on edges alone.
    for (const double number : system.load) {
      found.sum += number;
      found.sum_of_magnitudes += std::abs(number);
    }
    found.sum = sum_of(found.sum);
    found.sum_of_magnitudes = sum_of(found.sum_of_magnitudes);
    const double area = sum_of(std::accumulate(system.measure.begin(), system.measure.end(), 0.0));
    found.mean = found.sum / area;
    expect_compatible(found, params.project, "integral of f plus boundary fluxes");
    double left = 0;
    for (std::size_t k = 0; k < system.load.size(); ++k) {
      system.load[k] -= found.mean * system.measure[k];
      left += std::abs(system.load[k]);
    }
    left = sum_of(left);
    // Rounding is no right-hand side.
    constexpr double rounding = 1e-14;
    if (left <= rounding * found.sum_of_magnitudes) std::fill(system.load.begin(), system.load.end(), 0.0);
    compatibility = found;
  }

  void gather(Partial<double>& v) {
    gather_copies(ctx, *shared, v);
    split->gather_copies(ctx, v);
  }
  /// || r ||
  double norm_of(Partial<double>& v) {
    gather(v);
    return norm2(ctx, v.numbers.cview());
  }
  double true_residual() {
    residual(ctx, *rows, *a, b, x, r);
    return norm_of(r);
  }
  /// z = M r in some scale, and (r, z).
  void apply_cycle(double scale) {
    if (!float_cycles) {
      double_cycles->apply(ctx, r, t);
      return steps->preconditioned(ctx, r, t);
    }
    auto& c = *float_cycles;
    copy_scaled(ctx, scale, r.numbers.cview(), c.r.numbers.view());
    c.multigrid->apply(ctx, c.r, c.z);
    steps->preconditioned(ctx, r, c.z);
  }
  /// An iteration, for this z: p, x and r. Returns (r, z), (p, A p) and, of the r after it, (r, r).
  PatchSteps::Products iterate_once() {
    step.run(ctx, steps->place(), float_cycles ? static_cast<const void*>(&*float_cycles) : &t, [&] {
      if (float_cycles)
        steps->turn(ctx, float_cycles->z, p);
      else
        steps->turn(ctx, t, p);
      product(ctx, *rows, *a, p, q);
      steps->curved(ctx, p, q);
      steps->step(ctx, p, q, x, r);
      gather(r);
      steps->left(ctx, r);
    });
    return steps->fetch(ctx);
  }
  /// max |M r|
  double largest_correction(double scale) {
    return float_cycles ? norm_max(ctx, float_cycles->z.numbers.cview()) / scale : norm_max(ctx, t.numbers.cview());
  }
  /// From an x that is smooth at Dirichlet boundaries: || r ||.
  double start_smoothly() {
    copy(ctx, extension.numbers.cview(), x.numbers.view());
    return true_residual();
  }
  /// x <- x + one FMG cycle for r
  void pass(double scale) {
    if (float_cycles) {
      auto& c = *float_cycles;
      copy_scaled(ctx, scale, r.numbers.cview(), c.r.numbers.view());
      c.multigrid->full(ctx, c.r, c.z);
      axpy(ctx, 1 / scale, c.z.numbers.cview(), x.numbers.view());
    } else {
      double_cycles->full(ctx, r, t);
      axpy(ctx, 1, t.numbers.cview(), x.numbers.view());
    }
  }
  [[nodiscard]] static double scale_for(double norm) {
    return norm > 0 && std::isfinite(norm) ? power_of_two_below_reciprocal(norm) : 1;
  }
  /// What rounding leaves of || b - A x ||.
  double rounding_level() {
    magnitude(ctx, *rows, *a, b, x, q);
    return 2 * std::numeric_limits<double>::epsilon() * norm_of(q);
  }
  void finish(SolveReport& report, const char* method) {
    if (singular) subtract_mean();
    report.setup_seconds = setup_seconds;
    report.choice = message(method, " on ", layout->patches(), " patches");
    for (auto plan = plans.rbegin(); plan != plans.rend(); ++plan) {
      LevelReport level;
      level.nx = static_cast<int>(plan->unknowns);
      level.ny = 1;
      if (plan->colours > 0) level.smoother = message("lines across patches, ", plan->colours, " colours");
      level.sweeps = plan->colours > 0 ? params.sweeps : 0;
      report.levels.push_back(level);
    }
  }
  /// u_h at the nodes of a patch that is there.
  std::vector<double> nodal(int patch);

  void subtract_mean() {
    std::vector<double> u(measure.size());
    copy_to_host(ctx, x.numbers.cview(), u.data());
    const double area = sum_of(std::accumulate(measure.begin(), measure.end(), 0.0)),
                 mean = sum_of(std::inner_product(measure.begin(), measure.end(), u.begin(), 0.0)) / area;
    for (int patch = 0; patch < layout->patches(); ++patch) {
      if (!layout->has(patch)) continue;
      const auto& own = layout->patch(patch);
      for (int j = 0; j <= own.ny; ++j)
        for (int i = 0; i <= own.nx; ++i) u[static_cast<std::size_t>(own.node(i, j))] -= mean;
    }
    copy_from_host(ctx, u.data(), x.numbers.view());
  }

  /// x from one FMG cycle.
  SolveReport one_pass() {
    copy(ctx, boundary.numbers.cview(), x.numbers.view());
    SolveReport report;
    double initial = true_residual();
    if (!extension.numbers.empty() && std::isfinite(initial)) initial = start_smoothly();
    report.reference_norm_value = report.initial_residual = initial;
    report.history = {initial};
    if (initial > 0 && std::isfinite(initial)) {
      pass(scale_for(initial));
      report.iterations = report.inner_iterations = 1;
    }
    const double left = true_residual();
    report.residual = left;
    report.history.push_back(left);
    if (!std::isfinite(initial)) {
      report.status = Status::non_finite;
      report.reason = "the right-hand side is not finite";
    } else if (left == 0 || left < initial) {
      report.status = Status::converged;
      report.reason = "one full multigrid pass; no tolerance was asked for and none is claimed";
    } else if (left <= Rounding<double>::stopped * rounding_level()) {
      report.status = Status::round_off_limit;
      report.reason = message("one full multigrid pass; its residual, ", left, ", is at rounding");
    } else {
      report.status = Status::diverged;
      report.reason = blown_up_reason(left, initial);
    }
    return report;
  }

  /// What `attempt` reports, or where it fails with cycles in float, what it reports with cycles in double.
  template <class Attempt>
  SolveReport completed(const char* method, const Attempt& attempt) {
    const auto begin = Clock::now();
    SolveReport report = attempt();
    const bool grew = report.status == Status::max_iterations && report.residual > report.initial_residual;
    const bool failed = grew || report.status == Status::breakdown || report.status == Status::stagnated ||
                        report.status == Status::diverged;
    if (failed && float_cycles && params.retry_in_double) {
      const std::string why = report.reason;
      continue_in_double();
      report = attempt();
      report.reason = message("double-precision fallback (", why, "): ", report.reason);
    }
    finish(report, method);
    report.solve_seconds = seconds_since(begin);
    return report;
  }
  SolveReport full_pass() {
    const std::string failure = float_cycles && params.retry_in_double && !float_suits ? float_fails() : std::string();
    SolveReport report = completed("one FMG cycle", [&] { return one_pass(); });
    if (!failure.empty()) report.reason = message("double-precision fallback (", failure, "): ", report.reason);
    if (float_cycles && !float_compared) report.reason += float_not_compared;
    return report;
  }
  /// Why not, and cycles in double from there on; empty where they do: as multigrid/full_multigrid_solve.hpp.
  std::string float_fails() {
    std::vector<bool> fixed(static_cast<std::size_t>(mesh.edges()), false);
    for (int e = 0; e < mesh.edges(); ++e)
      fixed[static_cast<std::size_t>(e)] =
          mesh.edge(e).on_boundary() &&
          patch_detail::condition_of(mesh, problem, e).kind == BoundaryConditionType::dirichlet;
    std::vector<double> v(static_cast<std::size_t>(layout->size()), 0.0);
    for (int patch = 0; patch < layout->patches(); ++patch) {
      if (!layout->has(patch)) continue;
      const auto& own = layout->patch(patch);
      const PatchNodes nodes = mesh.nodes_of(patch);
      for (int j = 0; j <= own.ny; ++j)
        for (int i = 0; i <= own.nx; ++i)
          v[static_cast<std::size_t>(own.node(i, j))] = singular ? nodes.at[nodes.node(i, j)].x : 1;
    }
    for (const int node : nodes_of_edges(*layout, fixed)) v[static_cast<std::size_t>(node)] = 0;
    copy_from_host(ctx, v.data(), p.numbers.view());
    ctx.synchronise();
    product(ctx, *rows, *a, p, q);
    auto& c = *float_cycles;
    copy(ctx, q.numbers.cview(), r.numbers.view());
    const double scale = scale_for(norm_of(r));
    copy_scaled(ctx, scale, q.numbers.cview(), c.r.numbers.view());
    c.multigrid->apply(ctx, c.r, c.z);
    copy_scaled(ctx, 1 / scale, c.z.numbers.cview(), x.numbers.view());
    axpy(ctx, -1, x.numbers.cview(), p.numbers.view());
    float_suits = !singular && norm_max(ctx, p.numbers.cview()) <= float_may_leave;
    if (float_suits) return {};
    auto kept = std::move(float_cycles);
    const auto return_to_float = [&] {
      double_cycles.reset();
      t = {};
      float_cycles = std::move(kept);
    };
    try {
      continue_in_double();
    } catch (const ResourceError&) {
      return_to_float();
      if (ctx.subdomains() > 1) throw;  // others may have had room
      float_compared = false;
      return {};
    }
    double_cycles->apply(ctx, q, t);
    copy(ctx, t.numbers.cview(), p.numbers.view());
    axpy(ctx, -1, x.numbers.cview(), p.numbers.view());
    const double difference = norm2(ctx, p.numbers.cview()) / norm2(ctx, t.numbers.cview());
    if (!(difference <= float_may_differ))
      return message("cycles in float differ from those in double by ", difference);
    float_suits = true;
    return_to_float();
    return {};
  }
  SolveReport solve(const Monitor& monitor) {
    return completed("conjugate gradients around a V-cycle", [&] { return iterate(monitor); });
  }

  SolveReport iterate(const Monitor& monitor) {
    copy(ctx, boundary.numbers.cview(), x.numbers.view());
    const double rhs_norm = true_residual();
    double norm = rhs_norm;
    StoppingParams stop = params.stop;
    // Values beside thin cells make a right-hand side that the other equations are nothing of.
    if (!extension.numbers.empty() && std::isfinite(rhs_norm)) {
      norm = start_smoothly();
      constexpr double nothing = 8;
      if (norm < rhs_norm && norm > nothing * rounding_level()) stop.reference_norm = ReferenceNorm::initial;
    }
    const double initial = stop.reference_norm == ReferenceNorm::initial ? norm : rhs_norm;
    const double scale = scale_for(norm);
    steps->restart(ctx);
    if (params.full_multigrid && norm > 0 && std::isfinite(norm)) {
      pass(scale);
      norm = true_residual();
    }
    StoppingTest test(stop, rhs_norm, initial, monitor, IterationKind::krylov);
    int iteration = 0, since_best = 0;
    // Whether M r of the next iteration is there; corrections tell the error of x, whatever the scale of the rows.
    bool known = false;
    ErrorEstimate estimate;
    const auto precondition = [&](bool measured) {
      apply_cycle(scale);
      known = true;
      if (measured) estimate.add(iteration, largest_correction(scale));
    };
    const auto error_of_x = [&](bool fresh) -> std::optional<double> {
      const Extremes of_x = extremes(ctx, x.numbers.cview());
      if (const auto error = estimate.of(iteration, false); error && !fresh)
        if (const double relative = relative_error(*error, of_x); relative <= test.error_limit()) return relative;
      if (!known) precondition(true);
      return relative_error(*estimate.of(iteration, fresh), of_x);
    };
    test.set_error([&] { return error_of_x(false); });
    bool done = test.done(0, norm);
    double best = norm;
    while (!done) {
      if (!known) precondition(norm <= measured_from * test.target());
      ++iteration;
      const PatchSteps::Products found = iterate_once();
      known = false;
      std::string broken;
      if (!(found.preconditioned > 0))
        broken = message("the preconditioner is not positive definite: (r, M r) = ", found.preconditioned);
      else if (!(found.curvature > 0))
        broken = message("the operator is not positive definite: (p, A p) = ", found.curvature);
      else  // squares of small numbers are not there
        norm = found.square > smallest_square && std::isfinite(found.square) ? std::sqrt(found.square)
                                                                             : norm2(ctx, r.numbers.cview());
      constexpr double better = 0.9;
      constexpr int patience = 6;
      since_best = norm < better * best ? 0 : since_best + 1;
      best = std::min(best, norm);
      const bool last = iteration >= params.stop.max_iterations;
      const bool replaced = norm <= test.target() || last || !broken.empty() || since_best >= patience;
      if (replaced) norm = true_residual();
      done = test.done(iteration, norm);
      if (done && test.status() == Status::converged) break;
      if (replaced && norm <= Rounding<double>::stopped * rounding_level()) {
        // Where corrections still fall rounding hides no more than the norm.
        const auto error = error_of_x(true);
        if (done || *error <= test.error_at_rounding() || estimate.stopped(iteration)) {
          test.end_at_rounding(error);
          break;
        }
      }
      if (!done && !broken.empty()) {
        test.end(Status::breakdown, message(broken, " in iteration ", iteration));
        break;
      }
      if (since_best >= patience) since_best = 0;
    }
    SolveReport& report = test.report();
    report.inner_iterations = iteration;
    return report;
  }

  /// Corrections are measured from this many times the tolerance on.
  static constexpr double measured_from = 100;
  static constexpr double smallest_square = 1e-280;

  Context ctx;
  PatchMesh mesh;
  PatchProblem problem;
  PatchSolverParams params;
  PatchAddition addition;
  std::optional<PatchLayout> layout;
  bool singular = false;
  std::optional<Compatibility> compatibility;
  std::vector<double> measure;
  std::vector<PatchLevelPlan> plans;
  double setup_seconds = 0;
  bool float_suits = false;    // it is known that float cycles do
  bool float_compared = true;  // false: there was no memory for cycles in double beside them
  double load = 0;             // integral of f, and of g over Neumann and Robin boundaries

  std::unique_ptr<PatchRows> rows;
  std::unique_ptr<SharedNodes> shared;
  std::unique_ptr<SplitNodes> split;
  std::unique_ptr<PatchOperator<double>> a;
  Partial<double> b, r, q;
  Consistent<double> extension;          // of Dirichlet values; empty where all are zero
  Consistent<double> boundary, x, p, t;  // t: M r of cycles in double
  std::optional<PatchSteps> steps;
  Recording step;
  struct FloatCycles {
    std::unique_ptr<PatchMultigrid<float>> multigrid;
    Partial<float> r;
    Consistent<float> z;
  };
  std::optional<FloatCycles> float_cycles;
  std::unique_ptr<PatchMultigrid<double>> double_cycles;
};

PatchPoissonSolver::PatchPoissonSolver(Context& ctx, const PatchMesh& mesh, const PatchProblem& problem,
                                       const PatchSolverParams& params, const PatchAddition& addition) {
  check(mesh, problem);
  const bool may_be_one = params.one_grid && ctx.subdomains() == 1 && !addition.rows;
  if (auto grid = may_be_one ? one_grid_of(mesh, problem) : std::nullopt)
    one_ = std::make_unique<OnePatchSolver>(ctx, mesh, problem, params, std::move(*grid));
  else
    implementation_ = std::make_unique<Implementation>(ctx, mesh, problem, params, addition);
}
PatchPoissonSolver::~PatchPoissonSolver() = default;
PatchPoissonSolver::PatchPoissonSolver(PatchPoissonSolver&&) noexcept = default;
PatchPoissonSolver& PatchPoissonSolver::operator=(PatchPoissonSolver&&) noexcept = default;

SolveReport PatchPoissonSolver::solve(const Monitor& monitor) {
  return one_ ? one_->solve(monitor) : implementation_->solve(monitor);
}
SolveReport PatchPoissonSolver::full_multigrid_pass() {
  return one_ ? one_->full_multigrid_pass() : implementation_->full_pass();
}

std::vector<double> PatchPoissonSolver::nodal_solution(int patch) const {
  expects(!one_ || patch == 0, "there is no patch ", patch, "; the mesh has 1");
  if (one_) return one_->nodal_solution();
  auto& own = *implementation_;
  expects(patch >= 0 && patch < own.layout->patches(), "there is no patch ", patch, "; the mesh has ",
          own.layout->patches());
  expects(own.layout->has(patch), "patch ", patch, " belongs to rank ", own.layout->rank_of(patch),
          ", which alone has its solution");
  return own.nodal(patch);
}

std::vector<double> PatchPoissonSolver::Implementation::nodal(int patch) {
  const auto& own = layout->patch(patch);
  FieldView<const double> part{x.numbers.cview().data + own.first, own.nx + 1, own.ny + 1, own.pitch};
  std::vector<double> u(static_cast<std::size_t>(part.nodes()));
  copy_to_host(ctx, part, u.data());
  return u;
}

std::optional<PatchErrors> PatchPoissonSolver::relative_errors() const {
  if (one_) return one_->relative_errors();
  auto& own = *implementation_;
  if (!own.problem.exact) return {};
  std::vector<std::vector<double>> nodal;
  for (int p = 0; p < own.layout->patches(); ++p)
    nodal.push_back(own.layout->has(p) ? own.nodal(p) : std::vector<double>{});
  return stratum::relative_errors(own.ctx, own.mesh, own.problem.exact, nodal, own.singular);
}

int PatchPoissonSolver::rank_of(int patch) const { return one_ ? 0 : implementation_->layout->rank_of(patch); }
SolveReport PatchPoissonSolver::solve_system(const Field<double>& b, Field<double>& x, const StoppingParams& stop) {
  expects(!one_,
          "solve_system takes vectors of patches; with a mesh of one patch set PatchSolverParams::one_grid to false");
  auto& own = *implementation_;
  copy(own.ctx, b.cview(), own.b.numbers.view());
  copy(own.ctx, x.cview(), own.boundary.numbers.view());
  own.params.stop = stop;
  own.params.full_multigrid = false;
  own.extension = {};  // x is given
  SolveReport report = own.solve({});
  copy(own.ctx, own.x.numbers.cview(), x.view());
  return report;
}

PatchFluxes PatchPoissonSolver::fluxes() const {
  if (one_) return one_->fluxes();
  auto& own = *implementation_;
  PatchFluxes fluxes = patch_fluxes(own.ctx, own.mesh, own.problem, [&](int patch) { return own.nodal(patch); });
  fluxes.load = own.load - fluxes.from_data;
  return fluxes;
}

std::int64_t PatchPoissonSolver::unknowns() const { return levels().front().unknowns; }
const std::vector<PatchLevelPlan>& PatchPoissonSolver::levels() const {
  return one_ ? one_->levels() : implementation_->plans;
}
std::string PatchPoissonSolver::solved_as() const { return one_ ? one_->name() : ""; }
const std::optional<Compatibility>& PatchPoissonSolver::compatibility() const {
  return one_ ? one_->compatibility() : implementation_->compatibility;
}

}  // namespace stratum
