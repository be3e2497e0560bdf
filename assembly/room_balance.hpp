#pragma once

// Loads and solutions in rooms that nothing holds (assembly/rooms.hpp, assembly/box_bodies.hpp), in the plane and in boxes, on
// the host. `total` makes of the sums of every room over own unknowns those over all subdomains.

#include <cmath>
#include <string>
#include <vector>

#include <stratum/assembly/rooms.hpp>
#include <stratum/core/errors.hpp>

namespace stratum {

/// value(unknown) of each singular room.
template <class Value, class Total>
[[nodiscard]] std::vector<double> sums_in_rooms(std::size_t rooms, const UnknownsInRooms& unknowns, const Value& value,
                                                const Total& total) {
  std::vector<double> own(rooms, 0.0);
  for (std::size_t k = 0; k < unknowns.room.size(); ++k)
    if (unknowns.room[k] >= 0) own[static_cast<std::size_t>(unknowns.room[k])] += value(k);
  return total(std::move(own));
}

/// Of every room how far its load is from having a solution, which loses the mean of f there.
template <class Total>
[[nodiscard]] std::vector<Compatibility> balance_in_rooms(std::size_t rooms, const UnknownsInRooms& unknowns,
                                                          std::vector<double>& load, const Total& total) {
  const auto sums = [&](const auto& value) { return sums_in_rooms(rooms, unknowns, value, total); };
  const auto size = [&](std::size_t k) { return std::abs(load[k]); };
  const auto sum = sums([&](std::size_t k) { return load[k]; }), magnitude = sums(size),
             integral = sums([&](std::size_t k) { return unknowns.integral[k]; });
  std::vector<Compatibility> found(rooms);
  for (std::size_t r = 0; r < rooms; ++r) found[r] = {sum[r], magnitude[r], integral[r] > 0 ? sum[r] / integral[r] : 0};
  const auto each = [&](const auto& use) {
    for (std::size_t k = 0; k < load.size(); ++k)
      if (unknowns.room[k] >= 0) use(k, static_cast<std::size_t>(unknowns.room[k]));
  };
  each([&](std::size_t k, std::size_t r) { load[k] -= found[r].mean * unknowns.integral[k]; });
  // What is left of a room's load may be rounding, which a solver would take for a load.
  constexpr double rounding = 1e-14;
  const auto left = sums(size);
  each([&](std::size_t k, std::size_t r) {
    if (left[r] <= rounding * magnitude[r]) load[k] = 0;
  });
  return found;
}

/// u loses its mean over each singular room.
template <class Total>
void subtract_means_in_rooms(std::size_t rooms, const UnknownsInRooms& unknowns, std::vector<double>& u,
                             const Total& total) {
  const auto sum = sums_in_rooms(
      rooms, unknowns, [&](std::size_t k) { return u[k] * unknowns.integral[k]; }, total);
  const auto integral = sums_in_rooms(
      rooms, unknowns, [&](std::size_t k) { return unknowns.integral[k]; }, total);
  for (std::size_t k = 0; k < u.size(); ++k)
    if (unknowns.room[k] >= 0)
      u[k] -= sum[static_cast<std::size_t>(unknowns.room[k])] / integral[static_cast<std::size_t>(unknowns.room[k])];
}

/// Throws UsageError for the first room whose data have no solution, unless `project` allows to subtract the mean of f there.
template <class Room>
void expect_balanced(const std::vector<Room>& rooms, const std::vector<Compatibility>& found, bool project) {
  for (std::size_t r = 0; r < rooms.size(); ++r) {
    const Room& room = rooms[r];
    std::string at = message(room.x, ", ", room.y);
    const char* ends = "boundaries";
    if constexpr (requires { room.z; }) {
      at += message(", ", room.z);
      ends = "faces";
    }
    expects(!room.singular || project || found[r].holds(), "nothing holds u in the room of ", room.cells,
            " cells around (", at, "), which bodies or ", ends,
            " without flux close: the integral of f plus the boundary fluxes has to vanish there and is ", found[r].sum,
            ", ", 100 * std::abs(found[r].sum) / found[r].sum_of_magnitudes,
            " % of the sum of magnitudes. Use --project (`project` in code) to subtract the mean of f in each room");
  }
}

}  // namespace stratum
