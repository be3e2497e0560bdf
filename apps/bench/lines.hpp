#pragma once

// Tridiagonal systems on their own: n lines of n unknowns. On a GPU cuSPARSE solves the same lines, each of its functions in
// the layout that it wants. Its gtsv2StridedBatch goes on from its own result; what gtsvInterleavedBatch overwrites is copied
// anew before every solve, and the time of the copies, measured alone, is taken off.

#include <string>

#include "bench/recorder.hpp"

namespace stratum::apps::bench {

/// The library that solves the same lines, with its version, or why there is none.
[[nodiscard]] std::string line_peer(const Settings& settings);

/// All levels in both precisions. Prints a line for each method and returns all as JSON.
[[nodiscard]] Json measure_lines(Recorder& recorder);

}  // namespace stratum::apps::bench
