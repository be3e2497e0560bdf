#pragma once

// Wall-clock time in seconds, as reports give it for set-ups and solves.

#include <chrono>

namespace stratum {

using Clock = std::chrono::steady_clock;

[[nodiscard]] inline double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

}  // namespace stratum
