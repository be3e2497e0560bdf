#pragma once

// Generalised conjugate residuals, restarted after k directions, for any A and any M, which may vary from step to step:
//
//     p = M^-1 r,  q = A p;  q <- q - sum (q, q_i) q_i,  p <- p - sum (q, q_i) p_i,  both divided by ||q||;
//     alpha = (r, q),  x <- x + alpha p,  r <- r - alpha q .
//
// Minimises ||r|| over what the directions span; x and r are up to date after every iteration. Orthogonalisation is classical
// Gram-Schmidt, measured and repeated when needed (solvers/krylov.hpp): three groups of reductions an iteration, one or two
// more when repeated. Breaks down where A p lies in the span of its predecessors, as for a skew-symmetric A, where gmres
// does not.
// Sources: Eisenstat, Elman, Schultz 1983; with an inner solve as M (VPGCR): Abe, Zhang 2005.

#include <stratum/solvers/krylov.hpp>

namespace stratum {

template <class T>
class Gcr final : public Solver<T>, public Handle {
 public:
  /// Throws UsageError for a restart below 1.
  Gcr(Context& ctx, const GridShape& shape, int restart);

 private:
  SolveReport run(Context& ctx, const LinearOperator<T>& a, Preconditioner<T>* m, GridView<const T> b, GridView<T> x,
                  const StoppingParams& stop, const Monitor& monitor) override;

  SharedVector<T> r_;
  Basis<T> p_, q_;
};

}  // namespace stratum
