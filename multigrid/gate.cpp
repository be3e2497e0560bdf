#include <stratum/multigrid/gate.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include <stratum/core/errors.hpp>
#include <stratum/core/field/extents.hpp>

namespace stratum {

namespace {

double smallest(const GatedAxis& axis) { return *std::min_element(axis.widths.begin(), axis.widths.end()); }

/// sqrt(h_l h_r) of a node between two intervals.
double width_at(const GatedAxis& axis, std::size_t node) {
  return std::sqrt(axis.widths[node - 1]) * std::sqrt(axis.widths[node]);
}

/// Of nodes 0 .. intervals. Ends, and the first node of a periodic direction, stay.
std::vector<bool> nodes_to_drop(const GatedAxis& axis, double limit) {
  constexpr double slack = 1.0001;
  constexpr std::size_t fewest_periodic = 6;
  const std::size_t intervals = axis.widths.size();
  std::vector<bool> drop(intervals + 1, false);
  if (axis.periodic && intervals < fewest_periodic) return drop;
  const auto may = [&](std::size_t node) { return node < intervals && width_at(axis, node) <= limit * slack; };
  for (std::size_t node = 1; node < intervals;) {
    if (!may(node)) {
      ++node;
      continue;
    }
    std::size_t end = node;
    while (may(end + 1)) ++end;
    const bool from_first = axis.widths[node - 1] <= axis.widths[end];
    for (std::size_t n = from_first ? node : node + (end - node) % 2; n <= end; n += 2) drop[n] = true;
    node = end + 2;
  }
  // One unknown stays.
  if (std::count(drop.begin(), drop.end(), true) == axis.unknowns()) *std::find(drop.begin(), drop.end(), true) = false;
  return drop;
}

GatedAxis coarser(const GatedAxis& axis, const std::vector<bool>& drop) {
  GatedAxis coarse = axis;
  coarse.widths.clear();
  for (std::size_t i = 0; i < axis.widths.size(); ++i) {
    if (drop[i])
      coarse.widths.back() += axis.widths[i];
    else
      coarse.widths.push_back(axis.widths[i]);
  }
  return coarse;
}

std::vector<GatedLevel> levels_of(const std::array<GatedAxis, 3>& finest, double coarsen, const GateParams& params) {
  std::vector<GatedLevel> levels{{finest, {}, {}}};
  while (levels.back().unknowns() > params.coarsest_unknowns) {
    GatedLevel& level = levels.back();
    std::array<std::vector<bool>, 3> drop;
    bool any = false;
    constexpr double raise = 1.25, most = 1e300;
    for (double c = coarsen; !any && c < most; c *= raise)
      for (std::size_t d = 0; d < 3; ++d) {
        const double h = std::max(smallest(level.axes[(d + 1) % 3]), smallest(level.axes[(d + 2) % 3]));
        drop[d] = nodes_to_drop(level.axes[d], c * h);
        any = any || std::count(drop[d].begin(), drop[d].end(), true) > 0;
      }
    if (!any) break;
    std::array<double, 3> widest{};
    for (std::size_t d = 0; d < 3; ++d)
      for (std::size_t n = 1; n < level.axes[d].widths.size(); ++n)
        if (drop[d][n]) widest[d] = std::max(widest[d], width_at(level.axes[d], n));
    GatedLevel coarse;
    for (std::size_t d = 0; d < 3; ++d) {
      level.lines[d] = std::max(widest[(d + 1) % 3], widest[(d + 2) % 3]) > params.lines * smallest(level.axes[d]);
      coarse.axes[d] = coarser(level.axes[d], drop[d]);
      const auto first = drop[d].begin() + level.axes[d].first_unknown();
      level.dropped[d].assign(first, first + level.axes[d].unknowns());
    }
    levels.push_back(std::move(coarse));
  }
  return levels;
}

}  // namespace

double GatedLevel::unknowns() const {
  return static_cast<double>(axes[0].unknowns()) * axes[1].unknowns() * axes[2].unknowns();
}

std::string GatedLevel::smoother() const {
  if (dropped[0].empty()) return "inverse";
  std::string text;
  auto left = std::count(lines.begin(), lines.end(), true);
  if (left == 0) return "points";
  for (std::size_t d = 0; d < 3; ++d)
    if (lines[d]) text += message(text.empty() ? "lines along " : --left == 1 ? " and " : ", ", axis_names[d]);
  return text;
}

std::vector<GatedLevel> gated_levels(const std::array<GatedAxis, 3>& finest, const GateParams& params) {
  auto levels = levels_of(finest, params.coarsen, params);
  double nodes = 0;
  for (const GatedLevel& level : levels) nodes += level.unknowns();
  if (nodes > params.most_nodes * levels.front().unknowns())
    return levels_of(finest, params.coarsen_where_many, params);
  return levels;
}

}  // namespace stratum
