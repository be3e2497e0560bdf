#pragma once

// Solves to a relative residual and one FMG cycle, beside solvers of other libraries that are given the same systems in the
// same rounds. Times are the shortest of several samples, which are spread over rounds, so that a machine disturbed for a while
// still shows what it can do.

#include "bench/peers/hypre.hpp"
#include "bench/recorder.hpp"

namespace stratum::apps::bench {

/// All meshes and levels. Prints a line for each solver and returns all as JSON. `hypre`: null where it takes no part.
[[nodiscard]] Json measure_solves(Recorder& recorder, const Hypre* hypre);

/// The same for coefficients that jump.
[[nodiscard]] Json measure_coefficients(Recorder& recorder, const Hypre* hypre);

}  // namespace stratum::apps::bench
