#pragma once

// Cells and boundaries of patches, as assembly and what evaluates solutions need them. Shared by the sources of this folder.

#include <array>
#include <cmath>
#include <limits>

#include <stratum/assembly/cell_means.hpp>
#include <stratum/assembly/gauss_rules.hpp>
#include <stratum/assembly/mapped_element.hpp>
#include <stratum/assembly/patches/patch_problem.hpp>
#include <stratum/assembly/points.hpp>
#include <stratum/core/errors.hpp>

namespace stratum::patch_detail {

inline std::size_t at(int k) { return static_cast<std::size_t>(k); }

/// Without places, which are those of one grid.
inline Point point_at(const Position& p) {
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  return make_point(p, none, none);
}

/// Cell (i, j) of a patch: its bilinear map and det J.
struct Cell {
  Position corner;
  EdgeNumbers x, y;

  Cell(const PatchNodes& nodes, int i, int j) : corner(nodes.at[nodes.node(i, j)]) {
    const auto along_x = [&](int row) { return nodes.step_x[at(row) * at(nodes.nx) + at(i)]; };
    const auto along_y = [&](int column) { return nodes.step_y[at(j) * (at(nodes.nx) + 1) + at(column)]; };
    const Position bottom = along_x(j), top = along_x(j + 1), left = along_y(i), right = along_y(i + 1);
    x = {bottom.x, top.x, left.x, right.x};
    y = {bottom.y, top.y, left.y, right.y};
  }
  [[nodiscard]] Point point(double t, double s) const {
    return point_at({corner.x + t * (1 - s) * x.bottom + s * (x.left + t * x.top),
                     corner.y + t * (1 - s) * y.bottom + s * (y.left + t * y.top)});
  }
  [[nodiscard]] double det(double t, double s) const {
    const double xt = (1 - s) * x.bottom + s * x.top, yt = (1 - s) * y.bottom + s * y.top,
                 xs = (1 - t) * x.left + t * x.right, ys = (1 - t) * y.left + t * y.right;
    return xt * ys - xs * yt;
  }
};

/// As CellPoints are of a rectangle.
struct PointsOf {
  const Cell& cell;
  [[nodiscard]] Point at(double t, double s) const { return cell.point(t, s); }
  [[nodiscard]] double measure(double t, double s) const { return cell.det(t, s); }
};

/// Weights of the corners (0, 0), (1, 0), (0, 1), (1, 1).
inline std::array<double, 4> shape(double t, double s) { return {(1 - t) * (1 - s), t * (1 - s), (1 - t) * s, t * s}; }

/// Gauss points of f in a cell.
inline auto rule_of_load(const PatchLayout& layout) {
  constexpr std::int64_t many_cells = 1 << 18;
  return gauss_rule(layout.cells() > many_cells ? 2 : 4);
}

/// Of a boundary edge.
inline const BoundaryCondition& condition_of(const PatchMesh& mesh, const PatchProblem& problem, int edge) {
  static const BoundaryCondition dirichlet{};
  const int number = mesh.edge(edge).boundary;
  if (number < 0) return dirichlet;
  const auto found = problem.boundaries.find(mesh.boundary_names()[at(number)]);
  return found == problem.boundaries.end() ? dirichlet : found->second;
}

/// Cell (i, j) of a patch, which has nx cells in x.
struct CellPlace {
  int patch, nx, i, j;
};
/// `c_is_mean`: whether c jumps in the cell, which then has the means of c and of f.
inline CellMaterial material_of(const PatchProblem& problem, const CellPlace& place, const Cell& cell,
                                const ScalarFunction& diffusion, const ScalarFunction& reaction,
                                bool* c_is_mean = nullptr) {
  CellMaterial k;
  const Point centre = cell.point(0.5, 0.5);
  const auto [number, nx, i, j] = place;
  const auto refuse = [&](const std::string& what, const char* needed) {
    throw UsageError(message(what, " in cell (", place.i, ", ", place.j, ") of patch ", place.patch, ", at (", centre.x,
                             ", ", centre.y, "); it must be ", needed));
  };
  const std::size_t n = at(j) * at(nx) + at(i);
  if (!problem.tensor_of_cells.empty()) {
    const auto& [xx, xy, yy] = problem.tensor_of_cells[at(number)][n];
    if (!(xx > 0 && yy > 0 && std::abs(xy) < std::sqrt(xx) * std::sqrt(yy) && std::isfinite(xx + yy)))
      refuse(message("K is [", xx, " ", xy, "; ", xy, " ", yy, "]"), "positive definite and finite");
    k.xx = xx;
    k.xy = xy;
    k.yy = yy;
  } else {
    if (!problem.diffusion_of_cells.empty()) {
      k.xx = problem.diffusion_of_cells[at(number)][n];
    } else {
      if (!problem.diffusion_of_patches.empty()) k.xx = problem.diffusion_of_patches[at(number)];
      if (diffusion) k.xx *= diffusion(centre);
    }
    if (!(std::isfinite(k.xx) && k.xx > 0)) refuse(message("K is ", k.xx), "positive and finite");
    k.yy = k.xx;
  }
  const detail::Sample c = reaction ? detail::sample(PointsOf{cell}, reaction) : detail::Sample{0, false};
  if (c_is_mean != nullptr) *c_is_mean = c.is_mean;
  k.c = problem.reaction + c.value;
  if (!(std::isfinite(k.c) && k.c >= 0)) refuse(message("the reaction is ", k.c), "finite and not negative");
  return k;
}

/// Node `k` of a local edge, as the patch numbers it, and the step to the next one.
struct EdgeOfPatch {
  const PatchNodes& nodes;
  int local;
  [[nodiscard]] std::size_t node(int k) const {
    switch (local) {
      case 0: return nodes.node(k, 0);
      case 1: return nodes.node(nodes.nx, k);
      case 2: return nodes.node(k, nodes.ny);
      default: return nodes.node(0, k);
    }
  }
  [[nodiscard]] Position step(int k) const {
    if (local % 2 == 0) return nodes.step_x[at(local == 0 ? 0 : nodes.ny) * at(nodes.nx) + at(k)];
    return nodes.step_y[node(k)];
  }
};

}  // namespace stratum::patch_detail
