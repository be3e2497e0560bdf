#pragma once

// Cells around nodes, for what looks at contacts in corners.

#include <stratum/assembly/geometry.hpp>

namespace stratum::detail {

/// An axis of `cells` cells: the one before or behind a node; negative outside.
inline int cell_beside(const Axis& axis, int node, bool before) {
  const int n = axis.size(), cell = before ? node - 1 : node;
  if (axis.is_periodic()) return (cell + n) % n;
  return cell < n ? cell : -1;
}

/// Nodes that are unknowns; of those that a periodic boundary joins the first.
inline bool counts(const Axis& axis, int node) {
  return unknown_at(axis, node) >= 0 && !(axis.is_periodic() && node == axis.size());
}

}  // namespace stratum::detail
