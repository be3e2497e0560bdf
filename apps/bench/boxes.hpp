#pragma once

// Poisson problems in boxes: PoissonSolver3D on uniform axes, on axes that are geometric to a millionth of the box in all
// directions, on these between Neumann faces at their thin ends, and, by multigrid, where K jumps. For each the whole solve
// with its right-hand side resident, and what it is made of: the direct solution with its products, and the residual. hypre
// solves the same matrices where it takes part, on a GPU on the same one, in boxes of up to 2^--peer-level cells a direction.

#include "bench/peers/hypre.hpp"
#include "bench/recorder.hpp"

namespace stratum::apps::bench {

/// All boxes; `hypre`: null where it is not there. Prints a line for each and returns all as JSON.
[[nodiscard]] Json measure_boxes(Recorder& recorder, const Hypre* hypre);

}  // namespace stratum::apps::bench
