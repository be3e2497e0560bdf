#pragma once

// What steps in time in a box (multigrid/heat_solver_3d.hpp) do around bodies that hold u or let nothing in: solves with
//
//     S = A + s M,     M_ii = capacity times the integral of phi_i over live cells, a lumped mass
//
// by conjugate gradients around the cycle of multigrid/box_solids.hpp, and what vectors of unknowns have at nodes that are none.
// Vectors are boxes of the unknowns, without ghosts; b is zero at nodes that bodies take.

#include <memory>
#include <optional>
#include <vector>

#include <stratum/assembly/box_material.hpp>
#include <stratum/assembly/heat_problem_3d.hpp>
#include <stratum/multigrid/box_iteration.hpp>
#include <stratum/multigrid/box_solids.hpp>
#include <stratum/multigrid/poisson_solver_3d.hpp>

namespace stratum {

class BoxHeatSolids {
 public:
  using View = FieldView<double, 3>;
  using ConstView = FieldView<const double, 3>;

  /// `c`: K by cells at the start, without a reaction. `cuts`: of several ranks, as in BoxSlabs.
  BoxHeatSolids(Context& ctx, const TensorMesh<3>& mesh, const HeatProblem3D& problem, const BoxMaterial& material,
                const BoxCoefficients& c, const std::vector<int>& cuts, const PoissonSolver3DParams& params, double s);

  [[nodiscard]] const BoxSolverPlan& plan() const { return plan_; }
  [[nodiscard]] const BoxSolids& solids() const { return *solids_; }
  void set_shift(Context& ctx, double s);
  void set_stop(const StoppingParams& stop) { stop_ = stop; }

  /// y = M x, and x = M^-1 b with zeros where M has some.
  void mass(Context& ctx, ConstView x, View y) const { times(ctx, mass_, x, y); }
  void divide(Context& ctx, ConstView b, View x) const { times(ctx, inverse_, b, x); }
  /// x = 0 at nodes that are no unknowns.
  void keep(Context& ctx, View x) const { times(ctx, kept_, x, x); }
  /// y = x at unknowns, or at other nodes.
  void take_unknowns(Context& ctx, ConstView x, View y) const;
  void take_others(Context& ctx, ConstView x, View y) const;
  /// Values of held bodies at this time; zero at nodes without an equation.
  void set_values(Context& ctx, double t, View x);
  /// The sum of all.
  [[nodiscard]] double sum_of_mass(Context& ctx) const;
  /// y = b - M k at held nodes, b elsewhere: what warms the live cells there.
  void warm_surfaces(Context& ctx, ConstView b, ConstView k, View y) const;
  void add_constant(Context& ctx, double a, View x) const;

  /// S x = b from zero.
  SolveReport solve(Context& ctx, ConstView b, View x);

 private:
  void times(Context& ctx, const Field<double>& d, ConstView x, View y) const;
  [[nodiscard]] Field<double> flat(Context& ctx, const std::vector<double>& values) const;

  TensorMesh<3> mesh_;
  HeatProblem3D problem_;
  BoxSolverPlan plan_;
  StoppingParams stop_;
  bool steady_;
  std::optional<BoxSolids> solids_;
  std::optional<BoxIteration> iteration_;
  BoxShape shape_;
  Field<double> mass_, inverse_, kept_, of_surfaces_;  // flat; M of held nodes
  Field<double> values_;                               // rows
  mutable Field<double> scratch_, more_;
  std::optional<double> values_at_;
};

}  // namespace stratum
