#pragma once

// hypre's solvers for the Q1 matrix of a box between Dirichlet faces, K by cells: its 27 bands through the Struct interface (SMG,
// SMG-CG, PFMG-CG), or as rows through IJ (BoomerAMG-CG), with the parameters of peers/hypre.hpp. Set-up is the time of hypre's
// own, and convergence is claimed on the true residual. On a GPU both are times of a second run: the first one loads kernels and
// gets memory.

#include <string>

#include <stratum/core/io/solve_report.hpp>

#include "bench/peers/box_system.hpp"
#include "bench/peers/hypre.hpp"

namespace stratum::apps {

/// `running`: hypre, which lives as long. Throws UsageError for a name that is unknown where it runs, ResourceError without hypre
/// and for more entries than its integers count.
[[nodiscard]] SolveReport solve_box_by_hypre(const Hypre& running, const std::string& name, BoxSystem& system,
                                             double rtol, int max_iterations);

}  // namespace stratum::apps
