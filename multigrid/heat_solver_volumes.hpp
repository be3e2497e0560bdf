#pragma once

// VolumeHeatSolver: steps in time of the problem of assembly/heat_problem.hpp by cell-centred finite volumes
// (assembly/finite_volumes.hpp), as multigrid/heat_progress.hpp says. With the matrix A and the load F of these,
//
//     M u' + A u = F(t),     M = capacity V, a diagonal,
//
// so that there is no mass beside Dirichlet boundaries: their values are in F. Backward Euler keeps u between its data, however
// short or long its steps are and whatever the shape of cells (-S has no positive entry beside its diagonal). The integral of
// capacity u is sum of M u; boundaries' fluxes are the F of their faces, so that
//
//     d/dt sum of M u = integral of f - outward fluxes - integral of c u + what held bodies give
//
// holds to what solves leave. The start is the initial value at the centres of cells, and errors are those there. f, K, c, the
// capacity and alpha are those of FiniteVolumes at the time; an f that changes is integrated by 2 x 2 Gauss points. Bodies keep
// their shapes; values and K of them may change. Where coefficients change the matrix is assembled anew, which allocates.
//
// Subdomains, states, errors: as HeatSolver. States have no numbers of Dirichlet nodes. Work on the host but for solves and
// vectors: loads are copied to a GPU in every stage.

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <stratum/multigrid/heat_solver.hpp>

namespace stratum {

/// What changes heat at a time.
struct HeatBalance {
  double gain = 0;          // d/dt of heat
  double source = 0;        // integral of f
  double from_held = 0;     // out of bodies that are held
  BoundaryFluxes fluxes{};  // outward, and the integral of c u
  std::vector<BodyFlux> bodies{};

  /// What solving leaves.
  [[nodiscard]] double left() const { return gain - (source + from_held - fluxes.sum()); }
};

class VolumeHeatSolver {
 public:
  /// At the start. `mesh`: of the cells; its ends do not matter. Throws as FiniteVolumes and HeatSolver do.
  VolumeHeatSolver(Context& ctx, const TensorMesh<2>& mesh, const HeatProblem& problem, const HeatParams& params,
                   const SmootherRegistry& registry = builtin_smoothers());
  ~VolumeHeatSolver();
  VolumeHeatSolver(VolumeHeatSolver&&) noexcept;
  VolumeHeatSolver& operator=(VolumeHeatSolver&&) noexcept;
  VolumeHeatSolver(const VolumeHeatSolver&) = delete;
  VolumeHeatSolver& operator=(const VolumeHeatSolver&) = delete;

  using Monitor = HeatMonitor;
  const HeatReport& advance(Context& ctx, double to, const Monitor& monitor = {});

  [[nodiscard]] double time() const;
  /// The cells, of a subdomain its own.
  [[nodiscard]] const GridLayout<2>& unknowns() const;
  /// On these; zero in cells that are no unknowns.
  [[nodiscard]] FieldView<const double> solution() const;
  /// In all cells and at all points of volumes(), on the host of every subdomain: bodies as FiniteVolumes has them.
  [[nodiscard]] std::vector<double> cell_values(Context& ctx) const;
  [[nodiscard]] std::vector<double> point_values(Context& ctx) const;
  /// The integral of capacity u, without held bodies and solids without flux.
  [[nodiscard]] double heat(Context& ctx) const;
  /// Empty before the first step of a method that starts without du/dt, euler.
  [[nodiscard]] std::optional<HeatBalance> balance(Context& ctx) const;
  /// In the l2 norm of FiniteVolumes at this time, means included; empty where the exact solution is not known.
  [[nodiscard]] std::optional<double> relative_l2_error(Context& ctx) const;
  [[nodiscard]] const HeatReport& report() const;
  /// With the coefficients at the time of the last stage.
  [[nodiscard]] const FiniteVolumes& volumes() const;
  [[nodiscard]] const StructuredSolver& solver() const;

  [[nodiscard]] HeatState state(Context& ctx) const;
  bool restore(Context& ctx, const HeatState& state, bool same_data = true);

 private:
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

/// Bytes that a VolumeHeatSolver takes on the Context's backend, found by making one in a memory dry run.
[[nodiscard]] std::int64_t required_memory_of_volumes(const Context& ctx, const TensorMesh<2>& mesh,
                                                      const HeatProblem& problem, const HeatParams& params);

}  // namespace stratum
