#include <stratum/multigrid/poisson_solver.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <future>
#include <limits>
#include <optional>
#include <utility>

#include <stratum/assembly/operators.hpp>
#include <stratum/core/grid/blas.hpp>
#include <stratum/multigrid/full_multigrid.hpp>
#include <stratum/solvers/mixed_refinement.hpp>
#include <stratum/solvers/precision_cast.hpp>
#include <stratum/solvers/rounding.hpp>

namespace stratum {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

template <class T>
std::int64_t operator_bytes(Backend backend, const GridShape& shape, OperatorForm form) {
  if (form == OperatorForm::tensor)
    return 2 * (vector_bytes<T>(backend, shape.nx + 1) + vector_bytes<T>(backend, shape.ny + 1));
  return (form == OperatorForm::symmetric ? 5 : 9) * vector_bytes<T>(backend, shape);
}

/// From level l of the meshes to the one below.
template <class T>
std::int64_t transfer_bytes(const Context& ctx, const std::vector<TensorMesh>& meshes, std::size_t l) {
  if (l == 0) return 0;
  const TensorMesh &fine = meshes[l], &coarse = meshes[l - 1];
  std::int64_t bytes = 0;
  if (fine.x().size() != coarse.x().size()) bytes += 2 * vector_bytes<T>(ctx.backend(), coarse.x().size() + 2);
  if (fine.y().size() != coarse.y().size()) bytes += 2 * vector_bytes<T>(ctx.backend(), coarse.y().size() + 2);
  if (!ctx.on_gpu()) bytes += vector_bytes<T>(ctx.backend(), {fine.unknowns().nx + 3, 2 * ctx.threads()});
  return bytes;
}

/// Where the cycle ends when all goes well: make() of FastDiagonalisation may still refuse.
std::optional<std::size_t> lowest_of(const Context& ctx, const std::vector<TensorMesh>& meshes,
                                     const PoissonSolverParams& params) {
  if (params.form != OperatorForm::tensor) return std::nullopt;
  return diagonalised_level(ctx, meshes, params.multigrid);
}

/// The vector between the passes of smoothing that is fused with transfer, as Transfer::fuses has it.
template <class T>
std::int64_t fused_bytes(const Context& ctx, const std::vector<TensorMesh>& meshes, std::size_t l,
                         const SmootherChoice& choice, const SmootherRegistry& registry) {
  if (!ctx.on_gpu() || l == 0 || choice.params.form != OperatorForm::tensor || choice.steps < 1 ||
      choice.steps > Transfer<T>::max_fused_steps || meshes[l].x().size() == meshes[l - 1].x().size() ||
      meshes[l].y().size() == meshes[l - 1].y().size())
    return 0;
  Context host(Backend::cpu, 1);
  const bool jacobi = registry.make<T>(host, choice.smoother, {1, 1}, choice.params)->jacobi_damping().has_value();
  return jacobi ? vector_bytes<T>(ctx.backend(), meshes[l].unknowns()) : 0;
}

template <class T>
std::int64_t cycle_bytes(const Context& ctx, const std::vector<TensorMesh>& meshes, const PoissonSolverParams& params,
                         const SmootherRegistry& registry) {
  const Backend backend = ctx.backend();
  const auto diagonalised = lowest_of(ctx, meshes, params);
  std::int64_t bytes = diagonalised ? FastDiagonalisation<T>::required_bytes(ctx, meshes[*diagonalised].unknowns()) : 0;
  auto smoothers = level_smoothers(meshes, params.multigrid);
  for (std::size_t l = 0; l < meshes.size(); ++l) {
    const GridShape shape = meshes[l].unknowns();
    smoothers[l].params.form = params.form;
    bytes += operator_bytes<T>(backend, shape, params.form) + transfer_bytes<T>(ctx, meshes, l);
    if (l + 1 < meshes.size()) bytes += 2 * vector_bytes<T>(backend, shape);
    bytes += registry.required_bytes<T>(ctx, smoothers[l].smoother, shape, smoothers[l].params);
    bytes += fused_bytes<T>(ctx, meshes, l, smoothers[l], registry);
  }
  const GridShape coarsest = meshes.front().unknowns();
  const CoarseSolver coarse = coarse_solver_for(coarsest, params.multigrid.coarse);
  if (coarsest.nodes() <= 1) return bytes;
  if (coarse == CoarseSolver::direct)
    return bytes + BandCholesky<double>::required_bytes(coarsest) + 2 * vector_bytes<double>(backend, coarsest);
  return bytes + 4 * vector_bytes<T>(backend, coarsest) +
         registry.required_bytes<T>(ctx, coarse == CoarseSolver::cg_adi ? "adi" : "jacobi", coarsest, {});
}

// Where V(2,2), F(2,2) and CG cross in time to 1e-8. F-cycles visit the small levels often, which on a GPU costs launches.
constexpr double jump_for_f = 16, jump_for_cg = 200;
constexpr std::int64_t unknowns_for_f = 50'000;

/// Puts a value to what was left open, and says why where smoother "auto" had a choice.
std::string fill_in(const Context& ctx, const TensorMesh& mesh, PoissonSolverParams& params) {
  if (params.terms.varies() && params.form == OperatorForm::tensor) params.form = OperatorForm::symmetric;
  auto& cycle = params.multigrid.cycle;
  const bool method_open = !params.method && params.inner.digits == 0, cycle_open = !cycle;
  const bool choose = params.multigrid.smoother == "auto" && cycle_open && !params.full_multigrid &&
                      (method_open || params.method == Method::multigrid);
  params.method = params.method.value_or(Method::multigrid);
  cycle = cycle.value_or(Cycle::v);
  // On a GPU few steps and more cycles are the faster choice with every smoother.
  if (ctx.on_gpu() && params.multigrid.smoother != "auto" && !params.multigrid.steps) params.multigrid.steps = 2;
  if (!choose) return {};
  const double jump_x = largest_jump(mesh.x()), jump_y = largest_jump(mesh.y()), jump = std::min(jump_x, jump_y);
  std::ostringstream seen;
  seen.precision(2);
  seen << "neighbouring widths differ by factors of up to " << jump_x << " in x and " << jump_y << " in y";
  if (jump < jump_for_f) return "V-cycles: " + seen.str();
  if ((jump < jump_for_cg || !method_open) && !ctx.on_gpu() && mesh.unknowns().nodes() >= unknowns_for_f) {
    cycle = Cycle::f;
    return "F-cycles: " + seen.str();
  }
  if (!method_open) return {};
  params.method = Method::cg;
  return "conjugate gradients: " + seen.str();
}

std::string gibibytes(std::int64_t bytes) {
  std::ostringstream out;
  out.precision(2);
  out << std::fixed << static_cast<double>(bytes) / (1024.0 * 1024.0 * 1024.0) << " GiB";
  return out.str();
}

/// The method's entry in the table of solvers.
const SolverEntry& entry_of(const PoissonSolverParams& params) {
  const Method method = params.method.value_or(Method::multigrid);
  return solver_entry(method == Method::multigrid ? "richardson" : to_string(method));
}

/// How many systems of a batch are solved at the same time; one: with the solver's own hierarchy.
std::size_t side_by_side(const Context& ctx, const GridShape& shape, std::size_t systems) {
  if (ctx.on_gpu() || shape.nodes() > PoissonSolver::most_unknowns_side_by_side) return 1;
  return std::clamp<std::size_t>(systems, 1, static_cast<std::size_t>(ctx.threads()));
}

std::string blown_up_reason(double residual, double initial) {
  return message("the pass of full multigrid blew up: the residual is ", residual, ", that of x = 0 was ", initial);
}

void expect_room(const Context& ctx, const TensorMesh& mesh, std::int64_t needed) {
  const std::int64_t there = available_memory(ctx);
  if (needed > there)
    throw ResourceError(message("mesh ", mesh.name(), " with ", mesh.unknowns().nx, " x ", mesh.unknowns().ny,
                                " unknowns needs ", gibibytes(needed), " of memory, ", gibibytes(there),
                                " are available"));
}

}  // namespace

