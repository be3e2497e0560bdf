#pragma once

// Matrices that come without a mesh, in CSR: MatrixSolver with nothing said about them, from the arrays to the solution, beside
// amgcl and Ginkgo, which are given the same arrays, and hypre's solvers, which are given stencils or rows. Five-point
// differences and bilinear elements of
//
//     -div(k grad u) = f       on the unit square, right-hand sides random
//
// with k = 1, discs, checkerboards, and the matrices of two of PETSc's tutorials: Dirichlet rows that were kept (ksp ex29), and
// Neumann boundaries alone (ksp ex50).

#include <string>
#include <vector>

#include <stratum/core/device/context.hpp>

#include "bench/peers/csr_peer.hpp"
#include "bench/peers/hypre.hpp"
#include "support/json.hpp"
#include "support/timing.hpp"

namespace stratum::apps {

/// `hypre`: null where it is not there. Sizes are divided by `shrink`. Prints a line for each solve and returns all as JSON.
[[nodiscard]] Json run_matrix_study(Context& ctx, const Hypre* hypre, const std::vector<std::string>& peers,
                                    const std::vector<CsrPeer>& csr_peers, Stopwatch now, int shrink);

}  // namespace stratum::apps
