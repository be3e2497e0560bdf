#pragma once

// refine: a direct solver's solution, and refinement on the true residual b - A x in double until the tolerance is met or the
// residual no longer falls. Statuses: converged, round-off limit (the residual is at rounding, above the tolerance), non-finite,
// diverged, stagnated, and the limit of iterations. What is done is the caller's, who waits at norms.

#include <functional>

#include <stratum/core/io/solve_report.hpp>
#include <stratum/solvers/stopping.hpp>

namespace stratum {

struct BoxRefinement {
  std::function<void(bool is_first)> correct;  // x = x + A^-1 (b - A x), from the x that the first norm is of
  std::function<double()> residual_norm;       // || b - A x ||
  std::function<double()> magnitude;           // || |A| |x| + |b| ||
  std::function<bool()> has_its_size;          // x is no larger than a solution may be: its rounding excuses a residual
};

/// `first`: the residual's norm before.
[[nodiscard]] SolveReport refine(const BoxRefinement& by, double first, const StoppingParams& stop,
                                 const Monitor& monitor);

}  // namespace stratum
