#include <stratum/multigrid/heat_solver.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <stratum/core/field/blas.hpp>
#include <stratum/multigrid/heat_operators.hpp>
#include <stratum/solvers/preconditioners/jacobi.hpp>

namespace stratum {

namespace {

constexpr std::size_t most_stages = 3;

/// Stages of a stiffly accurate method with one diagonal entry; the first one is explicit where c = 0 there.
struct Tableau {
  std::size_t stages;
  std::array<double, most_stages> c;
  std::array<std::array<double, most_stages>, most_stages> a;
  std::array<double, most_stages> error;  // b_j - b^_j

  [[nodiscard]] bool starts_explicit() const { return c[0] == 0; }
};

Tableau tableau_of(TimeMethod method) {
  if (method == TimeMethod::euler) return {1, {1, 0, 0}, {{{1, 0, 0}}}, {}};
  if (method == TimeMethod::crank_nicolson) return {2, {0, 1, 0}, {{{0, 0, 0}, {0.5, 0.5, 0}}}, {}};
  const double root = std::sqrt(2.0), gamma = 2 - root, d = gamma / 2, w = root / 4;
  return {3, {0, gamma, 1}, {{{0, 0, 0}, {d, d, 0}, {w, w, d}}}, {w - (1 - w) / 3, w - (3 * w + 1) / 3, d - d / 3}};
}

/// Of all subdomains in the order of ranks, on the first subdomain; the others have none.
std::vector<double> rows_on_first_subdomain(Context& ctx, FieldView<const double> x) {
  std::vector<double> own(static_cast<std::size_t>(x.nodes()));
  if (!own.empty()) copy_to_host(ctx, x, own.data());
  return ctx.subdomains() == 1 ? own : ctx.communicator()->join_on_first(own);
}

/// The diagonal of a mass matrix: near enough to it to estimate errors with.
class MassDiagonal final : public Preconditioner<double>, public Handle {
 public:
  MassDiagonal(Context& ctx, const GridLayout<2>& shape, const std::vector<double>& diagonal)
      : jacobi_(ctx, shape, diagonal) {}
  void apply(Context& ctx, FieldView<const double> r, FieldView<double> z) override { jacobi_.apply(ctx, r, z); }
  [[nodiscard]] bool is_constant() const override { return true; }
  [[nodiscard]] bool is_symmetric() const override { return true; }
  [[nodiscard]] bool estimates_error() const override { return true; }

 private:
  JacobiPreconditioner<double> jacobi_;
};

constexpr double safety = 0.9, least_factor = 0.2, most_factor = 5, least_step = 1e-10, worth_shortening = 0.9,
                 worth_growing = 1.2;

}  // namespace

struct HeatSolver::Implementation : HeatProgress {
  /// du/dt at a time, measured from the present one.
  struct Slope {
    const Field<double>* k;
    double at;
  };
  struct Attempt {
    bool solved = true;
    double error = 0;  // beside what is allowed
  };

  ProblemMesh geometry;
  const TensorMesh<2>& mesh;  // how its cells are joined
  HeatProblem problem;
  HeatParams params;
  Tableau tableau;
  ReentrancyGuard guard;
  std::optional<HeatOperators> operators;
  Field<double> u, x, b, load, work, other, ones;
  std::array<Field<double>, most_stages> k;
  Field<double> slope, slope_before;
  // Of Dirichlet nodes.
  std::vector<double> boundary_values_of_nodes;
  std::array<std::vector<double>, most_stages> side_k;
  std::array<Field<double>, 2> line;  // a column, a row: what boundaries add
  double load_at = 0;
  bool load_known = false;
  std::vector<std::size_t> load_averaged;  // cells where it has the mean of f
  int first_row = 0;                       // of this subdomain, of all rows of unknowns

