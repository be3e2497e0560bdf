#pragma once

// DoubleSingleRefinement: A x = b without arithmetic in double but for sums, for GPUs whose double is slow. What is added to
// the x that is given is kept in double-single (the sum of two floats), or to zero where that is nearer; with d = b - A x,
// formed once in double, so that boundary values in x and b, however large, do not come into floats,
//
//     r = (d - A hi) - A lo ,   A e = s r to 1e-4 in float ,   (hi, lo) <- (hi, lo) + e / s ,   s a power of two near 1 / ||r|| ,
//
// the last by an error-free sum. Where the float residual keeps to differences of neighbours (tensor and element-coefficient
// operators), rounding A is a relative change of K by 6e-8 a cell, and x comes out as near to the solution in the energy norm,
// sqrt(e' A e / x' A x) about 1e-7. Stored bands lose A 1 = 0 by rounding, and with it three digits and more.
//
// The residual ||b - A x|| is another matter: x in double-single leaves 1e-6 ||b|| and more of it, which doubles a level.
// So rounds end where the next correction, as far as the last two tell, would be below the rounding of float in the energy
// norm, most often after two, and the error that the size of e tells of is small too. Then the residual is formed once in
// double, and the report goes by that:
//
//     converged       it is within the tolerance, and so is the estimated error (solvers/error_estimate.hpp)
//     rounding        it is above, the rounds have ended as above, and float explains it (<= 2 eps || |A| |x| + |b| ||)
//     stagnated       corrections have not become small, or float does not explain the residual
//     else            what the solve in float ended with: max iterations, breakdown, diverged
//
// Iterations and their history are those of the solves in float, of all rounds; the last residual is the true one. A restarted
// residual may stand above that of the recursion before it. b is scaled by a power of two so that float holds it; b and x come
// in and go out in double. Words of float a node: 5, and what the solver keeps. Waits for the stream.
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
