#include "solve.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include <stratum/assembly/boundary_fluxes.hpp>
#include <stratum/assembly/error_norms.hpp>
#include <stratum/assembly/films.hpp>
#include <stratum/assembly/rooms.hpp>
#include <stratum/assembly/solution_range.hpp>
#include <stratum/core/field/blas.hpp>
#include <stratum/multigrid/film_warning.hpp>

#include "screen.hpp"
#include "solve_parts.hpp"
#include "support/body_warnings.hpp"
#include "support/progress.hpp"
#include "support/rank_output.hpp"
#include "support/solve_output.hpp"
#include "volumes.hpp"

namespace stratum::apps::poisson {

namespace {

/// What the solver is given as a start has, for one right-hand side, no residual but rounding: nothing is left to measure by.
bool starts_at_solution(Context& ctx, const GridOperator<double>& a, const std::vector<Field<double>>& bs,
                        const std::vector<Field<double>>& xs) {
  constexpr double rounding = 1e-14;
  for (std::size_t k = 0; k < bs.size(); ++k)
    if (a.backward_error(ctx, bs[k].cview(), xs[k].cview(), norm_max(ctx, xs[k].cview())) <= rounding) return true;
  return false;
}

/// As solved: f is less by what makes it compatible.
PoissonProblem solved_problem(const PoissonProblem& problem, double mean) {
  if (mean == 0) return problem;
  PoissonProblem less = problem;
  less.rhs = [f = rhs_function(problem), mean](const Point& p) { return f(p) - mean; };
  return less;
}

}  // namespace

Outcome outcome_of(const PoissonSolver& solver, int level, std::int64_t expected_memory, const ProblemMesh& mesh) {
  return {level,
          solver.meshes(),
          solver.coarse_solver(),
          solver.params(),
          solver.choice(),
          solver.deflation(),
          solver.level_reports(),
          expected_memory,
          mesh.largest_aspect_ratio(),
          smallest_width(mesh)};
}

void note_ranks(Context& ctx, const Settings& settings, Outcome& outcome) {
  outcome.ranks =
      rank_numbers(ctx, settings.machine, PartitionLevels(ctx, outcome.hierarchy, outcome.params.multigrid.partition()),
                   outcome.report.setup_seconds, outcome.report.solve_seconds, outcome.expected_memory);
}

void note_ranks(Context& ctx, const Settings& settings, const PoissonSolver& solver, Outcome& outcome) {
  note_ranks(ctx, settings, outcome);
  if (outcome.ranks.empty()) return;
  const auto all = solver.overlaps();
  outcome.overlaps.assign(all.rbegin(), all.rbegin() + outcome.ranks.front().distributed_levels);
}

void measure_by_rhs_at_solution(Context& ctx, const Settings& settings, PoissonSolverParams& params,
                                PoissonSolver& solver, const std::vector<Field<double>>& bs,
                                const std::vector<Field<double>>& xs) {
  if (!settings.reference_norm_follows_values || !starts_at_solution(ctx, solver.fine_operator(), bs, xs)) return;
  params.stop.reference_norm = ReferenceNorm::rhs;
  solver.set_stop(params.stop);
}

std::vector<SolveReport> solve_all(Context& ctx, const Settings& settings, PoissonSolver& solver,
                                   const std::vector<Field<double>>& bs, std::vector<Field<double>>& xs) {
  const auto& stop = solver.params().stop;
  const bool talk = !settings.quiet && !settings.table;
  if (bs.size() == 1) {
    if (settings.quiet) return {solver.solve(ctx, bs[0].cview(), xs[0].view())};
    const double norm = norm2(ctx, bs[0].cview());
    Progress progress(true);
    std::vector<SolveReport> reports{solver.solve(
        ctx, bs[0].cview(), xs[0].view(),
        with_progress(progress, stop, norm, talk ? residual_table(stop.reference_norm, norm) : Monitor{}))};
    progress.clear();
    return reports;
  }
  std::vector<FieldView<const double>> b;
  std::vector<FieldView<double>> x;
  for (std::size_t k = 0; k < bs.size(); ++k) {
    b.push_back(bs[k].cview());
    x.push_back(xs[k].view());
  }
  return solver.solve(ctx, b, x);
}

void note_worst(Outcome& outcome) {
  const auto worst = std::max_element(outcome.systems.begin(), outcome.systems.end(), [](const auto& l, const auto& r) {
    return exit_code(l.report.status) < exit_code(r.report.status);
  });
  outcome.worst = static_cast<std::size_t>(worst - outcome.systems.begin());
  outcome.report = worst->report;
}

void print_solved(const Settings& settings, const Outcome& outcome) {
  if (settings.table) return;
  if (!settings.quiet && outcome.systems.size() == 1) print_outcome(settings, outcome);
  if (!settings.quiet && outcome.systems.size() > 1) print_systems(outcome);
  warn_of_solutions(outcome);
}

Prepared prepare(Context& ctx, const Settings& settings, int level, const Uses& uses) {
  if (settings.volumes) return prepare_volumes(ctx, settings, level, uses);
  ProblemMesh mesh = settings.mesh_at(ctx, level);
  PoissonSolverParams params = params_on(ctx, settings, mesh);
  const auto expected = expected_memory(ctx, settings, mesh, uses, params);
  progress(settings, "setting up ...");
  auto solver = std::make_unique<PoissonSolver>(ctx, mesh, params);
  progress(settings, "");
  return {std::move(mesh), std::move(params), expected, std::move(solver), nullptr};
}

Solved solve(Context& ctx, const Settings& settings, const CommandLine& options, int level, const Uses& uses,
             Prepared prepared) {
  const bool warns = !settings.table, talk = warns && !settings.quiet;
  auto& [mesh, params, expected, solver, volumes] = prepared;
  if (volumes) return solve_volumes(ctx, settings, options, level, uses, std::move(prepared));
  const auto cells = params.coefficients;
  const auto rooms = rooms_around_bodies(mesh, params.terms, cells.get());
  const bool singular = !rooms && is_singular(ctx, mesh, settings.problems[0], cells.get());
  std::vector<PoissonProblem> problems = settings.problems, solved_problems;
  for (auto& problem : problems) problem.on_mesh = cells ? cells->bodies : nullptr;
  if (const auto corner = largest_corner_gap(mesh, settings.problems[0]); warns && corner.gap > 0)
    warn(program_name, message("two boundaries differ by ", corner.gap, " at their corner (", corner.x, ", ", corner.y,
                               "); it has the value of the left or right one"));
  if (warns && !problems[0].bodies.empty()) warn_of_bodies(program_name, ctx, mesh, problems[0]);
  if (warns && solver->fine_operator().traits().has_bands)
    warn(program_name, warning_of_films(*solver, round_off_of_films(mesh, cells.get(), params.terms.reaction)));
  progress(settings, "setting up ...");
  solver->warm_up(ctx);
  const GridLayout<2> subdomain = subdomain_of(ctx, mesh.logical(), params);
  std::vector<Field<double>> bs, xs;
  std::vector<double> loads(settings.problems.size(), 0.0), magnitudes(loads);
  progress(settings, "assembling the right-hand side ...");
  for (std::size_t k = 0; k < problems.size(); ++k) {
    const auto& problem = problems[k];
    bs.emplace_back(ctx, subdomain);
    xs.emplace_back(ctx, subdomain);
    assemble_load(ctx, mesh, problem, bs.back(), cells.get());
    if (uses.summary) loads[k] = load_integral(ctx, mesh, problem, bs.back(), cells.get());
    if (has_boundary_values(problem)) lift_boundary(ctx, mesh, problem, xs.back());
    solved_problems.push_back(problem);
    if (warns)
      warn_of_data(program_name, ctx, mesh, problem, {.vanishes = norm_max(ctx, bs.back().cview()) == 0},
                   of_solution(k, problems.size()));
    if (uses.summary) magnitudes[k] = load_magnitudes(ctx, problem, bs.back().cview());
    if (rooms) magnitudes[k] = norm2(ctx, bs.back().cview());
    if (rooms) loads[k] -= make_compatible(ctx, mesh, *rooms, bs.back(), settings.project, solved_problems.back());
    if (!singular) continue;
    const auto found = make_compatible(ctx, mesh, bs.back());
    loads[k] -= found.sum;
    magnitudes[k] = found.sum_of_magnitudes;
    expect_compatible(found, settings.project, "the integral of f plus the boundary fluxes");
    solved_problems.back() = solved_problem(problem, found.mean);
  }
  measure_by_rhs_at_solution(ctx, settings, params, *solver, bs, xs);
  progress(settings, "");
  Outcome outcome = outcome_of(*solver, level, expected, mesh);
  note_ranks(ctx, settings, *solver, outcome);
  if (talk) print_heading(settings, options, ctx, outcome);
  auto reports = solve_all(ctx, settings, *solver, bs, xs);
  for (auto& x : xs) {
    if (singular) subtract_integral_mean(ctx, mesh, x);
    if (rooms) subtract_integral_means(ctx, mesh, *rooms, x);
  }
  solver.reset();  // makes room for what follows
  bs.clear();
  const NodeRows rows = node_rows(mesh.logical(), subdomain);
  std::vector<std::vector<double>> kept;
  for (std::size_t k = 0; k < reports.size(); ++k) {
    const auto& problem = problems[k];
    const Field<double>& u = xs[k];
    System system{reports.size() > 1 ? options.texts("rhs")[k] : "", std::move(reports[k]), {}, {}};
    if (uses.summary && exit_code(system.report.status) != 3) {
      const PoissonProblem& solved = solved_problems[k];
      system.summary = {solution_range(ctx, mesh, problem, u), boundary_fluxes(ctx, mesh, solved, u, cells.get()),
                        loads[k]};
      system.summary->change_of_flux = change_of_flux(mesh, system.summary->range, cells.get());
      system.summary->bodies = body_fluxes(ctx, mesh, solved, u, cells.get());
      if (warns) warn_of_leaks(program_name, ctx, mesh, problem, u, cells.get(), of_solution(k, reports.size()));
      for (std::size_t n = 0; n < problem.bodies.size(); ++n)
        if (problem.bodies[n].kind == BodyKind::value) system.summary->from_bodies += system.summary->bodies[n].flux;
      system.summary->load += system.summary->from_bodies;
      system.summary->magnitudes = magnitudes[k];
    }
    if (uses.errors) system.errors = relative_errors(ctx, mesh, problem, u, cells.get());
    if (uses.nodal()) kept.push_back(nodal_solution(ctx, mesh, problem, u));
    if (uses.kept) kept.back() = gathered(ctx, mesh.logical(), rows, std::move(kept.back()));
    outcome.systems.push_back(std::move(system));
  }
  note_worst(outcome);
  note_ranks(ctx, settings, outcome);
  print_solved(settings, outcome);
  return {std::move(outcome), std::move(mesh), rows, std::move(kept), uses.kept || ctx.subdomains() == 1, nullptr};
}

void compare(Outcome& outcome, std::span<const double> nodal, const Solved& coarser) {
  const auto finite = [](const Outcome& o) { return exit_code(o.report.status) != 3; };
  if (!finite(outcome) || !finite(coarser.outcome)) return;
  outcome.difference = coarser.volumes ? level_difference_of_cells(coarser.mesh.logical(), coarser.nodal[0], nodal)
                                       : level_difference(coarser.mesh, coarser.nodal[0], nodal);
  outcome.order = observed_order(coarser.outcome.difference, *outcome.difference);
}

std::string why_alone(Context& ctx, const Settings& settings, const Uses& uses, std::optional<Prepared>& prepared) {
  const Machine& machine = settings.machine;
  if (!machine.has_ranks()) return "";
  const std::int64_t unknowns = settings.mesh_at(ctx, settings.last_level).logical().unknowns().nodes();
  if (auto why = machine.too_few(unknowns, PartitionLevels::least_for_several_gpus); !why.empty()) return why;
  if (settings.volumes) return "";
  if (!machine.may_take_one_gpu() || settings.solver.multigrid.distributed_smoothing != DistributedSmoothing::automatic)
    return "";
  prepared = prepare(ctx, settings, settings.last_level, uses);
  std::string why = why_one_gpu(ctx, *prepared->solver, prepared->mesh);
  if (!why.empty() || settings.first_level < settings.last_level) prepared.reset();
  return why;
}

}  // namespace stratum::apps::poisson
