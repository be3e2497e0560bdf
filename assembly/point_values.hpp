#pragma once

// Values of a Q1 function between its nodes: the cell that a point lies in, its fractions t and s there, and
//
//     u(t, s) = (1-s) ((1-t) u_sw + t u_se) + s ((1-t) u_nw + t u_ne) .
//
// On a rectangle fractions come from distances to the lower left corner; beside the other end, cells thinner than the rounding
// of coordinates have no points of their own, and a point there belongs to the last of them. On a mesh of quadrilaterals the
// cell is searched for, by boxes around its rows and cells, and t and s by Newton's method. A point on an edge belongs to one
// of its cells, one outside by less than 1e-12 of the mesh's size to the cell that it touches.
//
// On the host. Nodal values are those of all nodes, x fastest. A point outside is no error: `locate` returns nothing for it.

#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <stratum/assembly/geometry.hpp>

namespace stratum {

/// The interval that a coordinate lies in, and its fraction there; nothing beyond the ends.
[[nodiscard]] std::optional<std::pair<int, double>> interval_of(const Axis& line, double x);
/// The same of a point whose distances to both ends are known, which is found from the nearer one: accurate in the thinnest
/// cells.
[[nodiscard]] std::pair<int, double> interval_at(const Axis& line, double from_begin, double from_end);
/// t and s of a point in a cell or near it; nothing far away.
[[nodiscard]] std::optional<std::pair<double, double>> fractions_of(const Quadrilateral& cell, const Position& p);

/// Fractions t and s of cell (i, j).
struct MeshPoint {
  int i = 0, j = 0;
  double t = 0, s = 0;
};

/// Refers to the mesh.
class PointLocator {
 public:
  explicit PointLocator(const Geometry& mesh);
  /// Nothing for a point outside the mesh.
  [[nodiscard]] std::optional<MeshPoint> locate(const Position& p) const;

 private:
  struct Box {
    double x0, x1, y0, y1;
    [[nodiscard]] bool contains(const Position& p, double margin) const {
      return p.x >= x0 - margin && p.x <= x1 + margin && p.y >= y0 - margin && p.y <= y1 + margin;
    }
  };
  [[nodiscard]] static Box box_of(const Quadrilateral& cell);

  Geometry mesh_;
  double size_ = 0;
  std::vector<Box> rows_;  // of cells, of quadrilaterals
};

/// `nodal`: values at all nodes, x fastest.
[[nodiscard]] double value_at(const Geometry& mesh, std::span<const double> nodal, const MeshPoint& p);

}  // namespace stratum
