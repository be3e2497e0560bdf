#include <stratum/assembly/patch_values.hpp>

#include <algorithm>
#include <cmath>

#include <stratum/core/errors.hpp>

namespace stratum {

void PatchLocator::Box::add(const Position& p) {
  x0 = std::min(x0, p.x);
  x1 = std::max(x1, p.x);
  y0 = std::min(y0, p.y);
  y1 = std::max(y1, p.y);
}

PatchLocator::PatchLocator(const PatchMesh& mesh) {
  constexpr Box nothing{HUGE_VAL, -HUGE_VAL, HUGE_VAL, -HUGE_VAL};
  Box whole = nothing;
  for (int p = 0; p < mesh.patches(); ++p) {
    PatchNodes nodes = mesh.nodes_of(p);
    Patch patch{nodes.nx, nodes.ny, std::move(nodes.at), nothing, {}};
    const auto columns = static_cast<std::size_t>(patch.nx) + 1;
    for (std::size_t j = 0; j < static_cast<std::size_t>(patch.ny); ++j) {
      Box& row = patch.rows.emplace_back(nothing);
      for (std::size_t k = j * columns; k < (j + 2) * columns; ++k) row.add(patch.nodes[k]);
    }
    for (const Position& at : patch.nodes) {
      patch.whole.add(at);
      whole.add(at);
    }
    patches_.push_back(std::move(patch));
  }
  size_ = std::max(whole.x1 - whole.x0, whole.y1 - whole.y0);
}

std::optional<PatchPoint> PatchLocator::locate(const Position& p) const {
  constexpr double negligible = 1e-12;
  const double margin = negligible * size_;
  for (std::size_t n = 0; n < patches_.size(); ++n) {
    const Patch& patch = patches_[n];
    if (!patch.whole.contains(p, margin)) continue;
    const auto columns = static_cast<std::size_t>(patch.nx) + 1;
    for (int j = 0; j < patch.ny; ++j) {
      if (!patch.rows[static_cast<std::size_t>(j)].contains(p, margin)) continue;
      for (int i = 0; i < patch.nx; ++i) {
        const std::size_t sw = static_cast<std::size_t>(j) * columns + static_cast<std::size_t>(i), nw = sw + columns;
        const Quadrilateral cell{patch.nodes[sw], patch.nodes[sw + 1], patch.nodes[nw], patch.nodes[nw + 1]};
        const auto [x0, x1] = std::minmax({cell.sw.x, cell.se.x, cell.nw.x, cell.ne.x});
        const auto [y0, y1] = std::minmax({cell.sw.y, cell.se.y, cell.nw.y, cell.ne.y});
        if (!Box{x0, x1, y0, y1}.contains(p, margin)) continue;
        const auto found = fractions_of(cell, p);
        if (!found) continue;
        const double t = std::clamp(found->first, 0.0, 1.0), s = std::clamp(found->second, 0.0, 1.0);
        const Position at = cell.at(t, s);
        if (std::hypot(at.x - p.x, at.y - p.y) <= margin) return PatchPoint{static_cast<int>(n), {i, j, t, s}};
      }
    }
  }
  return std::nullopt;
}

double PatchLocator::value_at(std::span<const std::vector<double>> nodal, const PatchPoint& p) const {
  const Patch& patch = patches_.at(static_cast<std::size_t>(p.patch));
  expects(nodal.size() == patches_.size() && nodal[static_cast<std::size_t>(p.patch)].size() == patch.nodes.size(),
          "the solution has another number of nodal values than patch ", p.patch, " has nodes");
  const auto columns = static_cast<std::size_t>(patch.nx) + 1;
  const double* const south = &nodal[static_cast<std::size_t>(p.patch)]
                                    [static_cast<std::size_t>(p.at.j) * columns + static_cast<std::size_t>(p.at.i)];
  const double* const north = south + columns;
  const auto& [i, j, t, s] = p.at;
  return (1 - s) * ((1 - t) * south[0] + t * south[1]) + s * ((1 - t) * north[0] + t * north[1]);
}

}  // namespace stratum
