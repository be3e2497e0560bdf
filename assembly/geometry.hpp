#pragma once

// The positions of points of a mesh: of a rectangle's tensor-product mesh (mesh/tensor_mesh.hpp), or of a mesh of
// quadrilaterals that are connected in the same way (mesh/mapped_mesh.hpp). Assembly functions take either as a Geometry, which
// refers to the mesh and does not keep it alive.
//
//     integral over cell (i, j) of g = integral over 0 <= t, s <= 1 of g(at(t, s)) measure(t, s)

#include <algorithm>
#include <functional>
#include <limits>

#include <stratum/core/field/field.hpp>
#include <stratum/mesh/mapped_mesh.hpp>
#include <stratum/mesh/tensor_mesh.hpp>

namespace stratum {

/// A point of the mesh with its distances to all boundaries, accurate in the thinnest cells: on [0, a] x [0, b] they are a - x,
/// b - y, x and y, and NaN where the mesh is no rectangle; the time where there is one; and where it lies among the mesh's
/// cells, by their numbers: (i + t) / nx in x at fraction t of cells (i, .), whatever their widths.
struct Point {
  double x = 0;
  double y = 0;
  double to_right = 0;
  double to_top = 0;
  double to_left = 0;
  double to_bottom = 0;
  double t = 0;
  double place_x = std::numeric_limits<double>::quiet_NaN();
  double place_y = std::numeric_limits<double>::quiet_NaN();
};

/// Called from several threads at once, each on a copy of its own.
using ScalarFunction = std::function<double(const Point&)>;

/// The same of a line: a coordinate, the distances to both ends, and its place among the cells.
struct LinePoint {
  double at;
  double from_begin;
  double from_end;
  double place = std::numeric_limits<double>::quiet_NaN();
};

[[nodiscard]] inline LinePoint node_of(const Axis& line, int i) {
  const auto k = static_cast<std::size_t>(i);
  return {line.origin() + line.from_begin()[k], line.from_begin()[k], line.from_end()[k],
          static_cast<double>(i) / line.size()};
}

/// The unknown that node i is; negative: none.
[[nodiscard]] inline int unknown_at(const Axis& line, int node) {
  if (line.is_periodic() && node == line.size()) return 0;
  const int i = node - line.first_unknown();
  return i < line.unknowns() ? i : -1;
}

/// An interval of a line.
struct LineInterval {
  double origin = 0, from_begin = 0, from_end = 0, width = 0,
         length = 0;  // of its first end, of its second; the line's length
  int number = 0, count = 1;

  LineInterval() = default;
  LineInterval(const Axis& line, int i)
      : origin(line.origin()), from_begin(line.from_begin()[static_cast<std::size_t>(i)]),
        from_end(line.from_end()[static_cast<std::size_t>(i) + 1]), width(line.widths()[static_cast<std::size_t>(i)]),
        length(line.length()), number(i), count(line.size()) {}

  /// At fraction t. Rounding must not carry a point of the thinnest cell beyond the side that it touches.
  [[nodiscard]] LinePoint at(double t) const {
    const double begin = std::min(from_begin + t * width, length);
    return {origin + begin, begin, std::min(from_end + (1 - t) * width, length), place(t)};
  }
  [[nodiscard]] double place(double t) const { return (number + t) / count; }
};

[[nodiscard]] inline Point make_point(const LinePoint& x, const LinePoint& y) {
  return {x.at, y.at, x.from_end, y.from_end, x.from_begin, y.from_begin, 0, x.place, y.place};
}
/// Of a mesh that is no rectangle.
[[nodiscard]] inline Point make_point(const Position& p, double place_x, double place_y) {
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  return {p.x, p.y, none, none, none, none, 0, place_x, place_y};
}

/// The points of one cell. A copy, so that loops over them read nothing else.
class CellPoints {
 public:
  CellPoints(const LineInterval& x, const LineInterval& y) : x_(x), y_(y) {}
  /// A quadrilateral in the place of a rectangle's cell.
  CellPoints(const LineInterval& x, const LineInterval& y, const Quadrilateral& mapped)
      : is_mapped_(true), x_(x), y_(y), mapped_(mapped) {}
  CellPoints(const LineInterval& x, const LineInterval& y, Coordinates coordinates)
      : coordinates_(coordinates), x_(x), y_(y) {}

  /// At fractions t and s.
  [[nodiscard]] Point at(double t, double s) const {
    return is_mapped_ ? make_point(mapped_.at(t, s), x_.place(t), y_.place(s)) : make_point(x_.at(t), y_.at(s));
  }
  [[nodiscard]] double measure(double t, double s) const {
    return is_mapped_ ? mapped_.jacobian(t, s) : x_.width * y_.width * scales(t, s).volume();
  }
  [[nodiscard]] Scales scales(double t, double s) const {
    return coordinates_ == Coordinates::cartesian ? Scales() : scales_at(coordinates_, x_.at(t).at, y_.at(s).at);
  }

 private:
  bool is_mapped_ = false;
  Coordinates coordinates_ = Coordinates::cartesian;
  LineInterval x_{}, y_{};
  Quadrilateral mapped_{};
};

/// One of the four boundaries.
struct BoundaryPlace {
  Direction along = Direction::x;
  bool last = false;  // right or top
};

class Geometry {
 public:
  Geometry(const TensorMesh<2>& mesh) : logical_(&mesh) {}  // NOLINT(google-explicit-constructor)
  Geometry(const MappedMesh& mesh)
      : logical_(&mesh.logical()), mapped_(&mesh) {}  // NOLINT(google-explicit-constructor)

  /// How cells and unknowns are joined and numbered; of a rectangle the mesh itself.
  [[nodiscard]] const TensorMesh<2>& logical() const { return *logical_; }
  /// Null: a rectangle.
  [[nodiscard]] const MappedMesh* mapped() const { return mapped_; }

  [[nodiscard]] Point node(int i, int j) const;
  [[nodiscard]] CellPoints cell(int i, int j) const {
    const LineInterval x(logical_->x(), i), y(logical_->y(), j);
    if (mapped_ == nullptr) return {x, y};
    return mapped_->is_cartesian() ? CellPoints(x, y, mapped_->cell(i, j)) : CellPoints(x, y, mapped_->coordinates());
  }
  /// At fraction t of interval k of a side: the point, and what dt counts in integrals over the side.
  [[nodiscard]] Point on_boundary(const BoundaryPlace& side, int k, double t) const;
  [[nodiscard]] double measure_on_side(const BoundaryPlace& side, int k, double t) const;

  [[nodiscard]] const Axis& along(const BoundaryPlace& side) const {
    return side.along == Direction::x ? logical_->x() : logical_->y();
  }
  [[nodiscard]] const Axis& across(const BoundaryPlace& side) const {
    return side.along == Direction::x ? logical_->y() : logical_->x();
  }

 private:
  const TensorMesh<2>* logical_;
  const MappedMesh* mapped_ = nullptr;
};

}  // namespace stratum
