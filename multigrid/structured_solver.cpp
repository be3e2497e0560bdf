#include <stratum/multigrid/structured_solver.hpp>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <future>
#include <limits>
#include <utility>

#include <stratum/core/field/blas.hpp>
#include <stratum/multigrid/by_differences.hpp>
#include <stratum/multigrid/full_multigrid_solve.hpp>
#include <stratum/multigrid/precision_strategies.hpp>
#include <stratum/multigrid/transfer/operator_dependent.hpp>
#include <stratum/solvers/held_constant.hpp>
#include <stratum/solvers/rounding.hpp>
#include <stratum/solvers/row_scaled.hpp>

namespace stratum {

namespace {

void expect_room(const Context& ctx, const TensorMesh<2>& mesh, std::int64_t needed) {
  const GridLayout<2> n = mesh.unknowns();
  expect_memory(ctx, message("mesh ", mesh.name(), " with ", n.nx, " x ", n.ny, " unknowns"), needed);
}

}  // namespace

struct StructuredSolver::State {
  /// A thread's own hierarchy, for batches.
  struct Worker {
    Context ctx{Backend::cpu, 1};
    StructuredSolver solver;
    explicit Worker(const State& of) : solver(ctx, of.problem, of.plan.params, of.registry) {}
  };
  std::vector<std::unique_ptr<Worker>> workers;
  ReentrancyGuard guard;
  StructuredProblem problem;
  SmootherRegistry registry;
  SolverFacts facts;
  PartitionLevels partition;
  Plan plan;  // of which stopping and c may change, and vectors to deflate by may not be found
  std::string deflation;
  const bool follows_conductances;  // of the matrix, which are not kept
  bool starts_from_zero = false;    // whatever x holds
  double setup_seconds = 0;
  std::optional<Hierarchy<double>> in_double;  // where more than the finest operator is needed
  GridOperator<double> a;
  std::unique_ptr<CycleInPrecision<float>> float_cycle;
  std::unique_ptr<CycleInPrecision<double>> double_cycle;
  std::shared_ptr<Solver<double>> solver;  // of a strategy in double
  std::unique_ptr<PrecisionStrategy> strategy;
  bool was_compared = false;                   // the cycle in float with one in double
  std::unique_ptr<PrecisionStrategy> instead;  // in double, where they differ
  std::unique_ptr<FullMultigridSolve> pass;    // full multigrid
  HeldConstant constant;

  State(Context& ctx, StructuredProblem given, const PoissonSolverParams& asked, SmootherRegistry r)
      : problem(std::move(given)), registry(std::move(r)), facts(facts_of(ctx, asked)),
        partition(ctx, facts.meshes, asked.multigrid.partition()),
        follows_conductances(problem.conductances != nullptr) {
    facts.has_halo = partition.finest().has_halo();
    if (asked.multigrid.smoother != "auto") (void)registry.find(asked.multigrid.smoother);
    const bool of_cells = facts.source == SolverFacts::Source::cells;
    std::optional<CellFields> fields;
    if (of_cells) {
      if (!ctx.is_dry_run()) expect_room_for_all(ctx, asked);
      fields.emplace(ctx, problem.mesh, *asked.coefficients, asked.terms.reaction);
      a = assemble_diffusion(ctx, problem.mesh, *asked.coefficients, *fields, asked.terms, partition.finest());
      facts.format = a.format();
    } else if (problem.matrix) {
      a = *problem.matrix;
      facts.format = a.format();
    }
    if (asks_matrix(asked, facts) && !ctx.is_dry_run())
      facts.couplings = couplings(ctx, problem.means ? *problem.iterated_on : a);
    plan = select(asked, facts);
    if (!of_cells && !ctx.is_dry_run()) expect_room_for_all(ctx, plan.params);
    build(ctx, std::move(fields));
    if (plan.is_direct && !double_cycle->multigrid.is_direct()) {
      double_cycle.reset();
      solver.reset();
      facts.has_modes = false;
      plan = select(asked, facts);
      build_cycle(ctx);
    }
    plan.params.format = a.format();
    make_strategy(ctx);
    reserve_reductions(ctx, a.shape());
    if (pass && ctx.is_dry_run()) pass->count_check(ctx, a.shape());
    ctx.synchronise();
    setup_seconds = seconds_since(problem.begun);
    problem.conductances = nullptr;
  }