  Implementation(Context& ctx, const Geometry& m, const HeatProblem& p, const HeatParams& given,
                 const SmootherRegistry& registry)
      : geometry(with_boundaries(m, p.space.boundaries)), mesh(geometry.logical()), problem(p), params(given),
        tableau(tableau_of(given.method)) {
    check();
    const GridLayout<2> shape =
        PartitionLevels(ctx, mesh_hierarchy(mesh), params.solver.multigrid.partition()).finest();
    first_row = shape.origin_y - mesh.unknowns().origin_y;
    for (auto* v : {&u, &x, &b, &load, &work, &other, &slope, &slope_before}) *v = Field<double>(ctx, shape);
    for (std::size_t i = 0; i < tableau.stages; ++i) k[i] = Field<double>(ctx, shape);
    line = {Field<double>(ctx, GridLayout<2>{1, shape.ny}), Field<double>(ctx, GridLayout<2>{shape.nx, 1})};
    report.t = params.start;
    const double first = params.dt.value_or(1.0);
    at_this_time(params.start, [&] {
      operators.emplace(ctx, geometry, problem, params.start, shift(first), params.solver, registry);
      if (mesh.unknowns().nodes() > 0 && side_count() == 0) {
        ones = Field<double>(ctx, shape);
        set(ctx, 1.0, ones.view());
      }
      start(ctx);
    });
    dt = params.dt ? *params.dt : first_dt(ctx);
  }

  void check() const {
    expects(std::isfinite(params.start), "the time of the start must be finite, not ", params.start);
    expects(params.dt || params.tol, "steps need a length, or a tolerance to find it by");
    expects(!params.dt || (std::isfinite(*params.dt) && *params.dt > 0),
            "the length of a step must be positive and finite, not ", params.dt.value_or(0));
    expects(!params.tol || (*params.tol > 0 && *params.tol < 1), "the tolerance of a step must lie in (0, 1), not ",
            params.tol.value_or(0));
    expects(!params.tol || params.method == TimeMethod::tr_bdf2,
            "a tolerance goes with tr-bdf2, which estimates errors; ", to_string(params.method),
            " takes steps of one length");
    expects(!params.eta || (*params.eta > 0 && *params.eta < 1), "eta must lie in (0, 1), not ",
            params.eta.value_or(0));
  }

  /// Dirichlet nodes.
  [[nodiscard]] std::size_t side_count() const { return dirichlet_values(geometry, at(params.start)).size(); }
  [[nodiscard]] double diagonal_entry() const { return tableau.a[tableau.stages - 1][tableau.stages - 1]; }
  [[nodiscard]] double shift(double step) const { return 1 / (diagonal_entry() * step); }
  [[nodiscard]] double eta() const { return params.eta.value_or(params.tol ? 1e-2 * *params.tol : 1e-8); }

  /// What functions give that cannot be is said with the time.
  template <class F>
  static void at_this_time(double t, const F& f) {
    try {
      f();
    } catch (const UsageError& error) {
      throw UsageError(message("at t = ", t, ": ", error.what()));
    }
  }

  // --- loads ---------------------------------------------------------------------------------------------------------------

  /// load = F(t), without what boundaries add.
  void find_load(Context& ctx, double t) {
    const auto& averaged = operators->averaged();
    const bool still_so = problem.steady_rhs && averaged == load_averaged;
    if (load_known && (still_so || !problem.space.rhs || load_at == t)) return;
    assemble_heat_load(ctx, geometry, problem, t, load, averaged);
    load_averaged = averaged;
    if (operators->scale() != 1) xpay(ctx, load.cview(), operators->scale() - 1, load.view());
    load_at = t;
    load_known = true;
  }

  /// b = b + what Neumann or Robin boundaries give at time t - A_D values - M_D slopes
  void add_boundary(Context& ctx, const PoissonProblem& now, const std::vector<double>& values,
                    const std::vector<double>& slopes, FieldView<double> to) {
    BoundaryLoads boundaries(u.shape(), first_row);
    add_fluxes(geometry, now, boundaries);
    for (auto* part : {&boundaries.left, &boundaries.right, &boundaries.bottom, &boundaries.top})
      for (double& value : *part) value *= operators->scale();
    for (const auto& entry : operators->dirichlet_entries_of_a())
      if (boundaries.has(entry.j)) boundaries(entry.i, entry.j) -= entry.value * values[entry.node];
    for (const auto& entry : operators->dirichlet_entries_of_mass())
      if (boundaries.has(entry.j)) boundaries(entry.i, entry.j) -= entry.value * slopes[entry.node];
    add(ctx, boundaries, line, to);
  }

