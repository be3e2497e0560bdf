#include "patches_settings.hpp"

namespace stratum::apps::heat {

namespace {

constexpr const char* known_options[] = {"patches",
                                         "cells",
                                         "level",
                                         "initial",
                                         "rhs",
                                         "capacity",
                                         "exact",
                                         "boundary",
                                         "kappa",
                                         "reaction",
                                         "mass",
                                         "start",
                                         "end",
                                         "method",
                                         "tol",
                                         "dt",
                                         "rtol",
                                         "max-steps",
                                         "restart",
                                         "solver",
                                         "cycle",
                                         "precision",
                                         "max-iterations",
                                         "backend",
                                         "threads",
                                         "exchange",
                                         "several-from",
                                         "vtk",
                                         "output-every",
                                         "probe",
                                         "save",
                                         "restart-every",
                                         "png",
                                         "report",
                                         "quiet",
                                         "config",
                                         "print-config",
                                         "body"};

bool has_time(const std::string& text) { return !names_file(text) && depends_on_time(text, 1, 1); }

/// Whether K, c, the capacity or an ALPHA changes with the time. Throws UsageError for a body that does.
bool coefficients_vary(const CommandLine& options, const PatchConditions& conditions) {
  const auto has = [&](const char* name) { return options.has(name) && has_time(options.text(name)); };
  for (const std::string& text : options.texts("body")) {
    const auto body = split_body(text);
    expects(!is_expression_shape(body->shape) || !has_time(body->shape), "--body: the shape '", shown(body->shape),
            "' depends on the time; bodies stay where they are. Leave t out of it");
    const bool changes_k = body->kind == BodyKind::coefficient || body->kind == BodyKind::contact;
    expects(!changes_k || !has("kappa"), "--kappa: '", shown(options.text("kappa")),
            "' depends on the time; on patches K does not where bodies change it. Leave t out of it, or the body '",
            shown(text), "'");
    if (body->kind != BodyKind::coefficient) continue;
    for (const auto& part : expressions_of(body->data))
      expects(!has_time(part), "--body: '", shown(part),
              "' depends on the time; on patches K of bodies stays as it is. Leave t out of it");
  }
  bool vary = has("kappa") || has("reaction") || has("capacity");
  constexpr std::string_view robin = "robin:";
  for (const auto& [name, text] : conditions)
    vary = vary || (text.starts_with(robin) && has_time(expressions_of(text.substr(robin.size()))[0]));
  return vary;
}

/// f and the values of all boundaries stay.
bool is_steady(const CommandLine& options, const PatchConditions& conditions) {
  if (options.has("rhs") && has_time(options.text("rhs"))) return false;
  for (const std::string& text : options.texts("body"))
    if (const auto body = split_body(text); body->kind == BodyKind::value && has_time(body->data)) return false;
  for (const auto& [name, text] : conditions) {
    const auto colon = text.find(':');
    if (colon != std::string::npos && has_time(expressions_of(text.substr(colon + 1)).back())) return false;
  }
  return true;
}

PatchHeatProblem parse_problem(const CommandLine& options, const PatchFile& file) {
  bool any = false;
  for (const char* name : {"initial", "rhs", "exact", "boundary"}) any = any || options.has(name);
  expects(any, "--patches: give --initial, --rhs, --exact or --boundary as well; what decays without them is of a "
               "rectangle");
  const auto function = [&](const char* name) {
    return patch_function(message("--", name), options.text(name), Variables::position_and_time);
  };
  PatchHeatProblem problem;
  if (options.has("rhs")) problem.space.rhs = function("rhs");
  if (options.has("exact")) problem.space.exact = function("exact");
  if (options.has("initial")) problem.initial = function("initial");
  parse_patch_coefficients(options, file, Variables::position_and_time, problem.space);
  if (const std::string capacity = options.text("capacity"); number_of(capacity))
    problem.capacity = options.number("capacity", positive);
  else
    problem.capacity_of_cells = function("capacity");
  problem.lumped = choice<bool>("--mass", options.text("mass"), {{"consistent", false}, {"lumped", true}});
  return problem;
}

}  // namespace

PatchSettings parse_patch_settings(const CommandLine& options) {
  PatchSettings settings{{}, options.text("patches"), parse_patches(options, known_options)};
  if (options.has("level")) settings.level = options.integer("level", 0, most_halvings_of_patches);
  parse_times(options, settings);
  settings.problem = parse_problem(options, settings.file);
  settings.conditions =
      parse_patch_boundaries(options, settings.file.mesh, Variables::position_and_time, settings.problem.space);
  PatchConditions of_bodies;
  settings.bodies = parse_patch_bodies(options, settings.file.mesh, Variables::position_and_time, of_bodies);
  settings.problem.coefficients_vary = coefficients_vary(options, settings.conditions);
  settings.problem.steady = is_steady(options, settings.conditions);
  settings.conditions.merge(of_bodies);
  expects(options.text("cycle") == "v", "--cycle: on patches in time v, not ", options.text("cycle"));
  settings.params.solver.float_cycles = parse_patch_solver(options);
  settings.params.solver.stop.max_iterations = options.integer("max-iterations", 1, 1'000'000);
  if (options.has("probe")) settings.probe = parse_probe(options.text("probe"));
  return settings;
}

OutputFiles parse_patch_outputs(const CommandLine& options, const PatchSettings& settings) {
  return parse_outputs_of_steps(options, settings.machine.has_ranks() ? settings.machine.ranks->size() : 1, 'm');
}

}  // namespace stratum::apps::heat