std::string_view to_string(Method method) {
  switch (method) {
    case Method::multigrid: return "multigrid";
    case Method::cg: return "cg";
    case Method::fcg: return "fcg";
    case Method::cr: return "cr";
    case Method::gcr: return "gcr";
    case Method::gmres: return "gmres";
    case Method::bicgstab: return "bicgstab";
  }
  return "unknown";
}

std::int64_t required_memory(const Context& ctx, const TensorMesh& mesh, const PoissonSolverParams& asked,
                             const SmootherRegistry& registry, std::size_t systems) {
  PoissonSolverParams params = asked;
  (void)fill_in(ctx, mesh, params);
  const Backend backend = ctx.backend();
  const auto meshes = mesh_hierarchy(mesh);
  const GridShape shape = mesh.unknowns();
  const std::int64_t fine_double = vector_bytes<double>(backend, shape),
                     fine_float = vector_bytes<float>(backend, shape);
  const bool in_double = params.precision == Precision::full;
  std::int64_t bytes = 2 * static_cast<std::int64_t>(systems) * fine_double;  // b and x
  if (const auto threads = side_by_side(ctx, shape, systems); threads > 1) {
    const std::int64_t with_vectors = required_memory(Context(Backend::cpu, 1), mesh, params, registry);
    bytes += static_cast<std::int64_t>(threads) * (with_vectors - 2 * fine_double);
  }
  bytes += operator_bytes<double>(backend, shape, params.form);
  bytes += in_double ? cycle_bytes<double>(ctx, meshes, params, registry)
                     : cycle_bytes<float>(ctx, meshes, params, registry);
  const bool refined = params.method == Method::multigrid && params.precision == Precision::mixed;
  const SolverEntry& solver = entry_of(params);
  std::int64_t solver_vectors = solver.vectors + std::int64_t{params.krylov.restart} * solver.vectors_per_restart;
  // Made anew in every solve: b and x, and the update of the residual.
  if (params.precision == Precision::single) solver_vectors += params.method == Method::multigrid ? 3 : 2;
  if (ctx.on_gpu() && params.method != Method::multigrid) bytes += dots_scratch_bytes;
  if (!refined) bytes += solver_vectors * (params.precision == Precision::single ? fine_float : fine_double);
  if (!in_double) {
    bytes += 2 * fine_float;  // PrecisionCast, or the defect and correction of MixedRefinement
    if (params.inner.digits > 0 || params.inner.cycles > 1) bytes += 2 * fine_float;
  }
  if (params.full_multigrid && params.full_multigrid_from_x) bytes += 2 * fine_double;
  if (params.full_multigrid)
    for (std::size_t lowest = lowest_of(ctx, meshes, params).value_or(0), l = lowest; l < meshes.size(); ++l) {
      const GridShape level = meshes[l].unknowns();
      if (l + 1 < meshes.size()) bytes += 2 * vector_bytes<double>(backend, level);
      bytes += operator_bytes<double>(backend, level, params.form);
      if (l > lowest) bytes += transfer_bytes<double>(ctx, meshes, l);
      bytes += 2 * (in_double ? vector_bytes<double>(backend, level) : vector_bytes<float>(backend, level));
    }
  return bytes;
}

