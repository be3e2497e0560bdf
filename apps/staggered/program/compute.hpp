#pragma once

// The gauge field, and propagators on it for every mass and colour.

#include <optional>
#include <vector>

#include <stratum/core/io/solve_report.hpp>
#include <stratum/staggered/gauge_field.hpp>

#include "settings.hpp"

namespace stratum::apps::propagators {

/// Throws ResourceError where field and links on the host, and links and vectors where it is computed, do not fit.
void expect_room_for(const Context& ctx, const Settings& s, const Lattice& lattice);

/// From the file of --gauge, or made.
[[nodiscard]] GaugeField make_field(const Settings& s);

/// Of one mass and one colour.
struct Run {
  double mass;
  int colour;
  SolveReport report;
  int updates = 0;
};

/// Of all masses and colours.
struct Outcome {
  std::vector<Run> runs;
  std::vector<std::vector<double>> correlators;  // of every mass
  std::vector<double> condensates;               // (b, A^-1 b), likewise
  std::optional<double> error;                   // from the Fourier transform, relative to the largest number
  double setup_seconds = 0, solve_seconds = 0, link_error = 0;
};

[[nodiscard]] Outcome compute(Context& ctx, const GaugeField& field, const Settings& s);

/// How far the sum of the correlator is from what the Ward identity says, relative; the largest of all masses.
[[nodiscard]] double ward_difference(const Outcome& outcome);

/// The one that went worst: what the program says of all.
[[nodiscard]] const SolveReport& worst(const std::vector<Run>& runs, bool asked_for);

}  // namespace stratum::apps::propagators
