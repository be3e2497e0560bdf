#pragma once

// The results of a run: of each right-hand side, of each level, and what was chosen for the solver.

#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <stratum/assembly/body_fluxes.hpp>
#include <stratum/assembly/boundary_fluxes.hpp>
#include <stratum/assembly/error_norms.hpp>
#include <stratum/assembly/solution_range.hpp>
#include <stratum/multigrid/poisson_solver.hpp>

#include "support/level_table.hpp"
#include "support/rank_output.hpp"

namespace stratum::apps::poisson {

/// The range of a solution and how it balances its data.
struct Summary {
  SolutionRange range;
  BoundaryFluxes fluxes;
  double load = 0;            // integral of f
  double change_of_flux = 0;  // beside the largest step
  std::vector<BodyFlux> bodies{};
  double from_bodies = 0;  // the fluxes of those that are held, in `load`
  double magnitudes = 0;   // of a load vector without boundary values, or of one with bodies
};

/// One right-hand side.
struct System {
  std::string rhs;  // as given, where there are several
  SolveReport report;
  std::optional<RelativeErrors> errors;
  std::optional<Summary> summary;  // of one that is finite
};

/// One level with all of its right-hand sides.
struct Outcome {
  int level = 0;
  std::vector<TensorMesh<2>> hierarchy;  // coarsest first
  std::string coarse_solver;
  PoissonSolverParams params;  // with what was left open filled in
  std::string choice;          // of method or cycle
  std::string deflation;
  std::vector<LevelReport> smoothers;
  std::int64_t expected_memory = 0;
  double largest_aspect_ratio = 1, smallest_width = 0;
  std::vector<System> systems{};  // one for each right-hand side
  std::size_t worst = 0;
  SolveReport report{};                         // of the system that went worst, the first of those
  std::vector<RankNumbers> ranks{};             // where there are several
  RankOverlaps overlaps{};                      // of several
  std::optional<LevelDifference> difference{};  // to the level before, in a table without an exact solution
  std::optional<double> order{};                // that two differences show
  std::optional<TensorMesh<2>> cells{};         // of finite volumes, whose hierarchy has their centres

  [[nodiscard]] const TensorMesh<2>& mesh() const { return cells ? *cells : hierarchy.back(); }
  [[nodiscard]] GridLayout<2> grid() const { return hierarchy.back().unknowns(); }
  [[nodiscard]] std::int64_t unknowns() const { return grid().nodes(); }
  [[nodiscard]] std::string_view coarse_solver_name() const {
    const auto coarsest = hierarchy.front().unknowns().nodes();
    return coarsest == 1 ? "one unknown" : std::string_view(coarse_solver);
  }
  [[nodiscard]] std::string method_name() const {
    return std::string(to_string(params.method.value_or(Method::multigrid)));
  }
  /// The finest level is solved directly.
  [[nodiscard]] bool is_direct() const { return smoothers.back().smoother.empty() && !smoothers.back().reason.empty(); }
  [[nodiscard]] std::string cycle_name(const CommandLine& options) const {
    if (is_direct()) return "none";
    if (options.has("cycle")) return options.text("cycle");
    return std::string(to_string(params.multigrid.cycle.value_or(Cycle::v)));
  }
  /// A direct solution for mixed precision is in double.
  [[nodiscard]] std::string precision_name() const { return std::string(to_string(params.precision)); }
  [[nodiscard]] const std::optional<RelativeErrors>& errors() const { return systems[worst].errors; }
  /// Its line of the table.
  [[nodiscard]] LevelResult result() const { return {level, unknowns(), report, errors(), difference, order}; }
  [[nodiscard]] double unknowns_per_second() const { return static_cast<double>(unknowns()) / report.solve_seconds; }
  [[nodiscard]] double reduction() const { return report.residual / report.initial_residual; }
  [[nodiscard]] double seconds_per_unknown_per_digit() const {
    return report.solve_seconds / (static_cast<double>(unknowns()) * report.digits());
  }
};

/// One level with its solutions.
struct Solved {
  Outcome outcome;
  ProblemMesh mesh;
  NodeRows rows;  // of this rank
  std::vector<std::vector<double>>
      nodal{};        // of every right-hand side, where a file is made of it; of volumes in cells
  bool whole = true;  // on all nodes, not on those rows alone
  std::shared_ptr<const FiniteVolumes> volumes{};
};

/// How many cells each direction has on the finest and on the coarsest level, for people; of volumes how many unknowns.
[[nodiscard]] std::string coarsening(const Outcome& outcome);

/// The reports of all right-hand sides.
[[nodiscard]] std::vector<SolveReport> reports_of(const Outcome& outcome);

}  // namespace stratum::apps::poisson
