#pragma once

// The problem -div(K grad u) + c u = f in the mesh's box, K = diag(kxx, kyy, kzz) = 1 unless given. On each of the six faces, n
// outward,
//
//     dirichlet  u = g      neumann  n.K grad u = g    robin  n.K grad u + alpha u = g    periodic  u as on the face across
//
//                 top (y = b)
//               +-----------+           y
//              /|          /|           |
//             / | back    / |           |
//            +-----------+  |           o----- x
//      left  |  +--------|--+  right   /
//            | /  front  | /          z
//            |/          |/              front: z = 0, back: z = d
//            +-----------+               (z grows from front to back)
//              bottom (y = 0)
//
// Where a Dirichlet and a Neumann or Robin face meet, the edge has the Dirichlet value. Of two Dirichlet faces left and right
// come before bottom and top, and those before front and back; `largest_edge_gap` reports how far the two values differ.
// Without functions of the user's it is the product problem in [0, a] x [0, b] x [0, d]:
//
//     u = x (a - x) y (b - y) z (d - z),    f = -Laplace u,    g = 0 .
//
// K has to be separable: a function has the value at the centre of a cell, and on the cells kxx = k_x(x) w_y(y) w_z(z),
// kyy = w_x k_y w_z and kzz = w_x w_y k_z to rounding. So diag(kx(x), ky(y), kz(z)) is separable, and a scalar a(x) b(y) d(z)
// is. A reaction c > 0 and a Robin alpha > 0 need weights w that are constant; alpha is constant on its face.
//
// Points know their distance to all six faces, so that a - x keeps its accuracy in cells far thinner than the rounding of x.
// Where the operator is singular (no Dirichlet face, no alpha, no c) the load must be compatible, the solution's integral is
// zero, and errors are taken of functions less their means. Functions are called from several threads at once, each on a copy
// of its own. Errors: UsageError for values that are not finite, K that is not positive or not separable, c or alpha that are
// negative, an alpha that varies on its face; each says the value, where it is and what to do. Host functions only; no stream
// is used.

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <stratum/assembly/poisson_problem.hpp>
#include <stratum/mesh/tensor_mesh.hpp>

namespace stratum {

/// A point of the box with its distances to all faces, accurate in the thinnest cells.
struct Point3D {
  double x = 0, y = 0, z = 0;
  double to_right = 0, to_top = 0, to_back = 0;
  double to_left = 0, to_bottom = 0, to_front = 0;
  double t = 0;  // where there is time
};

/// Called from several threads at once, each on a copy of its own.
using ScalarFunction3D = std::function<double(const Point3D&)>;

/// In the order of directions: face / 2 is the direction across, face % 2 is 1 for the last one.
enum class BoxFace : std::uint8_t { left, right, bottom, top, front, back };
inline constexpr std::array<BoxFace, 6> all_box_faces{BoxFace::left, BoxFace::right, BoxFace::bottom,
                                                      BoxFace::top,  BoxFace::front, BoxFace::back};

[[nodiscard]] std::string_view to_string(BoxFace face);

struct BoundaryCondition3D {
  BoundaryConditionType kind = BoundaryConditionType::dirichlet;
  ScalarFunction3D value{};  // g; empty: of a Dirichlet face the problem's boundary function, of others zero
  ScalarFunction3D alpha{};  // of a Robin face: not negative, the same everywhere on the face
};

/// conditions[BoxFace::left], ...
struct BoundaryConditions3D {
  std::array<BoundaryCondition3D, 6> faces{};
  [[nodiscard]] BoundaryCondition3D& operator[](BoxFace face) { return faces[static_cast<std::size_t>(face)]; }
  [[nodiscard]] const BoundaryCondition3D& operator[](BoxFace face) const {
    return faces[static_cast<std::size_t>(face)];
  }
};

/// K. Of a scalar one only xx is given.
struct Diffusion3D {
  ScalarFunction3D xx{}, yy{}, zz{};
  std::array<std::string, 3> names{"kxx", "kyy", "kzz"};  // what messages call them
  /// One everywhere.
  [[nodiscard]] bool is_given() const { return xx || yy || zz; }
};

/// Inside the box (assembly/box_bodies.hpp).
struct Body3D {
  ScalarFunction3D inside;  // above 0 inside
  BodyKind kind = BodyKind::value;
  ScalarFunction3D value{};       // g, or K = kxx
  ScalarFunction3D kyy{}, kzz{};  // of K; empty: kxx
  double resistance = 0;          // of a contact
  std::string name{};             // for messages and reports
};

struct BoxBodies;

struct PoissonProblem3D {
  ScalarFunction3D rhs{};       // f; empty: the product problem
  ScalarFunction3D exact{};     // u; empty: the product problem's where all else is empty, else unknown
  ScalarFunction3D boundary{};  // g of Dirichlet faces without their own; empty: exact where given, else zero
  BoundaryConditions3D boundaries{};
  double reaction = 0;          // c, not negative
  std::string reaction_name{};  // for messages; empty: a reaction with its value
  Diffusion3D diffusion{};      // K; one where it is not given
  std::vector<Body3D> bodies{};
  std::shared_ptr<const BoxBodies> on_mesh{};  // these on the mesh, where the caller has it from bodies_on

