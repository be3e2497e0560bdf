#pragma once

// The files that show the field.

#include <string>

#include "problem.hpp"
#include "settings.hpp"
#include "solve.hpp"

namespace stratum::apps::magnetics {

/// B, H, the current density and materials in the middle of every element, for ParaView.
void write_fields(const std::string& path, const Problem& problem, const SolvedField& solution,
                  const Settings& settings);

/// A picture of |B| where the steel is, and of what it encloses.
void draw(const std::string& path, const Problem& problem, const SolvedField& field);

}  // namespace stratum::apps::magnetics
