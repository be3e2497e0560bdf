#pragma once

// The four boundaries of a problem with their places on the mesh: what the sources of this folder share.

#include <array>

#include <stratum/assembly/poisson_problem.hpp>

namespace stratum::detail {

struct BoundaryOf {
  const BoundaryCondition& condition;
  const char* name;
  BoundaryPlace place;
};

[[nodiscard]] inline std::array<BoundaryOf, 4> all_boundaries(const BoundaryConditions& boundaries) {
  return {{{boundaries.left, "left", {Direction::y, false}},
           {boundaries.right, "right", {Direction::y, true}},
           {boundaries.bottom, "bottom", {Direction::x, false}},
           {boundaries.top, "top", {Direction::x, true}}}};
}

[[nodiscard]] inline bool is_neumann_or_robin(const BoundaryCondition& condition) {
  return condition.kind == BoundaryConditionType::neumann || condition.kind == BoundaryConditionType::robin;
}

}  // namespace stratum::detail
