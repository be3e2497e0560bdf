// Preconditioned conjugate residuals for symmetric A, definite or not, and constant symmetric positive definite M:
//
//     p <- z + beta p,   A p <- A z + beta A p,   u = M^-1 A p,      beta = -(A z, u) / (A p, u)  with the old u and p,
//     x <- x + alpha p,  r <- r - alpha A p,      z <- z - alpha u,  alpha = (r, u) / (A p, u) .
//
// z = M^-1 r at the start. Without M, where z = r and u = A p, products with A z give those with the new A p before that is
// there, and an iteration waits for the stream twice. Minimises (r, M^-1 r) over the Krylov space, where CG minimises the
// energy of the error. One application of A and of M an iteration, three groups of reductions. z follows r by recursion, and a
// preconditioner that is constant to the rounding of float only (PrecisionCast) parts the two: the products tell, since (A p,
// z) = (u, r) as long as z = M^-1 r, and z is computed anew when they disagree. The coefficients are those of the minimisation
// itself and hold whatever z has become. Refuses a preconditioner that is not constant and symmetric (UsageError). An
// indefinite A may break down; that is reported. Sources: Stiefel 1955; Saad, Iterative Methods for Sparse Linear Systems,
// 2003, Section 6.8.

#include <stratum/solvers/krylov/conjugate_step.hpp>
#include <stratum/solvers/krylov/krylov.hpp>

namespace stratum {

void register_cr(SolverRegistry& registry);

namespace {

/// (A p, z) and (M^-1 A p, r) agree when z = M^-1 r; where they differ by more, z is computed anew.
constexpr double tolerated_drift = 1e-2;
/// (A p, A p) is taken from products with A z unless less than this is left of (A z, A z).
constexpr double tolerated_cancellation = 1e-4;

template <class T>
class ConjugateResiduals final : public Solver<T> {
 public:
  ConjugateResiduals(Context& ctx, const GridLayout<2>& shape, const SolverParams& /*params*/)
      : Solver<T>(shape), r_(ctx, shape), z_(ctx, shape), az_(ctx, shape), p_(ctx, shape), ap_(ctx, shape),
        map_(ctx, shape) {}

 private:
  SolveReport run(Context& ctx, const LinearOperator<T>& a, Preconditioner<T>* m, FieldView<const T> b, FieldView<T> x,
                  const StoppingParams& stop, const Monitor& monitor) override {
    expects_constant_symmetric("conjugate residuals", m);
    const auto r = r_.view(), az = az_.view(), p = p_.view(), ap = ap_.view();
    KrylovIteration<T> iteration(ctx, a, m, b, x, r, az, stop, monitor);
    double square = 0;
    bool drifted = false;
    FieldView<const T> z, map;
    for (bool restart = true; !iteration.done();) {
      if (restart || drifted) z = iteration.precondition(r, z_.view());
      a.apply(ctx, z, az);
      std::vector<double> products;
      double beta = 0;
      if (m == nullptr && !restart) {
        const auto known = dots<T>(ctx, {{az, ap}, {az, az}, {r, az}, {r, ap}});
        beta = -known[0] / square;
        const double left = known[1] + beta * known[0], along = known[2] + beta * known[3];
        if (left > tolerated_cancellation * known[1]) products = {left, along, along};
      } else if (!restart) {
        beta = -dot<T>(ctx, az, map) / square;
      }
      xpay<T>(ctx, z, beta, p);
      xpay<T>(ctx, az, beta, ap);
      map = iteration.precondition(ap, map_.view());
      if (products.empty()) products = dots<T>(ctx, {{ap, map}, {r, map}, {ap, z}});
      square = products[0];
      if (!(square > 0)) {
        iteration.break_down(message("(A p, M^-1 A p) = ", square,
                                     square < 0 ? ": the preconditioner is not positive definite"
                                                : ": the operator or the preconditioner is singular"));
        break;
      }
      const double alpha = products[1] / square;
      if (!(alpha != 0 && std::isfinite(alpha))) {
        restart = iteration.recover(message("the operator is not definite, use gmres: (A p, M^-1 r) = ", products[1]));
        continue;
      }
      drifted = std::abs(products[2] - products[1]) > tolerated_drift * std::abs(products[1]);
      if (m != nullptr) axpy<T, T>(ctx, -alpha, map, z_.view());
      const double rr = residual_step<T, T>(ctx, alpha, p, ap, 1, x, r);
      // Squares leave the range of double where norms do not.
      restart = iteration.advance(std::isnormal(rr) ? std::sqrt(rr) : norm2<T>(ctx, r));
    }
    return iteration.finish();
  }

  Field<T> r_, z_, az_, p_, ap_, map_;
};

}  // namespace

void register_cr(SolverRegistry& registry) {
  registry.add<ConjugateResiduals>("cr", "conjugate residuals: A symmetric, M symmetric positive definite and constant",
                                   {.symmetric = true, .constant_symmetric = true, .vectors = 6});
}

}  // namespace stratum
