#pragma once

// The two runs: one system, or a series of them while bubbles move. Both print and write all that was asked for.

#include "settings.hpp"
#include "support/output_files.hpp"

namespace stratum::apps::bubbly {

/// The exit code.
[[nodiscard]] int solve_once(Context& ctx, const Settings& s, const CommandLine& options, OutputFiles& outputs);

/// The exit code; the run stops with the first step that is not solved.
[[nodiscard]] int solve_in_time(Context& ctx, Settings s, const CommandLine& options, OutputFiles& outputs);

}  // namespace stratum::apps::bubbly
