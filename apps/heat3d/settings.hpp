#pragma once

// What the options of heat3d ask for, checked as far as that is possible before anything is allocated.

#include <optional>

#include <stratum/multigrid/heat_solver_3d.hpp>

#include "heat/times.hpp"
#include "poisson3d/probe.hpp"
#include "support/mesh_options.hpp"
#include "support/output_files.hpp"

namespace stratum::apps::heat3d {

inline constexpr const char* program_name = "heat3d";

/// Options that say what the problem is, but for --exact.
inline constexpr const char* problem_names[] = {"initial", "rhs", "capacity", "kappa", "kx",
                                                "ky",      "kz",  "reaction", "left",  "right",
                                                "bottom",  "top", "front",    "back",  "boundary"};

/// The options, read.
struct Settings : heat::TimeSettings<HeatParams3D> {
  MeshChoice<3> mesh;
  HeatProblem3D problem;
  std::optional<poisson3d::BoxProbe> probe;
  std::optional<poisson3d::Plane> slice;

  [[nodiscard]] TensorMesh<3> mesh_at_level() const {
    return with_boundaries(mesh.at(level), problem.space.boundaries);
  }
};

/// Throws UsageError, which names the option, where options do not fit each other.
[[nodiscard]] Settings parse_settings(const CommandLine& options);
/// The names of the files, checked.
[[nodiscard]] OutputFiles parse_outputs(const CommandLine& options, const Settings& settings);

}  // namespace stratum::apps::heat3d
