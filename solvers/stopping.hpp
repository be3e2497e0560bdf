#pragma once

// When an iteration ends, and as what. One test serves every solver, so that they tell the same truth:
//
//   converged       r <= max(rtol * baseline, atol), or r0 = 0; `by_rows` also by the worst row, to
//                   max_i |b - A x|_i / (|A| max |x| + |b|)_i <= rtol, or as far as rounding lets it
//   rounding        r is above that and as small as the precision lets it be (solvers/rounding.hpp)
//   stagnated       no better residual for a while, without growth: stationary iterations, others where patience is given
//   diverged        r > 1e5 times the larger of baseline and r0: stationary iterations only
//   breakdown       a method cannot go on
//   non-finite      the right-hand side or the first residual is NaN or infinite
//   max iterations  otherwise, at the limit
//
// Krylov methods rest on plateaus, and residuals of those that do not minimise them grow by orders of magnitude on the way.

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <stratum/core/io/solve_report.hpp>

namespace stratum {

struct StoppingParams {
  double rtol = 1e-8;
  double atol = 0;
  Baseline baseline = Baseline::rhs;
  int max_iterations = 100;
  /// Iterations without a better residual that count as stagnation; by default 10 of a stationary iteration, and any number of a
  /// Krylov method.
  std::optional<int> patience{};
  /// Values on the sides of thin cells make a norm that the rows of wide cells are nothing of: these have to converge as well.
  /// Costs a pass over A, b and x where the norm has converged, and again for every further tenth of it.
  bool by_rows = false;
  /// Nobody asked for this tolerance: after some iterations one ends as well where a residual near the tolerance is at rounding,
  /// though it may go on falling to a tenth of that. With `by_rows` these have to have converged.
  bool rounding_will_do = false;

  /// Throws UsageError unless rtol > 0 or atol > 0 and all are finite and not negative.
  void validate() const;
};

/// Called after every iteration with its number (0: before the first) and the residual norm.
using Monitor = std::function<void(int iteration, double residual)>;

/// Steps of a stationary iteration gain much alike; those of a Krylov method do not.
enum class IterationKind : std::uint8_t { stationary, krylov };

class StoppingTest {
 public:
  /// Throws UsageError for parameters that `validate` refuses and for norms so far from 1 that their squares are lost.
  StoppingTest(const StoppingParams& params, double rhs_norm, double initial_residual, Monitor monitor = {},
               IterationKind kind = IterationKind::stationary);

  /// How the worst row is asked for: that number of the latest iterate, whose residual `done` would take for converged. Needed by
  /// `by_rows`.
  void set_worst_row(std::function<double()> worst_row) { worst_row_ = std::move(worst_row); }

  /// Takes the residual norm of the latest iterate (the initial one first); true when the iteration ends.
  bool done(int iteration, double residual);
  /// True where the residual has hardly fallen in the latest iterations, or much less than before, as it does at rounding.
  [[nodiscard]] bool slow() const;
  /// This residual, of the iteration of this number, is as good as converged if it is at rounding.
  [[nodiscard]] bool rounding_will_do(int iteration, double residual) const;
  /// The iteration gains by another measure than its residual: for as long again it does not stagnate.
  void gained() { best_iteration_ = report_.iterations; }
  /// Ends the iteration for a reason of the solver's own.
  void end(Status status, std::string reason);
  /// Ends it with the latest residual at rounding.
  void end_at_rounding();

  /// What the residual has to fall below, before rows are asked again.
  [[nodiscard]] double target() const { return std::min(target_, ask_rows_below_); }
  [[nodiscard]] Status status() const { return report_.status; }
  /// What has been recorded so far; the solver adds the true residual.
  [[nodiscard]] SolveReport& report() { return report_; }

 private:
  [[nodiscard]] bool rows_converged(double residual);

  StoppingParams params_;
  Monitor monitor_;
  IterationKind kind_;
  SolveReport report_;
  std::function<double()> worst_row_;
  double target_;
  double ask_rows_below_ = std::numeric_limits<double>::infinity(), row_ = 0;
  double best_ = std::numeric_limits<double>::infinity();
  int best_iteration_ = 0;
};

/// Why an iteration ended at its limit.
[[nodiscard]] std::string max_iterations_reason(double residual, int iterations, double target);

/// Puts right what an iteration in single precision reports that solved for scale b: all numbers in the units of b, status and
/// reason by the true residual of its solution. `advice` ends the sentence about a tolerance that only the iteration's own
/// residual has met.
void judge_single_precision(SolveReport& report, const StoppingParams& stop, double scale, double true_residual,
                            std::string_view advice);

}  // namespace stratum