/// A cycle in T, seen as a preconditioner in double.
template <class T>
struct DoubleCycle {
  Multigrid<T> multigrid;
  std::shared_ptr<Preconditioner<T>> in_own_precision;  // the cycle, or an inner iteration with it
  std::shared_ptr<Preconditioner<double>> in_double;    // for Krylov methods

  DoubleCycle(Context& ctx, const std::vector<TensorMesh>& meshes, const PoissonSolverParams& params,
              const SmootherRegistry& registry)
      : multigrid(ctx, meshes, params.form, params.terms, cycle_params(params), registry),
        in_own_precision(std::make_shared<Multigrid<T>>(multigrid)) {
    if constexpr (std::is_same_v<T, double>) {
      in_double = in_own_precision;
    } else {
      if (params.inner.digits > 0 || params.inner.cycles != 1)
        in_own_precision = std::make_shared<InnerIteration<T>>(ctx, fine_operator(), multigrid, params.inner);
      if (params.method != Method::multigrid || params.precision == Precision::single)
        in_double = std::make_shared<PrecisionCast<double, T>>(ctx, meshes.back().unknowns(), in_own_precision);
    }
  }
  [[nodiscard]] const GridOperator<T>& fine_operator() const {
    return multigrid.level_operator(multigrid.levels() - 1);
  }

 private:
  static MultigridParams cycle_params(const PoissonSolverParams& params) {
    MultigridParams cycle = params.multigrid;
    cycle.symmetric = cycle.symmetric || entry_of(params).symmetric;
    return cycle;
  }
};

