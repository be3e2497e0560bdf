#include "volumes.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include <stratum/assembly/boundary_fluxes.hpp>
#include <stratum/assembly/solution_range.hpp>
#include <stratum/core/field/blas.hpp>
#include <stratum/mesh/vtk/vtk.hpp>
#include <stratum/multigrid/film_warning.hpp>

#include "output.hpp"
#include "screen.hpp"
#include "solve_parts.hpp"
#include "support/body_warnings.hpp"
#include "support/program.hpp"
#include "support/progress.hpp"
#include "support/rank_output.hpp"
#include "vtk_cells.hpp"

namespace stratum::apps::poisson {

namespace {

constexpr const char* option = "--discretisation fv: ";

/// What all cells have on every rank, on the host: K and c, solutions, and what is computed or written of one.
std::int64_t expected_bytes(const Context& ctx, const Settings& settings, const FiniteVolumes& volumes,
                            const Uses& uses, const PoissonSolverParams& params) {
  const std::int64_t field = volumes.cells() * std::int64_t{sizeof(double)};
  const auto systems = static_cast<std::int64_t>(settings.problems.size());
  const std::int64_t solver = required_memory(ctx, volumes, params);
  const std::int64_t writer = uses.vtk ? vtk_writer_bytes(field, ctx.threads()) + 4 * systems * field : 0;
  const std::int64_t needed =
      std::max((ctx.on_gpu() ? 0 : solver) + (3 + 2 * systems) * field, (systems + 2) * field + writer);
  expect_room_on_ranks(ctx, settings.machine, named(volumes.mesh()), needed, solver,
                       uses.vtk ? "; --vtk none may take less" : "");
  return peak_memory() + needed;
}

/// Extremes at cells and faces of boundaries. Where K varies, kinks of u are no layers.
Summary summary_of(Context& ctx, const FiniteVolumes& volumes, const PoissonProblem& problem,
                   const std::vector<double>& cells, double load, double magnitudes) {
  auto points = volumes.point_values(problem, cells);
  if (volumes.rooms() != nullptr) {
    // Solids have no value: that of another point in their place leaves extremes as they are.
    const auto some = std::find_if(points.begin(), points.end(), [](double value) { return !std::isnan(value); });
    std::replace_if(
        points.begin(), points.end(), [](double value) { return std::isnan(value); },
        some != points.end() ? *some : 0.0);
  }
  Summary summary{solution_range(ctx, volumes.points(), points), volumes.fluxes(problem, cells), load};
  summary.bodies = volumes.body_fluxes(problem, cells);
  for (std::size_t n = 0; n < problem.bodies.size(); ++n)
    if (problem.bodies[n].kind == BodyKind::value) summary.from_bodies += summary.bodies[n].flux;
  summary.load += summary.from_bodies;
  summary.magnitudes = magnitudes;
  if (volumes.is_plain()) summary.change_of_flux = change_of_flux(volumes.points(), summary.range);
  return summary;
}

}  // namespace

void check_volumes(const CommandLine& options, const Settings& settings) {
  if (!settings.volumes) return;
  expects(!settings.deformation.is_given(), option, "it is for rectangles; leave out ", settings.deformation.option(),
          ", or take elements");
  expects(!settings.solver.full_multigrid, option,
          "it has no full multigrid; take another --cycle than fmg, or elements");
  expects(!options.has("operator"), option, "its matrix has five bands; leave out --operator");
  const auto precision = settings.solver.precision;
  expects(precision != Precision::double_single, option,
          "double-single is for operators that store no bands; take another --precision");
  const auto interpolation = settings.solver.interpolation;
  expects(interpolation != InterpolationKind::conductance && interpolation != InterpolationKind::split, option,
          "--interpolation is matrix or bilinear here, not ", options.text("interpolation"));
}

Prepared prepare_volumes(Context& ctx, const Settings& settings, int level, const Uses& uses) {
  const TensorMesh<2> mesh = settings.mesh.at(level);
  progress(settings, "setting up ...");
  auto volumes = std::make_shared<const FiniteVolumes>(ctx, mesh, settings.problems[0]);
  const auto expected = expected_bytes(ctx, settings, *volumes, uses, settings.solver);
  auto solver = std::make_unique<PoissonSolver>(ctx, *volumes, settings.solver);
  progress(settings, "");
  return {ProblemMesh(mesh), settings.solver, expected, std::move(solver), std::move(volumes)};
}

Solved solve_volumes(Context& ctx, const Settings& settings, const CommandLine& options, int level, const Uses& uses,
                     Prepared prepared) {
  auto& [mesh, params, expected, solver, kept_volumes] = prepared;
  const FiniteVolumes& volumes = *kept_volumes;
  const bool warns = !settings.table, talk = warns && !settings.quiet;
  if (warns) warn(program_name, warning_of_films(*solver, volumes.round_off_of_films()));
  if (const auto body = volumes.largest_body_gap(settings.problems[0]); warns && body.gap > 0)
    warn(program_name, message("a body and a boundary differ by ", body.gap, " at (", body.x, ", ", body.y,
                               "), where they touch: what flows between them is not counted"));
  progress(settings, "setting up ...");
  solver->warm_up(ctx);
  const GridLayout<2> subdomain = PoissonSolver::cells_of_subdomain(ctx, volumes, params);
  std::vector<Field<double>> bs, xs;
  std::vector<double> loads, magnitudes(settings.problems.size(), 0.0);
  for (const auto& problem : settings.problems) {
    bs.emplace_back(ctx, subdomain);
    xs.emplace_back(ctx, subdomain);
    loads.push_back(volumes.assemble_load(ctx, problem, bs.back()));
    if (warns)
      warn_of_data(program_name, ctx, mesh, problem,
                   {.boundary_means = true, .vanishes = norm_max(ctx, bs.back().cview()) == 0},
                   of_solution(loads.size() - 1, settings.problems.size()));
    if (uses.summary) magnitudes[loads.size() - 1] = load_magnitudes(ctx, problem, bs.back().cview());
    if (has_boundary_values(problem)) volumes.lift_boundary(ctx, problem, xs.back());
    if (!volumes.is_singular()) continue;
    const auto found = volumes.make_compatible(ctx, bs.back(), settings.project);
    magnitudes[loads.size() - 1] = found.sum_of_magnitudes;
    loads.back() -= found.sum;
  }
  measure_by_rhs_at_solution(ctx, settings, params, *solver, bs, xs);
  progress(settings, "");
  Outcome outcome = outcome_of(*solver, level, expected, mesh);
  outcome.cells = mesh.logical();
  note_ranks(ctx, settings, *solver, outcome);
  if (talk) print_heading(settings, options, ctx, outcome);
  auto reports = solve_all(ctx, settings, *solver, bs, xs);
  solver.reset();  // makes room for what follows
  bs.clear();
  std::vector<std::vector<double>> kept;
  for (std::size_t k = 0; k < reports.size(); ++k) {
    const auto& problem = settings.problems[k];
    if (volumes.is_singular()) volumes.subtract_mean(ctx, xs[k]);
    System system{reports.size() > 1 ? options.texts("rhs")[k] : "", std::move(reports[k]), {}, {}};
    const auto cells = volumes.cell_values(ctx, problem, xs[k]);
    xs[k] = {};
    if (uses.summary && exit_code(system.report.status) != 3)
      system.summary = summary_of(ctx, volumes, problem, cells, loads[k], magnitudes[k]);
    if (uses.errors) system.errors = volumes.errors(ctx, problem, cells);
    if (uses.nodal()) kept.push_back(std::move(cells));
    outcome.systems.push_back(std::move(system));
  }
  note_worst(outcome);
  note_ranks(ctx, settings, outcome);
  print_solved(settings, outcome);
  const int first = subdomain.origin_y - volumes.centres().unknowns().origin_y;
  return {std::move(outcome), std::move(mesh), {first, first + subdomain.ny}, std::move(kept), true, kept_volumes};
}

void write_vtk_of_cells(Context& ctx, const Settings& settings, const Solved& solved, const std::string& path) {
  const FiniteVolumes& volumes = *solved.volumes;
  const TensorMesh<2>& mesh = solved.mesh.logical();
  const int first = solved.rows.first, rows = solved.rows.count() - 1;
  NamedFields fields;
  const auto number = [&](std::size_t k) { return solved.nodal.size() == 1 ? "" : message("_", k + 1); };
  for (std::size_t k = 0; k < solved.nodal.size(); ++k) {
    const auto& problem = settings.problems[k];
    const auto begin = solved.nodal[k].begin() + std::ptrdiff_t{first} * mesh.x().size();
    const std::vector<double> solution(begin, begin + std::ptrdiff_t{rows} * mesh.x().size());
    fields.emplace_back("solution" + number(k), solution);
    fields.emplace_back("rhs" + number(k), volumes.means(ctx, rhs_function(problem), first, rows));
    if (!problem.has_exact()) continue;
    std::vector<double> exact = volumes.at_centres(ctx, exact_function(problem), first, rows), error(exact.size());
    std::transform(solution.begin(), solution.end(), exact.begin(), error.begin(), std::minus<>());
    fields.emplace_back("exact" + number(k), std::move(exact));
    fields.emplace_back("error" + number(k), std::move(error));
  }
  for (auto& of_mesh : cell_fields(ctx, solved.mesh, settings.problems[0], solved.rows))
    fields.push_back(std::move(of_mesh));
  const std::vector<VtkField> of_cells = as_vtk(fields);
  if (settings.machine.has_ranks() || path.ends_with(".pvtr")) {
    write_pieces(*communicator_of(settings.machine), path, solved.mesh, solved.rows, {}, of_cells,
                 settings.compression);
  } else {
    write_vtr(path, mesh, {}, of_cells, settings.compression, ctx.threads());
  }
}

std::vector<std::vector<double>> at_points(const Settings& settings, const Solved& solved) {
  std::vector<std::vector<double>> points;
  for (std::size_t k = 0; k < solved.nodal.size(); ++k)
    points.push_back(solved.volumes->point_values(settings.problems[k], solved.nodal[k]));
  return points;
}

}  // namespace stratum::apps::poisson
