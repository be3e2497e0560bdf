#pragma once

// What solves of elements and of finite volumes share.

#include <cstdint>
#include <vector>

#include <stratum/core/field/field.hpp>

#include "outcome.hpp"
#include "settings.hpp"

namespace stratum::apps::poisson {

/// What a set-up solver says of itself.
[[nodiscard]] Outcome outcome_of(const PoissonSolver& solver, int level, std::int64_t expected_memory,
                                 const ProblemMesh& mesh);
/// What the ranks tell each other of a solve, and of a solver also how it overlaps.
void note_ranks(Context& ctx, const Settings& settings, Outcome& outcome);
void note_ranks(Context& ctx, const Settings& settings, const PoissonSolver& solver, Outcome& outcome);

/// Where a start has, for one right-hand side, no residual but rounding, that is nothing to measure by: the norm of the
/// right-hand side is.
void measure_by_rhs_at_solution(Context& ctx, const Settings& settings, PoissonSolverParams& params,
                                PoissonSolver& solver, const std::vector<Field<double>>& bs,
                                const std::vector<Field<double>>& xs);

/// One with a line for every iteration, several as a batch.
[[nodiscard]] std::vector<SolveReport> solve_all(Context& ctx, const Settings& settings, PoissonSolver& solver,
                                                 const std::vector<Field<double>>& bs, std::vector<Field<double>>& xs);

/// The system that went worst.
void note_worst(Outcome& outcome);
/// How all ended, unless --quiet is given, and warnings; nothing of a table.
void print_solved(const Settings& settings, const Outcome& outcome);

}  // namespace stratum::apps::poisson
