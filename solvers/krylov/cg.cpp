#include <stratum/solvers/krylov/cg.hpp>

#include <stratum/solvers/krylov/conjugate_step.hpp>
#include <stratum/solvers/krylov/krylov.hpp>

namespace stratum {

void register_cg(SolverRegistry& registry);

namespace {

template <class T, Beta beta>
std::unique_ptr<Solver<T>> make_cg(Context& ctx, const GridLayout<2>& shape, const SolverParams& /*params*/) {
  return std::make_unique<ConjugateGradients<T>>(ctx, shape, beta);
}

}  // namespace

template <class T>
ConjugateGradients<T>::ConjugateGradients(Context& ctx, const GridLayout<2>& shape, Beta beta)
    : Solver<T>(shape), beta_(beta), r_(ctx, shape), z_(ctx, shape), ap_(ctx, shape), p_(ctx, shape) {}

template <class T>
SolveReport ConjugateGradients<T>::run(Context& ctx, const LinearOperator<T>& a, Preconditioner<T>* m,
                                       FieldView<const T> b, FieldView<T> x, const StoppingParams& stop,
                                       const Monitor& monitor) {
  if (beta_ == Beta::plain) expects_constant_symmetric("conjugate gradients", m);
  const auto r = r_.view(), ap = ap_.view();
  KrylovIteration<T> iteration(ctx, a, m, b, x, r, z_.view(), stop, monitor);
  double rz = 0, rr = 0, curvature = 0;
  for (bool restart = true; !iteration.done();) {
    const FieldView<const T> z = m == nullptr ? r : z_.cview();
    const bool flexible = beta_ == Beta::flexible && !restart;
    double product = rr, of_last = 0;
    if (flexible) {
      (void)iteration.precondition(r, z_.view());
      const auto products = dots<T>(ctx, {{r, z}, {z, ap}});
      product = products[0];
      of_last = products[1];
    } else if (m != nullptr || restart) {
      product = iteration.precondition_dot(r, z_.view());
    }
    if (!(product > 0)) {
      iteration.break_down(message("the preconditioner is not positive definite: (r, M^-1 r) = ", product));
      break;
    }
    const double beta = restart ? 0 : flexible ? -of_last / curvature : product / rz;
    rz = product;
    const auto step = p_.step(ctx, a, rz, z, beta, ap, x, r);
    curvature = step.curvature;
    rr = step.square;
    if (!(curvature > 0)) {
      iteration.break_down(message("the operator is not positive definite: (p, A p) = ", curvature));
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