struct PoissonSolver::Implementation {
  /// A thread's own hierarchy, for batches.
  struct Worker {
    Context ctx{Backend::cpu, 1};
    PoissonSolver solver;
    Worker(const TensorMesh& mesh, const PoissonSolverParams& params, const SmootherRegistry& registry)
        : solver(ctx, mesh, params, registry) {}
  };
  std::vector<std::unique_ptr<Worker>> workers;
  InUse in_use;
  PoissonSolverParams params;
  std::string choice;
  SmootherRegistry registry;
  std::vector<TensorMesh> meshes;
  double setup_seconds = 0;
  GridOperator<double> a;
  std::unique_ptr<DoubleCycle<float>> float_cycle;
  std::unique_ptr<DoubleCycle<double>> double_cycle;
  std::unique_ptr<FullMultigrid<float>> full_float;
  std::unique_ptr<FullMultigrid<double>> full_double;
  std::unique_ptr<MixedRefinement> mixed_refinement;  // the method multigrid in mixed precision
  std::unique_ptr<Solver<double>> solver;             // none in single precision

  Implementation(Context& ctx, const TensorMesh& mesh, PoissonSolverParams p, SmootherRegistry r)
      : params(std::move(p)), registry(std::move(r)), meshes(mesh_hierarchy(mesh)) {
    const auto begin = Clock::now();
    choice = fill_in(ctx, mesh, params);
    params.stop.validate();
    params.inner.validate();
    if (params.multigrid.smoother != "auto") (void)registry.find(params.multigrid.smoother);
    expects(params.precision != Precision::single || !params.full_multigrid,
            "full multigrid keeps its iterate in double; precision single does not apply to it");
    expects(!entry_of(params).constant_symmetric || params.inner.digits == 0, entry_of(params).name,
            " needs a constant preconditioner: a number of inner cycles, not of digits; fcg, gcr and gmres take both");
    expect_room(ctx, mesh, required_memory(ctx, mesh, params, registry));
    a = assemble_operator<double>(ctx, mesh, params.form, params.terms);
    if (params.precision == Precision::full)
      make_double_cycle(ctx);
    else
      float_cycle = std::make_unique<DoubleCycle<float>>(ctx, meshes, params, registry);
    if (params.full_multigrid) {
      if (double_cycle)
        full_double =
            std::make_unique<FullMultigrid<double>>(ctx, meshes, params.form, double_cycle->multigrid, params.terms);
      else
        full_float =
            std::make_unique<FullMultigrid<float>>(ctx, meshes, params.form, float_cycle->multigrid, params.terms);
    }
    if (params.method == Method::multigrid && params.precision == Precision::mixed)
      mixed_refinement = std::make_unique<MixedRefinement>(ctx, mesh.unknowns());
    else if (params.precision != Precision::single && !solver)
      make_solver_in_double(ctx);
    ctx.synchronise();
    setup_seconds = seconds_since(begin);
  }

  void make_double_cycle(Context& ctx) {
    double_cycle = std::make_unique<DoubleCycle<double>>(ctx, meshes, params, registry);
    if (!solver) make_solver_in_double(ctx);
  }
  void make_solver_in_double(Context& ctx) {
    solver = make_solver<double>(ctx, entry_of(params).name, meshes.back().unknowns(), params.krylov);
  }

  /// With the double cycle where there is one, else with the float cycle.
  SolveReport iterate(Context& ctx, GridView<const double> b, GridView<double> x, const StoppingParams& stop,
                      const Monitor& monitor) const {
    if (!double_cycle && mixed_refinement)
      return mixed_refinement->solve(ctx, a, *float_cycle->in_own_precision, b, x, stop, monitor);
    return solver->solve(ctx, a, double_cycle ? *double_cycle->in_double : *float_cycle->in_double, b, x, stop,
                         monitor);
  }

