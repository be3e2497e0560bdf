#pragma once

// The results of a run: what people read as it goes on, and --report as JSON.

#include <string>
#include <vector>

#include "settings.hpp"
#include "steps_report.hpp"

namespace stratum::apps::heat {

/// The mesh, the problem, the times and the solver, before the first step.
void print_heading(const Settings& settings, const CommandLine& options, const Context& ctx, const HeatSolver& solver,
                   const std::vector<RankNumbers>& ranks);

/// Everything that is printed and more; docs/reference/report.md describes the members.
[[nodiscard]] std::string json_report(const Settings& settings, const CommandLine& options, const Context& ctx,
                                      const HeatSolver& solver, const Run& run);

}  // namespace stratum::apps::heat
