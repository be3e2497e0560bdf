#include "json_report.hpp"

#include <cmath>

#include <stratum/version.h>

#include "support/json.hpp"
#include "support/level_table.hpp"
#include "support/problem_options.hpp"
#include "support/solution_summary.hpp"
#include "support/solve_output.hpp"

namespace stratum::apps::poisson {

namespace {

/// What smooths on a level.
Json level_json(const LevelReport& level) {
  JsonObject json;
  json.add("unknowns", {level.nx, level.ny}).add("smoother", level.smoother).add("sweeps", level.sweeps);
  return json.add("reason", level.reason).value();
}

/// Extremes and fluxes; members without numbers where the solution is not finite.
void add_summary(JsonObject& json, const PoissonProblem& problem, const std::optional<Summary>& summary) {
  const auto numbers = [&](const std::string& name, const std::vector<double>& values) {
    if (summary)
      json.add(name, values);
    else
      json.add(name, nullptr);
  };
  const auto [range, fluxes, load, unused, bodies, unused_too, unused_either] = summary.value_or(Summary{});
  const double unknown = std::nan("");
  json.add("minimum", summary ? range.smallest.value : unknown).add("maximum", summary ? range.largest.value : unknown);
  numbers("minimum_at", {range.smallest.x, range.smallest.y});
  numbers("maximum_at", {range.largest.x, range.largest.y});
  numbers("boundary_range", {range.smallest_on_boundary, range.largest_on_boundary});
  json.add("largest_step", summary ? range.largest_step() : unknown);
  numbers("largest_step_at", {range.step_from.x, range.step_from.y, range.step_to.x, range.step_to.y});
  numbers("fluxes", {fluxes.left, fluxes.right, fluxes.bottom, fluxes.top});
  json.add("flux_rounding", summary ? fluxes.rounding : unknown);
  json.add("reaction_integral", summary ? fluxes.reaction : unknown)
      .add("load_integral", summary ? load - summary->from_bodies : unknown);
  add_bodies(json, body_lines(problem.bodies, bodies, &BodyFlux::area), "area");
}

/// One of several right-hand sides.
Json system_json(const Settings& settings, const System& system) {
  const auto& report = system.report;
  JsonObject json;
  json.add("rhs", system.rhs);
  add_end(json, report, settings.exit_code(report));
  add_errors(json, system.errors);
  json.add("solve_seconds", report.solve_seconds);
  add_summary(json, settings.problems[0], system.summary);
  json.add("history", report.history);
  return json.value();
}

}  // namespace

std::string json_report(const Settings& settings, const CommandLine& options, const Context& ctx,
                        const std::vector<Outcome>& outcomes, const OutputFiles& outputs) {
  const auto& outcome = outcomes.back();
  const auto& report = outcome.report;
  const double unknown = std::nan("");
  JsonObject json;
  json.add("program", "poisson2d").add("version", STRATUM_VERSION);
  add_end(json, report, settings.exit_code(report));
  json.add("residual_reduction", outcome.reduction());
  json.add("rtol", settings.solver.stop.rtol).add("atol", settings.solver.stop.atol);
  add_errors(json, outcome.errors());
  add_summary(json, settings.problems[0], outcome.systems[outcome.worst].summary);
  const auto& hierarchy = outcome.hierarchy;
  const auto cells = [](const TensorMesh<2>& mesh) { return Json{mesh.x().size(), mesh.y().size()}; };
  const auto size = [&](const TensorMesh<2>& mesh) {
    return outcome.cells ? Json{mesh.unknowns().nx, mesh.unknowns().ny} : cells(mesh);
  };
  json.add("mesh", settings.mesh.family.name).add("level", outcome.level).add("levels", hierarchy.size());
  add_mesh(json, settings.mesh);
  for (const char* name : {"map", "mesh-file"})
    if (options.has(name)) json.add(name[3] == 'h' ? "mesh_file" : name, options.text(name));
  json.add("coordinates", options.text("coordinates"));
  json.add("largest_aspect_ratio", outcome.largest_aspect_ratio);
  json.add("smallest_width", outcome.smallest_width);
  for (const char* side : boundary_names) json.add(side, options.has(side) ? options.text(side) : "dirichlet");
  if (options.has("kappa")) json.add("kappa", options.text("kappa"));
  if (settings.problems[0].reaction_of_cells.is_given())
    json.add("reaction", options.text("reaction"));
  else
    json.add("reaction", settings.problems[0].reaction);
  json.add("cells", cells(outcome.mesh())).add("unknowns", outcome.unknowns());
  json.add("discretisation", options.text("discretisation"));
  json.add("hierarchy", json_array(hierarchy, size));
  json.add("coarsening", coarsening(outcome)).add("coarse_solver", outcome.coarse_solver_name());
  json.add("solver", outcome.method_name()).add("cycle", outcome.cycle_name(options)).add("choice", outcome.choice);
  json.add("smoother", options.text("smoother")).add("smoothers", json_array(outcome.smoothers, level_json));
  json.add("deflate", options.text("deflate"))
      .add("deflation", outcome.deflation)
      .add("line_order", options.text("line-order"));
  json.add("sweeps", outcome.smoothers.back().sweeps);
  json.add("damping", settings.solver.multigrid.smoother_params.damping.value_or(unknown));
  json.add("precision", outcome.precision_name()).add("inner", options.text("inner"));
  json.add("operator", to_string(outcome.params.format));
  if (settings.interpolates_by_choice())
    json.add("interpolation", to_string(outcome.params.interpolation.value_or(InterpolationKind::conductance)));
  json.add("reproducible", outcome.params.multigrid.reproducible);
  add_machine(json, ctx);
  json.add("setup_seconds", report.setup_seconds).add("solve_seconds", report.solve_seconds);
  json.add("write_seconds", outputs.seconds("vtk"));
  json.add("unknowns_per_second", outcome.unknowns_per_second());
  json.add("seconds_per_unknown_per_digit", outcome.seconds_per_unknown_per_digit());
  json.add("expected_memory_bytes", outcome.expected_memory);
  json.add("peak_memory_bytes", peak_memory());
  json.add("history", report.history);
  add_ranks(json, ctx, outcome.ranks, outcome.overlaps);
  add_alone(json, settings.machine);
  if (outcome.systems.size() > 1)
    json.add("right_hand_sides",
             json_array(outcome.systems, [&](const System& system) { return system_json(settings, system); }));
  if (settings.table)
    json.add("convergence_table",
             json_array(outcomes, [](const Outcome& level) { return level_row_json(level.result()); }));
  return json.text();
}

}  // namespace stratum::apps::poisson
