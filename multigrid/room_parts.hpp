#pragma once

// Rooms that nothing holds (assembly/rooms.hpp, assembly/box_bodies.hpp), as the singular parts of a matrix of their unknowns.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <stratum/multigrid/singular_parts.hpp>

namespace stratum {

/// `of_unknown`: the room of every unknown of the grid, or -1. Own unknowns are begin .. begin + count - 1 of them.
template <class Room>
[[nodiscard]] SingularParts parts_of_rooms(const std::vector<Room>& rooms, std::span<const int> of_unknown,
                                           std::size_t begin, std::size_t count) {
  SingularParts parts;
  std::vector<int> number(rooms.size(), SingularParts::regular);
  for (std::size_t r = 0; r < number.size(); ++r)
    if (rooms[r].singular) {
      number[r] = static_cast<int>(parts.parts.size());
      parts.parts.push_back({0, -1});
    }
  const auto part_of = [&](std::size_t unknown) {
    const int room = of_unknown[unknown];
    return room < 0 ? SingularParts::fixed : number[static_cast<std::size_t>(room)];
  };
  for (std::size_t k = 0; k < of_unknown.size(); ++k)
    if (const int own = part_of(k); own >= 0) {
      SingularParts::Part& part = parts.parts[static_cast<std::size_t>(own)];
      if (part.nodes++ == 0) part.first = static_cast<std::int64_t>(k);
    }
  for (std::size_t k = begin; k < begin + count; ++k) parts.of_node.push_back(part_of(k));
  return parts;
}

}  // namespace stratum
