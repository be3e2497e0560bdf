#pragma once

// Preconditioned conjugate gradients for symmetric positive definite A and M:
//
//     alpha = (r, z) / (p, A p),  x <- x + alpha p,  r <- r - alpha A p,  z = M^-1 r,  p <- z + beta p
//
//     plain     beta = (r, z) / (r, z)_old              M constant: any other is refused (UsageError)
//     flexible  beta = (r - r_old, z) / (r, z)_old      M may vary from step to step, as an inner iteration does. Since
//                                                       r - r_old = -alpha A p, it is -(z, A p) / (p, A p): no more vectors
//
// The plain form with a fixed M needs one product less; the flexible one keeps p conjugate to its predecessor whatever M did.
// A direction of negative curvature ends as Status::breakdown. Two waits for the stream an iteration, one without M.
// Sources: Hestenes, Stiefel 1952; Golub, Ye, Inexact preconditioned conjugate gradient method, 1999; Notay, Flexible conjugate
// gradients, 2000.

#include <stratum/solvers/krylov/conjugate_step.hpp>
#include <stratum/solvers/solver.hpp>

namespace stratum {

enum class Beta : std::uint8_t { plain, flexible };

template <class T>
class ConjugateGradients final : public Solver<T>, public Handle {
 public:
  ConjugateGradients(Context& ctx, const GridLayout<2>& shape, Beta beta = Beta::plain);

 private:
  SolveReport run(Context& ctx, const LinearOperator<T>& a, Preconditioner<T>* m, FieldView<const T> b, FieldView<T> x,
                  const StoppingParams& stop, const Monitor& monitor) override;

  Beta beta_;
  SharedField<T> r_, z_, ap_;
  SearchDirection<T> p_;
};

}  // namespace stratum
