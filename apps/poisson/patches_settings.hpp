#pragma once

// poisson2d --patches FILE: what the options ask for on a mesh of patches. Options that mean nothing there are refused.

#include <optional>
#include <string>
#include <vector>

#include <stratum/multigrid/patches/patch_poisson_solver.hpp>

#include "support/patch_options.hpp"
#include "support/probe.hpp"
#include "support/program.hpp"
#include "support/solution_files.hpp"

namespace stratum::apps::poisson {

struct PatchSettings {
  std::string path;
  PatchFile file;
  int first_level = 0, last_level = 0;
  PatchProblem problem{};  // without bodies
  PatchBodies bodies{};
  PatchConditions conditions{};
  PatchSolverParams solver{};
  Machine machine{};
  std::optional<Probe> probe{};
  VtkCompression compression = VtkCompression::fast;
  bool full_multigrid_only = false;
  bool vtk_asked_for = false, table = false, quiet = false, tolerance_asked_for = false;

  [[nodiscard]] PatchesWithBodies at(int level) const {
    return with_bodies(level == 0 ? file.mesh : file.mesh.halved(level), problem, bodies.bodies, 0, bodies.masks);
  }
  [[nodiscard]] SolutionFiles files() const { return {"poisson2d", ".vtm", vtk_asked_for, quiet}; }
  [[nodiscard]] int exit_code(const SolveReport& report) const {
    return stratum::exit_code(report.status, tolerance_asked_for);
  }
};

/// Throws UsageError, which names the option; FileError where the mesh cannot be read.
[[nodiscard]] PatchSettings parse_patch_settings(const CommandLine& options);

/// Adds the name of a file for ParaView where none is given.
[[nodiscard]] OutputFiles parse_patch_outputs(const CommandLine& options, PatchSettings& settings);

}  // namespace stratum::apps::poisson
