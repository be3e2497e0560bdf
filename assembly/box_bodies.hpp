#pragma once

// Bodies inside the box of -div(K grad u) = f, as assembly/bodies.hpp has them in two dimensions, and what they are on a mesh. A
// body has the cells whose centre lies inside its shape.
//
//     value         held at u = g: the nodes of its cells have the value g, but for those of Dirichlet faces
//     no_flux       a solid that nothing flows into: nodes that only such cells touch have no equation and no value
//     coefficient   another K, scalar or diagonal, in its cells
//     contact       a resistance R on its surface. Its cells fill a box; the outermost ones conduct in series with R:
//                       1 / K_dd  becomes  1 / K_dd + R / h_d   in the directions d across the surface
//                   so that the flux through a plane wall is exact
//
// Held bodies and solids have K = 0 and f = 0 in their cells; there the data of Neumann faces do not count.
//
// Rooms are connected parts of the nodes that have an equation. One is singular where none of its cells touches a node with a
// value or a face with an alpha.
//
// Throws UsageError for bodies that hold no cell, that overlap where both say what K or u is, that touch with different values,
// that leave no unknown, contact bodies whose cells fill no box; held bodies or solids beside a reaction c, or at a face with an
// alpha; for values that are not finite, K and R as in two dimensions. On the host.

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <stratum/assembly/poisson_problem_3d.hpp>
#include <stratum/core/device/context.hpp>

namespace stratum {

// Shapes, above 0 inside. Throw UsageError where they have no extent.
[[nodiscard]] ScalarFunction3D box_shape(const std::array<double, 3>& first, const std::array<double, 3>& last);
[[nodiscard]] ScalarFunction3D ball_shape(const std::array<double, 3>& centre, double radius);
/// Around the line between two points.
[[nodiscard]] ScalarFunction3D cylinder_shape(const std::array<double, 3>& first, const std::array<double, 3>& last,
                                              double radius);

struct BoxBodies {
  enum Cell : std::uint8_t { live, empty, held };
  enum Node : std::uint8_t { unknown, inactive, given };

  std::array<std::size_t, 3> cells_of_axes{};
  std::array<bool, 3> periodic{};
  std::vector<BodyKind> kinds;
  std::vector<std::string> names;
  std::vector<std::vector<std::size_t>> cells;  // of every body
  std::vector<std::uint8_t> cell;               // x fastest
  std::vector<std::uint8_t> node;  // of all nodes, x fastest; unknown also where a Dirichlet face has a value
  std::vector<double> value;       // of every node; empty where no body is held
  std::vector<int> holder;         // the body that holds a node, or -1; empty likewise
  bool has_empty_cells = false, has_held_cells = false;

  /// Some nodes are no unknowns, or some cells have no equation.
  [[nodiscard]] bool has_solids() const { return has_empty_cells || has_held_cells; }
  [[nodiscard]] std::array<std::size_t, 3> place(std::size_t of_cell) const {
    const auto& [nx, ny, nz] = cells_of_axes;
    return {of_cell % nx, of_cell / nx % ny, of_cell / (nx * ny)};
  }
  [[nodiscard]] std::size_t node_number(std::size_t i, std::size_t j, std::size_t k) const {
    return (k * (cells_of_axes[1] + 1) + j) * (cells_of_axes[0] + 1) + i;
  }
  /// The same of nodes that periodic faces join.
  [[nodiscard]] std::size_t joined_node(std::array<std::size_t, 3> at) const {
    for (std::size_t d = 0; d < 3; ++d)
      if (periodic[d] && at[d] == cells_of_axes[d]) at[d] = 0;
    return node_number(at[0], at[1], at[2]);
  }
  /// use(i, j, k) of its eight nodes
  template <class Use>
  void for_each_corner(std::size_t of_cell, const Use& use) const {
    const auto [i, j, k] = place(of_cell);
    for (std::size_t corner = 0; corner < 8; ++corner)
      use(std::array{i + (corner & 1), j + (corner >> 1 & 1), k + (corner >> 2)});
  }
};

/// `mesh` has the ends of the problem's faces. Null where there are no bodies; `problem.on_mesh` where that is of as many cells.
[[nodiscard]] std::shared_ptr<const BoxBodies> bodies_on(const Context& ctx, const TensorMesh<3>& mesh,
                                                         const PoissonProblem3D& problem);

/// K of `coefficient` and `contact` bodies in kxx, kyy, kzz of the cells; those that are empty get numbers where they must.
void set_bodies(const Context& ctx, const TensorMesh<3>& mesh, const PoissonProblem3D& problem, const BoxBodies& bodies,
                std::vector<double>& xx, std::vector<double>& yy, std::vector<double>& zz);

/// f, and data of Neumann faces, are zero in cells that are not live.
[[nodiscard]] ScalarFunction3D in_live_cells(const TensorMesh<3>& mesh, const BoxBodies& bodies,
                                             const ScalarFunction3D& f);
[[nodiscard]] PoissonProblem3D in_live_cells(const TensorMesh<3>& mesh, const BoxBodies& bodies,
                                             const PoissonProblem3D& problem);

struct BoxRooms {
  struct Room {
    std::int64_t cells = 0;
    double x = 0, y = 0, z = 0;  // the centre of its first cell
    bool singular = false;
  };
  std::vector<Room> rooms;
  std::vector<int> of_node;  // of all nodes, of those that periodic faces join the first; -1: a value, or no equation
  std::vector<double> integral;  // of phi over live cells, of the same nodes

  [[nodiscard]] bool any_singular() const;
  [[nodiscard]] bool all_singular() const;
};
[[nodiscard]] BoxRooms rooms_of(const TensorMesh<3>& mesh, const PoissonProblem3D& problem, const BoxBodies& bodies);

/// What is said of a body. `flux`: out of held ones and solids; of others none is computed.
struct BoxBodyFlux {
  std::int64_t cells = 0;
  double volume = 0;
  std::optional<double> flux{};
  double mean = 0;      // of u over the body; of a solid without flux, of the nodes of its surface
  double rounding = 0;  // of the flux
};

/// What means of bodies are made of, by u at the nodes around layers begin .. end - 1 of cells: two numbers a body, which those
/// of other layers are added to.
[[nodiscard]] std::vector<double> sums_of_bodies(const TensorMesh<3>& mesh, const BoxBodies& bodies,
                                                 std::span<const double> nodal, std::size_t begin, std::size_t end);
/// Cells, volumes and means, by the sums of all layers.
[[nodiscard]] std::vector<BoxBodyFlux> means_of_bodies(const TensorMesh<3>& mesh, const BoxBodies& bodies,
                                                       std::span<const double> sums);

/// Largest difference of the values that a held body and a Dirichlet face give a node, where the face's holds.
struct BodyGap3D {
  double gap = 0, x = 0, y = 0, z = 0;
};
[[nodiscard]] BodyGap3D largest_body_gap(const TensorMesh<3>& mesh, const PoissonProblem3D& problem,
                                         const BoxBodies& bodies);

}  // namespace stratum
