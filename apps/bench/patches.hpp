#pragma once

// Poisson problems on patches: a cylinder in a channel of 14 patches whose cells at the wall are 1e-6 thick, 54 quadrilaterals
// that are cut from triangles, and 64 squares; each patch has as many cells a side as are asked for. Conjugate gradients to
// 1e-8 from zero, and one FMG cycle.

#include "bench/recorder.hpp"

namespace stratum::apps::bench {

/// Prints a line for each mesh and returns all as JSON.
[[nodiscard]] Json measure_patches(Recorder& recorder);

}  // namespace stratum::apps::bench
