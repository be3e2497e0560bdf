#pragma once

// Flexible GMRES, right preconditioned, restarted after k directions, for any A and any M, which may vary from step to step.
// From v_0 = r / ||r|| Arnoldi's process builds
//
//     z_j = M_j^-1 v_j,   A Z = V H ,   V orthonormal, H upper Hessenberg, made triangular by Givens rotations,
//
// and x <- x + Z y with y minimising || ||r|| e_0 - H y ||, which is the norm of the new residual, so that the residual is known
// before x is. x is formed when that estimate reaches the target, at the restart and at the limit of iterations. Classical
// Gram-Schmidt, measured and repeated when needed: one group of reductions an iteration, two or three when repeated.
// Source: Saad, A flexible inner-outer preconditioned GMRES algorithm, 1993.

#include <stratum/solvers/krylov.hpp>

namespace stratum {

template <class T>
class Gmres final : public Solver<T>, public Handle {
 public:
  /// Throws UsageError for a restart below 1.
  Gmres(Context& ctx, const GridShape& shape, int restart);

 private:
  SolveReport run(Context& ctx, const LinearOperator<T>& a, Preconditioner<T>* m, GridView<const T> b, GridView<T> x,
                  const StoppingParams& stop, const Monitor& monitor) override;

  SharedVector<T> r_;
  Basis<T> v_, z_;
};

}  // namespace stratum
