#pragma once

// What steps in time of  M u' = F(t) - A u  are asked for, and what they have come to: the same in two dimensions
// (multigrid/heat_solver.hpp) and in three (multigrid/heat_solver_3d.hpp). g are the values of Dirichlet nodes. A step from u_n
// over dt has stages
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
// error, as where data jump in time, and counted as forced. None is so long that it passes over what data do between its
// stages (multigrid/data_in_time.hpp).
//
// Every stage starts from the better of u_n and the line through the last two k, integrated, and is solved until
// || residual || <= eta s || M u_n ||, as small as a change of the step's start by eta, or has fallen by eta; and until the
// estimated error (solvers/error_estimate.hpp) is at most 100 eta of the size of u_i, in regions that hold little heat too. eta
// is 1e-2 tol, or 1e-8 where steps are fixed. Where heat is conserved (no Dirichlet or Robin boundary, c = 0), so is the sum of
// what solving leaves: a constant is added.
//
// Sources: E. Hairer, G. Wanner, Solving Ordinary Differential Equations II, 1996; R. E. Bank et al., Transient simulation of
// silicon devices and circuits, 1985; M. E. Hosea, L. F. Shampine, Analysis and implementation of TR-BDF2, 1996 (error
// estimate).

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <stratum/core/names.hpp>
#include <stratum/solvers/stopping.hpp>

namespace stratum {

enum class TimeMethod : std::uint8_t { euler, crank_nicolson, tr_bdf2 };

template <>
inline constexpr auto names_of<TimeMethod> = std::to_array<Named<TimeMethod>>(
    {{TimeMethod::euler, "euler"}, {TimeMethod::crank_nicolson, "crank-nicolson"}, {TimeMethod::tr_bdf2, "tr-bdf2"}});

/// With the parameters of what solves the stages.
template <class SolverParams>
struct HeatParamsOf {
  TimeMethod method = TimeMethod::tr_bdf2;
  double start = 0;
  std::optional<double> dt{};   // of every step, or with tol of the first
  std::optional<double> tol{};  // adapts the steps of tr_bdf2
  std::optional<double> eta{};  // of solves
  SolverParams solver{};
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
};

/// All that goes on from a time: of nodes that are unknowns, x fastest.
struct HeatState : HeatProgress {
  std::vector<double> boundary_slope{};  // du/dt of Dirichlet nodes
  std::vector<double> u{}, slope{}, slope_before{};
};

/// Called after every step with what has been done so far and the step's length.
using HeatMonitor = std::function<void(const HeatReport&, double dt)>;

}  // namespace stratum
