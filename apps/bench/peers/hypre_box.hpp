#pragma once

// hypre's solvers for the Q1 matrix of a box between Dirichlet faces, K by cells (null: 1): its 27 bands through the Struct interface (SMG,
// SMG-CG, PFMG-CG), or as rows through IJ (BoomerAMG-CG), with the parameters of peers/hypre.hpp. f = 1. Set-up is the time of
// hypre's own, and convergence is claimed on the true residual.

#include <string>

#include <stratum/assembly/poisson_problem_3d.hpp>
#include <stratum/core/io/solve_report.hpp>
#include <stratum/mesh/tensor_mesh.hpp>

#include "bench/peers/hypre.hpp"

namespace stratum::apps {

/// `running`: hypre, which lives as long. Throws UsageError for an unknown name, ResourceError without hypre.
[[nodiscard]] SolveReport solve_box_by_hypre(const Hypre& running, const std::string& name, const TensorMesh<3>& mesh,
                                             const ScalarFunction3D& k, double rtol, int max_iterations, Stopwatch now);

}  // namespace stratum::apps
