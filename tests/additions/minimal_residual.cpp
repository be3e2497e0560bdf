// An example of a Krylov method, added by tests/additions: preconditioned minimal residuals of one direction,
//
//     z = M^-1 r,   x <- x + alpha z,   r <- r - alpha A z,   alpha = (A z, r) / (A z, A z) .

#include <stratum/solvers/krylov/krylov.hpp>

namespace stratum {

void register_minimal_residual(SolverRegistry& registry);

namespace {

template <class T>
class MinimalResidual final : public Solver<T> {
 public:
  MinimalResidual(Context& ctx, const GridLayout<2>& shape, const SolverParams& /*params*/)
      : Solver<T>(shape), r_(ctx, shape), z_(ctx, shape), az_(ctx, shape) {}

 private:
  SolveReport run(Context& ctx, const LinearOperator<T>& a, Preconditioner<T>* m, FieldView<const T> b, FieldView<T> x,
                  const StoppingParams& stop, const Monitor& monitor) override {
    const auto r = r_.view(), az = az_.view();
    KrylovIteration<T> iteration(ctx, a, m, b, x, r, stop, monitor);
    while (!iteration.done()) {
      const FieldView<const T> z = iteration.precondition(r, z_.view());
      a.apply(ctx, z, az);
      const auto products = dots<T>(ctx, {{az, r}, {az, az}});
      if (!(products[1] > 0)) {
        iteration.break_down(message("(A z, A z) = ", products[1]));
        break;
      }
      const double alpha = products[0] / products[1];
      axpy<T, T>(ctx, alpha, z, x);
      axpy<T, T>(ctx, -alpha, az, r);
      (void)iteration.advance(norm2<T>(ctx, r));
    }
    return iteration.finish();
  }

  Field<T> r_, z_, az_;
};

}  // namespace

void register_minimal_residual(SolverRegistry& registry) {
  registry.add<MinimalResidual>("minimal_residual", "minimal residuals of one direction", {.vectors = 3});
}

}  // namespace stratum