  // --- the start -----------------------------------------------------------------------------------------------------------

  [[nodiscard]] PoissonProblem at(double t) const { return at_time(problem, t); }

  /// u of the start, and k there where the method wants it.
  void start(Context& ctx) {
    if (ctx.is_dry_run()) {
      if (tableau.starts_explicit()) (void)make_solver<double>(ctx, "cg", u.shape());
      operators->count_memory_of_changes(ctx);
      return;
    }
    set_initial(ctx);
    measure(ctx);
    begin_at(ctx, params.start);
  }

  /// Nothing is known but u: du/dt at t is found where the method wants it.
  void begin_at(Context& ctx, double t) {
    boundary_values_of_nodes = dirichlet_values(geometry, at(t));
    // Of k_D nothing but the error estimate of the first step depends.
    const double moment = 1e-6 * params.dt.value_or(1.0);
    boundary_slope = dirichlet_values(geometry, at(t + moment));
    for (std::size_t n = 0; n < boundary_slope.size(); ++n)
      boundary_slope[n] = (boundary_slope[n] - boundary_values_of_nodes[n]) / moment;
    known_slopes = 0;
    if (tableau.starts_explicit()) find_slope(ctx, t);
  }

  /// Whether M k = F - A u - A_D g - M_D k_D holds at t, as well as the stage that k is of was solved.
  [[nodiscard]] bool slope_fits(Context& ctx, double t) {
    if (known_slopes == 0 || !tableau.starts_explicit() || u.shape().nodes() == 0) return true;
    find_load(ctx, t);
    operators->a().residual(ctx, load.cview(), u.cview(), b.view());
    add_boundary(ctx, at(t), boundary_values_of_nodes, boundary_slope, b.view());
    operators->mass().apply(ctx, slope.cview(), work.view());
    const double size = norm2(ctx, work.cview());
    axpy(ctx, -1.0, work.cview(), b.view());
    constexpr double generous = 100;
    const double solved_well = eta() * shift(last_dt) * size_of_load;
    return norm2(ctx, b.cview()) <= generous * std::max(solved_well, 1e-12 * size);
  }

  [[nodiscard]] std::vector<double> diagonal_of(Context& ctx, const GridOperator<double>& a) {
    diagonal(ctx, a, work.view());
    std::vector<double> entries(static_cast<std::size_t>(u.shape().nodes()));
    copy_to_host(ctx, work.cview(), entries.data());
    return entries;
  }

  void set_initial(Context& ctx) {
    const GridLayout<2> shape = u.shape();
    if (shape.nodes() == 0) return;
    const auto initial = at_nodes(ctx, geometry, initial_function(problem, params.start),
                                  {shape.origin_y, shape.origin_y + shape.ny - 1});
    const auto columns = static_cast<std::size_t>(mesh.x().size()) + 1;
    std::vector<double> unknowns;
    for (int j = 0; j < shape.ny; ++j)
      for (int i = 0; i < shape.nx; ++i) {
        const auto p = static_cast<std::size_t>(i + shape.origin_x);
        const double value = initial[static_cast<std::size_t>(j) * columns + p];
        if (!std::isfinite(value)) {
          const Point point = Geometry(geometry).node(static_cast<int>(p), j + shape.origin_y);
          throw UsageError(
              message("the initial value is ", value, " at (", point.x, ", ", point.y, "); it must be finite"));
        }
        unknowns.push_back(value);
      }
    copy_from_host(ctx, unknowns.data(), u.view());
  }

