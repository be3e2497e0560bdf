#pragma once

// BoxGrid: the boxes between planes x = x_0 < x_1 < ... < x_n of each of three directions,
//
//     box (i, j, k) = [x_i, x_i+1] x [y_j, y_j+1] x [z_k, z_k+1] ,  number i + n_x (j + n_y k) ,
//
// and their corners, the nodes, numbered likewise with n + 1 a direction. Directions are 0, 1, 2. Lengths in any unit.

#include <array>
#include <cstddef>
#include <vector>

namespace stratum {

using Index3 = std::array<int, 3>;
using Point3 = std::array<double, 3>;

class BoxGrid {
 public:
  /// Throws UsageError unless every direction has two planes or more, finite and increasing, and there are fewer than 2^27
  /// nodes.
  explicit BoxGrid(std::array<std::vector<double>, 3> planes);

  [[nodiscard]] const std::vector<double>& planes(int d) const { return planes_[static_cast<std::size_t>(d)]; }
  [[nodiscard]] double plane(int d, int i) const { return planes(d)[static_cast<std::size_t>(i)]; }
  [[nodiscard]] double width(int d, int i) const { return plane(d, i + 1) - plane(d, i); }
  [[nodiscard]] int cells(int d) const { return static_cast<int>(planes(d).size()) - 1; }
  [[nodiscard]] int boxes() const { return cells(0) * cells(1) * cells(2); }
  [[nodiscard]] int nodes() const { return (cells(0) + 1) * (cells(1) + 1) * (cells(2) + 1); }

  [[nodiscard]] int number(const Index3& box) const { return box[0] + cells(0) * (box[1] + cells(1) * box[2]); }
  [[nodiscard]] Index3 place(int box) const {
    return {box % cells(0), box / cells(0) % cells(1), box / cells(0) / cells(1)};
  }
  [[nodiscard]] int node_number(const Index3& node) const {
    return node[0] + (cells(0) + 1) * (node[1] + (cells(1) + 1) * node[2]);
  }
  [[nodiscard]] Point3 widths(const Index3& box) const {
    return {width(0, box[0]), width(1, box[1]), width(2, box[2])};
  }
  /// The point with these coordinates in the box, each in 0 .. 1.
  [[nodiscard]] Point3 point(const Index3& box, const Point3& xi) const;
  [[nodiscard]] double volume(int box) const;

 private:
  std::array<std::vector<double>, 3> planes_;
};

/// Planes through all `lines`, increasing. Between two of them round(length / spacing) equal cells, one at least; between those
/// where `outside` says so, cells that grow by `growth` away from the inside, from growth * spacing on, scaled to fit: only the
/// first and the last interval may be outside. Throws UsageError for numbers that are not finite and positive and for a growth
/// below 1.
[[nodiscard]] std::vector<double> planes_between(const std::vector<double>& lines, double spacing, double growth,
                                                 bool first_outside, bool last_outside);

}  // namespace stratum
