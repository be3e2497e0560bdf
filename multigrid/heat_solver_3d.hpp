#pragma once

// HeatSolver3D: steps in time of  M u' = F(t) - A u - A_D g - M_D g'  (assembly/heat_problem_3d.hpp) in a box, as
// multigrid/heat_progress.hpp says: the same code as in two dimensions (multigrid/heat_steps.hpp). A stage is a solve of
// PoissonSolver3D with the reaction c + s capacity, s = 1 / (a_ii dt), for the difference to the better start:
//
//     K separable, K = 1   fast diagonalization or planes: the modes are found once, and a solve is one application
//     any K by cells       conjugate gradients around gated multigrid, whose levels are those of the power of two next to
//                          c + s capacity, or around scaled fast diagonalization
//
// Around bodies that hold u or let nothing in (multigrid/heat_box_solids.hpp) it is conjugate gradients around multigrid, with a
// lumped mass; nodes without an equation are quiet NaNs of nodal_solution, and an exact solution is refused.
//
// The estimated error of such a solve is one of the difference, and reports have it relative to u.
//
// Several ranks as PoissonSolver3D has them: each has planes of unknowns, arrays are the rank's, reports, heat and errors those of
// all. Lengths of steps follow from numbers of all, which are the same on each. A state is one of the whole box, whatever the
// number of ranks that it came from and goes to, and the first of those that it came from has it. All ranks call together.
//
// Everything that grows with the box is in memory of the Context's. An f that changes with the time is evaluated
// in every stage, on a GPU where it is an expression, and so are values of faces, on the host; by 2 Gauss points a direction
// where nothing else is asked for. Memory beside that of PoissonSolver3D: 12 (euler) to 14 (tr_bdf2) vectors with ghosts, and K
// once more. Arrays of nodal values hold all nodes of the box or of the rank, x fastest. Errors: UsageError for parameters that do not go
// together, for what functions give that is not finite, and as PoissonSolver3D; ResourceError where it would not fit in memory.

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <stratum/assembly/heat_problem_3d.hpp>
#include <stratum/multigrid/heat_progress.hpp>
#include <stratum/multigrid/poisson_solver_3d.hpp>

namespace stratum {

using HeatParams3D = HeatParamsOf<PoissonSolver3DParams>;

class HeatSolver3D {
 public:
  /// At the start, with the initial u. `mesh` need not have the ends of the problem's faces.
  HeatSolver3D(Context& ctx, const TensorMesh<3>& mesh, const HeatProblem3D& problem, const HeatParams3D& params);
  ~HeatSolver3D();
  HeatSolver3D(HeatSolver3D&&) noexcept;
  HeatSolver3D& operator=(HeatSolver3D&&) noexcept;
  HeatSolver3D(const HeatSolver3D&) = delete;
  HeatSolver3D& operator=(const HeatSolver3D&) = delete;

  using Monitor = HeatMonitor;
  /// As HeatSolver::advance.
  const HeatReport& advance(Context& ctx, double to, const Monitor& monitor = {});

  [[nodiscard]] double time() const;
  /// On the unknowns; of several ranks, which have planes across x or y, the place of that direction is z's.
  [[nodiscard]] FieldView<const double, 3> solution() const;
  /// On all nodes, or those of this rank.
  [[nodiscard]] std::vector<double> nodal_solution(Context& ctx) const;
  /// The integral of capacity u.
  [[nodiscard]] double heat(Context& ctx) const;
  /// At this time, means included; none where the exact solution is not known.
  [[nodiscard]] std::optional<double> relative_l2_error(Context& ctx) const;
  [[nodiscard]] const HeatReport& report() const;
  /// This rank's.
  [[nodiscard]] NodePlanes nodes() const;
  [[nodiscard]] GridLayout<3> unknowns() const;
  /// With the ends of the problem's faces.
  [[nodiscard]] const TensorMesh<3>& mesh() const;
  /// Of every body, at this time: out of held ones what A u - F is at their nodes, less what warms the live cells there.
  [[nodiscard]] std::vector<BoxBodyFlux> body_fluxes(Context& ctx) const;
  /// How stages are solved, and why.
  [[nodiscard]] const BoxSolverPlan& plan() const;

  /// As HeatSolver::state and HeatSolver::restore. Values of Dirichlet nodes are those of the faces in turn, each with its
  /// edges.
  [[nodiscard]] HeatState state(Context& ctx) const;
  bool restore(Context& ctx, const HeatState& state, bool same_data = true);

 private:
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

/// Bytes that a HeatSolver3D takes, found by making one in a memory dry run of the Context.
[[nodiscard]] std::int64_t required_memory(const Context& ctx, const TensorMesh<3>& mesh, const HeatProblem3D& problem,
                                           const HeatParams3D& params);

}  // namespace stratum
