#pragma once

// What PoissonSolver3D (multigrid/poisson_solver_3d.hpp) does around bodies that hold u or let nothing in
// (assembly/box_bodies.hpp): equations of the nodes that bodies leave, others being rows of a diagonal alone.
//
//     A     14 bands of -div(K grad u), K = 0 in solids and held bodies, without couplings to nodes that are no
//           unknowns: what is iterated on
//     M     a cycle of the matrix in which solids without flux conduct next to nothing, between projections: coarse nodes that
//           lie in solids serve what is narrow beside them. Diagonals of held nodes are next to nothing there, so that they
//           weigh nothing in Galerkin products
//
// Vectors are those of the unknowns of the box (`rows_of`, or boxes of them), on several ranks of this one's slab, which has at
// least BoxSlab::overlap planes; bodies, rooms and what is said of them are the whole box's. Values of nodes are set and taken
// on the host; all calls wait for the stream, and all ranks call together.

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include <stratum/assembly/box_bodies.hpp>
#include <stratum/assembly/rooms.hpp>
#include <stratum/multigrid/box_multigrid.hpp>
#include <stratum/multigrid/singular_parts.hpp>

namespace stratum {

class BoxSolids {
 public:
  /// `cells`: K = 0 in solids and held bodies; `conducting`: the same with solids without flux that conduct next to nothing.
  BoxSolids(Context& ctx, const TensorMesh<3>& mesh, const PoissonProblem3D& problem,
            std::shared_ptr<const BoxBodies> bodies, const BoxMatrix<double>& cells,
            const BoxMatrix<double>& conducting, const std::array<GatedAxis, 3>& gate, const std::vector<int>& cuts,
            bool float_cycles);

  /// With all couplings.
  [[nodiscard]] const BoxMatrix<double>& cells() const { return cells_; }
  [[nodiscard]] const BoxMatrix<double>& matrix() const { return matrix_; }
  /// Some room is known up to a constant only: then cycles are in double, since float has no digits for what solids conduct.
  [[nodiscard]] bool is_singular() const { return rooms_.any_singular(); }
  [[nodiscard]] const std::shared_ptr<Preconditioner<double>>& cycle() const { return cycle_; }
  /// Of the cycle, those that ranks share.
  [[nodiscard]] int distributed_levels() const { return distributed_; }

  /// x is zero, with the values of Dirichlet faces as ghosts: the values of held nodes.
  void set_values(Context& ctx, FieldView<double, 3> x) const;
  /// r = b - A x with held values loses what it has at nodes that are no unknowns, and the means of singular rooms. Throws
  /// UsageError where the data of a room have no solution and `project` does not allow to subtract a constant. Of every singular
  /// room, in their order, what it was.
  [[nodiscard]] std::vector<Compatibility> make_rhs(Context& ctx, bool project, FieldView<double, 3> r) const;
  /// The solution for that: singular rooms lose their means, held nodes have their values, nodes without an equation that of
  /// some node that has one.
  void complete(Context& ctx, FieldView<double, 3> x) const;

  /// Of nodes on the host from this plane on, faces included: no number where there is no equation.
  void hide_inactive(std::vector<double>& nodal, int first_plane) const;
  /// Of a solution, x with its ghosts; r is scratch.
  void add_fluxes(Context& ctx, FieldView<const double, 3> b, FieldView<const double, 3> x, FieldView<double, 3> r,
                  std::vector<BoxBodyFlux>& of_bodies) const;

 private:
  [[nodiscard]] std::size_t unknowns() const { return node_of_unknown_.size(); }

  std::shared_ptr<const BoxBodies> bodies_;
  BoxRooms rooms_;
  std::vector<std::size_t> node_of_unknown_;
  UnknownsInRooms in_rooms_;
  BoxMatrix<double> cells_, matrix_;
  std::shared_ptr<Preconditioner<double>> cycle_;
  int distributed_ = 0;
};

}  // namespace stratum
