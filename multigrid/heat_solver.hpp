#pragma once

// HeatSolver: steps in time of  M u' = F(t) - A u - A_D g - M_D g'  (assembly/heat_problem.hpp). A step from u_n over dt has
// stages
//
//     u_i = u_n + dt sum over j <= i of a_ij k_j,     M k_i + M_D k_i,D = F(t_i) - A u_i - A_D g(t_i),     t_i = t_n + c_i dt
//
// with k_D such that g obeys the first equation, too: values that change with the time keep the order. The last stage is
// u_(n+1), its k the first one of the next step. Solved for is u_i:
//
//     (A + s M) u_i = s M p + F(t_i) - A_D g(t_i) - s M_D (g(t_i) - p_D),     p = u_n + dt sum over j < i,     s = 1 / (a_ii dt)
//
//     method            order   stages solved for
//     euler               1       1     backward Euler, L-stable
//     crank_nicolson      2       1     A-stable: what starts rough rings on
//     tr_bdf2             2       2     gamma = 2 - sqrt 2, L-stable; with a tolerance its steps adapt
//
// Adaptive steps: est = dt sum (b_j - b^_j) k_j with the embedded third-order weights, taken through S^-1 s M (which keeps
// stiff parts from ruling the step), measured in || v || = sqrt(v^T M v) with an M whose capacity is the same everywhere, since
// regions of a small capacity are nothing of the other, and compared with tol times the larger || u || of both ends of the
// step, or 1e-14 of the largest || u || so far where that is more: what has decayed to nothing is not followed further. A step
// with e = || est || / (tol || u ||) > 1 is rejected; the next is 0.9 e^(-0.7/3) e_before^(0.4/3) times as long, within [0.2,
// 5], and one that would shrink by less than a tenth or grow by less than a fifth stays, which spares an update. Steps end at
// the times asked for, and are not made shorter than 1e-10 of the time until then: one of that length is taken whatever its
// error, as where data jump in time, and counted as forced.
//
// Every stage starts from the better of u_n and the line through the last two k, integrated, and is solved until
// || residual || <= eta s || M u_n ||, as small as a change of the step's start by eta, or has fallen by eta; and until the
// estimated error (solvers/error_estimate.hpp) is at most 100 eta of the size of u_i, in regions that hold little heat too. eta
// is 1e-2 tol, or 1e-8 where steps are fixed. Where heat is conserved (no Dirichlet or Robin boundary, c = 0), so is the sum of
// what solving leaves: a constant is added.
//
// On a Context with other subdomains of the grid (Context::set_communicator) all subdomains make the same calls with the whole
// mesh and the same problem, and each has a subdomain (mesh/partition.hpp). Lengths of steps, and what is rejected, follow from
// numbers of the whole, which are the same on all subdomains: so are reports and times. A state is one of the whole, whatever
// the number of subdomains that it came from and goes to; of those that it comes from the first one has it, the others its
// numbers alone.
//
// Sources: E. Hairer, G. Wanner, Solving Ordinary Differential Equations II, 1996; R. E. Bank et al., Transient simulation of
// silicon devices and circuits, 1985; M. E. Hosea, L. F. Shampine, Analysis and implementation of TR-BDF2, 1996 (error
// estimate).

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <stratum/assembly/heat_problem.hpp>
#include <stratum/assembly/problem_mesh.hpp>
#include <stratum/core/names.hpp>
#include <stratum/multigrid/poisson_solver.hpp>

namespace stratum {

enum class TimeMethod : std::uint8_t { euler, crank_nicolson, tr_bdf2 };

template <>
inline constexpr auto names_of<TimeMethod> = std::to_array<Named<TimeMethod>>(
    {{TimeMethod::euler, "euler"}, {TimeMethod::crank_nicolson, "crank-nicolson"}, {TimeMethod::tr_bdf2, "tr-bdf2"}});

struct HeatParams {
  TimeMethod method = TimeMethod::tr_bdf2;
  double start = 0;
  std::optional<double> dt{};   // of every step, or with tol of the first
  std::optional<double> tol{};  // adapts the steps of tr_bdf2
  std::optional<double> eta{};  // of solves
  PoissonSolverParams solver{};
  std::int64_t max_steps = 10'000'000;
};

/// Of all that has been done since the start, steps before a restart among it.
struct HeatReport {
  Status status = Status::converged;  // of what was asked for last: converged, or why a stage was not solved
  std::string reason{};
  double t = 0;
  std::int64_t steps = 0, rejected = 0, forced = 0, solves = 0, cycles = 0, updates = 0;
  int most_cycles = 0;  // of one solve
  /// The largest that solves since the last restart have left, relative to the range of u; none where it was not known.
  std::optional<double> estimated_error{};
  double shortest_dt = 0, longest_dt = 0;
};

/// What steps have come to at a time, the same on all subdomains.
struct HeatProgress {
  HeatReport report{};
  double dt = 0;            // to try next
  double error_before = 0;  // of the last step that was accepted; zero: none
  double size_of_u = 0;     // || u ||
  double largest_u = 0;     // so far
  double size_of_load = 0;  // || M u ||
  double last_dt = 0;
  // du/dt at the present time, and at t + before; how many of them there are.
  double before = 0;
  int known_slopes = 0;
  std::vector<double> boundary_slope{};  // of Dirichlet nodes
};

/// All that goes on from a time: of nodes that are unknowns, x fastest.
struct HeatState : HeatProgress {
  std::vector<double> u{}, slope{}, slope_before{};
};

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

  /// Called after every step with what has been done so far and the step's length.
  using Monitor = std::function<void(const HeatReport&, double dt)>;
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
  [[nodiscard]] const PoissonSolver& solver() const;

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
