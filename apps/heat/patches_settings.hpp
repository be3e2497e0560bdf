#pragma once

// heat2d --patches FILE: what the options ask for on a mesh of patches. Options that mean nothing there are refused.

#include <optional>
#include <string>
#include <vector>

#include <stratum/multigrid/patches/patch_heat_solver.hpp>

#include "support/patch_options.hpp"
#include "support/probe.hpp"
#include "times.hpp"

namespace stratum::apps::heat {

struct PatchSettings : TimeSettings<PatchHeatParams> {
  std::string path;
  PatchFile file;
  PatchHeatProblem problem{};  // without bodies
  PatchBodies bodies{};
  PatchConditions conditions{};
  std::optional<Probe> probe{};
};

/// Throws UsageError, which names the option; FileError where the mesh cannot be read.
[[nodiscard]] PatchSettings parse_patch_settings(const CommandLine& options);

[[nodiscard]] OutputFiles parse_patch_outputs(const CommandLine& options, const PatchSettings& settings);

}  // namespace stratum::apps::heat
