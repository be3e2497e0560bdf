#pragma once

// What people read of a run, and --report as JSON.

#include <string>

#include "problem.hpp"
#include "results.hpp"
#include "settings.hpp"
#include "solve.hpp"

namespace stratum::apps::magnetics {

/// The grid, the steel, the source and the solver, before the first iteration.
void print_heading(const Context& ctx, const Problem& problem, const Settings& settings);

/// Beside what was measured.
void print_results(const Results& r, const Settings& settings, const SolvedField& field);

/// Everything that is printed and more; docs/reference/report.md describes the members.
[[nodiscard]] std::string json_report(const CommandLine& options, const Context& ctx, const Problem& problem,
                                      const Settings& settings, const SolvedField& field, const Results& r);

}  // namespace stratum::apps::magnetics
