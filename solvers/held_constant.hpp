#pragma once

// HeldConstant: what is left of a constant in x when an iteration for A x = b has ended, where A is symmetric and only little,
// as a tiny reaction or Robin coefficient, holds constants. With r = b - A x,
//
//     x <- x + (1' r) / (1' A 1) 1 ,        the error in the energy norm falls, and 1' r = 0 but for rounding
//
// Rounding of r and of b is of the size of their terms, eps (|A| |x| + |b|), and 1' A 1 may be less: of what they leave, x has
// an error of the rounding of 1' r over 1' A 1, which no correction shows, since the residual that x is corrected by is zero.
// It is measured: b and x times s, three numbers that are no powers of two, round everything anew, and
//
//     |1' (s b - A (s x)) / s - 1' r| / (1' A 1)
//
// is that error; b has come with another one like it. Twice the largest counts as estimated error of the solve
// (solvers/error_estimate.hpp). A solve that has converged but for it is one at the round-off limit, or where that is the second
// digit of x, has stagnated, with the reason.
// Source: J. Vignes, A stochastic arithmetic for reliable scientific computation, 1993 (to measure rounding by perturbing it).
//
// Where A stores its diagonal, its rounding is one of 1' A 1, too, and u is in error by as much of itself.
//
// An iteration that has not ended well is left as it is: of what it lacks a constant may be the least.
//
// Where constants are held as in ordinary problems (rounding of stored entries would change 1' A 1 by less than 1e-11 of it)
// nothing is done. That is detected with the first solve after `forget`, by one product. Takes two vectors meanwhile; waits for
// the stream. On subdomains of a grid all make the same calls.

#include <optional>

#include <stratum/core/operators/linear_operator.hpp>
#include <stratum/solvers/stopping.hpp>

namespace stratum {

struct HoldOfConstants {
  double sum;  // 1' A 1
  /// What rounding of entries, were they stored, would change it by, as a part of it; 0: A does not know their size.
  double lost;
};
[[nodiscard]] HoldOfConstants hold_of_constants(Context& ctx, const LinearOperator<double>& a);

class HeldConstant {
 public:
  /// Of a memory dry run: what it takes.
  static void count_memory(Context& dry_run, const GridLayout<2>& shape) {
    const Field<double> ones(dry_run, shape), r(dry_run, shape);
  }
  /// Another A comes.
  void forget() { hold_.reset(); }
  /// `stored`: A is, by entries with those of the diagonal. Of the x that an iteration with this report has ended with.
  void settle(Context& ctx, const LinearOperator<double>& a, bool stored, FieldView<const double> b,
              FieldView<double> x, const StoppingParams& stop, SolveReport& report);

 private:
  std::optional<HoldOfConstants> hold_;
};

}  // namespace stratum
