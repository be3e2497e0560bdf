#pragma once

// Kernels on the finest level and cycles, on A3 in every storage format. A kernel is charged the bytes that it declares: words
// per unknown times unknowns times the size of a word. A cycle is charged its sweeps, restrictions and prolongations on every
// level; that a first sweep from zero moves less is not counted.

#include "bench/recorder.hpp"

namespace stratum::apps::bench {

/// All levels and formats in both precisions. Prints a line for each kernel and returns all as JSON.
[[nodiscard]] Json measure_kernels(Recorder& recorder);

}  // namespace stratum::apps::bench