  [[nodiscard]] bool is_product() const { return !rhs; }
  [[nodiscard]] bool has_exact() const;
};

/// The mesh with ends as the faces want them. Throws UsageError where one of two opposite faces alone is periodic, where no
/// unknowns are left, and as Axis::with_boundaries does.
[[nodiscard]] TensorMesh<3> with_boundaries(const TensorMesh<3>& mesh, const BoundaryConditions3D& boundaries);

/// No Dirichlet face, no alpha and no c.
[[nodiscard]] bool is_singular(const TensorMesh<3>& mesh, const PoissonProblem3D& problem);

/// Largest difference of the values that two Dirichlet faces give to a node of their edge, and where.
struct EdgeGap {
  double gap = 0, x = 0, y = 0, z = 0;
  BoxFace kept = BoxFace::left, other = BoxFace::left;  // whose value the node has, and whose it has not
};
[[nodiscard]] EdgeGap largest_edge_gap(const TensorMesh<3>& mesh, const PoissonProblem3D& problem);

/// f, u and g as functions that are never empty (u only where it is known), product problem included.
[[nodiscard]] ScalarFunction3D rhs_function(const PoissonProblem3D& problem);
[[nodiscard]] ScalarFunction3D exact_function(const PoissonProblem3D& problem);
[[nodiscard]] ScalarFunction3D boundary_function(const PoissonProblem3D& problem);

/// Outward, - integral of n.K grad u over a face, from the discrete residual: the sum of the six and of the reaction is the
/// integral of f, to rounding and the residual of the solve. As for two dimensions (assembly/boundary_fluxes.hpp).
struct BoundaryFluxes3D {
  std::array<double, 6> faces{};  // in the order of BoxFace
  double reaction = 0;            // integral of c u_h
  double load = 0;                // integral of f
  double rounding = 0;            // what the rounding of nodal values may have done to all of them
  double magnitudes = 0;          // of what nodes give to faces and to the load, which may cancel

  [[nodiscard]] double operator[](BoxFace face) const { return faces[static_cast<std::size_t>(face)]; }
  /// The integral of f, but for residuals and rounding.
  [[nodiscard]] double sum() const {
    double all = reaction;
    for (const double flux : faces) all += flux;
    return all;
  }
};

/// The smallest and the largest of nodal values and where they are, those of the faces, and the two neighbours along an axis
/// that differ most (edges within a face excepted).
struct NodalValue3D {
  double value = 0, x = 0, y = 0, z = 0;
};
struct SolutionRange3D {
  NodalValue3D smallest, largest;
  double smallest_on_boundary = 0, largest_on_boundary = 0;
  NodalValue3D step_from, step_to;
  /// Between these two: the first node, and the direction; negative: there is none.
  struct Edge {
    std::array<int, 3> node{};
    int axis = -1;
  } edge{};
  double change_of_flux = 0;  // as in two dimensions, of the edge between these two (assembly/solution_range.hpp)

  [[nodiscard]] double range() const { return largest.value - smallest.value; }
  /// Of the range; 0 of a constant.
  [[nodiscard]] double largest_step() const;
};

}  // namespace stratum