  /// M k = F - A u - A_D g - M_D k_D; M is as well conditioned as its diagonal, whatever the mesh. To rounding: beside a Robin
  /// side with a large alpha k may be 1e8 times as large as elsewhere, and what solving leaves counts as a load does.
  void find_slope(Context& ctx, double t) {
    find_load(ctx, t);
    operators->a().residual(ctx, load.cview(), u.cview(), b.view());
    add_boundary(ctx, at(t), boundary_values_of_nodes, boundary_slope, b.view());
    set(ctx, 0.0, slope.view());
    const GridLayout<2> shape = u.shape();
    if (shape.nodes() == 0) return;
    MassDiagonal jacobi(ctx, shape, diagonal_of(ctx, operators->mass()));
    StoppingParams stop;
    stop.rtol = 1e-14;
    stop.error_tol = 1e-14;
    stop.rounding_will_do = true;
    stop.max_iterations = 1000;
    const auto found =
        make_solver<double>(ctx, "cg", shape)->solve(ctx, operators->mass(), jacobi, b.cview(), slope.view(), stop);
    if (exit_code(found.status, false) != 0)
      throw BreakdownError(message("du/dt at t = ", t, " was not found: ", found.reason));
    known_slopes = 1;
  }

  /// || u || and || M u ||
  void measure(Context& ctx) {
    size_of_u = size(ctx, u);
    largest_u = std::max(largest_u, size_of_u);
    operators->mass().apply(ctx, u.cview(), work.view());
    size_of_load = norm2(ctx, work.cview());
  }

  /// || v ||, whatever the capacity.
  [[nodiscard]] double size(Context& ctx, const Field<double>& v) {
    operators->even_mass().apply(ctx, v.cview(), work.view());
    return std::sqrt(std::max(0.0, dot(ctx, v.cview(), work.cview())));
  }

  /// In which u changes by a hundredth; where it is zero the controller has to find out.
  [[nodiscard]] double first_dt(Context& ctx) {
    const double slope_size = size(ctx, slope);
    return size_of_u > 0 && slope_size > 0 ? 0.01 * size_of_u / slope_size : std::numeric_limits<double>::infinity();
  }

  // --- a step --------------------------------------------------------------------------------------------------------------

  /// to = u_n + the integral from 0 to tau of the line through two slopes, or of one.
  void extrapolate(Context& ctx, const std::vector<Slope>& slopes, double tau, FieldView<double> to) {
    copy(ctx, u.cview(), to);
    if (slopes.size() == 1) return axpy(ctx, tau, slopes[0].k->cview(), to);
    const auto& [k0, t0] = slopes[slopes.size() - 2];
    const auto& [k1, t1] = slopes.back();
    const double change = (tau * tau / 2 - tau * t1) / (t1 - t0);
    axpys(ctx, {tau + change, -change}, {k1->cview(), k0->cview()}, to);
  }

  /// S x = b from the better of two starts. False where that did not end well; the report then says how.
  bool solve(Context& ctx, const std::vector<Slope>& slopes, double tau) {
    const auto& s = operators->solver().fine_operator();
    copy(ctx, u.cview(), x.view());
    if (!slopes.empty()) {
      const auto residual_of = [&](const Field<double>& guess) {
        s.residual(ctx, b.cview(), guess.cview(), work.view());
        return norm2(ctx, work.cview());
      };
      extrapolate(ctx, slopes, tau, other.view());
      if (residual_of(other) < residual_of(x)) std::swap(x, other);
    }
    StoppingParams stop = params.solver.stop;
    stop.reference_norm = ReferenceNorm::initial;
    stop.rtol = eta();
    stop.atol = eta() * operators->s() * size_of_load;
    stop.error_tol = StoppingParams::errors_per_residual * eta();
    operators->solver().set_stop(stop);
    const SolveReport solved = operators->solver().solve(ctx, b.cview(), x.view());
    ++report.solves;
    report.cycles += solved.iterations;
    report.most_cycles = std::max(report.most_cycles, solved.iterations);
    if (solved.estimated_error)
      report.estimated_error = std::max(report.estimated_error.value_or(0), *solved.estimated_error);
    if (stratum::exit_code(solved.status, false) != 0) {
      report.status = solved.status;
      report.reason = message("a step of ", 1 / (diagonal_entry() * operators->s()), " at t = ", report.t,
                              " was not solved: ", solved.reason);
      return false;
    }
    if (!ones.empty() && operators->conserves_heat()) {
      // 1^T S = s 1^T M: a constant takes up the sum of the residual.
      s.residual(ctx, b.cview(), x.cview(), work.view());
      const double left = dot(ctx, ones.cview(), work.cview());
      operators->mass().apply(ctx, ones.cview(), work.view());
      axpy(ctx, left / (operators->s() * dot(ctx, ones.cview(), work.cview())), ones.cview(), x.view());
    }
    return true;
  }

