#pragma once

// Preconditioned conjugate gradients for symmetric positive definite A and constant symmetric M:
//
//     alpha = (r, z) / (p, A p),  x <- x + alpha p,  r <- r - alpha A p,  z = M^-1 r,  p <- z + (r, z)/(r, z)_old p .
//
// Refuses a preconditioner that is not constant and symmetric (UsageError). A direction of negative curvature ends
// as Status::breakdown. The recursive residual steers; convergence is declared on the recomputed one, and the iteration
// restarts from it when the two disagree. Source: Hestenes, Stiefel 1952.

#include <stratum/core/linear_operator.hpp>
#include <stratum/core/solve_report.hpp>
#include <stratum/solvers/stopping.hpp>

namespace stratum {

template <class T>
class ConjugateGradients {
 public:
  ConjugateGradients(Context& ctx, const GridShape& shape);

  /// Solves from the given x. m = nullptr: no preconditioner.
  SolveReport solve(Context& ctx, const LinearOperator<T>& a, Preconditioner<T>* m, GridView<const T> b, GridView<T> x,
                    const StoppingParams& stop, const Monitor& monitor = {});

 private:
  Vector<T> r_, z_, p_, ap_;
};

}  // namespace stratum
