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

/// Warns where the fluxes and the load do not balance: some equations are not solved then, whatever the norm of the residual
/// is.
void warn_of_balance(const Outcome& outcome);

/// Warns where neighbouring nodes differ by a large part of the range, and the solution is not linear there.
void warn_of_layers(const Outcome& outcome);

}  // namespace stratum::apps::poisson
