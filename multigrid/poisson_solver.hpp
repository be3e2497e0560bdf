#pragma once

// PoissonSolver: a mesh in, or a matrix and its mesh, a solver for A x = b out. It builds the hierarchy once and solves
// any number of right-hand sides:
//
//   precision mixed    double defect and update around a float cycle, the default
//             full     everything in double
//             single   everything in float: the published negative example. Its own residual falls, the true one does not,
//                      and the report says so.
//             double_single  everything in float with x in two of them, for GPUs whose double is slow
//             (solvers/mixed/double_single.hpp):
//                      right to 1e-7 in the energy norm, with a residual that stays above 1e-8. Tensor and element-coefficient
//                      operators;
//                      cg, fcg or cr
//   method    multigrid             iterative refinement with the cycle
//             cg, fcg, cr           preconditioned by the symmetric cycle; of these fcg alone takes a K-cycle
//             gcr, gmres, bicgstab  preconditioned by the ordinary cycle; gcr and gmres start again after krylov.restart
//                                   directions (solvers/solver.hpp)
//   deflate            cg without the slow modes that inclusions of high K leave (multigrid/deflated_solver.hpp)
//   full_multigrid     one FMG cycle from the coarsest level up; with `stop` it goes on by cycles to the tolerance
//
// What is left open: multigrid/select.hpp.
//
// A mixed solve that stagnates above the rounding of double, overflows, grows by the rounding of float or breaks down is taken
// up again in double unless `retry_in_double` is off; the report's reason says so. All vectors are in double.
//
// On subdomains of the grid, batches, other numbers for the same operator: multigrid/structured_solver.hpp.

#include <cstdint>

#include <stratum/multigrid/structured_solver.hpp>

namespace stratum {

/// Bytes that a PoissonSolver takes on this mesh with b and x, found by making one in a memory dry run of the Context. (Beyond
/// them: one vector while a solve that stagnated is looked at, and a cycle in double after a double-precision fallback.) A
/// batch of several systems has as many b and x and, where they are solved one a thread, the threads' hierarchies.
[[nodiscard]] std::int64_t required_memory(const Context& ctx, const Geometry& mesh, const PoissonSolverParams& params,
                                           const SmootherRegistry& registry = builtin_smoothers(),
                                           std::size_t systems = 1);

class PoissonSolver : public StructuredSolver {
 public:
  /// Throws UsageError for bad parameters, ResourceError when the hierarchy would not fit in memory: it says what is
  /// needed and what there is before it allocates.
  /// On a deformed mesh the finest operator is five bands (assembly/mapped_operators.hpp), else all is as with `coefficients`.
  PoissonSolver(Context& ctx, const Geometry& mesh, const PoissonSolverParams& params = {},
                const SmootherRegistry& registry = builtin_smoothers());
  /// Of a matrix, which is shared, whose unknowns are those of the mesh: on Hierarchy::galerkin. What `params.multigrid` says
  /// of it (symmetric, singular) is taken on trust but for what check_coefficients sees; `form` and `terms` do not matter.
  PoissonSolver(Context& ctx, const GridOperator<double>& a, const TensorMesh<2>& mesh,
                const PoissonSolverParams& params = {}, const SmootherRegistry& registry = builtin_smoothers());
  /// The same with an interpolation that follows these conductances of the mesh's cells, which need not outlive the call.
  PoissonSolver(Context& ctx, const GridOperator<double>& a, const Conductances& k, const TensorMesh<2>& mesh,
                const PoissonSolverParams& params = {}, const SmootherRegistry& registry = builtin_smoothers());
};

}  // namespace stratum
