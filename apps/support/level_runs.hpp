#pragma once

// What the Poisson programs do with every level of a run, and with the files of the last one.

#include <algorithm>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "level_table.hpp"
#include "output_files.hpp"
#include "solve_output.hpp"

namespace stratum::apps {

/// The levels of a run, solved from the coarsest on. A table says how they ended; without an exact solution it has differences,
/// and a level stays until the next one has been compared with it.
///
///     solve(level, differences)   a Solved with its `outcome`
///     compare(solved, coarser)    notes in solved.outcome how they differ
template <class Solved>
struct LevelRuns {
  std::vector<decltype(Solved::outcome)> outcomes;
  std::optional<Solved> last;
  int code = 0;  // the exit code

  template <class Settings, class Solve, class Compare>
  LevelRuns(const char* program, const Settings& settings, bool has_exact, const Solve& solve, const Compare& compare) {
    const bool differences = settings.table && !has_exact;
    std::vector<LevelResult> table;
    for (int level = settings.first_level; level <= settings.last_level; ++level) {
      const std::optional<Solved> coarser = differences ? std::exchange(last, std::nullopt) : std::nullopt;
      last.reset();  // makes room
      last.emplace(solve(level, differences));
      if (coarser) compare(*last, *coarser);
      outcomes.push_back(last->outcome);
      const SolveReport& report = outcomes.back().report;
      code = std::max(code, settings.exit_code(report));
      if (settings.quiet && settings.exit_code(report) != 0) print_failure(program, report);
      table.push_back(outcomes.back().result());
      if (settings.table && !settings.quiet) print_table_row(table);
    }
  }
};

/// Writes the report, the history of `reports`, and by `write_solution` what shows the solution.
template <class Report, class WriteSolution>
void write_files(OutputFiles& outputs, bool quiet, std::span<const SolveReport> reports, const Report& report,
                 const WriteSolution& write_solution) {
  // First what is small: a full disk shall not lose it.
  if (outputs.path("report") != "-") outputs.write_text("report", report());
  outputs.write_text("history", csv_history(reports));
  write_solution();
  // Once more, with the memory that writing took.
  if (outputs.path("report") == "-" || outputs.has("vtk")) outputs.write_text("report", report());
  if (!quiet) outputs.print_written();
}

}  // namespace stratum::apps
