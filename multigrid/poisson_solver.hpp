#pragma once

// PoissonSolver: takes a mesh, or a matrix and its mesh, and solves A x = b. It builds the hierarchy once and solves any number
// of right-hand sides.
//
//   precision mixed          solution, residual and update in double around a cycle in float; the default
//             full           everything in double
//             single         everything in float: the published negative example. Its own residual falls, the true one does
//                            not, and the report says so
//             double_single  everything in float, x as a sum of two floats, for GPUs with slow double precision
//                            (solvers/mixed/double_single.hpp). Error 1e-7 in the energy norm, the residual stays above 1e-8.
//                            For tensor and element-coefficient operators, with cg, fcg or cr
//   method    multigrid             iterative refinement with the cycle
//             cg, fcg, cr           preconditioned by the symmetric cycle; only fcg accepts a K-cycle
//             gcr, gmres, bicgstab  preconditioned by the ordinary cycle; gcr and gmres restart after krylov.restart
//                                   directions (solvers/solver.hpp)
//   deflate            removes the slow modes of inclusions of high K from cg (multigrid/deflated_solver.hpp)
//   full_multigrid     one FMG cycle from the coarsest level up; with `stop` it is followed by cycles to the tolerance
//
// multigrid/select.hpp chooses what is left open.
//
// If a mixed solve stagnates above the round-off limit of double, overflows, grows by round-off of float or breaks down, it is
// repeated in double precision, unless `retry_in_double` is off. The report then begins with "double-precision fallback". All
// vectors are in double.
//
// Subdomains of the grid, batches, and new numbers for the same operator: multigrid/structured_solver.hpp.

#include <cstdint>

#include <stratum/assembly/finite_volumes.hpp>
#include <stratum/multigrid/structured_solver.hpp>

namespace stratum {

/// Bytes that a PoissonSolver takes on this mesh with b and x, found by making one in a memory dry run of the Context. (Beyond
/// them: one vector while a solve that stagnated is looked at, and a cycle in double after a double-precision fallback.) A
/// batch of several systems has as many b and x and, where they are solved one a thread, the threads' hierarchies.
[[nodiscard]] std::int64_t required_memory(const Context& ctx, const Geometry& mesh, const PoissonSolverParams& params,
                                           const SmootherRegistry& registry = builtin_smoothers(),
                                           std::size_t systems = 1);
[[nodiscard]] std::int64_t required_memory(const Context& ctx, const FiniteVolumes& volumes,
                                           const PoissonSolverParams& params);

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
  /// Of finite volumes; b and x are those of their cells. The method is cg unless another is asked for; where K is given, the
  /// interpolation is that of the matrix. Throws UsageError for full multigrid.
  PoissonSolver(Context& ctx, const FiniteVolumes& volumes, const PoissonSolverParams& params = {},
                const SmootherRegistry& registry = builtin_smoothers());
  /// The part of the cells that this subdomain has.
  [[nodiscard]] static GridLayout<2> cells_of_subdomain(const Context& ctx, const FiniteVolumes& volumes,
                                                        const PoissonSolverParams& params);
};

}  // namespace stratum
