// Generalised conjugate residuals, restarted after k directions, for any A and any M, which may vary from step to step:
//
//     p = M^-1 r,  q = A p;  q <- q - sum (q, q_i) q_i,  p <- p - sum (q, q_i) p_i,  both divided by ||q||;
//     alpha = (r, q),  x <- x + alpha p,  r <- r - alpha q .
//
// Minimises ||r|| over what the directions span; x and r are up to date after every iteration. Orthogonalisation is classical
// Gram-Schmidt, measured and repeated when needed (solvers/krylov/krylov.hpp): three groups of reductions an iteration,
// one or two more when repeated. Breaks down where A p lies in the span of its predecessors, as for a skew-symmetric A, where
// gmres does not.
// Sources: Eisenstat, Elman, Schultz 1983; with an inner solve as M (VPGCR): Abe, Zhang 2005.

#include <stratum/solvers/krylov/krylov.hpp>

namespace stratum {

void register_gcr(SolverRegistry& registry);

namespace {

template <class T>
class Gcr final : public Solver<T> {
 public:
  Gcr(Context& ctx, const GridLayout<2>& shape, const SolverParams& params)
      : Solver<T>(shape), r_(ctx, shape), p_(ctx, shape, params.restart), q_(ctx, shape, params.restart) {}

 private:
  SolveReport run(Context& ctx, const LinearOperator<T>& a, Preconditioner<T>* m, FieldView<const T> b, FieldView<T> x,
                  const StoppingParams& stop, const Monitor& monitor) override {
    const auto r = r_.view();
    KrylovIteration<T> iteration(ctx, a, m, b, x, r, p_[0], stop, monitor);
    std::vector<double> h;
    int k = 0;  // directions kept
    while (!iteration.done()) {
      const auto p = p_[k], q = q_[k];
      const auto z = iteration.precondition(r, p);
      if (z.data != p.data) copy<T, T>(ctx, z, p);
      a.apply(ctx, p, q);
      const double norm = q_.orthogonalise(ctx, k, q, h);
      if (!(norm > 0 && std::isfinite(norm))) {
        (void)iteration.recover(norm == 0 ? "A M^-1 r depends on the directions before it"
                                          : "the operator or the preconditioner gave numbers that are not finite");
        k = 0;
        continue;
      }
      for (double& factor : h) factor = -factor;
      axpys<T>(ctx, h, p_.first(k), p);
      copy_scaled<T, T>(ctx, 1 / norm, p, p);
      copy_scaled<T, T>(ctx, 1 / norm, q, q);
      const double alpha = dot<T>(ctx, r, q);
      axpy<T, T>(ctx, alpha, p, x);
      axpy<T, T>(ctx, -alpha, q, r);
      const bool full = ++k == q_.capacity();
      iteration.set_free(p_[full ? 0 : k]);
      if (iteration.advance(norm2<T>(ctx, r)) || full) k = 0;
    }
    return iteration.finish();
  }

  Field<T> r_;
  Basis<T> p_, q_;
};

}  // namespace

void register_gcr(SolverRegistry& registry) {
  registry.add<Gcr>("gcr", "generalised conjugate residuals, restarted: any A, M may vary",
                    {.vectors = 1, .vectors_per_restart = 2});
}

}  // namespace stratum
