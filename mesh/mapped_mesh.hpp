#pragma once

// MappedMesh: quadrilaterals that are connected like the cells of a TensorMesh, the logical mesh, with given positions of
// nodes,
//
//     (x, y)(t, s) = (1-t) (1-s) p_00 + t (1-s) p_10 + (1-t) s p_01 + t s p_11,      0 <= t, s <= 1,
//
// in the cell with corners p_ab. Its boundaries are those of the logical mesh and straight between nodes: left is where the
// logical x is 0. The widths of the logical mesh do not determine distances. Positions are stored row by row from the bottom, x
// fastest, in double. Use a TensorMesh for cells so thin that the coordinates of their nodes coincide in double.
//
// det J = x_t y_s - x_s y_t is linear in t and in s, without their product. Hence it is positive everywhere in a cell if it is
// at its corners.
//
// For coordinates other than Cartesian ones (mesh/coordinates.hpp) the nodes are those of the rectangle, x and y are the
// coordinates, and integrals carry their weights.
//
// Errors: UsageError for a position that is not finite, with the node; for a cell that is turned over, folded or without area,
// with the first such cell; for periodic boundaries that are not shifted copies of each other.

#include <memory>
#include <vector>

#include <stratum/mesh/coordinates.hpp>
#include <stratum/mesh/partition.hpp>
#include <stratum/mesh/tensor_mesh.hpp>

namespace stratum {

struct Position {
  double x = 0, y = 0;
};

/// J = d(x, y)/d(t, s) = [xt xs; yt ys].
struct Jacobian {
  double xt = 0, xs = 0, yt = 0, ys = 0;
  [[nodiscard]] double determinant() const { return xt * ys - xs * yt; }
};

/// A cell by its corners.
struct Quadrilateral {
  Position sw, se, nw, ne;

  /// At fractions t and s, and det J there.
  [[nodiscard]] Position at(double t, double s) const {
    return {(1 - s) * ((1 - t) * sw.x + t * se.x) + s * ((1 - t) * nw.x + t * ne.x),
            (1 - s) * ((1 - t) * sw.y + t * se.y) + s * ((1 - t) * nw.y + t * ne.y)};
  }
  [[nodiscard]] double jacobian(double t, double s) const { return derivatives(t, s).determinant(); }
  [[nodiscard]] Jacobian derivatives(double t, double s) const {
    return {(1 - s) * (se.x - sw.x) + s * (ne.x - nw.x), (1 - t) * (nw.x - sw.x) + t * (ne.x - se.x),
            (1 - s) * (se.y - sw.y) + s * (ne.y - nw.y), (1 - t) * (nw.y - sw.y) + t * (ne.y - se.y)};
  }
  /// Of the lines between the midpoints of opposite sides, the longer to the shorter.
  [[nodiscard]] double aspect_ratio() const;
};

class MappedMesh {
 public:
  /// x and y of (cells_x + 1) * (cells_y + 1) nodes.
  MappedMesh(TensorMesh<2> logical, std::vector<double> x, std::vector<double> y);

  /// The rectangle in these coordinates. Throws UsageError where it leaves their range.
  MappedMesh(TensorMesh<2> rectangle, Coordinates coordinates);

  [[nodiscard]] const TensorMesh<2>& logical() const { return logical_; }
  [[nodiscard]] Coordinates coordinates() const { return positions_->coordinates; }
  [[nodiscard]] bool is_cartesian() const { return coordinates() == Coordinates::cartesian; }
  /// Of the intervals in x and in y; none where it is Cartesian.
  [[nodiscard]] const AxisWeights& weights(Direction d) const {
    return d == Direction::x ? positions_->in_x : positions_->in_y;
  }
  [[nodiscard]] const std::vector<double>& x() const { return positions_->x; }
  [[nodiscard]] const std::vector<double>& y() const { return positions_->y; }

  [[nodiscard]] Position node(int i, int j) const { return {positions_->x[at(i, j)], positions_->y[at(i, j)]}; }
  [[nodiscard]] Quadrilateral cell(int i, int j) const {
    return {node(i, j), node(i + 1, j), node(i, j + 1), node(i + 1, j + 1)};
  }

  /// The same nodes, with the ends of a mesh of as many cells.
  [[nodiscard]] MappedMesh with_ends_of(const TensorMesh<2>& mesh) const;

  [[nodiscard]] double largest_aspect_ratio() const;

 private:
  struct Positions {
    std::vector<double> x, y;
    Coordinates coordinates = Coordinates::cartesian;
    AxisWeights in_x{}, in_y{};
  };
  MappedMesh(TensorMesh<2> logical, std::shared_ptr<const Positions> positions);
  [[nodiscard]] std::size_t at(int i, int j) const {
    return static_cast<std::size_t>(j) * (static_cast<std::size_t>(logical_.x().size()) + 1) +
           static_cast<std::size_t>(i);
  }
  void check_cells() const;
  void check_periodic() const;

  TensorMesh<2> logical_;
  std::shared_ptr<const Positions> positions_;
};

/// Every cell cut into four at the midpoints of its sides, `times` times: the same domain.
[[nodiscard]] MappedMesh halved(const MappedMesh& mesh, int times);

/// Of every cell, x fastest.
[[nodiscard]] std::vector<double> cell_aspect_ratios(const MappedMesh& mesh);
/// Of the cells between rows of nodes.
[[nodiscard]] std::vector<double> cell_aspect_ratios(const MappedMesh& mesh, NodeRows rows);

}  // namespace stratum
