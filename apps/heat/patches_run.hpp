#pragma once

// heat2d --patches FILE: a run on a mesh of patches, from the settings to the files.

#include "patches_settings.hpp"

namespace stratum::apps::heat {

/// The exit code.
[[nodiscard]] int run_patches(PatchSettings settings, const CommandLine& options, OutputFiles outputs);

}  // namespace stratum::apps::heat
