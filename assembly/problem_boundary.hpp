#pragma once

// The four sides of a problem with their places on the mesh: what the sources of this folder share.

#include <array>

#include <stratum/assembly/poisson_problem.hpp>

namespace stratum::detail {

struct SideOf {
  const SideCondition& condition;
  const char* name;
  SidePlace place;
};

[[nodiscard]] inline std::array<SideOf, 4> all_sides(const Sides& sides) {
  return {{{sides.left, "left", {Direction::y, false}},
           {sides.right, "right", {Direction::y, true}},
           {sides.bottom, "bottom", {Direction::x, false}},
           {sides.top, "top", {Direction::x, true}}}};
}

[[nodiscard]] inline bool is_natural(const SideCondition& condition) {
  return condition.kind == SideKind::neumann || condition.kind == SideKind::robin;
}

}  // namespace stratum::detail
