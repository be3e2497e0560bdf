#pragma once

// PatchPoissonSolver: a mesh of patches and a problem (assembly/patches/patch_problem.hpp) in, the Q1 solution out, by
// conjugate gradients around a V-cycle on all patches (multigrid/patches/patch_multigrid.hpp), in double around a cycle in
// single precision:
//
//     z = M r,  beta = (r, z) / (r, z)_before,  p <- z + beta p,  alpha = (r, z) / (p, A p),
//     x <- x + alpha p,  r <- r - alpha A p
//
// with r and A p partial and x, z and p consistent: dot products need no weights, and no patch needs another one's numbers but
// in the norm of the residual. Where the recursion says that the tolerance is met, the true residual b - A x takes its place
// and decides, together with the estimated error (solvers/error_estimate.hpp; the range of x is that of x and zero). Statuses
// are those of SolveReport. Where single precision is insufficient the solve is repeated around cycles in double, and the
// reason begins with "double-precision fallback". Reference norm: || b ||, or where Dirichlet boundaries have values, which make
// the right-hand side of thin cells large, the residual of a function that has these values and is smooth in every patch.
//
// Where neither a Dirichlet boundary nor alpha nor c holds u, data must balance, or `project` subtracts a constant from f; the
// integral of u is zero.
//
// A mesh of one patch is one grid: PoissonSolver solves on it (multigrid/patches/one_patch_solver.hpp), with its cycle, levels
// and reference norm.
//
// Where the Context has a communicator each rank has some of the patches (mesh/patches/patch_partition.hpp), and all make the
// same calls. Levels with few unknowns are solved by every rank (multigrid/patches/patch_levels.hpp).
//
// Memory: about 170 bytes per unknown, on a CPU with set-up 310. Waits for the stream once an iteration, and more often near the
// end. Errors: UsageError for what `assemble` refuses and for data that do not balance, ResourceError where it does not fit in
// memory.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <stratum/assembly/patches/patch_fluxes.hpp>
#include <stratum/core/device/context.hpp>
#include <stratum/core/io/solve_report.hpp>
#include <stratum/solvers/stopping.hpp>

namespace stratum {

class OnePatchSolver;

struct PatchSolverParams {
  StoppingParams stop{};
  bool float_cycles = true;
  bool retry_in_double = true;   // where float cycles are not enough
  int sweeps = 1;                // of lines in every direction, before and after the coarse correction
  bool project = false;          // subtract a constant from f where a singular problem does not balance
  bool full_multigrid = true;    // start from one FMG cycle
  int coarsest_unknowns = 4096;  // the finest level with as few is solved directly
  bool one_grid = true;          // a mesh of one patch is solved as one grid where it is one
  /// Several ranks: levels with fewer unknowns in all are solved by every one; left open 4096 a rank on CPUs, a million on GPUs.
  std::optional<std::int64_t> least_distributed{};
};

/// A + factor rows, in place of A: the matrix of a stage of steps in time. Fluxes and errors are those of A.
struct PatchAddition {
  std::shared_ptr<const PatchRowsOnHost>
      rows{};  // positive definite, as in layout_of(ctx, mesh); null: nothing is added
  double factor = 1;
};

struct PatchLevelPlan {
  std::int64_t unknowns = 0;
  int colours = 0;           // of lines; 0: solved directly
  int phases = 0;            // of a sweep
  int crossed_edges = 0;     // inner edges that lines cross
  bool distributed = false;  // among ranks
  int gathers = 0;           // of a sweep, of lines that run on to another rank
};

class PatchPoissonSolver {
 public:
  PatchPoissonSolver(Context& ctx, const PatchMesh& mesh, const PatchProblem& problem,
                     const PatchSolverParams& params = {}, const PatchAddition& addition = {});
  ~PatchPoissonSolver();
  PatchPoissonSolver(PatchPoissonSolver&&) noexcept;
  PatchPoissonSolver& operator=(PatchPoissonSolver&&) noexcept;
  PatchPoissonSolver(const PatchPoissonSolver&) = delete;
  PatchPoissonSolver& operator=(const PatchPoissonSolver&) = delete;

  /// From zero, or from that function.
  SolveReport solve(const Monitor& monitor = {});
  /// u_h by one FMG cycle, an iteration that tests no tolerance: converged where the residual is less than that of the start,
  /// round_off_limit where rounding explains it, or else diverged. In double where float cycles diverge, as `solve`, or where they
  /// do not suit the problem, which is looked at before (multigrid/full_multigrid_solve.hpp).
  SolveReport full_multigrid_pass();

  /// A x = b from the given x, whose Dirichlet values stay, for a load b of the caller's, by cycles alone: for steps in time. b
  /// is partial and zero at Dirichlet nodes, x consistent; both lie as in layout_of(mesh). Not with `one_grid` of one patch.
  SolveReport solve_system(const Field<double>& b, Field<double>& x, const StoppingParams& stop);

  /// u_h at the nodes of a patch, (nx + 1) (ny + 1) numbers, x fastest; all patches of a node have the same bits. On
  /// several ranks of the patches that this rank has.
  [[nodiscard]] std::vector<double> nodal_solution(int patch) const;
  /// Empty where u is unknown.
  [[nodiscard]] std::optional<PatchErrors> relative_errors() const;

  /// The rank of a patch.
  [[nodiscard]] int rank_of(int patch) const;
  /// Fluxes out of the domain through every boundary, and what they balance. Collective.
  [[nodiscard]] PatchFluxes fluxes() const;

  [[nodiscard]] std::int64_t unknowns() const;
  /// Finest first.
  [[nodiscard]] const std::vector<PatchLevelPlan>& levels() const;
  /// What a mesh of one patch is solved as, "a rectangle" or "a deformed grid"; else empty.
  [[nodiscard]] std::string solved_as() const;
  /// Of a singular problem: what its data lacked to balance, and what was subtracted from f.
  [[nodiscard]] const std::optional<Compatibility>& compatibility() const;

 private:
  struct Implementation;
  std::unique_ptr<OnePatchSolver> one_;  // or else the other
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace stratum
