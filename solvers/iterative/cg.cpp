#include <stratum/solvers/iterative/cg.hpp>

#include <stratum/solvers/conjugate_step.hpp>
#include <stratum/solvers/iterative/krylov.hpp>

namespace stratum {

void register_cg(SolverRegistry& registry);

namespace {

template <class T, Beta beta>
std::unique_ptr<Solver<T>> make_cg(Context& ctx, const GridShape& shape, const SolverParams& /*params*/) {
  return std::make_unique<ConjugateGradients<T>>(ctx, shape, beta);
}

}  // namespace

template <class T>
ConjugateGradients<T>::ConjugateGradients(Context& ctx, const GridShape& shape, Beta beta)
    : Solver<T>(shape), beta_(beta), r_(ctx, shape), z_(ctx, shape), p_(ctx, shape), ap_(ctx, shape) {}

template <class T>
SolveReport ConjugateGradients<T>::run(Context& ctx, const LinearOperator<T>& a, Preconditioner<T>* m,
                                       GridView<const T> b, GridView<T> x, const StoppingParams& stop,
                                       const Monitor& monitor) {
  if (beta_ == Beta::plain) expects_constant_symmetric("conjugate gradients", m);
  const auto r = r_.view(), p = p_.view(), ap = ap_.view();
  KrylovIteration<T> iteration(ctx, a, m, b, x, r, stop, monitor);
  double rz = 0, rr = 0, curvature = 0;
  for (bool restart = true; !iteration.done();) {
    const auto z = iteration.precondition(r, z_.view());
    const bool flexible = beta_ == Beta::flexible && !restart;
    const auto products = flexible                   ? dots<T>(ctx, {{r, z}, {z, ap}})
                          : m == nullptr && !restart ? std::vector<double>{rr}
                                                     : dots<T>(ctx, {{r, z}});
    if (!(products[0] > 0)) {
      iteration.break_down(message("(r, M^-1 r) = ", products[0], ": the preconditioner is not positive definite"));
      break;
    }
    const double beta = restart ? 0 : flexible ? -products[1] / curvature : products[0] / rz;
    rz = products[0];
    xpay<T>(ctx, z, beta, p);
    a.apply(ctx, p, ap);
    const auto step = conjugate_step<T, T>(ctx, rz, p, ap, 1, x, r);
    curvature = step.curvature;
    rr = step.square;
    if (!(curvature > 0)) {
      iteration.break_down(message("(p, A p) = ", curvature, ": the operator is not positive definite"));
      break;
    }
    // Squares leave the range of double where norms do not.
    restart = iteration.advance(std::isnormal(rr) ? std::sqrt(rr) : norm2<T>(ctx, r));
  }
  return iteration.finish();
}

template class ConjugateGradients<float>;
template class ConjugateGradients<double>;

void register_cg(SolverRegistry& registry) {
  registry.add({{.symmetric = true, .constant_symmetric = true, .vectors = 4},
                "cg",
                "conjugate gradients: A and M symmetric positive definite, M constant",
                make_cg<float, Beta::plain>,
                make_cg<double, Beta::plain>});
  registry.add({{.symmetric = true, .vectors = 4},
                "fcg",
                "conjugate gradients with the flexible beta: M may vary",
                make_cg<float, Beta::flexible>,
                make_cg<double, Beta::flexible>});
}

}  // namespace stratum
