#pragma once

// Poisson problems in boxes: PoissonSolver3D on uniform axes, on axes that are geometric to a millionth of the box in all directions, and
// on these between Neumann faces at their thin ends. For each the whole solve with its right-hand side resident, and what it is
// made of: the direct solution with its products, and the residual.

#include "bench/recorder.hpp"

namespace stratum::apps::bench {

/// All boxes. Prints a line for each and returns all as JSON.
[[nodiscard]] Json measure_boxes(Recorder& recorder);

}  // namespace stratum::apps::bench