  /// Goes on from the x that `before` ended with, for what it was to reach and with what is left of its iterations.
  SolveReport go_on(Context& ctx, GridView<const double> b, GridView<double> x, const SolveReport& before,
                    StoppingParams stop, const Monitor& monitor) const {
    const double target = std::max(stop.rtol * before.baseline_norm, stop.atol);
    stop.rtol = std::numeric_limits<double>::min();
    stop.atol = target;
    stop.baseline = Baseline::rhs;
    stop.max_iterations = std::max(0, stop.max_iterations - before.iterations);
    // A pass of full multigrid leaves its residual to the iteration that follows.
    const bool known = before.history.size() == static_cast<std::size_t>(before.iterations) + 1;
    SolveReport report = iterate(ctx, b, x, stop,
                                 monitor ? Monitor([&](int it, double r) {
                                   if (it > 0 || !known) monitor(before.iterations + it, r);
                                 })
                                         : Monitor());
    if (!known && report.status == Status::non_finite) {
      report.status = Status::diverged;
      report.reason = "the pass of full multigrid overflowed";
    }
    report.iterations += before.iterations;
    report.inner_iterations += before.inner_iterations;
    report.baseline = before.baseline;
    report.baseline_norm = before.baseline_norm;
    report.initial_residual = before.initial_residual;
    report.history.insert(report.history.begin(), before.history.begin(), before.history.end() - (known ? 1 : 0));
    if (report.status == Status::max_iterations)
      report.reason = max_iterations_reason(report.residual, report.iterations, target);
    const bool gave_up = report.status == Status::max_iterations || report.status == Status::stagnated;
    if (!known && gave_up && report.residual > report.initial_residual) {
      Vector<double> r(ctx, a.shape());
      a.residual(ctx, b, x, r.view());
      if (!Rounding<double>(ctx, a, b, x, report.baseline_norm).has_its_size(report.residual, r.cview())) {
        report.status = Status::diverged;
        report.reason = blown_up_reason(report.residual, report.initial_residual);
      }
    }
    return report;
  }

  /// `pass`: what came before, if something did.
  SolveReport solve_in_double(Context& ctx, GridView<const double> b, GridView<double> x, const Monitor& monitor,
                              const SolveReport* pass = nullptr) {
    StoppingParams stop = params.stop;
    // A Krylov method may not have what it takes for granted of a float cycle, a fixed linear map: it is not waited for long.
    if (!double_cycle && params.retry_in_double && !mixed_refinement && !stop.patience) stop.patience = 30;
    SolveReport report = pass != nullptr ? go_on(ctx, b, x, *pass, stop, monitor) : iterate(ctx, b, x, stop, monitor);
    // A float cycle may stall above the rounding of double, or overflow; an iteration that grows would do so in double too.
    const bool overflowed = !std::isfinite(report.residual) && report.status == Status::diverged;
    const bool failed = report.status == Status::stagnated || report.status == Status::breakdown || overflowed;
    if (double_cycle || !failed || !params.retry_in_double || report.iterations >= params.stop.max_iterations)
      return report;
    if (overflowed) set(ctx, 0.0, x);
    const std::string first = message("mixed precision ", to_string(report.status), " after ", report.iterations,
                                      " iterations, taken up again in double: ");
    make_double_cycle(ctx);
    SolveReport second = go_on(ctx, b, x, report, params.stop, monitor);
    double_cycle.reset();
    if (mixed_refinement) solver.reset();
    second.reason = first + second.reason;
    return second;
  }

  /// Everything in float, the residual updated recursively as the solver sees it; then the truth.
  SolveReport solve_in_single(Context& ctx, GridView<const double> b, GridView<double> x,
                              const Monitor& monitor) const {
    const GridOperator<float>& af = float_cycle->fine_operator();
    Vector<float> bf(ctx, af.shape()), xf(ctx, af.shape());
    // Scaled by a power of two: the loads of the thinnest cells would vanish in float.
    const double scale = power_of_two_below_reciprocal(norm_max(ctx, b));
    copy_scaled(ctx, scale, b, bf.view());
    copy_scaled<double, float>(ctx, scale, x, xf.view());
    StoppingParams stop = params.stop;
    stop.atol *= scale;
    const Monitor scaled = monitor ? Monitor([&](int it, double r) { monitor(it, r / scale); }) : Monitor();
    std::unique_ptr<Solver<float>> own_solver;
    if (params.method == Method::multigrid)
      own_solver = std::make_unique<Refinement<float>>(ctx, af.shape(), ResidualUpdate::updated);
    else
      own_solver = make_solver<float>(ctx, entry_of(params).name, af.shape(), params.krylov);
    SolveReport report =
        own_solver->solve(ctx, af, *float_cycle->in_own_precision, bf.cview(), xf.view(), stop, scaled);
    copy_scaled(ctx, 1 / scale, xf.cview(), x);
    own_solver.reset();  // makes room for r
    Vector<double> r(ctx, a.shape());
    a.residual(ctx, b, x, r.view());
    judge_single_precision(report, params.stop, scale, norm2(ctx, r.cview()), "use mixed precision");
    return report;
  }

