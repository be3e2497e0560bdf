#pragma once

// What is said of ranks that share a box, planes of it each. For poisson3d and heat3d.

#include <vector>

#include <stratum/multigrid/poisson_solver_3d.hpp>

#include "support/json.hpp"
#include "support/rank_output.hpp"

namespace stratum::apps::poisson3d {

/// Of all ranks; none where there is one. `unknowns`: this one's. `own`: with its seconds and expected memory.
[[nodiscard]] std::vector<RankNumbers> numbers_of_ranks(const Context& ctx, const Machine& machine,
                                                        const BoxSolverPlan& plan, const GridLayout<3>& unknowns,
                                                        RankNumbers own);
/// Nothing of one rank.
void print_ranks(const Context& ctx, const BoxSolverPlan& plan, const std::vector<RankNumbers>& ranks);
void add_ranks(JsonObject& json, const Context& ctx, const BoxSolverPlan& plan, const std::vector<RankNumbers>& ranks);

}  // namespace stratum::apps::poisson3d
