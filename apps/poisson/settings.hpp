#pragma once

// What the options of a Poisson program ask for, checked as far as that is possible before anything is allocated.

#include <optional>
#include <string>
#include <vector>

#include <stratum/assembly/error_norms.hpp>
#include <stratum/mesh/vtk/vtk.hpp>
#include <stratum/multigrid/poisson_solver.hpp>

#include "support/mapped_mesh_options.hpp"
#include "support/mesh_options.hpp"
#include "support/probe.hpp"
#include "support/program.hpp"
#include "support/solution_files.hpp"

namespace stratum::apps::poisson {

inline constexpr const char* program_name = "poisson2d";

/// The options, read.
struct Settings {
  MeshChoice<2> mesh;
  Deformation deformation;
  int first_level = 0;  // below last_level: a convergence table
  int last_level = 0;
  PoissonSolverParams solver;
  std::vector<PoissonProblem> problems;  // one for each right-hand side, all with the same boundaries and reaction
  bool volumes = false;                  // finite ones, not elements
  bool project = false;                  // incompatible right-hand sides
  // The reference norm is the initial residual, since Dirichlet boundaries have values and --reference-norm is not given.
  bool reference_norm_follows_values = false;
  Machine machine;
  std::optional<Probe> probe;
  VtkCompression compression = VtkCompression::fast;
  bool vtk_asked_for = false;
  bool table = false;
  bool quiet = false;
  bool tolerance_asked_for = false;  // or below what the precision asked for can reach

  /// The rectangle of a level, with the boundary types of the problem.
  [[nodiscard]] TensorMesh<2> logical_at(int level) const {
    return with_boundaries(mesh.at(level), problems[0].boundaries);
  }
  [[nodiscard]] ProblemMesh mesh_at(Context& ctx, int level) const {
    return with_boundaries(deformation.at(ctx, machine, mesh, level), problems[0].boundaries);
  }
  /// Whether the user may choose the interpolation: the widths of cells do not decide it.
  [[nodiscard]] bool interpolates_by_choice() const {
    return volumes || deformation.is_given() || problems[0].has_coefficients();
  }
  [[nodiscard]] std::string vtk_ending() const {
    return message(machine.has_ranks() ? ".pvt" : ".vt", deformation.is_given() ? 's' : 'r');
  }
  [[nodiscard]] SolutionFiles files() const { return {program_name, vtk_ending(), vtk_asked_for, quiet}; }
  [[nodiscard]] int exit_code(const SolveReport& report) const {
    return stratum::exit_code(report.status, tolerance_asked_for);
  }
};

/// Throws UsageError, which names the option, where options do not fit each other. The ranks and the outputs are not known yet.
[[nodiscard]] Settings parse_settings(const CommandLine& options);

/// Throws UsageError for what cannot be the same on any number of ranks.
void check_reproducible(const Settings& settings);

}  // namespace stratum::apps::poisson