  [[nodiscard]] SolverFacts facts_of(const Context& ctx, const PoissonSolverParams& asked) const {
    using Source = SolverFacts::Source;
    SolverFacts found;
    found.source = problem.is_deformed  ? Source::deformed_mesh
                   : problem.matrix     ? Source::matrix
                   : asked.coefficients ? Source::cells
                                        : Source::mesh;
    found.meshes = mesh_hierarchy(problem.mesh);
    found.on_gpu = ctx.on_gpu();
    found.has_conductances = problem.conductances != nullptr;
    found.is_cartesian = problem.is_cartesian;
    found.matrix = problem.facts;
    found.has_films = problem.by_differences != nullptr;
    return found;
  }
  /// use(multigrid), in whatever precision.
  template <class Use>
  decltype(auto) of_cycle(const Use& use) const {
    return float_cycle ? use(float_cycle->multigrid) : use(double_cycle->multigrid);
  }
  [[nodiscard]] bool settles_constant() const {
    return problem.settles_constant && !of_cycle([](const auto& m) { return m.hierarchy().is_singular(); });
  }
  [[nodiscard]] bool keeps_differences() const { return problem.by_differences || !a.traits().has_bands; }
  /// With b and x.
  void expect_room_for_all(const Context& ctx, const PoissonSolverParams& params) const {
    Context dry_run = ctx.memory_dry_run();
    const Field<double> b(dry_run, partition.finest()), x(dry_run, partition.finest());
    const State in_dry_run(dry_run, problem, params, registry);
    if (in_dry_run.settles_constant()) HeldConstant::count_memory(dry_run, x.shape());
    expect_room(ctx, problem.mesh, dry_run.memory()->peak_bytes);
  }

  // --- building ------------------------------------------------------------------------------------------------------------

