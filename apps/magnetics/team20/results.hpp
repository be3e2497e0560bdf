#pragma once

// What the field says, and what was measured.

#include <cmath>
#include <string>

#include <stratum/magnetics/team20_problem.hpp>

#include "problem.hpp"
#include "settings.hpp"
#include "solve.hpp"

namespace stratum::apps::magnetics {

/// Of the whole device; not numbers where there is no solution.
struct Results {
  double force = NAN;                                 // on the pole along z, newton
  double energy = NAN;                                // joule
  double inductance = NAN;                            // henry, per turn squared
  double p1 = NAN, p2 = NAN, pole = NAN, yoke = NAN;  // B_z, tesla
};

[[nodiscard]] Results evaluate(Context& ctx, const Problem& problem, const SolvedField& field,
                               const Settings& settings);

/// Null where nothing was measured with these ampere-turns.
[[nodiscard]] const team20::Measurement* measurement(double ampere_turns);

/// Why ours are not what was measured, or hang on an extrapolation; else empty.
[[nodiscard]] std::string remark(const Settings& settings, const SolvedField& field);

}  // namespace stratum::apps::magnetics
