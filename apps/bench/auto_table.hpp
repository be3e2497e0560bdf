#pragma once

// stratum_bench --auto: time to 1e-8, without set-up, of smoother "auto" beside every fixed choice of smoother and sweeps, over
// the published meshes with the published load and random ones with right-hand sides of random numbers, which leave no error
// out. All candidates of a mesh take turns, and the shortest of each one's times counts, so that what else the machine does
// falls on all alike.

#include <string>
#include <vector>

#include <stratum/core/device/context.hpp>

#include "support/timing.hpp"

namespace stratum::apps {

/// Prints the table and returns it as JSON. `clock` is the name of `now`.
[[nodiscard]] std::string print_auto_table(Context& ctx, Stopwatch now, const std::string& clock,
                                           const std::vector<std::string>& names, const std::vector<int>& levels,
                                           int random_meshes);

}  // namespace stratum::apps
