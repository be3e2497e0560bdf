#pragma once

// DoubleSingleRefinement solves A x = b with double-precision arithmetic in sums alone, for GPUs with slow double precision. It
// adds to the given x a correction that is kept as the sum of two floats (double-single), hi + lo. If zero is nearer to the
// solution than the given x, it adds to zero. With d = b - A x, formed once in double, so that large boundary values in x and b
// never reach floats,
//
//     r = (d - A hi) - A lo ,   A e = s r to 1e-4 in float ,   (hi, lo) <- (hi, lo) + e / s ,   s a power of two near 1 / ||r|| ,
//
// the last by an error-free sum. Tensor and element-coefficient operators work with differences of neighbours: rounding A then
// changes K by 6e-8 in each cell, and the error in the energy norm, sqrt(e' A e / x' A x), is about 1e-7. Stored bands lose
// A 1 = 0 by rounding, and with it three digits or more; they are refused.
//
// The residual ||b - A x|| stays at 1e-6 ||b|| or above, twice as much on each finer level, because x is in double-single.
// Rounds therefore end when the next correction, extrapolated from the last two, would be below float's rounding in the energy
// norm (usually after two rounds) and the estimated error is small. The residual is then formed once in double, and one more
// cycle makes of it the estimated error of x (solvers/error_estimate.hpp). Both decide the status:
//
//     converged       it is within the tolerance, and so is the estimated error (solvers/error_estimate.hpp)
//     rounding        it is above, the rounds have ended as said, the estimated error is small, and rounding of float explains
//                     the residual (<= 2 eps || |A| |x| + |b| ||)
//     stagnated       corrections have not become small, or the estimated error has not, or rounding of float does not explain
//                     the residual
//     else            the status of the solve in float: max iterations, breakdown, diverged
//
// b and x are doubles of the shape that the constructor is given. Iterations and history are those of the solves in float of all
// rounds; the last residual is the true one. Where rounds meet the history may rise. Errors: UsageError for a storage format
// with bands, for other shapes and for stopping parameters that `validate` refuses. `solve` waits for the stream and allocates
// nothing. Memory: 5 floats per unknown and the vectors of the inner solver.
// Sources: D. Knuth, The Art of Computer Programming 2, Section 4.2.2 (the sum); Goeddeke, Strzodka 2011, Section 2.5.

#include <stratum/core/operators/grid_operator.hpp>
#include <stratum/solvers/solver.hpp>

namespace stratum {

class DoubleSingleRefinement {
 public:
  /// `singular_nodes`: of an operator with A 1 = 0, the nodes of all subdomains; 0 of others. The rounding of a residual in
  /// float has a mean, which no correction could take away there.
  DoubleSingleRefinement(Context& ctx, const GridLayout<2>& shape, std::int64_t singular_nodes = 0);

  /// Solves from the given x. `in_float` is `a` rounded, `solver` one for it. stop.max_iterations counts all rounds.
  SolveReport solve(Context& ctx, const GridOperator<double>& a, const GridOperator<float>& in_float,
                    Solver<float>& solver, Preconditioner<float>& m, FieldView<const double> b, FieldView<double> x,
                    const StoppingParams& stop, const Monitor& monitor = {});

  /// Throws UsageError for forms whose rounding is no small change of K.
  static void expects_storage_format(StorageFormat format);

 private:
  /// r_ = b_ - A (hi_ + lo_); returns its norm.
  double residual(Context& ctx, const GridOperator<float>& a);

  Field<float> b_, hi_, lo_, r_, e_;
  std::int64_t singular_nodes_;
  Field<double> mean_;  // scratch, where the operator is singular
};

}  // namespace stratum
