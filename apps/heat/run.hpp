#pragma once

// The steps of a run, with all that is printed and written on the way.

#include "settings.hpp"
#include "support/output_files.hpp"

namespace stratum::apps::heat {

/// The exit code. Throws as HeatSolver does, and FileError.
[[nodiscard]] int run(Settings settings, const CommandLine& options, OutputFiles outputs);

}  // namespace stratum::apps::heat
