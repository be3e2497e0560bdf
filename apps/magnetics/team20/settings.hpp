#pragma once

// What the options of team20 ask for, checked as far as that is possible before anything is computed.

#include <stratum/magnetics/edge_elements.hpp>
#include <stratum/magnetics/nonlinear_field.hpp>
#include <stratum/magnetics/team20_problem.hpp>
#include <stratum/solvers/stopping.hpp>

#include "magnetics/edge_system.hpp"
#include "support/program.hpp"

namespace stratum::apps::magnetics {

/// The options, read.
struct Settings {
  EdgeElement element = EdgeElement::hexahedron;
  team20::GridParams grid;
  double permeability = 200, ampere_turns = 1000;
  bool curve = false;  // of the steel, instead of the permeability
  NonlinearParams nonlinear;
  EdgeMethod solver;
  StoppingParams stop;
  bool tolerance_asked_for = false;
  Machine machine;
  bool quiet = false;
};

/// Throws UsageError, which names the option, where options do not fit each other.
[[nodiscard]] Settings parse_settings(const CommandLine& options);

}  // namespace stratum::apps::magnetics