  /// A pass whose last cycle gained little, or that ended above the residual of zero.
  void look_closer(Context& ctx, GridView<const double> b, GridView<const double> x, double interpolated,
                   SolveReport& report) const {
    const double corrected = report.residual, rhs_norm = report.initial_residual;
    Vector<double> r(ctx, a.shape());
    a.residual(ctx, b, x, r.view());
    Rounding<double> rounding(ctx, a, b, x, rhs_norm);
    if (corrected > 0.5 * interpolated && rounding.reached(corrected, r.cview(), Rounding<double>::stopped)) {
      report.status = Status::rounding;
      report.reason = message("one full multigrid pass; its residual, ", corrected, ", is at rounding");
    } else if (!(corrected <= interpolated)) {
      report.status = Status::diverged;
      report.reason = message("the finest level's cycle raised the residual from ", interpolated, " to ", corrected);
    } else if (corrected > rhs_norm && !rounding.has_its_size(corrected, r.cview())) {
      report.status = Status::diverged;
      report.reason = blown_up_reason(corrected, rhs_norm);
    } else if (corrected > 0.5 * interpolated) {
      report.status = Status::stagnated;
      report.reason = message("the finest level's cycle only reduced the residual from ", interpolated, " to ",
                              corrected, "; this smoother does not suit the mesh");
    } else {
      report.status = Status::converged;
    }
  }

  /// Where cycles go on from it, the residual is left for them to find out.
  SolveReport full_multigrid_pass(Context& ctx, GridView<const double> b, GridView<double> x,
                                  const Monitor& monitor) const {
    SolveReport report;
    const bool goes_on = params.continue_after_full_multigrid;
    const auto norms = goes_on ? FullMultigridNorms::initial : FullMultigridNorms::all;
    const auto pass = [&](GridView<const double> rhs, GridView<double> solution) {
      return full_double ? full_double->solve(ctx, rhs, solution, norms) : full_float->solve(ctx, rhs, solution, norms);
    };
    FullMultigridPass norms_found;
    if (params.full_multigrid_from_x) {
      Vector<double> r(ctx, a.shape()), v(ctx, a.shape());
      a.residual(ctx, b, x, r.view());
      norms_found = pass(r.cview(), v.view());
      axpy<double, double>(ctx, 1, v.cview(), x);
    } else {
      norms_found = pass(b, x);
    }
    const auto [rhs_norm, interpolated, corrected] = norms_found;
    report.baseline = params.stop.baseline;
    report.initial_residual = rhs_norm;
    report.baseline_norm = params.full_multigrid_from_x && report.baseline == Baseline::rhs ? norm2(ctx, b) : rhs_norm;
    report.residual = std::isfinite(rhs_norm) ? corrected : rhs_norm;
    report.iterations = report.inner_iterations = 1;
    report.history = {rhs_norm};
    if (monitor) monitor(0, rhs_norm);
    if (goes_on && std::isfinite(rhs_norm)) return report;
    report.history.push_back(report.residual);
    if (monitor) monitor(1, report.residual);
    if (!std::isfinite(rhs_norm)) {
      report.status = Status::non_finite;
      report.reason = "the right-hand side is not finite";
    } else if (!(corrected <= 0.5 * interpolated) || corrected > rhs_norm) {
      look_closer(ctx, b, x, interpolated, report);
    } else {
      report.status = Status::converged;
    }
    if (report.status == Status::converged)
      report.reason = message("one full multigrid pass; the finest level's cycle reduced the residual from ",
                              interpolated, " to ", corrected, "; no tolerance was asked for and none is claimed");
    return report;
  }
};

PoissonSolver::PoissonSolver(Context& ctx, const TensorMesh& mesh, const PoissonSolverParams& params,
                             const SmootherRegistry& registry)
    : implementation_(std::make_unique<Implementation>(ctx, mesh, params, registry)) {}
