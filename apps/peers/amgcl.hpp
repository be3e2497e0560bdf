#pragma once

// amgcl's make_solver as a peer of ours for matrices in CSR: conjugate gradients preconditioned by a cycle of algebraic
// multigrid, smoothed aggregation with sparse approximate inverses (SPAI-0), all parameters as they come, in double on one
// thread.
//
// The report's residual is the true one of the solution returned, and claims convergence on it alone, with one per cent of
// tolerance to the one that amgcl keeps. Source: D. Demidov, AMGCL: An efficient, flexible, and extensible algebraic multigrid
// implementation, Lobachevskii J. Math. 40, 2019.

#include <span>
#include <string_view>

#include <stratum/core/io/solve_report.hpp>
#include <stratum/core/operators/sparse_rows.hpp>

#include "../support/timing.hpp"

namespace stratum::apps {

inline constexpr std::string_view amgcl_name = "amgcl SA-CG";

[[nodiscard]] bool amgcl_available();

/// From a zero guess. Throws ResourceError when this program was built without amgcl.
[[nodiscard]] SolveReport amgcl_solve(const SparseRows& a, std::span<const double> b, std::span<double> x, double rtol,
                                      int max_iterations, Stopwatch now);

}  // namespace stratum::apps
