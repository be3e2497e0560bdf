#pragma once

// What people read of a run as it goes on.

#include "outcome.hpp"
#include "settings.hpp"

namespace stratum::apps::poisson {

/// The mesh, the problem and the solver, before the first iteration.
void print_heading(const Settings& settings, const CommandLine& options, const Context& ctx, const Outcome& outcome);

/// How the solve of the only right-hand side ended, and what its solution is like.
void print_outcome(const Settings& settings, const Outcome& outcome);

/// The same of several right-hand sides: a line each.
void print_systems(const Outcome& outcome);

/// Warns where fluxes and load do not balance, and where the mesh does not resolve a solution.
void warn_of_solutions(const Outcome& outcome);

}  // namespace stratum::apps::poisson
