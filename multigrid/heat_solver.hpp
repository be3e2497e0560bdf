#pragma once

// HeatSolver: steps in time of  M u' = F(t) - A u - A_D g - M_D g'  (assembly/heat_problem.hpp) on a rectangle or a mesh of
// quadrilaterals, as multigrid/heat_progress.hpp says. Stages are solved by PoissonSolver (multigrid/heat_operators.hpp).
//
// On a Context with other subdomains of the grid (Context::set_communicator) all subdomains make the same calls with the whole
// mesh and the same problem, and each has a subdomain (mesh/partition.hpp). Lengths of steps, and what is rejected, follow from
// numbers of the whole, which are the same on all subdomains: so are reports and times. A state is one of the whole, whatever
// the number of subdomains that it came from and goes to; of those that it comes from the first one has it, the others its
// numbers alone.

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <stratum/assembly/heat_problem.hpp>
#include <stratum/assembly/problem_mesh.hpp>
#include <stratum/multigrid/heat_progress.hpp>
#include <stratum/multigrid/poisson_solver.hpp>

namespace stratum {

using HeatParams = HeatParamsOf<PoissonSolverParams>;

/// Bytes that a HeatSolver takes on this mesh, found by making one in a memory dry run of the Context.
[[nodiscard]] std::int64_t required_memory(const Context& ctx, const Geometry& mesh, const HeatProblem& problem,
                                           const HeatParams& params,
                                           const SmootherRegistry& registry = builtin_smoothers());

class HeatSolver {
 public:
  /// At the start, with the initial u. Throws UsageError for a method, steps or a tolerance that do not go together, what the
  /// problem's functions give that is not finite or out of range, and as PoissonSolver does.
  HeatSolver(Context& ctx, const Geometry& mesh, const HeatProblem& problem, const HeatParams& params,
             const SmootherRegistry& registry = builtin_smoothers());
  ~HeatSolver();
  HeatSolver(HeatSolver&&) noexcept;
  HeatSolver& operator=(HeatSolver&&) noexcept;
  HeatSolver(const HeatSolver&) = delete;
  HeatSolver& operator=(const HeatSolver&) = delete;

  using Monitor = HeatMonitor;
  /// Steps to this time, and ends there exactly: fixed steps are as long as `dt` or so much shorter that they are alike. Stays
  /// at the time it has come to where a stage is not solved, and says so. Throws UsageError for a time that lies behind.
  const HeatReport& advance(Context& ctx, double to, const Monitor& monitor = {});

  [[nodiscard]] double time() const;
  /// The unknowns, of a subdomain its own.
  [[nodiscard]] const GridLayout<2>& unknowns() const;
  /// On the unknowns.
  [[nodiscard]] FieldView<const double> solution() const;
  /// On all nodes, x fastest; of a subdomain on those of node_rows.
  [[nodiscard]] std::vector<double> nodal_solution(Context& ctx) const;
  /// The integral of capacity u.
  [[nodiscard]] double heat(Context& ctx) const;
  /// As relative_l2_error has it, at this time, means included.
  [[nodiscard]] std::optional<double> relative_l2_error(Context& ctx) const;
  [[nodiscard]] const HeatReport& report() const;
  /// On a rectangle the mesh, else how its cells are joined.
  [[nodiscard]] const TensorMesh<2>& mesh() const;
  [[nodiscard]] const ProblemMesh& geometry() const;
  [[nodiscard]] const StructuredSolver& solver() const;
  /// What the matrix, where it is in bands, loses in films (assembly/films.hpp); else zero.
  [[nodiscard]] double round_off_of_films() const;

  [[nodiscard]] HeatState state(Context& ctx) const;
  /// Goes on from a state of this mesh, boundaries and method, with the same bits as without the break where the data are the
  /// same. Fixed steps are as long as `dt` of the parameters. False where the data are other ones, because the caller says so
  /// or because du/dt of the state does not solve the equation: then u alone is taken over, and du/dt is found as at the start.
  /// Throws UsageError for a state of another number of nodes.
  bool restore(Context& ctx, const HeatState& state, bool same_data = true);

 private:
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace stratum
