#pragma once

// When an iteration ends, and as what. One test serves every solver, so that they tell the same truth:
//
//   converged       r <= max(rtol * baseline, atol), or r0 = 0
//   stagnated       no better residual for a while, without growth; "at rounding" when r is what double can resolve
//   diverged        r > 1e5 times the larger of baseline and r0
//   non-finite      a residual is NaN or infinite
//   max iterations  otherwise, at the limit

#include <functional>
#include <limits>
#include <string>
#include <string_view>

#include <stratum/core/solve_report.hpp>

namespace stratum {

struct StoppingParams {
  double rtol = 1e-8;
  double atol = 0;
  Baseline baseline = Baseline::rhs;
  int max_iterations = 100;
  int patience = 10;  // iterations without a better residual that count as stagnation

  /// Throws UsageError unless rtol > 0 or atol > 0 and all are finite and not negative.
  void validate() const;
};

/// Called after every iteration with its number (0: before the first) and the residual norm.
using Monitor = std::function<void(int iteration, double residual)>;

class StoppingTest {
 public:
  /// Throws UsageError for parameters that `validate` refuses and for norms so far from 1 that their squares are lost.
  StoppingTest(const StoppingParams& params, double rhs_norm, double initial_residual, Monitor monitor = {});

  /// Takes the residual norm of the latest iterate (the initial one first); true when the iteration ends.
  bool done(int iteration, double residual);
  /// Ends the iteration for a reason of the solver's own.
  void end(Status status, std::string reason);

  [[nodiscard]] double target() const { return target_; }
  [[nodiscard]] Status status() const { return report_.status; }
  /// What has been recorded so far; the solver adds the true residual.
  [[nodiscard]] SolveReport& report() { return report_; }

 private:
  StoppingParams params_;
  Monitor monitor_;
  SolveReport report_;
  double target_;
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
