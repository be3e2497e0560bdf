#include "patches_settings.hpp"

#include <filesystem>
#include <tuple>

#include "support/mesh_options.hpp"
#include "support/picture_output.hpp"

namespace stratum::apps::poisson {

namespace {

constexpr const char* known_options[] = {"patches",      "cells",        "level",    "convergence-table",
                                         "rhs",          "exact",        "boundary", "kappa",
                                         "reaction",     "project",      "solver",   "cycle",
                                         "precision",    "rtol",         "atol",     "max-iterations",
                                         "backend",      "threads",      "vtk",      "vtk-compress",
                                         "png",          "report",       "history",  "probe",
                                         "exchange",     "several-from", "quiet",    "config",
                                         "print-config", "body"};

}  // namespace

PatchSettings parse_patch_settings(const CommandLine& options) {
  PatchSettings settings{options.text("patches"), parse_patches(options, known_options)};
  if (options.has("level"))
    settings.first_level = settings.last_level = options.integer("level", 0, most_halvings_of_patches);
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
  problem.rhs = patch_function("--rhs", rhs[0], Variables::position);
  if (!exact.empty()) problem.exact = patch_function("--exact", exact[0], Variables::position);
  parse_patch_coefficients(options, settings.file, Variables::position, problem);
  settings.conditions = parse_patch_boundaries(options, settings.file.mesh, Variables::position, problem);
  settings.bodies = parse_patch_bodies(options, settings.file.mesh, Variables::position, settings.conditions);

  const std::string cycle = options.has("cycle") ? options.text("cycle") : "";
  expects(cycle.empty() || cycle == "v" || cycle == "fmg", "--cycle: on patches v or fmg, not ", cycle);
  PatchSolverParams& solver = settings.solver;
  solver.float_cycles = parse_patch_solver(options);
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
