#pragma once

// Stabilised bi-conjugate gradients, right preconditioned, for any A and any M; M may vary, since x moves along the very
// vectors that A has been applied to:
//
//     p <- r + beta (p - omega v),  v = A M^-1 p,  alpha = rho / (r^, v),  s = r - alpha v,
//     t = A M^-1 s,  omega = (t, s) / (t, t),  x <- x + alpha M^-1 p + omega M^-1 s,  r <- s - omega t,
//     rho = (r^, r),  beta = (rho / rho_old) (alpha / omega),  r^ the residual at the start.
//
// Two applications of A and of M an iteration, no restart, eight vectors; three groups of reductions. The residual need not
// fall from step to step. rho = 0, (r^, v) = 0 and omega = 0 start again from the true residual with a new r^; where that
// does not help they are reported as a breakdown. Source: van der Vorst 1992.

#include <stratum/solvers/solver.hpp>

namespace stratum {

template <class T>
class BiCgStab final : public Solver<T>, public Handle {
 public:
  BiCgStab(Context& ctx, const GridShape& shape);

 private:
  SolveReport run(Context& ctx, const LinearOperator<T>& a, Preconditioner<T>* m, GridView<const T> b, GridView<T> x,
                  const StoppingParams& stop, const Monitor& monitor) override;

  SharedVector<T> r_, shadow_, p_, mp_, v_, ms_, t_;
};

}  // namespace stratum
