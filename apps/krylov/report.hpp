#pragma once

// What people read of a solve, and --report as JSON.

#include <string>

#include "settings.hpp"
#include "solve.hpp"
#include "system.hpp"

namespace stratum::apps::krylov {

/// What nobody would call solved, whatever rounding there is, does not end as if it were.
[[nodiscard]] int exit_code_of(const SolveReport& report, const Settings& settings);

/// The matrix and the solver, before the first iteration. `box`: what was found of rows in a box, else empty.
void print_heading(const Context& ctx, const System& system, const Settings& settings, const Plan& plan,
                   const std::string& box);

/// How the solve ended.
void print_outcome(const Outcome& outcome);

/// What to try where a method for definite matrices broke down; empty where the matrix is not to blame. A direction of negative
/// curvature and a positive entry of the diagonal, which is another one's curvature, say that it is indefinite.
[[nodiscard]] std::string advice(const System& system, const Plan& plan, const SolveReport& report);

/// Everything that is printed and more; docs/reference/report.md describes the members.
[[nodiscard]] std::string json_report(const CommandLine& options, const Context& ctx, const System& system,
                                      const Settings& settings, const Plan& plan, const Outcome& outcome);

}  // namespace stratum::apps::krylov
