#pragma once

// The surface of a body (assembly/bodies.hpp) that has a contact resistance, among the cells of a mesh.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include <stratum/assembly/bodies.hpp>

namespace stratum::detail {

/// How the outermost cells of a body with a contact resistance lie to its surface.
struct BodySurface {
  const BodyMap& map;
  std::vector<char> inside;
  bool periodic_x, periodic_y;
  bool is_rectangle;  // its cells fill one: all of its surface is along the mesh, at corners too

  BodySurface(const BodyMap& of_mesh, std::size_t body, bool is_periodic_x, bool is_periodic_y)
      : map(of_mesh), inside(of_mesh.cell.size(), 0), periodic_x(is_periodic_x), periodic_y(is_periodic_y) {
    const auto& cells = map.cells[body];
    const auto columns = static_cast<std::size_t>(map.nx);
    std::size_t left = columns, right = 0;
    for (const std::size_t c : cells) {
      inside[c] = 1;
      left = std::min(left, c % columns);
      right = std::max(right, c % columns);
    }
    // Cells are in their order.
    const std::size_t rows = cells.empty() ? 0 : cells.back() / columns - cells.front() / columns + 1;
    is_rectangle = !cells.empty() && cells.size() == (right - left + 1) * rows;
  }

  /// Outside of the domain there is no surface.
  [[nodiscard]] bool is_outside(int i, int j) const {
    if (periodic_x) i = (i + map.nx) % map.nx;
    if (periodic_y) j = (j + map.ny) % map.ny;
    if (i < 0 || i >= map.nx || j < 0 || j >= map.ny) return false;
    return inside[static_cast<std::size_t>(j) * static_cast<std::size_t>(map.nx) + static_cast<std::size_t>(i)] == 0;
  }
  /// Faces that the resistance lies on, by direction.
  [[nodiscard]] std::array<int, 2> faces(int i, int j) const {
    const auto out = [&](int p, int q) { return is_outside(i + p, j + q) ? 1 : 0; };
    const int across_x = out(-1, 0) + out(1, 0), across_y = out(0, -1) + out(0, 1);
    if (across_x + across_y > 0) return {across_x, across_y};
    const bool corner = out(-1, -1) + out(1, -1) + out(-1, 1) + out(1, 1) > 0;
    return {corner ? 1 : 0, corner ? 1 : 0};
  }
  /// The surface as a staircase of cells hx by hy: one column and `slope` rows a step, or the other way round.
  struct Steps {
    double slope, run, rise;
    [[nodiscard]] double length() const { return std::hypot(run, rise); }
    /// Of the surface, over what the cells behind it conduct, in both directions at corners.
    [[nodiscard]] double longer_in_cells() const { return (run + (2 * rise - slope * run) / 3) / length(); }
    /// Of the staircase's faces, over that of the surface.
    [[nodiscard]] double longer_on_faces() const { return (run + rise) / length(); }
  };
  [[nodiscard]] Steps steps(int i, int j, double hx, double hy) const {
    if (is_rectangle) return {0, hx, 0};
    constexpr int reach = 3;
    // Beyond a boundary of the domain the body goes on as its mirror image.
    const auto mirrored = [](int n, bool periodic, int cells) {
      return periodic ? n : std::clamp(n < 0 ? -1 - n : n >= cells ? 2 * cells - 1 - n : n, 0, cells - 1);
    };
    double gx = 0, gy = 0;
    for (int q = -reach; q <= reach; ++q)
      for (int p = -reach; p <= reach; ++p)
        if (is_outside(mirrored(i + p, periodic_x, map.nx), mirrored(j + q, periodic_y, map.ny))) {
          gx += p;
          gy += q;
        }
    gx = std::abs(gx);
    gy = std::abs(gy);
    if (gx > gy) {
      std::swap(gx, gy);
      std::swap(hx, hy);
    }
    const double s = gy > 0 ? gx / gy : 0;  // rows a column, or columns a row
    return {s, hx, s * hy};
  }
};

}  // namespace stratum::detail