  /// From u over `step`: stages k and, in x, what comes out.
  Attempt attempt(Context& ctx, double step) {
    const std::size_t first = tableau.starts_explicit() ? 1 : 0;
    std::vector<Slope> slopes;
    if (known_slopes > 1) slopes.push_back({&slope_before, before});
    if (known_slopes > 0) slopes.push_back({&slope, 0});
    if (first == 1) {
      copy(ctx, slope.cview(), k[0].view());
      side_k[0] = boundary_slope;
    }
    for (std::size_t i = first; i < tableau.stages; ++i) {
      const auto& a = tableau.a[i];
      const double t = i + 1 == tableau.stages ? report.t + step : report.t + tableau.c[i] * step;
      bool solved = false;
      at_this_time(t, [&] {
        report.updates += operators->set(ctx, t, shift(step)) ? 1 : 0;
        const double s = operators->s();
        const PoissonProblem now = at(t);
        const auto values = dirichlet_values(geometry, now);
        // p, on the unknowns and on Dirichlet nodes
        copy(ctx, u.cview(), x.view());
        std::vector<double> side_p = boundary_values_of_nodes;
        for (std::size_t j = 0; j < i; ++j) {
          if (a[j] == 0) continue;
          axpy(ctx, step * a[j], k[j].cview(), x.view());
          for (std::size_t n = 0; n < side_p.size(); ++n) side_p[n] += step * a[j] * side_k[j][n];
        }
        side_k[i].resize(values.size());
        for (std::size_t n = 0; n < values.size(); ++n) side_k[i][n] = s * (values[n] - side_p[n]);
        copy(ctx, x.cview(), k[i].view());
        operators->mass().apply(ctx, x.cview(), b.view());
        find_load(ctx, t);
        xpay(ctx, load.cview(), s, b.view());
        add_boundary(ctx, now, values, side_k[i], b.view());
        solved = solve(ctx, slopes, tableau.c[i] * step);
        // k = s (x - p)
        xpay(ctx, x.cview(), -1, k[i].view());
        axpy(ctx, s - 1, FieldView<const double>(k[i].view()), k[i].view());
        slopes.push_back({&k[i], tableau.c[i] * step});
      });
      if (!solved) return {false, 0};
    }
    return {true, params.tol ? error_of(ctx, step) : 0};
  }

  /// || S^-1 s M est || beside the tolerance.
  double error_of(Context& ctx, double step) {
    set(ctx, 0.0, other.view());
    for (std::size_t j = 0; j < tableau.stages; ++j) axpy(ctx, step * tableau.error[j], k[j].cview(), other.view());
    operators->mass().apply(ctx, other.cview(), b.view());
    axpy(ctx, operators->s() - 1, FieldView<const double>(b.view()), b.view());
    StoppingParams stop;
    // Two digits of an estimate: one cycle from zero leaves as little everywhere.
    stop.rtol = 0.05;
    stop.error_tol = std::numeric_limits<double>::infinity();
    operators->solver().set_stop(stop);
    const SolveReport solved = operators->solver().solve(ctx, b.cview(), other.view());
    report.cycles += solved.iterations;
    constexpr double nothing = 1e-14;
    const double found = size(ctx, other), now = std::max({size_of_u, size(ctx, x), nothing * largest_u});
    if (!std::isfinite(found)) return std::numeric_limits<double>::infinity();
    return found > 0 ? found / (*params.tol * now) : 0;
  }

