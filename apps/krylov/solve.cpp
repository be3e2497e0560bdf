#include "solve.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <type_traits>
#include <utility>

#include <stratum/assembly/operators.hpp>
#include <stratum/core/field/blas.hpp>
#include <stratum/core/names.hpp>
#include <stratum/core/operators/band_matrix.hpp>
#include <stratum/core/operators/csr_matrix.hpp>
#include <stratum/core/operators/row_scales.hpp>
#include <stratum/solvers/inner_solve.hpp>
#include <stratum/solvers/jacobi_sweeps.hpp>
#include <stratum/solvers/mixed/mixed_refinement.hpp>
#include <stratum/solvers/mixed/precision_cast.hpp>
#include <stratum/solvers/preconditioners/jacobi.hpp>

#include "preconditioners.hpp"
#include "report.hpp"
#include "support/progress.hpp"
#include "support/solve_output.hpp"
#include "support/timing.hpp"

namespace stratum::apps::krylov {

namespace {

template <class T>
std::shared_ptr<LinearOperator<T>> make_operator(Context& ctx, const Plan& plan, const System& system,
                                                 const SparseRows& rows) {
  if (plan.on_grid && system.mesh)
    return std::make_shared<GridOperator<T>>(assemble_laplace<T>(ctx, *system.mesh, StorageFormat::tensor));
  if (plan.on_grid) return std::make_shared<GridOperator<T>>(convert<T>(ctx, grid_operator(ctx, rows, plan.shape)));
  if (plan.storage == Storage::band) return std::make_shared<BandMatrix<T>>(ctx, rows);
  return std::make_shared<CsrMatrix<T>>(ctx, rows);
}

/// Of rows in a box its cycle; else null.
std::shared_ptr<BoxMatrixSolver> make_box_cycle(Context& ctx, const System& system, const Settings& settings) {
  if (!system.box || settings.preconditioner != "multigrid") return nullptr;
  const char* const option = !settings.coordinates.empty() ? "--coordinates"
                             : !settings.grid.empty()      ? "--grid"
                                                           : "--unknowns";
  return parsed(option, [&] {
    return std::make_shared<BoxMatrixSolver>(ctx, system.a, system.box->n,
                                             BoxMatrixParams{.float_cycles = settings.inner_single,
                                                             .method = Method::multigrid,
                                                             .triangle = Triangle::general,
                                                             .numbering = system.box->numbering});
  });
}

/// Its size, what was found and the levels, in words.
std::string about_box(const RowsInBox& box, const BoxMatrixSolver::Findings& found) {
  std::string text = message(box.n[0], " x ", box.n[1], " x ", box.n[2], " nodes");
  std::string order, around;
  for (const int d : found.order) order += axis_names[static_cast<std::size_t>(d)];
  for (std::size_t d = 0; d < 3; ++d)
    if (found.periodic[d]) around += axis_names[d];
  if (box.numbering.empty())
    text += message(", the fastest of ", order.substr(0, 1), ", ", order.substr(1, 1), ", ", order.substr(2));
  if (!around.empty()) text += ", periodic in " + around;
  if (found.fixed > 0) text += message(", ", found.fixed, " identity rows");
  if (found.singular) text += ", singular";
  if (found.scaled) text += ", symmetric by scales of rows";
  text += "; levels";
  for (std::size_t l = 0; l < found.levels.size(); ++l) text += message(l > 0 ? ", " : " ", found.levels[l]);
  return text;
}

/// What stands behind the outer iteration, in its own precision; null: nothing.
template <class T>
std::shared_ptr<Preconditioner<T>> make_preconditioner(Context& ctx, const System& system, const Settings& settings,
                                                       const Plan& plan, const std::shared_ptr<BoxMatrixSolver>& box) {
  std::shared_ptr<Preconditioner<T>> m;
  if (box != nullptr) {
    m = std::make_shared<BoxCycle<T>>(box, system.symmetric);
  } else if (!settings.preconditioner.empty()) {
    MultigridParams multigrid = settings.multigrid;
    multigrid.symmetric = system.symmetric;
    m = parsed("--preconditioner " + settings.preconditioner, [&] {
      return preconditioners(multigrid, system.mesh)
          .make<T>(ctx, settings.preconditioner, plan.shape,
                   {system.a, settings.incomplete_cholesky, settings.incomplete_poisson});
    });
  }
  if (settings.inner.empty()) return m;
  const auto& stop = settings.inner_stop;
  if (settings.inner == "jacobi") {
    const JacobiSweepsParams params{stop.rtol, stop.max_iterations, settings.sweep_test};
    return std::make_shared<JacobiSweeps<T>>(ctx, make_operator<T>(ctx, plan, system, without_diagonal(system.a)),
                                             JacobiPreconditioner<T>(ctx, system.a), params);
  }
  std::shared_ptr<Solver<T>> solver = make_solver<T>(ctx, settings.inner, plan.shape, {settings.restart});
  return std::make_shared<InnerSolve<T>>(make_operator<T>(ctx, plan, system, system.a), solver, m, stop);
}

/// ||b - A x|| in double.
double true_residual(Context& ctx, const System& system, const std::vector<double>& x) {
  std::vector<double> r = system.b;
  for (std::size_t i = 0; i < r.size(); ++i)
    for (auto k = static_cast<std::size_t>(system.a.start[i]); k < static_cast<std::size_t>(system.a.start[i + 1]); ++k)
      r[i] -= system.a.value[k] * x[static_cast<std::size_t>(system.a.column[k])];
  Field<double> on_device(ctx, system.a.rows);
  copy_from_host(ctx, r.data(), on_device.view());
  return norm2(ctx, on_device.cview());
}

/// Outer iteration in T, the rest in Low.
template <class T, class Low>
Outcome solve_in(Context& ctx, const System& system, const Settings& settings, const Plan& plan) {
  const double begin = wall_seconds();
  const auto a = make_operator<T>(ctx, plan, system, system.a);
  const auto box = make_box_cycle(ctx, system, settings);
  const auto inside = make_preconditioner<Low>(ctx, system, settings, plan, box);
  std::shared_ptr<Preconditioner<T>> m;
  if constexpr (std::is_same_v<T, Low>)
    m = inside;
  else if (inside != nullptr)
    m = std::make_shared<PrecisionCast<T, Low>>(ctx, plan.shape, inside);
  const auto solver = make_solver<T>(ctx, plan.method, plan.shape, {settings.restart});
  Field<T> b(ctx, plan.shape), x(ctx, plan.shape);
  // Float has a short range: a power of two brings b to the middle of it.
  double largest = 0;
  for (const double value : system.b) largest = std::max(largest, std::abs(value));
  const double scale = std::is_same_v<T, float> ? power_of_two_below_reciprocal(largest) : 1.0;
  std::vector<T> host;
  for (const double value : system.b) host.push_back(static_cast<T>(scale * value));
  copy_from_host(ctx, host.data(), b.view());
  StoppingParams stop = settings.stop;
  stop.atol *= scale;
  if (plan.method == "richardson") stop.patience = 1000;  // alone it is slow
  const double ready = wall_seconds();
  Outcome outcome;
  if (box != nullptr) outcome.box = about_box(*system.box, box->findings());
  if (!settings.quiet) print_heading(ctx, system, settings, plan, outcome.box);
  Monitor table;
  Progress progress(!settings.quiet);
  if (!settings.quiet) {
    const double norm = norm2(ctx, b.cview()) / scale;
    table = with_progress(progress, settings.stop, norm, residual_table(stop.reference_norm, norm));
  }
  outcome.report = solver->solve(ctx, *a, m.get(), b.cview(), x.view(), stop,
                                 table ? Monitor([&](int it, double r) { table(it, r / scale); }) : Monitor{});
  progress.clear();
  ctx.synchronise();
  outcome.report.setup_seconds = ready - begin;
  outcome.report.solve_seconds = wall_seconds() - ready;
  copy_to_host(ctx, x.cview(), host.data());
  for (const T value : host) outcome.x.push_back(static_cast<double>(value) / scale);
  if (std::is_same_v<T, float>)
    judge_single_precision(outcome.report, settings.stop, scale, true_residual(ctx, system, outcome.x),
                           "use double precision outside");
  if (system.solution_is_one) {
    outcome.error = 0;
    for (const double value : outcome.x) outcome.error = std::max(*outcome.error, std::abs(value - 1));
  }
  return outcome;
}

}  // namespace

Plan make_plan(const System& system, const Settings& settings) {
  Plan plan;
  plan.method = !settings.method.empty() ? settings.method
                : !system.symmetric      ? "gmres"
                : settings.inner.empty() ? "cg"
                                         : "fcg";
  for (const auto& [option, name] : {std::pair{"--method", plan.method}, {"--inner", settings.inner}})
    expects(name.empty() || name == "jacobi" || !solver_entry(name).symmetric || system.symmetric, option, " ", name,
            ": the matrix is not symmetric; use gcr, gmres or bicgstab");
  plan.diagonals = diagonals_of(system.a).size();
  plan.storage = settings.storage != Storage::automatic ? settings.storage
                 : bands_pay(system.a)                  ? Storage::band
                                                        : Storage::csr;
  plan.shape = GridLayout<2>::flat(system.a.rows);
  const bool constant_symmetric = solver_entry(plan.method).constant_symmetric;
  expects(!constant_symmetric || settings.inner.empty(), "--method ", plan.method,
          ": an inner solve varies from call to call; use fcg, gcr, gmres, bicgstab or richardson");
  if (settings.preconditioner.empty()) return plan;
  const auto registry = preconditioners();
  const auto& entry = registry.find(settings.preconditioner);
  expects(!entry.symmetric || system.symmetric, "--preconditioner ", entry.name,
          ": the matrix is not symmetric; use jacobi or none");
  if (entry.on_grid && !system.box) {
    expects(system.grid.has_value(), "--preconditioner ", entry.name, ": the unknowns of '", system.name,
            "' must lie on a grid; --grid NX,NY or NX,NY,NZ says which");
    plan.on_grid = true;
    plan.shape = *system.grid;
  }
  return plan;
}

Outcome solve(Context& ctx, const System& system, const Settings& settings, const Plan& plan) {
  return settings.single         ? solve_in<float, float>(ctx, system, settings, plan)
         : settings.inner_single ? solve_in<double, float>(ctx, system, settings, plan)
                                 : solve_in<double, double>(ctx, system, settings, plan);
}

}  // namespace stratum::apps::krylov
