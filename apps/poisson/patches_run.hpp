#pragma once

// poisson2d --patches FILE: a run on a mesh of patches, from the settings to the files.

#include "patches_settings.hpp"

namespace stratum::apps::poisson {

/// The exit code.
[[nodiscard]] int run_patches(const PatchSettings& settings, const CommandLine& options, OutputFiles outputs);

}  // namespace stratum::apps::poisson
