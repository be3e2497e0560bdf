#pragma once

// Nodes that lie on an edge that they are no ends of, and edges that cross or coincide: where grids do not match.

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <stratum/core/errors.hpp>
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

struct Meeting {
  std::size_t one = 0, other = 0;
  bool same = false;  // place; else they cross
};

/// The first two of `edges`, straight lines between points, that cross inside or have other ends at the same places. `patches`:
/// of edges, where two of one patch do not count.
[[nodiscard]] inline std::optional<Meeting> first_meeting(const std::vector<Position>& points,
                                                          const std::vector<std::pair<int, int>>& edges,
                                                          const std::vector<int>& patches = {}) {
  constexpr double rounding = 1e-9;  // of the length of an edge
  const auto at = [&](int k) -> const Position& { return points[static_cast<std::size_t>(k)]; };
  // Ordered along a direction that hardly any edge is perpendicular to.
  const auto place = [&](int k) { return std::cos(0.7) * at(k).x + std::sin(0.7) * at(k).y; };
  const auto begin = [&](std::size_t e) { return std::min(place(edges[e].first), place(edges[e].second)); };
  const auto end = [&](std::size_t e) { return std::max(place(edges[e].first), place(edges[e].second)); };
  std::vector<std::size_t> order(edges.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t e, std::size_t f) { return begin(e) < begin(f); });
  // Of point p beside the line from a to b.
  const auto side = [](const Position& a, const Position& b, const Position& p) {
    return (b.x - a.x) * (p.y - a.y) - (b.y - a.y) * (p.x - a.x);
  };
  for (std::size_t n = 0; n < order.size(); ++n) {
    const std::size_t e = order[n];
    const Position a = at(edges[e].first), b = at(edges[e].second);
    const double near = rounding * std::hypot(b.x - a.x, b.y - a.y);
    const auto together = [&](const Position& p, const Position& q) {
      return std::hypot(q.x - p.x, q.y - p.y) <= near;
    };
    for (std::size_t m = n + 1; m < order.size() && begin(order[m]) <= end(e) + near; ++m) {
      const std::size_t f = order[m];
      if (!patches.empty() && patches[e] == patches[f]) continue;
      const Position c = at(edges[f].first), d = at(edges[f].second);
      if ((together(a, c) && together(b, d)) || (together(a, d) && together(b, c))) return Meeting{e, f, true};
      if (together(a, c) || together(a, d) || together(b, c) || together(b, d)) continue;
      if (side(a, b, c) * side(a, b, d) < 0 && side(c, d, a) * side(c, d, b) < 0) return Meeting{e, f, false};
    }
  }
  return std::nullopt;
}

/// Throws UsageError where boundary edges of a file's grids touch or coincide: `edges` against themselves and `candidates`.
inline void expect_matching(const std::string& path, const char* grids, const std::vector<Position>& points,
                            std::vector<int> candidates, const std::vector<std::pair<int, int>>& edges) {
  const auto at = [&](int k) {
    const Position& p = points[static_cast<std::size_t>(k)];
    return message("(", p.x, ", ", p.y, ")");
  };
  const auto line = [&](std::size_t e) { return message(at(edges[e].first), " and ", at(edges[e].second)); };
  if (const auto touch = first_touch(points, std::move(candidates), edges))
    throw UsageError(message("'", path, "': the ", grids, " do not match: a node at ", at(touch->point),
                             " lies on the edge of another one between its nodes ", line(touch->edge)));
  if (const auto pair = first_meeting(points, edges))
    throw UsageError(
        message("'", path, "': the ", grids, " do not match: ",
                pair->same ? "two edges between the same places are not joined, " : "two edges of the boundary cross, ",
                line(pair->one), pair->same ? "" : message(", ", line(pair->other))));
}

}  // namespace stratum::detail
