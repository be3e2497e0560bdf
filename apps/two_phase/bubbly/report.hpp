#pragma once

// What people read of a solve, and the start of --report.

#include <optional>

#include <stratum/core/io/solve_report.hpp>

#include "settings.hpp"
#include "support/json.hpp"

namespace stratum::apps::bubbly {

/// The problem and the solver, before the first iteration.
void print_heading(const Settings& s, const CommandLine& options, const Context& ctx, const PressureSystem& system,
                   const PressureSolver& solver);

struct Outcome {
  SolveReport report;
  double residual_of_parts = 0;
  std::optional<double> error;
};

/// How a solve ended.
void print_outcome(const PressureSolver& solver, const Outcome& outcome);

/// Members that do not depend on how a solve ends; docs/reference/report.md describes them.
[[nodiscard]] JsonObject start_report(const Settings& s, const CommandLine& options, const Context& ctx,
                                      const PressureSystem& system, const PressureSolver& solver);

}  // namespace stratum::apps::bubbly
