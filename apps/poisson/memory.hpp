#pragma once

// The memory that a run needs, known before anything of the grid's size is allocated.

#include <cstdint>

#include "settings.hpp"

namespace stratum::apps::poisson {

/// What is computed of a solution, which takes memory.
struct Uses {
  bool summary = false;
  bool errors = false;
  bool vtk = false;   // for a file of VTK's
  bool kept = false;  // for other files, or to be compared with the next level
  [[nodiscard]] bool nodal() const { return vtk || kept; }
};

/// The unknowns of this rank, which are all where there is one rank.
[[nodiscard]] GridLayout<2> subdomain_of(const Context& ctx, const TensorMesh<2>& mesh,
                                         const PoissonSolverParams& params);

/// The parameters of the solver on one mesh, with the coefficients of all cells on every rank. Throws ResourceError where there
/// is no room for them.
[[nodiscard]] PoissonSolverParams params_on(Context& ctx, const Settings& settings, const Geometry& mesh);

/// The peak of the host's memory that this rank will reach, in bytes: while the load is assembled beside the solver, or after
/// the solver is gone, while nodal values are compared or written to a file. Throws ResourceError where the host or the GPU has
/// less, before anything is allocated.
[[nodiscard]] std::int64_t expected_memory(const Context& ctx, const Settings& settings, const Geometry& geometry,
                                           const Uses& uses, const PoissonSolverParams& params);

}  // namespace stratum::apps::poisson
