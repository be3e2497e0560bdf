#pragma once

// One level of a run: set-up, solve, and what is computed of the solution.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "memory.hpp"
#include "outcome.hpp"
#include "settings.hpp"

namespace stratum::apps::poisson {

/// The solver of a level, set up and not yet run.
struct Prepared {
  ProblemMesh mesh;
  PoissonSolverParams params;
  std::int64_t expected_memory;
  std::unique_ptr<PoissonSolver> solver;
  std::shared_ptr<const FiniteVolumes> volumes;  // what it solves, if not elements
};

/// Throws ResourceError where the level does not fit.
[[nodiscard]] Prepared prepare(Context& ctx, const Settings& settings, int level, const Uses& uses);

/// Solves for all right-hand sides and prints what --quiet and tables do not leave out. Throws UsageError where the data of a
/// singular problem do not balance.
[[nodiscard]] Solved solve(Context& ctx, const Settings& settings, const CommandLine& options, int level,
                           const Uses& uses, Prepared prepared);

/// Notes in `outcome` how its solution differs from that of the level before.
void compare(Outcome& outcome, std::span<const double> nodal, const Solved& coarser);

/// Why one rank solves the largest mesh faster than several do; empty where that is not so. All ranks get the same answer. A
/// solver that was set up to find out is left in `prepared` where it is of use.
[[nodiscard]] std::string why_alone(Context& ctx, const Settings& settings, const Uses& uses,
                                    std::optional<Prepared>& prepared);

}  // namespace stratum::apps::poisson
