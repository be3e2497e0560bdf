#pragma once

// Edge elements of lowest order on a grid of boxes, with n x A = 0 on all six faces:
//
//     a_ij = integral of nu curl w_i . curl w_j ,   b_i = integral of T . curl w_i ,   A = sum over j of a_j w_j ,
//
// w_i of circulation 1 along edge i and 0 along all others. hexahedron: the boxes themselves (J. Nedelec, Mixed finite elements
// in R^3, 1980). tetrahedron: every box cut in six along its diagonal (H. Kuhn, 1960), with Whitney's functions
// w_pq = l_p grad l_q - l_q grad l_p, whose curl is 2 grad l_p x grad l_q. Edges point from their lower corner to their higher
// one: along an axis, and for tetrahedra along diagonals of faces and of the box as well, seven families in all.
//
// The unknowns are the edges off the boundary, family by family (x, y, z, xy, xz, yz, xyz), in each along x first. No gauge:
// the matrix is singular, its kernel are the gradients G phi of functions on the inner nodes, (G phi)_i = phi(end) -
// phi(begin), and b is orthogonal to them whatever T is, on any mesh and by any quadrature, since curl G = 0 holds element by
// element. That makes T, a current vector potential with curl T = J, the source to integrate, and not J.
//
// With widths h of a box of volume V, every element matrix is  nu sum over d of (h_d^2 / V) K_d , K_d fixed for each element.
// Elements are numbered box by box. All arrays are on the host, in double; loops run on the threads of the Context.
// Errors: UsageError for arrays of the wrong length.

#include <array>
#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include <stratum/core/device/context.hpp>
#include <stratum/core/operators/sparse_rows.hpp>
#include <stratum/mesh/box_grid.hpp>

namespace stratum {

enum class EdgeElement : std::uint8_t { hexahedron, tetrahedron };

[[nodiscard]] std::string_view to_string(EdgeElement element);

/// Directions are bits, 1, 2 and 4. The edge from the corner of a box whose bits are `corner` to the one of corner + along.
struct BoxEdge {
  int along = 0;
  int corner = 0;
};

/// One element of the unit box. Component d of curl w_i is (c0_i + c1_i xi_d)_d / (h_e h_f), e and f the other directions.
struct ReferenceElement {
  std::vector<BoxEdge> edges;
  std::vector<Point3> c0, c1;
  std::array<std::vector<double>, 3> matrix;  // K_d, row after row
  double volume = 1;                          // of the box's
  std::vector<int> corners;                   // of the element, VTK's order
  std::array<int, 3> order{0, 1, 2};          // a tetrahedron is where xi falls in this order of the directions
  bool folded = false;                        // tetrahedron

  /// The part of the unit box that is the element, of one that is spread evenly over the box.
  [[nodiscard]] Point3 inside(Point3 xi) const;
  [[nodiscard]] bool contains(const Point3& xi) const;
};

/// Of a point; all three components.
using VectorField = std::function<Point3(const Point3&)>;

class EdgeElements {
 public:
  EdgeElements(BoxGrid grid, EdgeElement element);

  [[nodiscard]] const BoxGrid& grid() const { return grid_; }
  [[nodiscard]] EdgeElement element() const { return element_; }
  /// Those of every box.
  [[nodiscard]] const std::vector<ReferenceElement>& reference() const { return reference_; }
  [[nodiscard]] int elements() const { return grid_.boxes() * per_box(); }
  [[nodiscard]] int box_of(int element) const { return element / per_box(); }
  [[nodiscard]] const ReferenceElement& reference(int element) const {
    return reference_[static_cast<std::size_t>(element % per_box())];
  }
  [[nodiscard]] double volume(int element) const { return reference(element).volume * grid_.volume(box_of(element)); }
  /// Edges, those on the boundary too.
  [[nodiscard]] std::int64_t edges() const;
  [[nodiscard]] int unknowns() const { return first_.back(); }
  /// Inner nodes: the dimension of the kernel.
  [[nodiscard]] int kernel_size() const;

  /// The unknown of the edge that starts at a node and goes along these directions; -1 on the boundary.
  [[nodiscard]] int unknown(int along, const Index3& node) const;
  /// And back: directions and first node.
  [[nodiscard]] std::pair<int, Index3> edge(int unknown) const;
  /// The unknowns of an element, -1 on the boundary.
  void unknowns_of(int element, std::vector<int>& unknowns) const;

  /// G: a row for every unknown, a column for every inner node, or for every node of the grid.
  [[nodiscard]] SparseRows gradient(bool of_all_nodes = false) const;
  /// A with one nu for every element.
  [[nodiscard]] SparseRows curl_curl(Context& ctx, const std::vector<double>& nu) const;
  /// b, by `points` x `points` x `points` boxes of 2 x 2 x 2 Gauss points in every element.
  [[nodiscard]] std::vector<double> load(Context& ctx, const VectorField& t, int points = 3) const;

  /// The mean of |curl A|^2 over every element, s.
  [[nodiscard]] std::vector<double> mean_square_curl(Context& ctx, const std::vector<double>& a) const;
  /// Where nu = nu(s), the derivative of  F(a)_i = sum over elements of nu (K a)_i :  nu K + 2 nu' / V (K a)(K a)^T.
  [[nodiscard]] SparseRows tangent(Context& ctx, const std::vector<double>& nu, const std::vector<double>& nu_slope,
                                   const std::vector<double>& a) const;
  /// F(a), without a matrix.
  [[nodiscard]] std::vector<double> apply(Context& ctx, const std::vector<double>& nu,
                                          const std::vector<double>& a) const;
  /// curl A at a point of an element, which it need not lie in, by its coordinates in the box.
  [[nodiscard]] Point3 curl(const std::vector<double>& a, int element, const Point3& xi) const;

 private:
  [[nodiscard]] int per_box() const { return static_cast<int>(reference_.size()); }
  /// h_d^2 / V of a box.
  [[nodiscard]] Point3 weights(int box) const;
  /// K a, for nu = 1, of every element, one after the other.
  [[nodiscard]] std::vector<double> images(Context& ctx, const std::vector<double>& a) const;
  [[nodiscard]] std::size_t first_of(int element) const {
    return static_cast<std::size_t>(element) * reference_.front().edges.size();
  }
  /// f(element, its edge) of all that the edge of an unknown belongs to.
  template <class F>
  void for_elements_at(int unknown, const F& f) const;
  template <class Entry>
  [[nodiscard]] SparseRows assemble(Context& ctx, const Entry& entry) const;
  void expects_size(const std::vector<double>& values, int size, const char* what) const;

  BoxGrid grid_;
  EdgeElement element_;
  std::vector<ReferenceElement> reference_;
  std::vector<int> families_;                 // their directions
  std::vector<int> first_;                    // the first unknown of each family, and the end
  std::vector<std::array<int, 64>> edge_at_;  // of an element, by 8 along + corner; -1: not there
};

}  // namespace stratum
