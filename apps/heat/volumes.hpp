#pragma once

// --discretisation fv: a run by cell-centred finite volumes (multigrid/heat_solver_volumes.hpp).

#include "settings.hpp"
#include "support/output_files.hpp"

namespace stratum::apps::heat {

/// The exit code. Throws as VolumeHeatSolver does, and FileError.
[[nodiscard]] int run_volumes(Settings settings, const CommandLine& options, OutputFiles outputs);

}  // namespace stratum::apps::heat
