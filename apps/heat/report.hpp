#pragma once

// The results of a run: what people read as it goes on, and --report as JSON.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "settings.hpp"
#include "support/rank_output.hpp"

namespace stratum::apps::heat {

/// What is known when a line is printed.
struct Moment {
  double t;
  std::int64_t steps;
  double heat;
};

/// One run, from its start or a restart file to its end.
struct Run {
  std::vector<Moment> moments;
  HeatReport report;
  std::optional<double> error;
  std::int64_t expected_memory = 0;
  double setup_seconds = 0, solve_seconds = 0;
  std::vector<RankNumbers> ranks{};  // where there are several
};

/// The mesh, the problem, the times and the solver, before the first step.
void print_heading(const Settings& settings, const CommandLine& options, const Context& ctx, const HeatSolver& solver,
                   const std::vector<RankNumbers>& ranks);

/// With the digits that tell it from others.
[[nodiscard]] std::string plain_time(double t);

/// A line of the table of times, and its heading before the `first` one.
void print_moment(const Moment& moment, const HeatReport& report, bool first);

/// How the run ended.
void print_end(const Run& run);

/// Everything that is printed and more; docs/reference/report.md describes the members.
[[nodiscard]] std::string json_report(const Settings& settings, const CommandLine& options, const Context& ctx,
                                      const HeatSolver& solver, const Run& run);

}  // namespace stratum::apps::heat
