#include "patches_settings.hpp"

#include <algorithm>
#include <filesystem>
#include <tuple>
#include <utility>

#include <stratum/assembly/expressions/patch_expressions.hpp>

#include "support/mesh_options.hpp"
#include "support/picture_output.hpp"
#include "support/problem_options.hpp"

namespace stratum::apps::poisson {

namespace {

constexpr const char* known_options[] = {"patches",     "cells",        "level",    "convergence-table",
                                         "rhs",         "exact",        "boundary", "kappa",
                                         "reaction",    "project",      "solver",   "cycle",
                                         "precision",   "rtol",         "atol",     "max-iterations",
                                         "backend",     "threads",      "vtk",      "vtk-compress",
                                         "png",         "report",       "history",  "probe",
                                         "exchange",    "several-from", "quiet",    "config",
                                         "print-config"};

/// NAME and CONDITION of "NAME=CONDITION"; no NAME where the text is an expression.
std::pair<std::string, std::string> name_and_condition(const std::string& text) {
  const auto equals = text.find('=');
  const bool is_comparison = equals == std::string::npos || equals == 0 || text.substr(equals + 1).starts_with("=") ||
                             std::string_view("<>!").find(text[equals - 1]) != std::string_view::npos;
  if (is_comparison) return {"", text};
  return {text.substr(0, equals), text.substr(equals + 1)};
}

ScalarFunction function_of_position(const std::string& option, const std::string& text) {
  expects(!names_file(text), option, ": with --patches it is an expression, not a file");
  return parsed(option, [&] { return parse_expression(text, 1, 1, Variables::position); });
}

std::string listed(const std::vector<std::string>& names) {
  std::string list;
  for (const auto& name : names) list += (list.empty() ? "" : ", ") + name;
  return list;
}

void parse_patch_boundaries(const CommandLine& options, PatchSettings& settings) {
  const auto& names = settings.file.mesh.boundary_names();
  std::string of_others;
  for (const std::string& text : options.texts("boundary")) {
    const auto [name, condition] = name_and_condition(text);
    if (name.empty()) {
      expects(of_others.empty(), "--boundary: '", shown(of_others), "' and '", shown(condition),
              "' are both the value of all boundaries that have none of their own; give others as NAME=CONDITION");
      of_others = condition;
      continue;
    }
    expects(std::find(names.begin(), names.end(), name) != names.end(), "--boundary: the mesh has no boundary '",
            shown(name), "'; it has ", listed(names));
    expects(!settings.conditions.contains(name), "--boundary: two conditions for '", name, "'");
    settings.conditions[name] = condition;
    BoundaryCondition& boundary = settings.problem.boundaries[name];
    boundary = parse_boundary_text<BoundaryCondition>(
        message("--boundary ", name), condition,
        [](const std::string& expression) { return parse_expression(expression, 1, 1, Variables::position); });
    expects(boundary.kind != BoundaryConditionType::periodic, "--boundary ", name,
            ": boundaries of patches cannot be periodic");
  }
  for (const auto& name : names) {
    BoundaryCondition& boundary = settings.problem.boundaries[name];
    const bool takes_value = boundary.kind == BoundaryConditionType::dirichlet && !boundary.value;
    if (takes_value && !of_others.empty()) boundary.value = function_of_position("--boundary", of_others);
    std::string& text = settings.conditions[name];
    if (text.empty() || text == "dirichlet")
      text = message("dirichlet:", !of_others.empty() ? of_others : options.has("exact") ? options.text("exact") : "0");
  }
}

}  // namespace

std::vector<Option> patch_options() {
  return {input_file(
      "patches", "FILE",
      "a mesh of patches, logically rectangular grids around corners, holes and bodies: a text file, Gmsh's .msh, "
      "FEAT3's "
      ".xml, or VTK's .vtm of structured grids. --cells N gives the edges of patches of which the file says nothing N "
      "cells, --level N halves all cells N times, --boundary NAME=TYPE sets conditions. Expressions use only x and y")};
}

PatchSettings parse_patch_settings(const CommandLine& options) {
  for (const auto& name : options.names_given())
    expects(std::find(std::begin(known_options), std::end(known_options), name) != std::end(known_options), "--", name,
            ": it does not apply to a mesh of patches; leave it out with --patches");
  std::optional<int> cells;
  if (options.has("cells")) cells = options.integer("cells", 1, max_cells);
  const std::string path = options.text("patches");
  PatchSettings settings{path, parsed("--patches", [&] { return read_patches(path, patch_expressions(), cells); })};
  constexpr int most_halvings = 12;
  if (options.has("level")) settings.first_level = settings.last_level = options.integer("level", 0, most_halvings);
  if (options.has("convergence-table")) {
    std::tie(settings.first_level, settings.last_level) = parse_table_levels<2>(options);
    settings.table = true;
    expects(options.has("exact"), "--convergence-table: with --patches it needs the exact solution, --exact");
  }
  const auto rhs = options.texts("rhs"), exact = options.texts("exact");
  expects(!rhs.empty(), "--patches: give --rhs as well; the default right-hand side is one of a rectangle");
  expects(rhs.size() == 1 && exact.size() <= 1, "--rhs: with --patches one right-hand side, not ",
          std::max(rhs.size(), exact.size()));
  PatchProblem& problem = settings.problem;
  problem.rhs = function_of_position("--rhs", rhs[0]);
  if (!exact.empty()) problem.exact = function_of_position("--exact", exact[0]);
  problem.diffusion_of_patches = settings.file.diffusion;
  if (options.has("kappa")) {
    expects(expressions_of(options.text("kappa")).size() == 1, "--kappa: with --patches one expression, not a tensor");
    problem.diffusion = function_of_position("--kappa", options.text("kappa"));
  }
  if (const std::string reaction = options.text("reaction"); number_of(reaction))
    problem.reaction = options.number("reaction", not_negative);
  else
    problem.reaction_of_cells = function_of_position("--reaction", reaction);
  parse_patch_boundaries(options, settings);

  expects(!options.has("solver") || options.text("solver") == "cg",
          "--solver: on patches conjugate gradients, cg, around a cycle; not ", options.text("solver"));
  const std::string cycle = options.has("cycle") ? options.text("cycle") : "";
  expects(cycle.empty() || cycle == "v" || cycle == "fmg", "--cycle: on patches v or fmg, not ", cycle);
  const std::string precision = options.text("precision");
  expects(precision == "mixed" || precision == "double", "--precision: on patches mixed or double, not ", precision);
  PatchSolverParams& solver = settings.solver;
  solver.float_cycles = precision == "mixed";
  solver.full_multigrid = cycle == "fmg";
  solver.project = options.is_set("project");
  settings.tolerance_asked_for = options.has("rtol") || options.has("atol");
  settings.full_multigrid_only = cycle == "fmg" && !settings.tolerance_asked_for && !options.has("solver");
  solver.stop.rtol = options.number("rtol", fraction);
  solver.stop.atol = options.number("atol", not_negative);
  solver.stop.max_iterations = options.integer("max-iterations", 1, 1'000'000);
  solver.stop.rounding_will_do = !settings.tolerance_asked_for;
  if (options.has("probe")) settings.probe = parse_probe(options.text("probe"));
  settings.compression = parse_compression(options);
  settings.machine = parse_machine(options);
  settings.quiet = options.is_set("quiet");
  return settings;
}

OutputFiles parse_patch_outputs(const CommandLine& options, PatchSettings& settings) {
  OutputFiles outputs(options);
  settings.vtk_asked_for = outputs.has("vtk");
  const std::string name = outputs.path("vtk");
  expects(name.empty() || name.ends_with(".vtm"), "--vtk: '", name,
          "' must end in .vtm, ParaView's format for a mesh of patches");
  check_picture(outputs);
  if (!options.has("vtk") && !settings.table && vtk_available())
    outputs.add("vtk", message("poisson2d_", std::filesystem::path(settings.path).stem().string(), "_L",
                               settings.last_level, ".vtm"));
  return outputs;
}

}  // namespace stratum::apps::poisson
