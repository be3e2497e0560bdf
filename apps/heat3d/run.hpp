#pragma once

// The steps of a run, with all that is printed and written on the way.

#include "settings.hpp"

namespace stratum::apps::heat3d {

/// The exit code. Throws as HeatSolver3D does, and FileError.
[[nodiscard]] int run(Settings settings, const CommandLine& options, OutputFiles outputs);

}  // namespace stratum::apps::heat3d