  /// Of the matrix, with the conductances that it was given with, or of K and c by cells.
  [[nodiscard]] Hierarchy<double> products(Context& ctx, const std::optional<CellFields>& fields) const {
    const PoissonSolverParams& params = plan.params;
    const auto kind = params.interpolation.value_or(InterpolationKind::conductance);
    const auto simple = kind == InterpolationKind::matrix ? Interpolation::of_matrix() : Interpolation();
    const bool follows_k = kind == InterpolationKind::conductance || kind == InterpolationKind::split;
    const auto of = [&](const MatrixTraits& traits, const Interpolation& interpolation) {
      return Hierarchy<double>::galerkin(ctx, a, problem.mesh, traits, interpolation, params.multigrid.partition());
    };
    if (problem.matrix) {
      const Conductances* const k = problem.conductances;
      const bool by_weights = kind == InterpolationKind::conductance && k != nullptr;
      expects(!follows_k || by_weights, "interpolation ", to_string(kind),
              " needs K, and a matrix has none; bilinear and matrix do not");
      return of({k != nullptr || params.multigrid.symmetric, params.multigrid.singular, problem.identity_rows},
                by_weights ? Interpolation::by_conductances(*k) : simple);
    }
    const CellCoefficients& k = *params.coefficients;
    const MatrixTraits traits{true, is_singular(problem.mesh, params.terms) && k.c.empty()};
    if (!follows_k) return of(traits, simple);
    const Conductances conductances(ctx, problem.mesh, *fields);
    return of(traits, kind == InterpolationKind::split ? Interpolation::split(conductances, k)
                                                       : Interpolation::by_conductances(conductances));
  }
  [[nodiscard]] Hierarchy<double> levels_in_double(Context& ctx) const {
    return in_double ? *in_double
                     : Hierarchy<double>::assembled(ctx, facts.meshes, plan.params.format, plan.params.terms,
                                                    plan.params.multigrid.partition());
  }
  /// The hierarchy, and the cycle.
  void build(Context& ctx, std::optional<CellFields> fields) {
    const PoissonSolverParams& params = plan.params;
    if (problem.matrix || params.coefficients) in_double = products(ctx, fields);
    fields.reset();
    if (!in_double && (params.precision == Precision::full || params.full_multigrid)) in_double = levels_in_double(ctx);
    a = in_double ? in_double->finest()
                  : assemble_operator<double>(ctx, problem.mesh, params.format, params.terms, partition.finest());
    if (problem.iterated_on) a = *problem.iterated_on;
    build_cycle(ctx);
  }
  void build_cycle(Context& ctx) {
    const PoissonSolverParams& params = plan.params;
    if (params.precision == Precision::full) {
      double_cycle = make_double_cycle(ctx);
      return;
    }
    // Assembled operators are symmetric: of nine bands a cycle that double corrects needs five.
    const bool nine = params.format == StorageFormat::nine_band && params.precision != Precision::single;
    const bool of_products = in_double && in_double->is_galerkin();
    const auto levels =
        of_products ? Hierarchy<float>(ctx, *in_double)
                    : Hierarchy<float>::assembled(ctx, facts.meshes, nine ? StorageFormat::symmetric : params.format,
                                                  params.terms, params.multigrid.partition());
    float_cycle = std::make_unique<CycleInPrecision<float>>(ctx, levels, params, registry);
    scale_rows(ctx, *float_cycle);
  }
  [[nodiscard]] std::unique_ptr<CycleInPrecision<double>> make_double_cycle(Context& ctx) const {
    auto cycle = std::make_unique<CycleInPrecision<double>>(ctx, levels_in_double(ctx), plan.params, registry);
    scale_rows(ctx, *cycle);
    return cycle;
  }
  template <class T>
  void scale_rows(Context& ctx, CycleInPrecision<T>& cycle) const {
    if (!problem.iterated_on) return;
    cycle.make_in_double(ctx);
    if (problem.means)
      cycle.in_double = std::make_shared<PartsProjected>(ctx, a.shape(), *problem.means, cycle.in_double);
    else
      cycle.in_double = std::make_shared<RowScaled>(ctx, a.shape(), problem.scales, cycle.in_double);
  }
  void make_strategy(Context& ctx) {
    const PoissonSolverParams& params = plan.params;
    if (params.full_multigrid) {
      // Not for one FMG cycle alone, which asks for steps. The first iteration is as good.
      const bool is_direct = of_cycle([](const auto& multigrid) { return multigrid.is_direct(); });
      starts_from_zero = is_direct && !params.full_multigrid_from_x;
      if (!is_direct)
        pass = of_cycle([&](const auto& multigrid) {
          return std::make_unique<FullMultigridSolve>(ctx, a, *in_double, multigrid, params);
        });
    }
    if (!problem.iterated_on && float_cycle) strategy = make_precision_strategy(ctx, a, params, *float_cycle);
    if (strategy) return;
    const auto cycle = double_cycle ? double_cycle->in_double : float_cycle->in_double;
    solver = solver_on(problem.by_differences, make_solver_in_double(ctx, *cycle));
    strategy = make_krylov_strategy(solver, cycle, float_cycle != nullptr);
  }
  [[nodiscard]] std::shared_ptr<Solver<double>> make_solver_in_double(Context& ctx, Preconditioner<double>& cycle) {
    PoissonSolverParams& params = plan.params;
    if (params.deflate.by != DeflateBy::none && !ctx.is_dry_run()) {
      if (!params.coefficients && !facts.couplings) facts.couplings = couplings(ctx, a);
      DeflatedSolver made =
          params.coefficients
              ? make_deflated_solver(ctx, *in_double, *params.coefficients, params.terms, cycle, params.deflate)
              : make_deflated_solver(ctx, *in_double, *facts.couplings, cycle, params.deflate);
      deflation = std::move(made.description);
      if (made.solver) return std::move(made.solver);
      // No vectors that other coefficients would not suit.
      if (params.deflate.by == DeflateBy::automatic) params.deflate = {};
    }
    return make_solver<double>(ctx, entry_of(params).name, a.shape(), params.krylov);
  }

