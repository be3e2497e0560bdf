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
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include <stratum/assembly/box_bodies.hpp>
#include <stratum/assembly/box_material.hpp>
#include <stratum/assembly/rooms.hpp>
#include <stratum/core/field/field_3d.hpp>
#include <stratum/multigrid/box_iteration.hpp>
#include <stratum/multigrid/box_multigrid.hpp>
#include <stratum/multigrid/singular_parts.hpp>

namespace stratum {

class BoxSolids {
 public:
  /// `c`: K by cells, zero in solids and held bodies. `shift`: of steps in time, which solve with A + shift M, where M is the
  /// diagonal of `masses`; no room is singular then.
  BoxSolids(Context& ctx, const TensorMesh<3>& mesh, const PoissonProblem3D& problem, const BoxMaterial& material,
            const BoxCoefficients& c, const std::vector<int>& cuts, bool float_cycles,
            std::optional<double> shift = {});

  /// Of steps in time. True where that takes another cycle, which is that of `shift_of_cycle`.
  bool set_shift(Context& ctx, double shift);
  /// The integral of phi over live cells at every unknown that bodies leave, or at nodes of another kind, zero at others.
  [[nodiscard]] std::vector<double> masses(BoxBodies::Node kind = BoxBodies::unknown) const;
  /// One where bodies leave an unknown, zero at others.
  [[nodiscard]] std::vector<double> kept() const;
  /// Of held nodes, zero at others. g of the bodies of `problem`, which may be another one than at first.
  [[nodiscard]] std::vector<double> held_values(const TensorMesh<3>& mesh, const PoissonProblem3D& problem) const;
  /// Nothing holds u anywhere, but for a shift.
  [[nodiscard]] bool is_free() const { return free_; }
  /// The integral over live cells of nodal values, faces included, from this plane on; of all ranks.
  [[nodiscard]] double integral(const Context& ctx, const std::vector<double>& nodal, int first_plane) const;

  /// With all couplings.
  [[nodiscard]] const BoxMatrix<double>& cells() const { return cells_; }
  [[nodiscard]] const BoxMatrix<double>& matrix() const { return matrix_; }
  /// Some room is known up to a constant only: then cycles are in double, since float has no digits for what solids conduct.
  [[nodiscard]] bool is_singular() const { return singular_; }
  [[nodiscard]] const std::shared_ptr<Preconditioner<double>>& cycle() const { return cycle_; }
  [[nodiscard]] bool has_float_cycle() const { return float_cycles_ && !is_singular(); }
  /// The same cycle, made in double.
  [[nodiscard]] std::shared_ptr<Preconditioner<double>> cycle_in_double(Context& ctx) const;
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
  std::vector<int> of_unknown_;  // rooms, of the whole box
  /// What a shift is added to.
  struct Shifted {
    BoxBands<double> bands;
    Field<double, 3> of_rows;  // band 0 without one
    double shift = 0;

    void set(Context& ctx, const Field<double, 3>& masses, double to);
  };
  /// A cycle in T before projections.
  template <class T>
  [[nodiscard]] std::shared_ptr<BoxMultigrid<T>> multigrid(Context& ctx) const;
  [[nodiscard]] std::shared_ptr<Preconditioner<double>> projected(Context& ctx,
                                                                  std::shared_ptr<Preconditioner<double>> cycle) const;
  void make_cycle(Context& ctx);

  std::array<GatedAxis, 3> gate_;
  std::vector<int> cuts_;
  bool float_cycles_, singular_, free_;
  BoxMatrix<double> cells_, matrix_;
  Field<double, 3> masses_;
  std::optional<Shifted> of_matrix_, of_cycle_;
  std::shared_ptr<Preconditioner<double>> cycle_;
  std::function<BoxBands<double>(Context&)> matrix_of_cycle_;  // without a shift
  int distributed_ = 0;
};

/// Of a cycle in float what makes it in double, while `solids` is there; else nothing.
[[nodiscard]] BoxIteration::MakeCycle in_double(const BoxSolids& solids);

}  // namespace stratum
