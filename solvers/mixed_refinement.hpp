#pragma once

// Mixed-precision iterative refinement: M^-1 works in float, defect and update are formed in double,
//
//     x <- x + 1/s M^-1 (s (b - A x)) ,   s a power of two near the last 1 / ||b - A x|| ,
//
// so that the narrowed defect neither overflows nor underflows and scaling adds no rounding. The same iteration as
// Refinement<double> with PrecisionCast, but the defect is narrowed where it is formed. Source: Goeddeke, Strzodka 2011,
// Section 2.5.
//
// `solve` starts from the given x. It keeps two vectors of floats. Per iteration: one residual with its norm (which waits for
// the stream), one preconditioner, one update: 20 + 20 bytes a node beside the preconditioner's, a tensor operator given; 4
// more on a CPU.

#include <stratum/core/io/solve_report.hpp>
#include <stratum/core/operators/grid_operator.hpp>
#include <stratum/solvers/stopping.hpp>

namespace stratum {

/// The power of two in (1 / (2 norm), 1 / norm], within what float and double can hold; 1 for zero and for what is not finite.
[[nodiscard]] double power_of_two_below_reciprocal(double norm);

class MixedRefinement {
 public:
  MixedRefinement(Context& ctx, const GridShape& shape);

  SolveReport solve(Context& ctx, const GridOperator<double>& a, Preconditioner<float>& m, GridView<const double> b,
                    GridView<double> x, const StoppingParams& stop, const Monitor& monitor = {});

 private:
  /// r_ = scale_ (b - A x); returns ||b - A x||.
  double residual(Context& ctx, const GridOperator<double>& a, GridView<const double> b, GridView<const double> x);

  double scale_ = 1;
  Vector<float> r_;
  Vector<float> c_;
};

}  // namespace stratum
