#pragma once

// --convergence-table: a line for every level, with errors where the exact solution is known, else with the differences of
// successive levels, the order that they show and the error that follows.

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <span>
#include <string>

#include <stratum/assembly/error_norms.hpp>
#include <stratum/core/io/solve_report.hpp>

#include "json.hpp"

namespace stratum::apps {

struct LevelResult {
  int level = 0;
  std::int64_t unknowns = 0;
  SolveReport report{};
  std::optional<RelativeErrors> errors{};
  std::optional<LevelDifference> difference{};  // to the level before
  std::optional<double> order{};                // that two differences show

  /// Richardson's estimate of the error, with the order of bilinear elements where none is known; none where differences do not
  /// fall.
  [[nodiscard]] std::optional<double> estimated_error() const {
    constexpr double expected_order = 2, least = 0.1;
    const double p = order.value_or(expected_order);
    if (!difference || p < least) return std::nullopt;
    return difference->l2 / (std::exp2(p) - 1);
  }
};

/// The order that the differences of two pairs of levels show.
[[nodiscard]] inline std::optional<double> observed_order(const std::optional<LevelDifference>& before,
                                                          const LevelDifference& now) {
  if (!before || !(before->l2 > 0) || !(now.l2 > 0)) return std::nullopt;
  return std::log2(before->l2 / now.l2);
}

/// The last line of the table, and above the first one the heading.
inline void print_table_row(std::span<const LevelResult> levels) {
  const LevelResult& outcome = levels.back();
  const LevelResult* const coarser = levels.size() > 1 ? &levels[levels.size() - 2] : nullptr;
  const auto& report = outcome.report;
  if (coarser == nullptr)
    std::printf(outcome.errors
                    ? "level   unknowns   iterations   residual    relative error   reduction    largest     "
                      "energy    seconds\n"
                    : "level   unknowns   iterations   residual    difference   order   estimated error    "
                      "largest difference    seconds\n");
  std::printf("%5d %10lld   %10d   %8.1e   ", outcome.level, static_cast<long long>(outcome.unknowns),
              report.iterations, report.relative_residual());
  const auto number = [](const char* format, int width, const std::optional<double>& value) {
    if (value)
      std::printf(format, *value);
    else
      std::printf("%*s", width, "");
  };
  if (const auto& errors = outcome.errors) {
    std::printf("  %12.7e   ", errors->l2);
    number("%9.3f", 9, coarser != nullptr ? std::optional(coarser->errors->l2 / errors->l2) : std::nullopt);
    std::printf("   %8.2e   %8.2e", errors->largest, errors->energy);
  } else {
    const auto& difference = outcome.difference;
    number(" %10.4e", 11, difference ? std::optional(difference->l2) : std::nullopt);
    number("   %5.2f", 8, outcome.order);
    number("   %15.4e", 18, outcome.estimated_error());
    number("   %19.4e", 22, difference ? std::optional(difference->largest) : std::nullopt);
  }
  std::printf("   %8.3g%s%s\n", report.solve_seconds, report.status == Status::converged ? "" : "  ",
              report.status == Status::converged ? "" : std::string(to_string(report.status)).c_str());
  (void)std::fflush(stdout);
}

inline void print_errors(const std::optional<RelativeErrors>& errors) {
  if (errors)
    std::printf("error       %.7e (L2, relative to the exact solution), largest %.2e, energy %.2e\n", errors->l2,
                errors->largest, errors->energy);
  else
    std::printf("error       not known (--exact gives the exact solution)\n");
}

inline void add_errors(JsonObject& json, const std::optional<RelativeErrors>& errors) {
  const double unknown = std::nan("");
  json.add("relative_l2_error", errors ? errors->l2 : unknown);
  json.add("relative_largest_error", errors ? errors->largest : unknown);
  json.add("relative_energy_error", errors ? errors->energy : unknown);
}

/// A row of the table.
[[nodiscard]] inline Json level_row_json(const LevelResult& outcome) {
  const double unknown = std::nan("");
  JsonObject json;
  json.add("level", outcome.level).add("unknowns", outcome.unknowns);
  json.add("status", to_string(outcome.report.status)).add("iterations", outcome.report.iterations);
  add_errors(json, outcome.errors);
  json.add("relative_l2_difference", outcome.difference ? outcome.difference->l2 : unknown);
  json.add("relative_largest_difference", outcome.difference ? outcome.difference->largest : unknown);
  json.add("order", outcome.order.value_or(unknown));
  json.add("estimated_l2_error", outcome.estimated_error().value_or(unknown));
  return json.value();
}

}  // namespace stratum::apps