  void accept(Context& ctx, double step, double t) {
    std::swap(u, x);
    const std::size_t last = tableau.stages - 1;
    if (last > 0) {
      std::swap(slope_before, k[last - 1]);
      before = (tableau.c[last - 1] - 1) * step;
    } else {
      std::swap(slope_before, slope);
      before = -step;
    }
    // The slope at the start of a step is kept by it, or there is none before.
    known_slopes = last > 0 ? 2 : std::min(known_slopes + 1, 2);
    std::swap(slope, k[last]);
    boundary_slope = side_k[last];
    boundary_values_of_nodes = dirichlet_values(geometry, at(t));
    report.t = t;
    ++report.steps;
    last_dt = step;
    report.shortest_dt = report.steps == 1 ? step : std::min(report.shortest_dt, step);
    report.longest_dt = std::max(report.longest_dt, step);
    measure(ctx);
  }

  /// How much longer the next step is to be.
  [[nodiscard]] double growth(double error) const {
    if (error <= 0) return most_factor;
    constexpr double order = 3;
    const double factor = safety * std::pow(error, -0.7 / order) *
                          (error_before > 0 ? std::pow(error_before, 0.4 / order) : std::pow(error, -0.3 / order));
    return std::clamp(factor, least_factor, most_factor);
  }

  [[nodiscard]] static std::string solved_to(double to) { return message("all steps to t = ", to, " were solved"); }

  void advance_fixed(Context& ctx, double to, const Monitor& monitor) {
    const double from = report.t;
    const double count = std::ceil((to - from) / dt * (1 - 1e-12));
    expects(count <= static_cast<double>(params.max_steps), count, " steps of ", dt, " lead to t = ", to, "; at most ",
            params.max_steps, " are taken");
    const double step = (to - from) / count;
    for (double n = 1; n <= count; ++n) {
      if (!attempt(ctx, step).solved) return;
      accept(ctx, step, n == count ? to : from + n * step);
      if (monitor) monitor(report, step);
    }
  }

