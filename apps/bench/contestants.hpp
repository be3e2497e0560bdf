#pragma once

// Who takes part in the solves of stratum_bench: PoissonSolver in all its variants, and solvers of other libraries.

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <stratum/core/io/solve_report.hpp>

#include "bench/peers/hypre.hpp"
#include "bench/settings.hpp"
#include "bench/system.hpp"

namespace stratum::apps::bench {

inline constexpr double rtol = 1e-8;
inline constexpr int max_iterations = 100;

/// One line of the table of solves.
struct Contestant {
  std::string solver, format, smoother, cycle, precision;
  std::function<SolveReport(System&)> run;  // sets up, solves, leaves a solution in x
  SolveReport best = {};
  int rounds = 0;
  bool left_out = false;
  double error_ratio = std::nan(""), algebraic_error = std::nan("");

  [[nodiscard]] bool is_one_fmg_cycle() const { return cycle.starts_with("fmg("); }
  void take(SolveReport report) {
    const double setup = rounds == 0 ? report.setup_seconds : std::min(report.setup_seconds, best.setup_seconds);
    if (rounds++ == 0 || report.solve_seconds < best.solve_seconds) best = std::move(report);
    best.setup_seconds = setup;
  }
};

/// PoissonSolver with the smoothers and storage formats of the settings: V-cycles of two and of four sweeps in double and in
/// mixed precision, the same after one FMG cycle, and that alone.
[[nodiscard]] std::vector<Contestant> own_contestants(Context& ctx, const Settings& settings);

/// PoissonSolver by CG for coefficients that jump, given by cells or as the matrix alone.
[[nodiscard]] std::vector<Contestant> contestants_for_jumps(Context& ctx, Stopwatch now,
                                                            const std::shared_ptr<const CellCoefficients>& k);

/// Solvers of other libraries for a system. `hypre`: null where it takes no part.
[[nodiscard]] std::vector<Contestant> peer_contestants(Context& ctx, const Settings& settings, const Hypre* hypre,
                                                       const System& system);

/// The libraries of these solvers with their versions, or why there are none.
[[nodiscard]] std::string peers(const Context& ctx, const Settings& settings);

}  // namespace stratum::apps::bench
