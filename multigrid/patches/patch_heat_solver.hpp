#pragma once

// PatchHeatSolver: steps in time of  capacity u_t - div(K grad u) + c u = f  on a mesh of patches, as
// multigrid/heat_progress.hpp says: the same code as in a plane and in a box (multigrid/heat_steps.hpp). A stage is a solve of
// PatchPoissonSolver with the matrix A + s M, s = 1 / (a_ii dt), from the better start. A step of another length sets that
// solver up anew, on the host: about as much work as three to ten stages. A lumped M is that of assembly/heat_problem.hpp.
//
// All data may change with the time, Point::t. f and the values of boundaries that do are evaluated on the host in every stage.
// K, c, alpha and the capacity do where `coefficients_vary`; every stage then sets its solver up anew.
// Where the Context has a communicator: as PatchPoissonSolver, and adaptive steps may differ from those on one rank in rounding.
//
// Errors: as PatchPoissonSolver and HeatSteps.

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include <stratum/multigrid/heat_progress.hpp>
#include <stratum/multigrid/patches/patch_poisson_solver.hpp>

namespace stratum {

struct PatchHeatProblem {
  using Numbers = std::vector<std::vector<double>>;  // of each patch (nx + 1) (ny + 1), x fastest
  PatchProblem space{};                              // f, boundaries, K, c, and the exact solution where it is known
  std::function<Numbers(double t)> load{};           // at a time, in place of space.load
  double capacity = 1;                               // positive
  ScalarFunction capacity_of_cells{};                // times that: of a cell its value at the centre; positive
  bool lumped = false;                               // M
  ScalarFunction initial{};                          // u at the start; empty: exact where it is given, else zero
  Numbers initial_values{};                          // in place of it
  bool coefficients_vary = false;                    // K, c, alpha or the capacity change with the time
  bool steady = false;  // f and the values of boundaries do not change with the time, and are evaluated once
};

/// Of u_h at a time. They balance the heat:  sum()  +  heat_rate  =  load,  up to what solving has left.
struct PatchHeatFluxes : PatchFluxes {
  double heat_rate = 0;  // of change, the integral of capacity du/dt
};

/// Bytes that one of several ranks takes, at most and about.
struct PatchHeatMemory {
  std::int64_t host = 0, device = 0;
};
[[nodiscard]] PatchHeatMemory required_memory(const Context& ctx, const PatchMesh& mesh,
                                              const PatchHeatProblem& problem);

using PatchHeatParams = HeatParamsOf<PatchSolverParams>;

class PatchHeatSolver {
 public:
  /// At the start, with the initial u.
  PatchHeatSolver(Context& ctx, const PatchMesh& mesh, const PatchHeatProblem& problem, const PatchHeatParams& params);
  ~PatchHeatSolver();
  PatchHeatSolver(PatchHeatSolver&&) noexcept;
  PatchHeatSolver& operator=(PatchHeatSolver&&) noexcept;
  PatchHeatSolver(const PatchHeatSolver&) = delete;
  PatchHeatSolver& operator=(const PatchHeatSolver&) = delete;

  /// As HeatSolver::advance.
  const HeatReport& advance(Context& ctx, double to, const HeatMonitor& monitor = {});

  [[nodiscard]] double time() const;
  [[nodiscard]] const HeatReport& report() const;
  /// u_h at the nodes of a patch, x fastest; on several ranks of those that this rank has.
  [[nodiscard]] std::vector<double> nodal_solution(Context& ctx, int patch) const;
  /// The integral of capacity u.
  [[nodiscard]] double heat(Context& ctx) const;
  /// At this time, means included; none where the exact solution is not known.
  [[nodiscard]] std::optional<PatchErrors> relative_errors(Context& ctx) const;
  /// The first of them alone.
  [[nodiscard]] std::optional<double> relative_l2_error(Context& ctx) const;
  /// At this time; none where du/dt is not known there, as at the start of backward Euler. Collective.
  [[nodiscard]] std::optional<PatchHeatFluxes> fluxes(Context& ctx) const;
  [[nodiscard]] const std::vector<PatchLevelPlan>& levels() const;
  [[nodiscard]] std::int64_t unknowns() const;
  /// The rank of a patch.
  [[nodiscard]] int rank_of(int patch) const;

  /// As HeatSolver::state and HeatSolver::restore: numbers at the nodes of all patches, one after the other, x fastest.
  [[nodiscard]] HeatState state(Context& ctx) const;
  bool restore(Context& ctx, const HeatState& state, bool same_data = true);

 private:
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace stratum
