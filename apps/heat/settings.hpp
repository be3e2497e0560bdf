#pragma once

// What the options of a heat program ask for, checked as far as that is possible before anything is allocated.

#include <optional>

#include <stratum/multigrid/heat_solver.hpp>

#include "support/mapped_mesh_options.hpp"
#include "support/mesh_options.hpp"
#include "support/probe.hpp"
#include "times.hpp"

namespace stratum::apps::heat {

inline constexpr const char* program_name = "heat2d";

/// The options, read.
struct Settings : TimeSettings<HeatParams> {
  MeshChoice<2> mesh;
  Deformation deformation;
  HeatProblem problem;
  bool volumes = false;  // finite ones, not elements
  std::optional<Probe> probe;

  [[nodiscard]] ProblemMesh mesh_at(Context& ctx) const {
    return with_boundaries(deformation.at(ctx, machine, mesh, level), problem.space.boundaries);
  }
};

/// Throws UsageError, which names the option, where options do not fit each other. The ranks and the outputs are not known yet.
[[nodiscard]] Settings parse_settings(const CommandLine& options);

}  // namespace stratum::apps::heat
