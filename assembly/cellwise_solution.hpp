#pragma once

// A solution on a mesh, cell by cell, on the host: what fluxes through boundaries and bodies are sums of, and what the data of
// Neumann and Robin boundaries give.

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <span>
#include <utility>

#include <stratum/assembly/cell_element.hpp>
#include <stratum/assembly/gauss_rules.hpp>
#include <stratum/assembly/points.hpp>
#include <stratum/assembly/problem_boundary.hpp>

namespace stratum::detail {

/// Corners of a cell are numbered a = ax + 2 ay.
using CornerValues = std::array<double, 4>;

/// Integral of f phi_a over a cell by the rule of load vectors.
inline CornerValues load_of(const CellPoints& cell, const ScalarFunction& f) {
  CornerValues load{};
  for (const auto& [s, weight_y] : gauss4)
    for (const auto& [t, weight_x] : gauss4) {
      const double value = weight_x * weight_y * cell.measure(t, s) * evaluate(f, cell.at(t, s), "right-hand side");
      load[0] += value * (1 - t) * (1 - s);
      load[1] += value * t * (1 - s);
      load[2] += value * (1 - t) * s;
      load[3] += value * t * s;
    }
  return load;
}

/// A solution on a mesh, cell by cell.
class CellwiseSolution {
 public:
  /// Nodal values of the cells that are asked for.
  using NodalValues = std::function<double(int i, int j)>;
  CellwiseSolution(const Geometry& mesh, const PoissonProblem& problem, NodalValues values,
                   const CellCoefficients* cells)
      : mesh_(mesh), values_(std::move(values)), cells_(cells), reaction_(problem.reaction) {}

  [[nodiscard]] int nx() const { return mesh_.logical().x().size(); }
  [[nodiscard]] int ny() const { return mesh_.logical().y().size(); }
  /// The cell has an equation.
  [[nodiscard]] bool is_live(int i, int j) const {
    return cells_ == nullptr || !cells_->bodies || cells_->bodies->cell_at(i, j) == BodyMap::live;
  }
  /// A body holds the node, and no boundary.
  [[nodiscard]] bool is_held(int i, int j) const {
    return cells_ != nullptr && cells_->bodies && cells_->bodies->node_at(i, j) == BodyMap::given &&
           unknown_at(mesh_.logical().x(), i) >= 0 && unknown_at(mesh_.logical().y(), j) >= 0;
  }
  [[nodiscard]] bool has_reaction() const { return reaction_ != 0 || (cells_ != nullptr && !cells_->c.empty()); }

  [[nodiscard]] CornerValues corners(int i, int j) const {
    return {values_(i, j), values_(i + 1, j), values_(i, j + 1), values_(i + 1, j + 1)};
  }

