#pragma once

// One level: memory, set-up, the solve and what is said of its solution.

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <stratum/multigrid/poisson_solver_3d.hpp>

#include "settings.hpp"
#include "support/level_table.hpp"
#include "support/rank_output.hpp"

namespace stratum::apps::poisson3d {

/// What is computed of a solution, which takes memory.
struct Uses {
  bool summary = false;  // its range, fluxes and errors
  bool vtk = false;
  bool pieces = false;  // of every rank, for ParaView; one file else
  bool kept = false;    // for other files, or to be compared with the next level
  [[nodiscard]] bool nodal() const { return vtk || kept; }
  [[nodiscard]] bool gathered() const { return (vtk && !pieces) || kept; }
};

[[nodiscard]] std::int64_t unknowns_of(const TensorMesh<3>& mesh);

struct Outcome {
  int level = 0;
  TensorMesh<3> mesh;
  BoxSolverPlan plan;
  SolveReport report{};
  std::int64_t expected_memory = 0;
  std::optional<RelativeErrors> errors{};
  std::optional<BoundaryFluxes3D> fluxes{};  // of a solution that is finite
  std::optional<SolutionRange3D> range{};
  std::optional<Compatibility> compatibility{};         // of a singular problem
  std::vector<Compatibility> compatibility_of_rooms{};  // where bodies leave some that nothing holds
  std::vector<Body3D> given_bodies{};
  std::vector<BoxBodyFlux> bodies{};
  std::optional<LevelDifference> difference{};  // to the level before, in a table without an exact solution
  std::optional<double> order{};                // that two differences show
  std::vector<RankNumbers> ranks{};             // where there are several

  [[nodiscard]] std::int64_t unknowns() const { return unknowns_of(mesh); }
  [[nodiscard]] LevelResult result() const { return {level, unknowns(), report, errors, difference, order}; }
};

/// One level with its solution at all nodes, where a file is made of it; of several ranks the first one has it. `own`: for
/// pieces, at these planes of nodes of this rank.
struct Solved {
  Outcome outcome;
  std::vector<double> nodal{};
  NodePlanes planes{};
  std::vector<double> own{};
  std::shared_ptr<const BoxBodies> bodies{};
};

/// The peak of the host's memory that this rank will reach, in bytes: while the solver is there, or after it is gone, while
/// files are written. Throws ResourceError where the host or the GPU has less, before anything is allocated.
[[nodiscard]] std::int64_t expected_memory(const Context& ctx, const Settings& settings, const TensorMesh<3>& mesh,
                                           const Uses& uses);

[[nodiscard]] Solved solve(Context& ctx, const Settings& settings, const CommandLine& options, int level,
                           const Uses& uses);

/// Notes the difference to the next coarser level, on the first rank.
void compare(Solved& solved, const Solved& coarser);

}  // namespace stratum::apps::poisson3d
