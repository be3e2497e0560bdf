#pragma once

// In which order the lines of a grid are taken: zebra takes every second line and then the others, simultaneous all from the
// old values. Backward runs the same parts in the opposite order.

#include <cstdint>

#include <stratum/core/names.hpp>

namespace stratum {

enum class SweepOrder : std::uint8_t { forward, backward };
enum class LineOrder : std::uint8_t { zebra, simultaneous };

template <>
inline constexpr auto names_of<LineOrder> =
    std::to_array<Named<LineOrder>>({{LineOrder::zebra, "zebra"}, {LineOrder::simultaneous, "simultaneous"}});

}  // namespace stratum