PoissonSolver::~PoissonSolver() = default;
PoissonSolver::PoissonSolver(PoissonSolver&&) noexcept = default;
PoissonSolver& PoissonSolver::operator=(PoissonSolver&&) noexcept = default;

SolveReport PoissonSolver::solve(Context& ctx, GridView<const double> b, GridView<double> x, const Monitor& monitor) {
  Implementation& self = *implementation_;
  const GridShape shape = self.a.shape();
  expects_fit(ctx, "b", b, shape);
  expects_fit(ctx, "x", x, shape);
  const auto hold = self.in_use.hold("solver");
  const auto begin = Clock::now();
  SolveReport report;
  if (self.params.full_multigrid) {
    report = self.full_multigrid_pass(ctx, b, x, monitor);
    if (self.params.continue_after_full_multigrid && report.status != Status::non_finite) {
      const SolveReport pass = std::move(report);
      report = self.solve_in_double(ctx, b, x, monitor, &pass);
    }
  } else if (self.params.precision == Precision::single) {
    report = self.solve_in_single(ctx, b, x, monitor);
  } else {
    report = self.solve_in_double(ctx, b, x, monitor);
  }
  ctx.synchronise();
  report.solve_seconds = seconds_since(begin);
  report.setup_seconds = self.setup_seconds;
  report.choice = self.choice;
  report.levels = level_reports();
  return report;
}

std::vector<SolveReport> PoissonSolver::solve(Context& ctx, std::span<const GridView<const double>> b,
                                              std::span<const GridView<double>> x) {
  Implementation& self = *implementation_;
  expects(b.size() == x.size(), b.size(), " right-hand sides and ", x.size(), " solutions do not match");
  std::vector<SolveReport> reports(b.size());
  const std::size_t threads = side_by_side(ctx, self.a.shape(), b.size());
  if (threads == 1) {
    for (std::size_t k = 0; k < b.size(); ++k) reports[k] = solve(ctx, b[k], x[k]);
    return reports;
  }
  if (self.workers.size() < threads) {
    const TensorMesh& mesh = self.meshes.back();
    const auto more = static_cast<std::int64_t>(threads - self.workers.size());
    expect_room(ctx, mesh, more * required_memory(Context(Backend::cpu, 1), mesh, self.params, self.registry));
    self.workers.resize(threads);
  }
  std::atomic<std::size_t> next{0};
  std::vector<std::future<void>> done;
  for (std::size_t t = 0; t < threads; ++t)
    done.push_back(std::async(std::launch::async, [&, &worker = self.workers[t]] {
      if (!worker) worker = std::make_unique<Implementation::Worker>(self.meshes.back(), self.params, self.registry);
      for (std::size_t k = next++; k < b.size(); k = next++) reports[k] = worker->solver.solve(worker->ctx, b[k], x[k]);
    }));
  for (auto& worker : done) worker.wait();
  for (auto& worker : done) worker.get();
  for (auto& report : reports) {
    report.setup_seconds = self.setup_seconds;
    report.choice = self.choice;
  }
  return reports;
}

std::vector<LevelReport> PoissonSolver::level_reports() const {
  const Implementation& self = *implementation_;
  return self.float_cycle ? self.float_cycle->multigrid.level_reports() : self.double_cycle->multigrid.level_reports();
}

void PoissonSolver::set_stop(const StoppingParams& stop) {
  stop.validate();
  Implementation& self = *implementation_;
  const auto hold = self.in_use.hold("solver");
  self.params.stop = stop;
  for (auto& worker : self.workers)
    if (worker) worker->solver.set_stop(stop);
}

const PoissonSolverParams& PoissonSolver::params() const { return implementation_->params; }
const std::string& PoissonSolver::choice() const { return implementation_->choice; }
int PoissonSolver::levels() const { return static_cast<int>(implementation_->meshes.size()); }
const std::vector<TensorMesh>& PoissonSolver::meshes() const { return implementation_->meshes; }
CoarseSolver PoissonSolver::coarse_solver() const {
  const Implementation& self = *implementation_;
  return self.float_cycle ? self.float_cycle->multigrid.coarse_solver() : self.double_cycle->multigrid.coarse_solver();
}
const GridOperator<double>& PoissonSolver::fine_operator() const { return implementation_->a; }

}  // namespace stratum
