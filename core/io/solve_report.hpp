#pragma once

// SolveReport: what a solver did. `residual` is the true residual ||b - A x||_2 in double, recomputed from the returned x, and
// the status `converged` is decided by it alone.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <stratum/core/names.hpp>

namespace stratum {

/// `round-off limit`: the residual is above the tolerance and as small as the precision lets it be (solvers/rounding.hpp).
enum class Status : std::uint8_t {
  converged,
  round_off_limit,
  max_iterations,
  stagnated,
  diverged,
  breakdown,
  non_finite
};

template <>
inline constexpr auto names_of<Status> = std::to_array<Named<Status>>({{Status::converged, "converged"},
                                                                       {Status::round_off_limit, "round-off limit"},
                                                                       {Status::max_iterations, "max iterations"},
                                                                       {Status::stagnated, "stagnated"},
                                                                       {Status::diverged, "diverged"},
                                                                       {Status::breakdown, "breakdown"},
                                                                       {Status::non_finite, "non-finite input"}});

/// Exit code of a program that ends with this status: 0 converged, 2 not converged, 3 diverged, breakdown, non-finite. At
/// rounding 2, and 0 where nobody has asked for the tolerance.
[[nodiscard]] int exit_code(Status status, bool tolerance_asked_for = true);

/// Norm that relative residuals refer to.
enum class ReferenceNorm : std::uint8_t { rhs, initial };

template <>
inline constexpr auto names_of<ReferenceNorm> =
    std::to_array<Named<ReferenceNorm>>({{ReferenceNorm::rhs, "rhs"}, {ReferenceNorm::initial, "initial"}});

struct LevelReport {
  int nx = 0;
  int ny = 0;
  double seconds = 0;    // spent on this level, coarser levels not included
  std::string smoother;  // empty where the level is solved, and below
  int sweeps = 0;        // before and after the coarse correction
  std::string reason;    // why this smoother, or none on the finest level; empty where it was asked for by name
};

struct SolveReport {
  Status status = Status::max_iterations;
  std::string reason;  // one sentence: why the iteration ended
  ReferenceNorm reference_norm = ReferenceNorm::rhs;
  double reference_norm_value = 0;
  double initial_residual = 0;
  double residual = 0;
  /// Of the iteration, relative to the range of x (solvers/error_estimate.hpp); none where no cycle tells it.
  std::optional<double> estimated_error{};
  int iterations = 0;
  int inner_iterations = 0;
  std::vector<double> history;  // residual norms, the initial one first
  std::string choice;           // the method or cycle that smoother "auto" chose, and why; else empty
  double setup_seconds = 0;
  double solve_seconds = 0;
  std::vector<LevelReport> levels;  // coarsest first; seconds only where measured

  /// residual / reference_norm_value; zero when both are zero.
  [[nodiscard]] double relative_residual() const;
  /// Decimal digits by which the residual fell.
  [[nodiscard]] double digits() const;
  /// Geometric mean of the reduction per iteration, from the history.
  [[nodiscard]] double convergence_rate() const;
};

}  // namespace stratum
