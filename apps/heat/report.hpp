#pragma once

// The results of a run: what people read as it goes on, and --report as JSON.

#include <string>
#include <vector>

#include "settings.hpp"
#include "steps_report.hpp"

namespace stratum::apps::heat {

/// What steps by elements and by finite volumes have.
struct RunOn {
  const ProblemMesh& mesh;
  GridLayout<2> unknowns;  // of all ranks
  const StructuredSolver& solver;
  double t;
};

/// The mesh, the problem, the times and the solver, before the first step.
/// Of a boundary and a body that hold u at different values where they touch; `so` says what comes of it.
void warn_of_body(double t, const CornerGap& body, const char* so);

void print_heading(const Settings& settings, const CommandLine& options, const Context& ctx, const RunOn& on,
                   const std::vector<RankNumbers>& ranks);

/// Everything that is printed and more; docs/reference/report.md describes the members.
[[nodiscard]] std::string json_report(const Settings& settings, const CommandLine& options, const Context& ctx,
                                      const RunOn& on, const Run& run);

}  // namespace stratum::apps::heat
