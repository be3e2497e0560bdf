#include <stratum/solvers/conjugate_step.hpp>

#include <cmath>
#include <limits>

#include <stratum/core/grid/blas.hpp>
#include <stratum/core/grid/reduce.hpp>
#include <stratum/core/grid/vector_functors.hpp>

namespace stratum {

namespace {

/// Called once a node: it makes the step and says what there is to add up.
template <class T, class X>
struct Step {
  double alpha, scale;
  GridView<const T> p, q;
  GridView<X> x;
  GridView<T> r;
  static constexpr bool takes_maximum = false;
  STRATUM_HOST_DEVICE STRATUM_INLINE double operator()(int i, int j) const {
    if (!(alpha == alpha)) return alpha;
    const auto direction = static_cast<double>(p(i, j));
    const T left = static_cast<T>(static_cast<double>(r(i, j)) - alpha * static_cast<double>(q(i, j)));
    x(i, j) = static_cast<X>(static_cast<double>(x(i, j)) + scale * alpha * direction);
    r(i, j) = left;
    return static_cast<double>(left) * static_cast<double>(left);
  }
};

/// Its alpha is on the GPU, and NaN where the curvature is not above zero.
template <class T, class X>
struct StepByCurvature {
  double square;
  const double* curvature;
  Step<T, X> step;
  static constexpr bool takes_maximum = false;
  STRATUM_HOST_DEVICE STRATUM_INLINE Step<T, X> begun() const {
    Step<T, X> known = step;
    known.alpha = *curvature > 0 ? square / *curvature : NAN;
    return known;
  }
  STRATUM_HOST_DEVICE STRATUM_INLINE double operator()(int i, int j) const { return begun()(i, j); }
};

template <class T, class X>
void expects_alike(const Context& ctx, GridView<const T> p, GridView<const T> q, GridView<X> x, GridView<T> r) {
  expects_fit(ctx, "p", p, r.shape());
  expects_fit(ctx, "q", q, r.shape());
  expects_fit(ctx, "x", x, r.shape());
  expects_fit(ctx, "r", r, r.shape());
}

}  // namespace

template <class T, class X>
ConjugateStep conjugate_step(Context& ctx, double square, GridView<const T> p, GridView<const T> q, double scale,
                             GridView<X> x, GridView<T> r) {
  expects_alike(ctx, p, q, x, r);
#if defined(__CUDACC__)
  // Pieces of a grid add up what they have on the host.
  if (ctx.on_gpu() && ctx.communicator() == nullptr && !ctx.plans()) {
    const auto hold = ctx.hold_scratch();
    const auto numbers = static_cast<std::size_t>(reduction_numbers(ctx, r.nx, r.ny));
    double* const curvature = ctx.reduction_scratch(2 * numbers);
    double* const host = ctx.host_number();
    reduce_to(ctx, r.nx, r.ny, Product<T>{p, q}, curvature, host);
    reduce_to(ctx, r.nx, r.ny, StepByCurvature<T, X>{square, curvature, {0, scale, p, q, x, r}}, curvature + numbers,
              host + 1);
    ctx.synchronise();
    return {host[0], host[1]};
  }
#endif
  const double curvature = reduce(ctx, r.nx, r.ny, Product<T>{p, q});
  if (!(curvature > 0)) return {curvature, std::numeric_limits<double>::quiet_NaN()};
  return {curvature, residual_step(ctx, square / curvature, p, q, scale, x, r)};
}

template <class T>
ConjugateStep conjugate_step(Context& ctx, const LinearOperator<T>& a, double square, GridView<const T> z, double beta,
                             GridView<T> p, GridView<T> q, GridView<T> x, GridView<T> r) {
  if (ctx.on_gpu()) {
    xpay<T>(ctx, z, beta, p);
    a.apply(ctx, p, q);
    return conjugate_step<T, T>(ctx, square, p, q, 1, x, r);
  }
  const double curvature = a.next_direction(ctx, z, beta, p, q);
  if (!(curvature > 0)) return {curvature, std::numeric_limits<double>::quiet_NaN()};
  return {curvature, residual_step<T, T>(ctx, square / curvature, p, q, 1, x, r)};
}

template <class T, class X>
double residual_step(Context& ctx, double alpha, GridView<const T> p, GridView<const T> q, double scale, GridView<X> x,
                     GridView<T> r) {
  expects_alike(ctx, p, q, x, r);
  if (ctx.on_gpu()) return reduce(ctx, r.nx, r.ny, Step<T, X>{alpha, scale, p, q, x, r});
  // Row by row: vector units take these, and not the one loop, whose stores could be what it loads.
  const Axpy<T, X> to_x{scale * alpha, p, x};
  const Axpy<T, T> to_r{-alpha, q, r};
  const auto step = [&](int begin, int end, int j) {
    for_row(to_x, begin, end, 1, j);
    for_row(to_r, begin, end, 1, j);
  };
  return reduce_prepared(ctx, r.nx, r.ny, step, Product<T>{r, r});
}

#define STRATUM_INSTANTIATE(T, X)                                                                                    \
  template ConjugateStep conjugate_step(Context&, double, GridView<const T>, GridView<const T>, double, GridView<X>, \
                                        GridView<T>);                                                                \
  template double residual_step(Context&, double, GridView<const T>, GridView<const T>, double, GridView<X>,         \
                                GridView<T>);
STRATUM_INSTANTIATE(float, float)
STRATUM_INSTANTIATE(float, double)
STRATUM_INSTANTIATE(double, double)
#undef STRATUM_INSTANTIATE
#define STRATUM_INSTANTIATE(T)                                                                                 \
  template ConjugateStep conjugate_step(Context&, const LinearOperator<T>&, double, GridView<const T>, double, \
                                        GridView<T>, GridView<T>, GridView<T>, GridView<T>);
STRATUM_INSTANTIATE(float)
STRATUM_INSTANTIATE(double)
#undef STRATUM_INSTANTIATE

}  // namespace stratum
