#include <stratum/assembly/point_values.hpp>

#include <algorithm>
#include <cmath>

#include <stratum/core/errors.hpp>

namespace stratum {

namespace {

constexpr double negligible = 1e-12;  // of lengths

}  // namespace

std::optional<std::pair<int, double>> interval_of(const Axis& line, double x) {
  const double at = x - line.origin(), margin = negligible * line.length();
  if (!(at >= -margin && at <= line.length() + margin)) return std::nullopt;
  const auto& nodes = line.from_begin();
  const auto k = static_cast<std::size_t>(std::upper_bound(nodes.begin() + 1, nodes.end() - 1, at) - nodes.begin() - 1);
  return std::pair{static_cast<int>(k), std::clamp((at - nodes[k]) / line.widths()[k], 0.0, 1.0)};
}

std::pair<int, double> interval_at(const Axis& line, double from_begin, double from_end) {
  const bool first = from_begin <= from_end;
  const auto& distances = first ? line.from_begin() : line.from_end();
  const auto after = std::partition_point(distances.begin(), distances.end(),
                                          [&](double d) { return first ? d <= from_begin : d > from_end; });
  const auto k = std::clamp<std::ptrdiff_t>(after - distances.begin() - 1, 0, std::ptrdiff_t{line.size()} - 1);
  const auto at = static_cast<std::size_t>(k);
  const double width = line.widths()[at];
  return {static_cast<int>(k),
          first ? (from_begin - distances[at]) / width : 1 - (from_end - distances[at + 1]) / width};
}

// Cells are convex, so that Newton's method gets there from the middle.
std::optional<std::pair<double, double>> fractions_of(const Quadrilateral& cell, const Position& p) {
  double t = 0.5, s = 0.5;
  constexpr int enough = 30;
  constexpr double rounding = 1e-14, far_away = 100;
  for (int k = 0; k < enough; ++k) {
    const Position at = cell.at(t, s);
    const Jacobian j = cell.derivatives(t, s);
    const double det = j.determinant(), dx = p.x - at.x, dy = p.y - at.y;
    const double dt = (j.ys * dx - j.xs * dy) / det, ds = (j.xt * dy - j.yt * dx) / det;
    t += dt;
    s += ds;
    if (!(std::abs(t) < far_away && std::abs(s) < far_away)) return std::nullopt;
    if (std::abs(dt) + std::abs(ds) < rounding) break;
  }
  return std::pair{t, s};
}

PointLocator::Box PointLocator::box_of(const Quadrilateral& cell) {
  const auto [x0, x1] = std::minmax({cell.sw.x, cell.se.x, cell.nw.x, cell.ne.x});
  const auto [y0, y1] = std::minmax({cell.sw.y, cell.se.y, cell.nw.y, cell.ne.y});
  return {x0, x1, y0, y1};
}

PointLocator::PointLocator(const Geometry& mesh) : mesh_(mesh) {
  const MappedMesh* const mapped = mesh.mapped();
  if (mapped == nullptr) return;
  for (int j = 0; j < mapped->logical().y().size(); ++j) {
    Box row = box_of(mapped->cell(0, j));
    for (int i = 1; i < mapped->logical().x().size(); ++i) {
      const Box cell = box_of(mapped->cell(i, j));
      row = {std::min(row.x0, cell.x0), std::max(row.x1, cell.x1), std::min(row.y0, cell.y0),
             std::max(row.y1, cell.y1)};
    }
    size_ = std::max({size_, row.x1 - row.x0, row.y1 - row.y0});
    rows_.push_back(row);
  }
}

std::optional<MeshPoint> PointLocator::locate(const Position& p) const {
  const MappedMesh* const mapped = mesh_.mapped();
  if (mapped == nullptr) {
    const auto x = interval_of(mesh_.logical().x(), p.x), y = interval_of(mesh_.logical().y(), p.y);
    if (!x || !y) return std::nullopt;
    return MeshPoint{x->first, y->first, x->second, y->second};
  }
  const double margin = negligible * size_;
  for (int j = 0; j < mapped->logical().y().size(); ++j) {
    if (!rows_[static_cast<std::size_t>(j)].contains(p, margin)) continue;
    for (int i = 0; i < mapped->logical().x().size(); ++i) {
      const Quadrilateral cell = mapped->cell(i, j);
      if (!box_of(cell).contains(p, margin)) continue;
      const auto found = fractions_of(cell, p);
      if (!found) continue;
      const double t = std::clamp(found->first, 0.0, 1.0), s = std::clamp(found->second, 0.0, 1.0);
      const Position at = cell.at(t, s);
      if (std::hypot(at.x - p.x, at.y - p.y) <= margin) return MeshPoint{i, j, t, s};
    }
  }
  return std::nullopt;
}

double value_at(const Geometry& mesh, std::span<const double> nodal, const MeshPoint& p) {
  const auto nodes = static_cast<std::size_t>(mesh.logical().x().size()) + 1;
  expects(nodal.size() == nodes * (static_cast<std::size_t>(mesh.logical().y().size()) + 1), "the solution has ",
          nodal.size(), " nodal values, another number than the mesh has nodes");
  const double* south = &nodal[static_cast<std::size_t>(p.j) * nodes + static_cast<std::size_t>(p.i)];
  const double* north = south + nodes;
  return (1 - p.s) * ((1 - p.t) * south[0] + p.t * south[1]) + p.s * ((1 - p.t) * north[0] + p.t * north[1]);
}

}  // namespace stratum