  [[nodiscard]] std::unique_ptr<PrecisionStrategy> make_fallback(Context& ctx, const CycleInPrecision<double>& cycle) {
    return make_krylov_strategy(solver ? solver : make_solver_in_double(ctx, *cycle.in_double), cycle.in_double, false);
  }
  /// Whether a slow iteration is slow by its float cycle: a cycle in double makes another correction of b - A x. Solves go on
  /// with that then. (Of problems that are slow by themselves the corrections differ by 1e-7, where float had lost what holds u
  /// by 0.1 and more.)
  bool float_cycle_differs(Context& ctx, FieldView<const double> b, FieldView<const double> x) {
    constexpr double much = 0.03;
    was_compared = true;
    try {
      const auto cycle = make_double_cycle(ctx);
      PrecisionCast<double, float> in_float(ctx, a.shape(), std::make_shared<Multigrid<float>>(float_cycle->multigrid));
      Field<double> r(ctx, a.shape()), of_float(ctx, a.shape()), of_double(ctx, a.shape());
      a.residual(ctx, b, x, r.view());
      in_float.apply(ctx, r.cview(), of_float.view());
      cycle->multigrid.apply(ctx, r.cview(), of_double.view());
      const double size = norm2(ctx, of_double.cview());
      axpy(ctx, -1.0, of_double.cview(), of_float.view());
      const double difference = norm2(ctx, of_float.cview()) / size;
      if (difference <= much) return false;
      instead = make_fallback(ctx, *cycle);
      plan.precision_reason = message("cycles in double: those in float differ from them by ", difference);
      return true;
    } catch (const ResourceError&) {
      if (ctx.subdomains() > 1) throw;  // others may have had room
      return false;                     // there is none for both
    }
  }
  /// Of other coefficients it is not known.
  void forget_comparison() {
    if (instead) plan.precision_reason.clear();
    instead.reset();
    if (pass) pass->forget();
    was_compared = false;
    constant.forget();
  }

  // --- other numbers -------------------------------------------------------------------------------------------------------

  void set_reaction(Context& ctx, double c) {
    const auto entered = guard.enter("solver");
    expects(!problem.matrix && !plan.params.coefficients,
            "another reaction coefficient is for solvers made from a mesh with K = 1; "
            "one made from a matrix or K and c by cells takes a matrix");
    if (double_cycle) double_cycle->multigrid.set_reaction(ctx, c);
    if (float_cycle) float_cycle->multigrid.set_reaction(ctx, c);
    if (in_double && !double_cycle) in_double->set_reaction(ctx, c);
    plan.params.terms.reaction = c;
    forget_comparison();
    if (!in_double) stratum::set_reaction(ctx, problem.mesh, plan.params.terms, a);
    workers.clear();
  }
  void update(Context& ctx, const GridOperator<double>& given, const Conductances* k) {
    expects(!problem.means,
            "a cycle for several singular parts belongs to these: make another solver for other coefficients");
    expects(!problem.iterated_on,
            "scales of rows belong to the coefficients that they were found for: make another solver for others");
    update_cycle(ctx, given, k);
  }
  void update_cycle(Context& ctx, const GridOperator<double>& given, const Conductances* k) {
    const auto entered = guard.enter("solver");
    expects(in_double && (problem.matrix || plan.params.coefficients),
            "other coefficients are for solvers made from a matrix or K and c by cells");
    expects(plan.params.deflate.by == DeflateBy::none,
            "deflation vectors belong to the coefficients that they were made for: make another solver for others");
    if (double_cycle) double_cycle->multigrid.update(ctx, given, k);
    if (float_cycle) float_cycle->multigrid.update(ctx, given, k);
    a = in_double->finest();
    if (problem.matrix) problem.matrix = a;
    if (problem.iterated_on) a = *problem.iterated_on;
    forget_comparison();
    workers.clear();
  }

