#pragma once

// --discretisation fv: a level by cell-centred finite volumes (assembly/finite_volumes.hpp), set-up, solve, and what is
// computed and written of the solution.

#include <string>
#include <vector>

#include "solve.hpp"

namespace stratum::apps::poisson {

/// What options do not go with it. Throws UsageError, which names the option.
void check_volumes(const CommandLine& options, const Settings& settings);

/// As those of solve.hpp.
[[nodiscard]] Prepared prepare_volumes(Context& ctx, const Settings& settings, int level, const Uses& uses);
[[nodiscard]] Solved solve_volumes(Context& ctx, const Settings& settings, const CommandLine& options, int level,
                                   const Uses& uses, Prepared prepared);

/// Solutions, exact ones, errors and right-hand sides on cells, for ParaView.
void write_vtk_of_cells(Context& ctx, const Settings& settings, const Solved& solved, const std::string& path);
/// Every solution at the nodes of `volumes->points()`, for pictures and values along lines.
[[nodiscard]] std::vector<std::vector<double>> at_points(const Settings& settings, const Solved& solved);

}  // namespace stratum::apps::poisson
