#pragma once

// The solver of PoissonSolver (multigrid/poisson_solver.hpp) for problems with bodies that hold u or let no flux in
// (assembly/bodies.hpp): equations of the nodes that bodies leave; the other nodes are identity rows.
//
// The cycle is that of a matrix in which solids without flux conduct next to nothing, between projections: whatever is narrow
// on a coarse level, its coarse nodes lie in solids and serve as well as others. Throws UsageError for full multigrid,
// deflation, an interpolation other than conductance, and, with solids without flux, for single and double-single precision
// and residual replacement.

#include <stratum/multigrid/structured_solver.hpp>

namespace stratum {

/// `params.coefficients->bodies` has solids.
[[nodiscard]] StructuredSolver solver_around_bodies(Context& ctx, const Geometry& mesh, PoissonSolverParams params,
                                                    const SmootherRegistry& registry);

}  // namespace stratum