  // --- solving -------------------------------------------------------------------------------------------------------------

  /// Goes on from the x that `before` ended with, for what it was to reach and with what is left of its iterations.
  SolveReport go_on(Context& ctx, FieldView<const double> b, FieldView<double> x, const SolveReport& before,
                    const StoppingParams& asked, const Monitor& monitor, PrecisionStrategy& by) const {
    const StoppingParams stop = rest_of(asked, before);
    // An FMG cycle leaves its residual to the iteration that follows.
    const bool known = before.history.size() == static_cast<std::size_t>(before.iterations) + 1;
    // It started from b itself, unless it was for the defect of a given x.
    std::optional<double> rhs_norm;
    if (!known && !plan.params.full_multigrid_from_x) rhs_norm = before.initial_residual;
    SolveReport report = by.solve(ctx, a, b, x, stop,
                                  monitor ? Monitor([&](int it, double r) {
                                    if (it > 0 || !known) monitor(before.iterations + it, r);
                                  })
                                          : Monitor(),
                                  rhs_norm);
    if (!known && report.status == Status::non_finite) {
      report.status = Status::diverged;
      report.reason = "the FMG cycle overflowed";
    }
    put_before(before, report);
    if (report.status == Status::max_iterations)
      report.reason = max_iterations_reason(report.residual, report.iterations, stop.atol);
    const bool gave_up = report.status == Status::max_iterations || report.status == Status::stagnated;
    if (!known && gave_up && report.residual > report.initial_residual) {
      Field<double> r(ctx, a.shape());
      a.residual(ctx, b, x, r.view());
      if (!Rounding<double>(ctx, a, b, x, report.reference_norm_value).has_its_size(report.residual, r.cview())) {
        report.status = Status::diverged;
        report.reason = blown_up_reason(report.residual, report.initial_residual);
      }
    }
    return report;
  }

  /// `before`: what came before, if something did.
  SolveReport iterate(Context& ctx, FieldView<const double> b, FieldView<double> x, const StoppingParams& asked,
                      bool retries, const Monitor& monitor, const SolveReport* before = nullptr) {
    StoppingParams stop = asked;
    PrecisionStrategy& by = retries && instead ? *instead : *strategy;
    const std::string_view in_float = by.may_fall_back_as();
    retries = retries && !in_float.empty();
    // A Krylov method may not have what it takes for granted of a float cycle, a fixed linear map: it is not waited for long.
    if (retries && by.relies_on_cycle()) {
      if (!stop.patience) stop.patience = 30;
      if (!was_compared) stop.gives_up = [&] { return float_cycle_differs(ctx, b, x); };
    }
    SolveReport report =
        before != nullptr ? go_on(ctx, b, x, *before, stop, monitor, by) : by.solve(ctx, a, b, x, stop, monitor, {});
    if (!retries || report.iterations >= asked.max_iterations) return report;
    // A float cycle may stall above the rounding of double, overflow, or grow by what float leaves of x; an iteration that
    // grows by itself would do so in double too. Nor is it rounding of double that ends it where it has been better before, or
    // x may still be better.
    const bool diverged = report.status == Status::diverged;
    const bool was_better = report.residual < 0.5 * report.history.back();
    const bool may_be_better = report.estimated_error.value_or(0) > std::max(asked.error_limit(), 1e-6);
    const bool failed =
        report.status == Status::stagnated || report.status == Status::breakdown ||
        (report.status == Status::round_off_limit && (was_better || may_be_better)) ||
        (diverged && (!std::isfinite(report.residual) || is_rounding_of_float(ctx, a, b, x, report.residual)));
    if (!failed) return report;
    if (diverged) set(ctx, 0.0, x);
    const std::string first = message("double-precision fallback, since ", in_float, " ended as ",
                                      to_string(report.status), " after ", report.iterations, " iterations: ");
    const auto again = instead ? nullptr : make_fallback(ctx, *make_double_cycle(ctx));
    SolveReport second = go_on(ctx, b, x, report, asked, monitor, instead ? *instead : *again);
    second.reason = first + second.reason;
    return second;
  }

