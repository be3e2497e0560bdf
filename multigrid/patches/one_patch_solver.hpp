#pragma once

// OnePatchSolver: a mesh of one patch between four boundaries is one grid, and PoissonSolver (multigrid/poisson_solver.hpp)
// solves on it by conjugate gradients, or makes one FMG cycle: PatchPoissonSolver hands over where `one_grid_of` finds a grid.
//
//     a rectangle along x and y                                     TensorMesh, with the widths of the patch
//     any other patch whose steps are the differences of its nodes  MappedMesh
//
// Answers have the bits of PoissonSolver for the same mesh and problem, as poisson2d --solver cg has them, but for the value of
// a corner where two Dirichlet boundaries differ: that is the one of PatchProblem. Numbers of cells and nodes are those of the
// patch, which may lie turned on its rectangle. Errors: as PatchPoissonSolver. Waits for the stream as PoissonSolver does.

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <stratum/multigrid/patches/patch_poisson_solver.hpp>
#include <stratum/multigrid/poisson_solver.hpp>

namespace stratum {

/// Node (i, j) of the grid is node `place(i, j)` of the patch, which is turned by so many right angles.
struct OneGrid {
  ProblemMesh mesh;
  int turn = 0;

  /// Of nx x ny numbers of the grid, at nodes or cells, those in the order of the patch, and back.
  [[nodiscard]] std::vector<double> of_patch(const std::vector<double>& grid, int nx, int ny) const;
  [[nodiscard]] std::vector<double> of_grid(const std::vector<double>& patch, int nx, int ny) const;
  /// The local edge of the patch that is the grid's bottom (0), right (1), top (2) or left (3).
  [[nodiscard]] int edge(int side) const { return (side + turn) % 4; }
};

/// None where the mesh has several patches, or one that meets itself, whose thin cells are no differences of positions, or all
/// of whose nodes are Dirichlet's.
[[nodiscard]] std::optional<OneGrid> one_grid_of(const PatchMesh& mesh, const PatchProblem& problem);

class OnePatchSolver {
 public:
  OnePatchSolver(Context& ctx, const PatchMesh& mesh, const PatchProblem& problem, const PatchSolverParams& params,
                 OneGrid grid);

  SolveReport solve(const Monitor& monitor);
  SolveReport full_multigrid_pass();
  [[nodiscard]] std::vector<double> nodal_solution();
  [[nodiscard]] std::optional<PatchErrors> relative_errors();
  [[nodiscard]] PatchFluxes fluxes();

  [[nodiscard]] const char* name() const { return grid_.mesh.mapped() ? "a deformed grid" : "a rectangle"; }
  [[nodiscard]] const std::vector<PatchLevelPlan>& levels() const { return levels_; }
  [[nodiscard]] const std::optional<Compatibility>& compatibility() const { return compatibility_; }

 private:
  [[nodiscard]] Geometry geometry() const { return grid_.mesh; }
  [[nodiscard]] const CellCoefficients* cells() const { return params_.coefficients.get(); }
  void add_given_load();
  /// The solver for this way to solve, another one than before where it has to be.
  PoissonSolver& solver(bool one_pass);
  SolveReport run(bool one_pass, const Monitor& monitor);

  Context ctx_;
  PatchMesh mesh_;
  PatchProblem given_;
  OneGrid grid_;
  PoissonProblem problem_, solved_;  // of the grid; f of the latter balances
  PoissonSolverParams params_;
  bool full_multigrid_, has_values_, is_singular_ = false;
  double setup_seconds_ = 0, load_ = 0;
  std::optional<Compatibility> compatibility_;
  std::vector<PatchLevelPlan> levels_;
  Field<double> b_, x_;
  std::unique_ptr<PoissonSolver> solver_;
  bool solver_is_of_one_pass_ = false;
};

}  // namespace stratum
