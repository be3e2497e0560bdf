#pragma once

// Mixed-precision iterative refinement: M^-1 works in float, defect and update are formed in double,
//
//     x <- x + 1/s M^-1 (s (b - A x)) ,   s a power of two near the last 1 / ||b - A x|| ,
//
// so that the narrowed defect neither overflows nor underflows and scaling adds no rounding. The same iteration as
// Refinement<double> with PrecisionCast, but the defect is narrowed where it is formed. Source: Goeddeke, Strzodka 2011,
// Section 2.5.
//
// `solve` starts from the given x. It keeps two vectors of floats, or forms the defect where M has room for it
// (solvers/room.hpp). Per iteration: one residual with its norm (which the host waits for), one preconditioner, one update:
// 20 + 20 bytes a node beside the preconditioner's, a tensor operator given; 4 more on a CPU. On a GPU update and residual
// are one pass of 32 bytes (GridOperator::updated_residual_norm), from x to another vector of doubles and back; a step that
// is expected to be the last, and would end there, is taken in place. Where the residual comes near its target, the largest
// correction and, in the last step, the extremes of x are measured for the estimated error: 4 to 12 bytes a node, on a GPU in
// one pass behind the residual. A monitor that throws may leave x a step behind.

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
