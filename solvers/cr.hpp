#pragma once

// Preconditioned conjugate residuals for symmetric A, definite or not, and constant symmetric positive definite M:
//
//     p <- z + beta p,   A p <- A z + beta A p,   u = M^-1 A p,      beta = -(A z, u) / (A p, u)  with the old u and p,
//     x <- x + alpha p,  r <- r - alpha A p,      z <- z - alpha u,  alpha = (r, u) / (A p, u) .
//
// z = M^-1 r at the start. Minimises (r, M^-1 r) over the Krylov space, where CG minimises the energy of the error. One
// application of A and of M an iteration, three groups of reductions. z follows r by recursion, and a preconditioner that is
// constant to the rounding of float only (PrecisionCast) parts the two: the products tell, since (A p, z) = (u, r) as long as
// z = M^-1 r, and z is computed anew when they disagree. The coefficients are those of the minimisation itself and hold
// whatever z has become. Refuses a preconditioner that is not constant and symmetric (UsageError). An indefinite A may
// break down; that is reported.
// Sources: Stiefel 1955; Saad, Iterative Methods for Sparse Linear Systems, 2003, Section 6.8.

#include <stratum/solvers/solver.hpp>

namespace stratum {

template <class T>
class ConjugateResiduals final : public Solver<T>, public Handle {
 public:
  ConjugateResiduals(Context& ctx, const GridShape& shape);

 private:
  SolveReport run(Context& ctx, const LinearOperator<T>& a, Preconditioner<T>* m, GridView<const T> b, GridView<T> x,
                  const StoppingParams& stop, const Monitor& monitor) override;

  SharedVector<T> r_, z_, az_, p_, ap_, map_;
};

}  // namespace stratum
