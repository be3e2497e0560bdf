#pragma once

// What people read of a run as it goes on, and --report: the same and more, as JSON. docs/reference/report.md describes the
// members.

#include <string>
#include <vector>

#include "settings.hpp"
#include "solve.hpp"

namespace stratum::apps::poisson3d {

/// The mesh, the problem and the solver, before the first solve.
void print_heading(const Settings& settings, const CommandLine& options, const Context& ctx, const Outcome& outcome);

/// How the solve ended, and what its solution is like.
void print_outcome(const Outcome& outcome);
/// Warns where fluxes and load do not balance, and of layers that the mesh does not resolve.
void warn_of_solution(const Settings& settings, const Outcome& outcome);

/// Of all levels that were solved; the members of the top are those of the last one.
[[nodiscard]] std::string json_report(const Settings& settings, const CommandLine& options, const Context& ctx,
                                      const std::vector<Outcome>& outcomes, const OutputFiles& outputs);

}  // namespace stratum::apps::poisson3d
