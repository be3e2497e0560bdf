#pragma once

// What the options of poisson3d ask for, checked as far as that is possible before anything is allocated.

#include <optional>

#include <stratum/mesh/vtk/vtk.hpp>
#include <stratum/multigrid/poisson_solver_3d.hpp>

#include "probe.hpp"
#include "support/mesh_options.hpp"
#include "support/program.hpp"
#include "support/solution_files.hpp"

namespace stratum::apps::poisson3d {

inline constexpr const char* program_name = "poisson3d";

/// The options, read.
struct Settings {
  MeshChoice<3> mesh;
  int first_level = 0;  // below last_level: a convergence table
  int last_level = 0;
  PoissonProblem3D problem;
  PoissonSolver3DParams solver;
  Machine machine;
  std::optional<BoxProbe> probe;
  std::optional<Plane> slice;
  VtkCompression compression = VtkCompression::fast;
  bool vtk_asked_for = false;
  bool table = false;
  bool quiet = false;
  bool tolerance_asked_for = false;

  /// The box of a level, with the boundary types of the problem.
  [[nodiscard]] TensorMesh<3> mesh_at(int level) const { return with_boundaries(mesh.at(level), problem.boundaries); }
  [[nodiscard]] SolutionFiles files() const { return {program_name, ".vtr", vtk_asked_for, quiet}; }
  [[nodiscard]] int exit_code(const SolveReport& report) const {
    return stratum::exit_code(report.status, tolerance_asked_for);
  }
};

/// Throws UsageError, which names the option, where options do not fit each other.
[[nodiscard]] Settings parse_settings(const CommandLine& options);

}  // namespace stratum::apps::poisson3d
