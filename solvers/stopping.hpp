#pragma once

// When an iteration ends, and as what. One test serves every solver, so that they tell the same truth:
//
//   converged       r <= max(rtol * reference norm, atol), or r0 = 0; and the estimated error of x, where the preconditioner gives one,
//                   is at most error_tol of the size of x (solvers/error_estimate.hpp)
//   rounding        r is as small as the precision lets it be (solvers/rounding.hpp) and above that, or the estimate is: which is
//                   small, or has stopped falling
//   stagnated       no better residual for a while, without growth: stationary iterations, others where patience is given
//   diverged        r > 1e5 times the larger of reference norm and r0: stationary iterations only
//   breakdown       a method cannot go on
//   non-finite      the right-hand side or the first residual is NaN or infinite
//   max iterations  otherwise, at the limit
//
// Krylov methods rest on plateaus, and residuals of those that do not minimise them grow by orders of magnitude on the way.
//
// Why an estimate of the error: a few rows that are large beside the others, as those beside a Robin boundary with a large
// alpha or of a large capacity, make a norm that the other rows are nothing of. It is asked for where the residual would do,
// and costs two maxima then.

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
  ReferenceNorm reference_norm = ReferenceNorm::rhs;
  int max_iterations = 100;
  /// Iterations without a better residual that count as stagnation; by default 10 of a stationary iteration, and any number of
  /// a Krylov method.
  std::optional<int> patience{};
  /// What the estimated error may be, of the size of x. By default errors_per_residual * rtol, and anything where the residual
  /// is at most atol; infinity: the residual decides alone.
  std::optional<double> error_tol{};
  /// Nobody asked for this tolerance: after some iterations one ends as well where a residual near the tolerance is at
  /// rounding, though it may go on falling to a tenth of that.
  bool rounding_will_do = false;
  /// Asked once, by a Krylov method that has not reduced the residual to a tenth in five iterations: true ends it, as
  /// stagnated. x may be behind then.
  std::function<bool()> gives_up{};

  /// A residual of rtol leaves an error of up to this times rtol in ordinary problems, which end by their residual.
  static constexpr double errors_per_residual = 100;
  /// What an estimate has to be below where the residual would do.
  [[nodiscard]] double error_limit() const;
  /// Throws UsageError unless rtol > 0 or atol > 0, rtol is below 1, and all are finite and not negative.
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

  /// How the estimated error of the latest iterate is asked for, relative to the size of x; nothing: not known. The residual of
  /// this iterate is one that `done` would take for converged.
  using Error = std::function<std::optional<double>()>;
  void set_error(Error error) { error_ = std::move(error); }
  /// How max_i |b - A x|_i / (|A| max |x| + |b|)_i of the latest iterate is asked for.
  void set_worst_row(std::function<double()> worst_row) { worst_row_ = std::move(worst_row); }

  /// Takes the residual norm of the latest iterate (the initial one first); true when the iteration ends.
  bool done(int iteration, double residual);
  /// True where the residual has hardly fallen in the latest iterations, or much less than before, as it does at rounding.
  [[nodiscard]] bool slow() const;
  /// This residual, of the iteration of this number, is as good as converged if it is at rounding.
  [[nodiscard]] bool rounding_will_do(int iteration, double residual) const;
  /// The iteration gains by another measure than its residual: for as long again it does not stagnate.
  void gained() { best_iteration_ = report_.iterations; }
  /// Ends the iteration for a reason of the solver's own. By rounding, stagnation or a breakdown it has converged where the
  /// residual has and every row has by itself, to rtol, and the estimated error, where known, nearly.
  void end(Status status, std::string reason);
  /// Ends it with the latest residual at rounding, and its estimated error, where known, small or no longer falling. An error
  /// in the second digit is no success: it has stagnated then.
  void end_at_rounding(std::optional<double> error = {});
  /// An estimated error with which a residual at rounding is all that was asked for.
  [[nodiscard]] double error_at_rounding() const { return std::max(error_limit_, 1e-6); }

  /// What the residual has to fall below.
  [[nodiscard]] double target() const { return target_; }
  /// What the estimated error has to be at most.
  [[nodiscard]] double error_limit() const { return error_limit_; }
  /// So near the target that the next residual may be below it: corrections are to be measured.
  [[nodiscard]] bool is_near(double residual) const { return residual <= 10 * target_; }
  /// By what the residual fell in the latest iteration; 1 before there was one.
  [[nodiscard]] double rate() const;
  [[nodiscard]] Status status() const { return report_.status; }
  /// What has been recorded so far; the solver adds the true residual.
  [[nodiscard]] SolveReport& report() { return report_; }

 private:
  [[nodiscard]] bool error_converged(double residual);

  StoppingParams params_;
  Monitor monitor_;
  IterationKind kind_;
  SolveReport report_;
  Error error_;
  std::function<double()> worst_row_;
  double target_, error_limit_;
  double best_ = std::numeric_limits<double>::infinity();
  int best_iteration_ = 0;
  bool was_asked_ = false;  // gives_up
};

/// Of an iteration that goes on from the x that `before` ended with: what is left to reach, and of its iterations.
[[nodiscard]] StoppingParams rest_of(StoppingParams stop, const SolveReport& before);
/// Makes the report of that iteration one of both.
void put_before(const SolveReport& before, SolveReport& report);

/// Why an iteration ended: at its limit, or where rounding ends its progress.
[[nodiscard]] std::string max_iterations_reason(double residual, int iterations, double target);
[[nodiscard]] std::string rounding_reason(double residual, double target);

/// Puts right what an iteration in single precision reports that solved for scale b: all numbers in the units of b, status and
/// reason by the true residual of its solution. `advice` ends the sentence about a tolerance that only the iteration's own
/// residual has met.
void judge_single_precision(SolveReport& report, const StoppingParams& stop, double scale, double true_residual,
                            std::string_view advice);

}  // namespace stratum
