#pragma once

// The files of a run that show its solution: for ParaView, for NumPy, pictures and values along a line.

#include <vector>

#include "outcome.hpp"
#include "settings.hpp"
#include "support/output_files.hpp"

namespace stratum::apps::poisson {

/// The names of the files, checked. Without --vtk it adds a name of its own and notes in `settings` that nobody asked for it.
[[nodiscard]] OutputFiles parse_outputs(const CommandLine& options, Settings& settings);

/// Writes the files of the last level's solution, where it is finite.
void write_solution(Context& ctx, const Settings& settings, const Solved& solved, OutputFiles& outputs);

}  // namespace stratum::apps::poisson
