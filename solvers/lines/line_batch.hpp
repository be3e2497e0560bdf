#pragma once

// LineBatch: lines of a grid along one axis that are solved together. It is what the order of a sweep
// (solvers/lines/zebra_schedule.hpp) hands to the solvers of lines, on a CPU, on a GPU and on subdomains.

#include <cstdint>

#include <stratum/core/field/field.hpp>

namespace stratum::line {

/// Of a zebra sweep. Lines of the first colour are the only ones that may find zeros beside them in a sweep from zero.
enum class LineColour : std::uint8_t { first, second, third };

struct LineBatch {
  Direction axis;
  int first, stride, count;  // lines first, first + stride, ...
  LineColour colour = LineColour::first;

  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE int line(int k) const { return first + k * stride; }
};

}  // namespace stratum::line
