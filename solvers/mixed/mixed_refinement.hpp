#pragma once

// Mixed-precision iterative refinement for A x = b: the preconditioner M works in float, residual and update are formed in
// double,
//
//     x <- x + 1/s M^-1 (s (b - A x)) ,   s a power of two near the last 1 / ||b - A x|| .
//
// The scale s keeps the narrowed residual inside the range of float; scaling by a power of two adds no rounding. The iteration
// is that of Refinement<double> with a PrecisionCast, but the residual is narrowed where it is formed, which saves a pass.
// Source: Goeddeke, Strzodka 2011, Section 2.5.
//
// `solve` starts from the given x; b and x have the operator's shape. Errors: UsageError for another shape and for stopping
// parameters that `validate` refuses. The host waits for one norm per iteration. `solve` allocates nothing, unless it was to
// have vectors of the preconditioner (`room`) and is given none. If a monitor throws, x may be one step behind.
//
// Memory: two vectors of floats, or none where M offers its own (solvers/room.hpp); on a GPU one vector of doubles more. Memory
// traffic per unknown and iteration beside that of M, with a tensor operator: 40 bytes on a GPU, 44 on a CPU. On a GPU update
// and residual are one pass of 32 bytes (GridOperator::updated_residual_norm), from x to the other vector and back; a step that
// is expected to be the last one is taken in place. Near the target the size of the correction and, in the last step, the
// extremes of x are measured for the estimated error (solvers/error_estimate.hpp): 4 to 12 bytes more.

#include <functional>
#include <optional>

#include <stratum/core/field/blas.hpp>
#include <stratum/core/io/solve_report.hpp>
#include <stratum/core/operators/grid_operator.hpp>
#include <stratum/solvers/room.hpp>
#include <stratum/solvers/stopping.hpp>

namespace stratum {

/// The power of two in (1 / (2 norm), 1 / norm], within what float and double can hold; 1 for zero and for what is not finite.
[[nodiscard]] double power_of_two_below_reciprocal(double norm);

class MixedRefinement {
 public:
  /// For operators like `a`. `has_room`: the preconditioner will.
  MixedRefinement(Context& ctx, const GridOperator<double>& a, bool has_room = false);

  /// `rhs_norm`: ||b||, where it is known. `room`: of the preconditioner; without, where there was to be some, two vectors are
  /// allocated.
  SolveReport solve(Context& ctx, const GridOperator<double>& a, Preconditioner<float>& m, FieldView<const double> b,
                    FieldView<double> x, const StoppingParams& stop, const Monitor& monitor = {},
                    std::optional<double> rhs_norm = {}, const std::optional<Room<float>>& room = {});

 private:
  double scale_ = 1;
  DeferredSizes deferred_;
  Field<float> r_, c_;
  Field<double> other_;  // where update and residual are one pass
};

}  // namespace stratum
