#pragma once

// What people read of a run, --report as JSON, and --correlator.

#include <string>

#include "compute.hpp"
#include "settings.hpp"

namespace stratum::apps::propagators {

/// The lattice, the field and the solver, before the first iteration.
void print_heading(const Context& ctx, const GaugeField& field, const Settings& s);

/// Iterations of every mass and colour, masses of the pion, and how the run ended.
void print_outcome(const Outcome& outcome, const Settings& s, const SolveReport& report);

/// Everything that is printed and more; docs/reference/report.md describes the members.
[[nodiscard]] std::string json_report(const CommandLine& options, const Context& ctx, const GaugeField& field,
                                      const Settings& s, const Outcome& outcome, const SolveReport& report);

/// The correlator and the effective mass at every time, a line each.
[[nodiscard]] std::string csv_correlators(const Outcome& outcome, const Settings& s);

}  // namespace stratum::apps::propagators
