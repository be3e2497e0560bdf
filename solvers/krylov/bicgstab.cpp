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

#include <stratum/solvers/krylov/krylov.hpp>

namespace stratum {

void register_bicgstab(SolverRegistry& registry);

namespace {

/// |product| is no more than rounding of what two vectors of these norms may give.
template <class T>
bool vanishes(double product, double norms) {
  return !(std::abs(product) > static_cast<double>(std::numeric_limits<T>::epsilon()) * norms);
}

template <class T>
class BiCgStab final : public Solver<T> {
 public:
  BiCgStab(Context& ctx, const GridLayout<2>& shape, const SolverParams& /*params*/)
      : Solver<T>(shape), r_(ctx, shape), shadow_(ctx, shape), p_(ctx, shape), mp_(ctx, shape), v_(ctx, shape),
        ms_(ctx, shape), t_(ctx, shape) {}

 private:
  SolveReport run(Context& ctx, const LinearOperator<T>& a, Preconditioner<T>* m, FieldView<const T> b, FieldView<T> x,
                  const StoppingParams& stop, const Monitor& monitor) override {
    const auto r = r_.view(), shadow = shadow_.view(), p = p_.view(), v = v_.view(), t = t_.view();
    KrylovIteration<T> iteration(ctx, a, m, b, x, r, t, stop, monitor);
    double rho = 0, alpha = 0, omega = 0, shadow_norm = 0, next_rho = 0;
    for (bool restart = true; !iteration.done();) {
      const double norm = iteration.residual();
      if (restart) {
        copy<T, T>(ctx, r, shadow);
        copy<T, T>(ctx, r, p);
        shadow_norm = norm;
        rho = norm * norm;
      } else {
        if (vanishes<T>(next_rho, shadow_norm * norm)) {
          restart = iteration.recover(message("rho = ", next_rho));
          continue;
        }
        const double beta = next_rho / rho * (alpha / omega);
        rho = next_rho;
        axpy<T, T>(ctx, -omega, v, p);
        xpay<T>(ctx, r, beta, p);
      }
      const auto mp = iteration.precondition(p, mp_.view());
      a.apply(ctx, mp, v);
      const auto of_v = dots<T>(ctx, {{shadow, v}, {v, v}});
      if (vanishes<T>(of_v[0], shadow_norm * std::sqrt(of_v[1]))) {
        restart = iteration.recover(message("(r^, v) = ", of_v[0]));
        continue;
      }
      alpha = rho / of_v[0];
      axpy<T, T>(ctx, -alpha, v, r);  // s
      const auto ms = iteration.precondition(r, ms_.view());
      a.apply(ctx, ms, t);
      const auto of_t = dots<T>(ctx, {{t, r}, {t, t}, {r, r}});
      axpy<T, T>(ctx, alpha, mp, x);
      omega = of_t[0] / of_t[1];
      const bool half = vanishes<T>(of_t[0], std::sqrt(of_t[1]) * std::sqrt(of_t[2]));
      if (half) {
        // The first half stands; without the second there is no next direction.
        restart = iteration.advance(std::sqrt(of_t[2]));
        if (!iteration.done() && !restart) restart = iteration.recover(message("omega = ", omega));
        continue;
      }
      axpy<T, T>(ctx, omega, ms, x);
      axpy<T, T>(ctx, -omega, t, r);
      const auto products = dots<T>(ctx, {{r, r}, {shadow, r}});
      next_rho = products[1];
      restart = iteration.advance(std::sqrt(products[0]));
    }
    return iteration.finish();
  }

  Field<T> r_, shadow_, p_, mp_, v_, ms_, t_;
};

}  // namespace

void register_bicgstab(SolverRegistry& registry) {
  registry.add<BiCgStab>("bicgstab", "stabilised bi-conjugate gradients: any A, M may vary", {.vectors = 7});
}

}  // namespace stratum