  void advance_adaptive(Context& ctx, double to, const Monitor& monitor) {
    const double from = report.t;
    const double least = least_step * (to - from);
    if (!std::isfinite(dt)) dt = 1e-3 * (to - from);
    dt = std::max(dt, least);
    int failures = 0;
    while (report.t < to) {
      const double left = to - report.t;
      // Not to leave a sliver behind.
      const double step = dt >= 0.99 * left || left <= 2 * least ? left : dt > 0.5 * left ? 0.5 * left : dt;
      if (report.steps + report.rejected >= params.max_steps) {
        report.status = Status::max_iterations;
        report.reason = message(params.max_steps, " steps have led to t = ", report.t);
        return;
      }
      const Attempt tried = attempt(ctx, step);
      if (!tried.solved) {
        if (++failures > 3 || step <= least) return;
        report.status = Status::converged;
        report.reason = solved_to(to);
        dt = std::max(step / 4, least);
        ++report.rejected;
        continue;
      }
      failures = 0;
      const double factor = growth(tried.error);
      // The last one may be up to twice as long as others must be.
      const bool forced = tried.error > 1 && (step <= least || (step == left && left <= 2 * least));
      if (tried.error > 1 && !forced) {
        ++report.rejected;
        dt = std::max(step * std::min(factor, safety), least);
        error_before = 0;
        continue;
      }
      report.forced += forced ? 1 : 0;
      accept(ctx, step, step == left ? to : report.t + step);
      error_before = tried.error;
      const double next = forced ? step : step * factor;
      // A step cut short says nothing about longer ones.
      if (step < dt)
        dt = std::max(dt, next);
      else
        dt = factor > worth_shortening && factor < worth_growing ? step : next;
      if (monitor) monitor(report, step);
    }
  }
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
  Implementation& self = *implementation_;
  const auto entered = self.guard.enter("solver");
  HeatReport& report = self.report;
  expects(std::isfinite(to) && to >= report.t, "steps lead forward in time, from t = ", report.t, " on, not to ", to);
  report.status = Status::converged;
  report.reason = Implementation::solved_to(to);
  // What is left of the times of two lists that are the same but for rounding is no step.
  constexpr double rounding = 4 * std::numeric_limits<double>::epsilon();
  if (to - report.t <= rounding * std::max(std::abs(to), std::abs(report.t))) {
    report.t = to;
    return report;
  }
  if (self.params.tol)
    self.advance_adaptive(ctx, to, monitor);
  else
    self.advance_fixed(ctx, to, monitor);
  return report;
}

double HeatSolver::time() const { return implementation_->report.t; }
const GridLayout<2>& HeatSolver::unknowns() const { return implementation_->u.shape(); }
FieldView<const double> HeatSolver::solution() const { return implementation_->u.cview(); }
const HeatReport& HeatSolver::report() const { return implementation_->report; }
const TensorMesh<2>& HeatSolver::mesh() const { return implementation_->mesh; }
const ProblemMesh& HeatSolver::geometry() const { return implementation_->geometry; }
const PoissonSolver& HeatSolver::solver() const { return implementation_->operators->solver(); }

std::vector<double> HeatSolver::nodal_solution(Context& ctx) const {
  const Implementation& self = *implementation_;
  return stratum::nodal_solution(ctx, self.geometry, self.at(self.report.t), self.u);
}
double HeatSolver::heat(Context& ctx) const {
  const Implementation& self = *implementation_;
  return total_heat(ctx, self.geometry, self.problem, self.report.t, self.u);
}
std::optional<double> HeatSolver::relative_l2_error(Context& ctx) const {
  const Implementation& self = *implementation_;
  if (!self.problem.space.exact) return std::nullopt;
  // A reaction term, as steps have one: of singular problems, errors would leave out means.
  PoissonProblem now = self.at(self.report.t);
  now.reaction += 1;
  return stratum::relative_l2_error(ctx, self.geometry, now, self.u);
}

HeatState HeatSolver::state(Context& ctx) const {
  const Implementation& self = *implementation_;
  HeatState state{self};
  state.u = rows_on_first_subdomain(ctx, self.u.cview());
  state.slope = rows_on_first_subdomain(ctx, self.slope.cview());
  state.slope_before = rows_on_first_subdomain(ctx, self.slope_before.cview());
  return state;
}

bool HeatSolver::restore(Context& ctx, const HeatState& state, bool same_data) {
  Implementation& self = *implementation_;
  const auto nodes = static_cast<std::size_t>(self.mesh.unknowns().nodes());
  expects(state.u.size() == nodes && state.slope.size() == nodes && state.slope_before.size() == nodes &&
              state.boundary_slope.size() == self.boundary_slope.size(),
          "a state of ", state.u.size(), " unknowns and ", state.boundary_slope.size(),
          " nodes of boundaries is not one of ", nodes, " and ", self.boundary_slope.size());
  const double dt = self.params.tol ? state.dt : self.dt;  // fixed steps are as long as they are asked for now
  static_cast<HeatProgress&>(self) = state;
  self.dt = dt;
  self.boundary_values_of_nodes = dirichlet_values(self.geometry, self.at(state.report.t));
  self.load_known = false;
  const auto put = [&](const std::vector<double>& from, Field<double>& to) {
    copy_from_host(ctx, from.data() + std::int64_t{self.first_row} * to.shape().nx, to.view());
  };
  put(state.u, self.u);
  put(state.slope, self.slope);
  put(state.slope_before, self.slope_before);
  const double t = state.report.t;
  bool fits = true;
  self.at_this_time(t, [&] {
    (void)self.operators->set(ctx, t, self.operators->s());  // coefficients at t
    fits = same_data && self.slope_fits(ctx, t);
    if (!fits) self.begin_at(ctx, t);
  });
  return fits;
}

}  // namespace stratum