  SolveReport solve(Context& ctx, FieldView<const double> b, FieldView<double> x, const StoppingParams& stop,
                    bool retries, const Monitor& monitor) {
    expects_fit(ctx, "b", b, a.shape());
    expects_fit(ctx, "x", x, a.shape());
    expects_reached(ctx, "b", b);
    expects_reached(ctx, "x", x);
    const auto entered = guard.enter("solver");
    const auto begin = Clock::now();
    if (starts_from_zero) set(ctx, 0.0, x);
    FullMultigridSolve::Factory pass_in_double;
    if (pass && retries && !strategy->may_fall_back_as().empty())
      pass_in_double = [&] {
        return std::make_unique<FullMultigridSolve>(ctx, a, *in_double, make_double_cycle(ctx)->multigrid, plan.params);
      };
    SolveReport before;
    if (pass) before = pass->solve(ctx, a, b, x, stop.reference_norm, monitor, pass_in_double);
    const bool iterates = !pass || (plan.params.continue_after_full_multigrid && before.status != Status::non_finite);
    SolveReport report = iterates ? iterate(ctx, b, x, stop, retries, monitor, pass ? &before : nullptr) : before;
    if (settles_constant() && retries)
      constant.settle(ctx, problem.by_differences ? *problem.by_differences : a, !keeps_differences(), b, x, stop,
                      report);
    ctx.synchronise();
    report.solve_seconds = seconds_since(begin);
    report.setup_seconds = setup_seconds;
    report.choice = plan.reason();
    report.levels = of_cycle([](const auto& multigrid) { return multigrid.level_reports(); });
    return report;
  }
};

StructuredSolver::StructuredSolver(Context& ctx, StructuredProblem problem, const PoissonSolverParams& params,
                                   const SmootherRegistry& registry)
    : state_(std::make_unique<State>(ctx, std::move(problem), params, registry)) {}
StructuredSolver::~StructuredSolver() = default;
StructuredSolver::StructuredSolver(StructuredSolver&&) noexcept = default;
StructuredSolver& StructuredSolver::operator=(StructuredSolver&&) noexcept = default;

void StructuredSolver::warm_up(Context& ctx) {
  State& self = *state_;
  if (!ctx.on_gpu() || ctx.is_dry_run() || self.a.shape().nodes() == 0) return;
  const auto begin = Clock::now();
  Field<double> b(ctx, self.a.shape()), x(ctx, self.a.shape());
  set(ctx, 1.0, b.view());
  StoppingParams stop = self.plan.params.stop;
  stop.rtol = stop.atol = std::numeric_limits<double>::min();
  stop.max_iterations = 2;
  // The first solve loads code, the second one captures what the first has run.
  for (int k = 0; k < 2; ++k) (void)self.solve(ctx, b.cview(), x.view(), stop, false, {});
  self.setup_seconds += seconds_since(begin);
}

SolveReport StructuredSolver::solve(Context& ctx, FieldView<const double> b, FieldView<double> x,
                                    const Monitor& monitor) {
  const PoissonSolverParams& params = state_->plan.params;
  return state_->solve(ctx, b, x, params.stop, params.retry_in_double, monitor);
}

std::size_t StructuredSolver::side_by_side(const Context& ctx, const GridLayout<2>& shape, std::size_t systems) {
  if (ctx.on_gpu() || ctx.subdomains() > 1 || shape.nodes() > most_unknowns_side_by_side) return 1;
  return std::clamp<std::size_t>(systems, 1, static_cast<std::size_t>(ctx.threads()));
}

std::vector<SolveReport> StructuredSolver::solve(Context& ctx, std::span<const FieldView<const double>> b,
                                                 std::span<const FieldView<double>> x) {
  State& self = *state_;
  expects(b.size() == x.size(), b.size(), " right-hand sides and ", x.size(), " solutions do not match");
  std::vector<SolveReport> reports(b.size());
  const std::size_t threads = self.follows_conductances || self.problem.iterated_on
                                  ? 1  // with the solver's own hierarchy
                                  : side_by_side(ctx, self.a.shape(), b.size());
  if (threads == 1) {
    for (std::size_t k = 0; k < b.size(); ++k) reports[k] = solve(ctx, b[k], x[k]);
    return reports;
  }
  if (self.workers.size() < threads) {
    const auto more = static_cast<std::int64_t>(threads - self.workers.size());
    Context dry_run = Context(Backend::cpu, 1).memory_dry_run();
    const State in_dry_run(dry_run, self.problem, self.plan.params, self.registry);
    expect_room(ctx, self.problem.mesh, more * dry_run.memory()->peak_bytes);
    self.workers.resize(threads);
  }
  std::atomic<std::size_t> next{0};
  std::vector<std::future<void>> done;
  for (std::size_t t = 0; t < threads; ++t)
    done.push_back(std::async(std::launch::async, [&, &worker = self.workers[t]] {
      if (!worker) worker = std::make_unique<State::Worker>(self);
      for (std::size_t k = next++; k < b.size(); k = next++) reports[k] = worker->solver.solve(worker->ctx, b[k], x[k]);
    }));
  for (auto& worker : done) worker.wait();
  for (auto& worker : done) worker.get();
  for (auto& report : reports) {
    report.setup_seconds = self.setup_seconds;
    report.choice = self.plan.reason();
  }
  return reports;
}

std::vector<LevelReport> StructuredSolver::level_reports() const {
  return state_->of_cycle([](const auto& multigrid) { return multigrid.level_reports(); });
}

std::vector<std::vector<OverlapRows>> StructuredSolver::overlaps() const {
  return state_->of_cycle([](const auto& multigrid) {
    std::vector<std::vector<OverlapRows>> rows;
    for (int l = 0; l < multigrid.levels(); ++l) rows.push_back(multigrid.overlap(l));
    return rows;
  });
}

void StructuredSolver::set_reaction(Context& ctx, double c) { state_->set_reaction(ctx, c); }
void StructuredSolver::update(Context& ctx, const GridOperator<double>& a, const Conductances* k) {
  state_->update(ctx, a, k);
}

void StructuredSolver::update(Context& ctx, const GridOperator<double>& a, const Conductances* k,
                              const GridOperator<double>& iterated_on) {
  expects(state_->problem.iterated_on.has_value(), "this solver iterates on the matrix of its cycle");
  state_->problem.iterated_on = iterated_on;
  state_->update_cycle(ctx, a, k);
}

void StructuredSolver::set_stop(const StoppingParams& stop) {
  stop.validate();
  const auto entered = state_->guard.enter("solver");
  state_->plan.params.stop = stop;
  for (auto& worker : state_->workers)
    if (worker) worker->solver.set_stop(stop);
}

Preconditioner<double>& StructuredSolver::preconditioner(Context& ctx) {
  State& self = *state_;
  if (self.double_cycle) return *self.double_cycle->in_double;
  self.float_cycle->make_in_double(ctx);
  return *self.float_cycle->in_double;
}

const Plan& StructuredSolver::plan() const { return state_->plan; }
const std::string& StructuredSolver::deflation() const { return state_->deflation; }
const std::vector<TensorMesh<2>>& StructuredSolver::meshes() const { return state_->facts.meshes; }
const std::string& StructuredSolver::coarse_solver() const {
  return state_->of_cycle([](const auto& multigrid) -> const std::string& { return multigrid.coarse_solver(); });
}
const GridOperator<double>& StructuredSolver::fine_operator() const { return state_->a; }
bool StructuredSolver::keeps_differences() const { return state_->keeps_differences(); }

}  // namespace stratum
