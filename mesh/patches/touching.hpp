#pragma once

// Nodes that lie on an edge that they are no ends of: where grids do not match.

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include <stratum/mesh/mapped_mesh.hpp>

namespace stratum::detail {

struct Touch {
  int point = 0;
  std::size_t edge = 0;
};

/// The first of `edges`, straight lines between points, that one of `candidates` lies on.
[[nodiscard]] inline std::optional<Touch> first_touch(const std::vector<Position>& points, std::vector<int> candidates,
                                                      const std::vector<std::pair<int, int>>& edges) {
  constexpr double rounding = 1e-9;  // of the length of an edge
  const auto at = [&](int k) -> const Position& { return points[static_cast<std::size_t>(k)]; };
  std::sort(candidates.begin(), candidates.end(), [&](int a, int b) { return at(a).x < at(b).x; });
  for (std::size_t e = 0; e < edges.size(); ++e) {
    const Position a = at(edges[e].first), b = at(edges[e].second);
    const double length = std::hypot(b.x - a.x, b.y - a.y), near = rounding * length;
    auto it = std::lower_bound(candidates.begin(), candidates.end(), std::min(a.x, b.x) - near,
                               [&](int k, double x) { return at(k).x < x; });
    for (; it != candidates.end() && at(*it).x <= std::max(a.x, b.x) + near; ++it) {
      if (*it == edges[e].first || *it == edges[e].second) continue;
      const double dx = at(*it).x - a.x, dy = at(*it).y - a.y;
      const double along = (dx * (b.x - a.x) + dy * (b.y - a.y)) / length;
      const double beside = (dx * (b.y - a.y) - dy * (b.x - a.x)) / length;
      if (std::abs(beside) <= near && along > near && along < length - near) return Touch{*it, e};
    }
  }
  return std::nullopt;
}

}  // namespace stratum::detail