  /// Integral of c u_h phi_a over a cell.
  [[nodiscard]] CornerValues reaction(int i, int j) const {
    if (!is_live(i, j)) return {};
    const CornerValues u = corners(i, j);
    CornerValues sums{};
    const CellElement element(mesh_, i, j, {0, 0, 0, material(i, j).c});
    for (std::size_t a = 0; a < 4; ++a)
      for (std::size_t b = 0; b < 4; ++b) sums[a] += entry_of(element, a, b).rest * u[b];
    return sums;
  }
  /// Integral of grad phi_a . K grad u_h over a cell, by differences.
  struct Diffusion {
    CornerValues sums{};
    // What is times epsilon the round-off of each: by its terms, and by that of u in differences along x and along y.
    CornerValues terms{}, along_x{}, along_y{};
  };
  [[nodiscard]] Diffusion diffusion(int i, int j) const {
    const CornerValues u = corners(i, j);
    CellMaterial k = material(i, j);
    k.c = 0;
    const CellElement element(mesh_, i, j, k);
    const double largest = std::max({std::abs(u[0]), std::abs(u[1]), std::abs(u[2]), std::abs(u[3])});
    Diffusion found;
    for (std::size_t a = 0; a < 4; ++a) {
      const std::size_t beside = a ^ 1U, above = a ^ 2U, across = a ^ 3U;
      const EntryParts to_beside = entry_of(element, a, beside), to_above = entry_of(element, a, above);
      const auto add = [&](CornerValues& magnitudes, double entry, double difference) {
        found.sums[a] += entry * difference;
        found.terms[a] += std::abs(entry * difference);
        magnitudes[a] += std::abs(entry) * largest;
      };
      add(found.along_x, to_beside.along_x, u[beside] - u[a]);
      add(found.along_x, to_above.along_x, u[above] - u[across]);
      add(found.along_y, to_above.along_y, u[above] - u[a]);
      add(found.along_y, to_beside.along_y, u[beside] - u[across]);
      for (const std::size_t b : {beside, above, across}) add(found.terms, entry_of(element, a, b).rest, u[b] - u[a]);
    }
    return found;
  }
  /// Integral of phi n.K grad u_h over the interval of a boundary at its end, phi that of the node there.
  [[nodiscard]] double flux_at_end(const BoundaryOf& boundary, bool last_boundary) const {
    const bool row = boundary.place.along == Direction::x;
    const int across = boundary.place.last ? (row ? ny() : nx()) - 1 : 0,
              along = last_boundary ? (row ? nx() : ny()) - 1 : 0;
    const int i = row ? along : across, j = row ? across : along;
    if (!is_live(i, j)) return 0;
    const CornerValues u = corners(i, j);
    const CellMaterial k = material(i, j);
    const double end = boundary.place.last ? 1 : 0, outward = boundary.place.last ? 1 : -1;
    double sum = 0;
    for (const auto& [v, weight] : gauss4) {
      const double t = row ? v : end, s = row ? end : v;
      const double ut = (1 - s) * (u[1] - u[0]) + s * (u[3] - u[2]), us = (1 - t) * (u[2] - u[0]) + t * (u[3] - u[1]);
      const Jacobian at = mesh_.mapped() != nullptr && mesh_.mapped()->is_cartesian()
                              ? mesh_.mapped()->cell(i, j).derivatives(t, s)
                              : Jacobian{.xt = mesh_.logical().x().widths()[static_cast<std::size_t>(i)],
                                         .ys = mesh_.logical().y().widths()[static_cast<std::size_t>(j)]};
      const auto [xt, xs, yt, ys] = at;
      const double det = at.determinant(), ux = (ys * ut - yt * us) / det, uy = (xt * us - xs * ut) / det;
      // The normal times the interval's length.
      const double normal_x = outward * (row ? -yt : ys), normal_y = outward * (row ? xt : -xs);
      const double phi = last_boundary ? v : 1 - v;
      const Scales scales = mesh_.cell(i, j).scales(t, s);
      sum += weight * phi * (row ? scales.of_y() : scales.of_x()) *
             (normal_x * (k.xx * ux + k.xy * uy) + normal_y * (k.xy * ux + k.yy * uy));
    }
    return sum;
  }
  /// At fraction v of interval k of a boundary.
  [[nodiscard]] double on_boundary(const BoundaryPlace& boundary, int k, double v) const {
    const bool row = boundary.along == Direction::x;
    const int across = boundary.last ? (row ? ny() : nx()) : 0;
    const auto at = [&](int n) { return row ? values_(n, across) : values_(across, n); };
    return (1 - v) * at(k) + v * at(k + 1);
  }

 private:
  [[nodiscard]] CellMaterial material(int i, int j) const {
    if (cells_ == nullptr) return {.c = reaction_};
    return {cells_->kxx(i, j), cells_->kxy(i, j), cells_->kyy(i, j), cells_->reaction(i, j) + reaction_};
  }
  /// Between corners a and b.
  [[nodiscard]] static EntryParts entry_of(const CellElement& element, std::size_t a, std::size_t b) {
    return element.entry(static_cast<int>(a % 2), static_cast<int>(a / 2), static_cast<int>(b % 2),
                         static_cast<int>(b / 2));
  }

  const Geometry& mesh_;
  NodalValues values_;
  const CellCoefficients* cells_;
  double reaction_;
};

/// Of n.K grad u by the data of a Neumann or Robin boundary, on one interval.
struct IntervalFlux {
  double all = 0, first = 0, second = 0;  // over the interval, and times phi of its two nodes
};
inline IntervalFlux given_flux_of(const Geometry& mesh, const BoundaryOf& boundary, const CellwiseSolution& u, int k) {
  IntervalFlux flux;
  const ScalarFunction g = flux_function(boundary.condition);
  for (const auto& [v, weight] : gauss4) {
    const Point p = mesh.on_boundary(boundary.place, k, v);
    double value = g ? evaluate(g, p, "value of a boundary") : 0;
    if (has_alpha(boundary.condition.kind))
      if (const double alpha = evaluate(boundary.condition.alpha, p, "alpha of a boundary"); alpha != 0)
        value -= alpha * u.on_boundary(boundary.place, k, v);
    value *= weight * mesh.measure_on_side(boundary.place, k, v);
    flux.all += value;
    flux.first += (1 - v) * value;
    flux.second += v * value;
  }
  return flux;
}
/// Of rows from `first` on.
inline CellwiseSolution::NodalValues nodal_values_of(std::span<const double> nodal, const Geometry& mesh, int first) {
  const auto nodes = static_cast<std::size_t>(mesh.logical().x().size()) + 1;
  return [nodal, nodes, first](int i, int j) {
    return nodal[static_cast<std::size_t>(j - first) * nodes + static_cast<std::size_t>(i)];
  };
}

}  // namespace stratum::detail
