#include <stratum/solvers/krylov/conjugate_step.hpp>

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include <stratum/core/field/blas.hpp>
#include <stratum/core/field/field_functors.hpp>
#include <stratum/core/field/reduce.hpp>
#if defined(__CUDACC__)
#include <stratum/core/comm/peer_numbers.hpp>
#include <stratum/core/field/streaming_stencil.hpp>
#endif

namespace stratum {

namespace {

/// Called once a node: it makes the step and says what there is to add up.
template <class T, class X>
struct Step {
  double alpha, scale;
  FieldView<const T> p, q;
  FieldView<X> x;
  FieldView<T> r;
  static constexpr bool takes_maximum = false;
  STRATUM_HOST_DEVICE STRATUM_INLINE double take(T p_i, T q_i, X& x_i, T& r_i) const {
    x_i = static_cast<X>(static_cast<double>(x_i) + scale * alpha * static_cast<double>(p_i));
    r_i = static_cast<T>(static_cast<double>(r_i) - alpha * static_cast<double>(q_i));
    return static_cast<double>(r_i) * static_cast<double>(r_i);
  }
  STRATUM_HOST_DEVICE STRATUM_INLINE double operator()(int i, int j) const {
    return alpha == alpha ? take(p(i, j), q(i, j), x(i, j), r(i, j)) : alpha;
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

/// The same with (r, r) there as well.
template <class T>
struct QueuedStep {
  const double *square, *curvature;
  Step<T, T> step;
  static constexpr bool takes_maximum = false;
  STRATUM_HOST_DEVICE STRATUM_INLINE Step<T, T> begun() const {
    Step<T, T> known = step;
    known.alpha = *curvature > 0 ? *square / *curvature : NAN;
    return known;
  }
  STRATUM_HOST_DEVICE STRATUM_INLINE double operator()(int i, int j) const { return begun()(i, j); }
};

/// p = r + beta p with a beta from the Context's memory.
template <class T>
struct QueuedDirection {
  const double* beta;
  FieldView<const T> r;
  FieldView<T> p;
  STRATUM_HOST_DEVICE STRATUM_INLINE T value(int i, int j) const {
    return static_cast<T>(static_cast<double>(r(i, j)) + *beta * static_cast<double>(p(i, j)));
  }
  STRATUM_HOST_DEVICE STRATUM_INLINE void store(int i, int j, T value) const { p(i, j) = value; }
};

struct SetNumbers {
  double *square, *beta;
  double new_square, new_beta;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int /*i*/, int /*row*/) const {
    *square = new_square;
    *beta = new_beta;
  }
};

/// An iteration's end: its (r, r) is the sum of so many numbers, in their order. The host, which looks at that, finds the
/// curvature before it.
struct Advance {
  double *square, *beta;
  const double *curvature, *sums;
  int count;
  double* host;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int /*i*/, int /*row*/) const {
    double sum = sums[0];
    for (int k = 1; k < count; ++k) sum += sums[k];
    *beta = sum / *square;
    *square = sum;
    volatile double* const numbers = host;
    numbers[0] = *curvature;
#if defined(__CUDA_ARCH__)
    __threadfence_system();
#endif
    numbers[1] = sum;
  }
};

template <class T, class X>
void expects_alike(const Context& ctx, FieldView<const T> p, FieldView<const T> q, FieldView<X> x, FieldView<T> r) {
  expects_fit(ctx, "p", p, r.nx, r.ny);
  expects_fit(ctx, "q", q, r.nx, r.ny);
  expects_fit(ctx, "x", x, r.nx, r.ny);
  expects_fit(ctx, "r", r, r.nx, r.ny);
}

#if defined(__CUDACC__)

constexpr int step_blocks = 4096;

/// The step, a chunk of 16 bytes of r and what belongs to it a thread: stores of the one node do not hold up loads of the next.
template <class T, class Term>
__global__ void __launch_bounds__(detail::reduction_threads)
    step_by_chunks(const Term given, int nx, int ny, double* partial) {
  cuda::after_previous();
  const auto s = detail::begun(given);
  constexpr int n = cuda::chunk_width<T>;
  const int chunks = nx / n + 1;
  double sum = 0;
  const int of_row = detail::threads_of_row(chunks), together = detail::reduction_threads / of_row;
  const int first = together * static_cast<int>(blockIdx.x) + static_cast<int>(threadIdx.x) / of_row;
  for (int j = first; j < ny && s.alpha == s.alpha; j += together * static_cast<int>(gridDim.x))
    for (int c = static_cast<int>(threadIdx.x) % of_row; c < chunks; c += of_row) {
      const int column = n * c - 1;
      const auto p = cuda::load_chunk<n>(&s.p(column, j)), q = cuda::load_chunk<n>(&s.q(column, j));
      auto x = cuda::load_chunk<n>(&s.x(column, j));
      auto r = cuda::load_chunk<n>(&s.r(column, j));
#pragma unroll
      for (int e = 0; e < n; ++e) {
        const double square = s.take(p.v[e], q.v[e], x.v[e], r.v[e]);
        if (column + e >= 0 && column + e < nx) sum += square;
      }
      const bool whole = column >= 0 && column + n <= nx;
      cuda::store_chunk(s.x, column, j, x, nx, whole);
      cuda::store_chunk(s.r, column, j, r, nx, whole);
    }
  sum = detail::reduce_block<Term>(sum);
  if (threadIdx.x == 0) partial[blockIdx.x] = s.alpha == s.alpha ? sum : s.alpha;
}

/// At least a number before those of a step's sum.
template <class T>
double* scratch_for_step(Context& ctx, FieldView<T> r) {
  const int numbers = std::max(reduction_numbers(ctx, r.nx, r.ny), step_blocks);
  return ctx.reduction_scratch(static_cast<std::size_t>(numbers) + 1);
}

/// As reduce_by_blocks, of the step `s`, as which `term` begins.
template <class Term, class T, class X>
int step_by_blocks(Context& ctx, const Term& term, const Step<T, X>& s, double* partial) {
  const bool aligned = reinterpret_cast<std::uintptr_t>(s.x.data - 1) % (sizeof(X) * cuda::chunk_width<T>) == 0;
  if (s.r.ny == 1 || !cuda::has_chunks(s.p, s.q, s.x, s.r) || !aligned)
    return reduce_by_blocks(ctx, s.r.nx, s.r.ny, term, partial);
  const int blocks = std::min(s.r.ny, step_blocks);
  const cuda::Launch launch{blocks, detail::reduction_threads};
  launch(ctx, step_by_chunks<T, Term>, term, s.r.nx, s.r.ny, partial);
  return blocks;
}
/// The sum comes to the first of `partial` and to *host.
template <class Term, class T, class X>
void run_step(Context& ctx, const Term& term, const Step<T, X>& s, double* partial, double* host) {
  const int blocks = step_by_blocks(ctx, term, s, partial);
  cuda::Launch{1, detail::reduction_threads}(ctx, detail::reduce_partials<Term>, partial, blocks, host);
}

struct Nothing {
  __device__ void operator()(int /*i*/, int /*row*/) const {}
};

/// A sum over peers: what each has is added up by rank into the first of `partial`; then `then`.
template <class Term, class Then>
__global__ void __launch_bounds__(detail::reduction_threads)
    reduce_partials_of_peers(double* partial, int count, const __grid_constant__ PeerNumbers peers, const Then then) {
  cuda::after_previous();
  __shared__ double all[1 + PeerNumbers::most];  // the first is for the sum
  peers.gather(detail::reduce_numbers<Term>(partial, count), all + 1);
  if (threadIdx.x != 0) return;
  detail::CombineSubdomains<Term>{all, peers.size, partial}(0, 0);
  then(0, 0);
}

/// Subdomains of a grid whose numbers go by way of the host wait there for either product.
bool steps_on_gpu(const Context& ctx) {
  const bool in_order = ctx.communicator() == nullptr || ctx.communicator()->keeps_order();
  return ctx.on_gpu() && in_order && !ctx.is_dry_run();
}

/// With (p, q) of all subdomains the first number of the scratch, and on its way to the host. What they have of (r, r) is added
/// up here as it is on GPUs, by rank.
template <class T, class X>
ConjugateStep step_on_gpu(Context& ctx, double square, FieldView<const T> p, FieldView<const T> q, double scale,
                          FieldView<X> x, FieldView<T> r) {
  double* const curvature = scratch_for_step(ctx, r);
  const Step<T, X> step{0, scale, p, q, x, r};
  run_step(ctx, StepByCurvature<T, X>{square, curvature, step}, step, curvature + 1, ctx.expected_number());
  ctx.synchronise();  // for both numbers, which two kernels write
  return {*ctx.host_number(), finish<Product<T>>(ctx, ctx.await_number())};
}

#endif

}  // namespace

template <class T, class X>
ConjugateStep conjugate_step(Context& ctx, double square, FieldView<const T> p, FieldView<const T> q, double scale,
                             FieldView<X> x, FieldView<T> r) {
  expects_alike(ctx, p, q, x, r);
#if defined(__CUDACC__)
  if (steps_on_gpu(ctx)) {
    const auto hold = ctx.hold_scratch();
    double* const curvature = scratch_for_step(ctx, r);
    reduce_to(ctx, r.nx, r.ny, Product<T>{p, q}, curvature, ctx.host_number());
    return step_on_gpu<T, X>(ctx, square, p, q, scale, x, r);
  }
#endif
  const double curvature = reduce(ctx, r.nx, r.ny, Product<T>{p, q});
  if (!(curvature > 0)) return {curvature, std::numeric_limits<double>::quiet_NaN()};
  return {curvature, residual_step(ctx, square / curvature, p, q, scale, x, r)};
}

template <class T, class X>
double residual_step(Context& ctx, double alpha, FieldView<const T> p, FieldView<const T> q, double scale,
                     FieldView<X> x, FieldView<T> r) {
  expects_alike(ctx, p, q, x, r);
#if defined(__CUDACC__)
  if (ctx.on_gpu() && !ctx.is_dry_run()) {
    const auto hold = ctx.hold_scratch();
    const Step<T, X> step{alpha, scale, p, q, x, r};
    run_step(ctx, step, step, scratch_for_step(ctx, r), ctx.expected_number());
    return finish<Step<T, X>>(ctx, ctx.await_number());
  }
#endif
  // Row by row: vector units take these, and not the one loop, whose stores could be what it loads.
  const Axpy<T, X> to_x{scale * alpha, p, x};
  const Axpy<T, T> to_r{-alpha, q, r};
  const auto step = [&](int begin, int end, int j) {
    for_row(to_x, begin, end, 1, j);
    for_row(to_r, begin, end, 1, j);
  };
  return reduce_prepared(ctx, r.nx, r.ny, step, Product<T>{r, r});
}

template <class T>
SearchDirection<T>::SearchDirection(Context& ctx, const GridLayout<2>& shape)
    : p_(ctx, shape), next_(ctx.on_gpu() ? SharedField<T>(ctx, shape) : SharedField<T>()) {}

template <class T>
ConjugateStep SearchDirection<T>::step(Context& ctx, const LinearOperator<T>& a, double square, FieldView<const T> z,
                                       double beta, FieldView<T> q, FieldView<T> x, FieldView<T> r) {
  if (beta == 0) set(ctx, T(0), p_.view());
#if defined(__CUDACC__)
  if (steps_on_gpu(ctx) && ctx.subdomains() == 1) {
    const auto hold = ctx.hold_scratch();
    (void)scratch_for_step(ctx, r);  // before it holds something
    if (a.next_direction_on_gpu(ctx, z, beta, p_.cview(), next_.view(), q)) {
      std::swap(p_, next_);
      return step_on_gpu<T, T>(ctx, square, p_.cview(), q, 1, x, r);
    }
  }
#endif
  const FieldView<T> p = p_.view();
  if (ctx.on_gpu()) {
    xpay<T>(ctx, z, beta, p);
    a.apply(ctx, p, q);
    return conjugate_step<T, T>(ctx, square, p, q, 1, x, r);
  }
  const double curvature = a.next_direction(ctx, z, beta, p, q);
  if (!(curvature > 0)) return {curvature, std::numeric_limits<double>::quiet_NaN()};
  return {curvature, residual_step<T, T>(ctx, square / curvature, p, q, 1, x, r)};
}

template <class T>
QueuedSteps<T>::QueuedSteps(Context& ctx, const GridLayout<2>& shape)
    : count_(reduction_numbers(ctx, shape.nx, shape.ny)),
      host_(std::static_pointer_cast<double>(allocate_on_host(ctx, 2 * most_in_flight * sizeof(double)))) {
#if defined(__CUDACC__)
  count_ = std::max(count_, step_blocks) + 1;
#endif
  numbers_ = Field<double>(ctx, GridLayout<2>::flat(3 + 2 * count_));
}

template <class T>
bool QueuedSteps<T>::pays(const Context& ctx) {
  return ctx.on_gpu() && (ctx.communicator() == nullptr || ctx.communicator()->keeps_order());
}

template <class T>
void QueuedSteps<T>::reset(Context& ctx) {
  if (in_flight_ > 0) ctx.synchronise();
  in_flight_ = next_ = 0;
  recording_.clear();
}

template <class T>
void QueuedSteps<T>::start(Context& ctx, double square, double beta) {
  expects(in_flight_ == 0, "an iteration is on its way; wait for it before others are started");
  double* const numbers = numbers_.view().data;
  for_each_node(ctx, {0, 1, 1, 0, 1, 1}, SetNumbers{numbers, numbers + 1, square, beta});
}

template <class T>
void QueuedSteps<T>::submit(Context& ctx, const LinearOperator<T>& a, FieldView<T> p, FieldView<T> q, FieldView<T> x,
                            FieldView<T> r) {
  expects(in_flight_ < most_in_flight, in_flight_, " iterations are on their way; wait for one");
  expects_alike<T, T>(ctx, p, q, x, r);
  double* const host = host_.get() + 2 * next_;
  Context::expect(host + 1);
  const auto work = [&] { iterate(ctx, a, p, q, x, r, host); };
  if (a.is_recordable())
    recording_.run(ctx, p.data, host, work);
  else
    work();
  next_ = (next_ + 1) % most_in_flight;
  ++in_flight_;
}

template <class T>
ConjugateStep QueuedSteps<T>::await(Context& ctx) {
  expects(in_flight_ > 0, "no iteration is on its way");
  const double* const host = host_.get() + 2 * ((next_ + most_in_flight - in_flight_) % most_in_flight);
  --in_flight_;
  const double square = ctx.await(host + 1);
  return {host[0], square};
}

template <class T>
void QueuedSteps<T>::iterate(Context& ctx, const LinearOperator<T>& a, FieldView<T> p, FieldView<T> q, FieldView<T> x,
                             FieldView<T> r, double* host) {
  double *const square = numbers_.view().data, *const beta = square + 1, *const unused = square + 2,
                *const curvature = square + 3, *const sums = curvature + count_;
  for_each_node(ctx, all_nodes(p), QueuedDirection<T>{beta, r, p});
  a.apply(ctx, p, q);
  const Step<T, T> step{0, 1, p, q, x, r};
  const QueuedStep<T> term{square, curvature, step};
  const auto advance = [&](const double* of_sum, int count) {
    for_each_node(ctx, {0, 1, 1, 0, 1, 1}, Advance{square, beta, curvature, of_sum, count, host});
  };
#if defined(__CUDACC__)
  if (ctx.on_gpu()) {
    if (ctx.subdomains() == 1) {
      reduce_to(ctx, p.nx, p.ny, Product<T>{p, q}, curvature, unused);
      run_step(ctx, term, step, sums, unused);
      return advance(sums, 1);
    }
    if (const PeerNumbers* const peers = ctx.communicator()->peer_numbers()) {
      const cuda::Launch end{1, detail::reduction_threads};
      int blocks = reduce_by_blocks(ctx, p.nx, p.ny, Product<T>{p, q}, curvature);
      end(ctx, reduce_partials_of_peers<Product<T>, Nothing>, curvature, blocks, *peers, Nothing{});
      blocks = step_by_blocks(ctx, term, step, sums);
      return end(ctx, reduce_partials_of_peers<QueuedStep<T>, Advance>, sums, blocks, *peers,
                 Advance{square, beta, curvature, sums, 1, host});
    }
    reduce_to(ctx, p.nx, p.ny, Product<T>{p, q}, curvature, unused);
    double* const own = sums + 1 + ctx.communicator()->rank();
    run_step(ctx, term, step, sums, own);
    ctx.communicator()->gather(ctx, own, sums + 1, sizeof(double));
    return advance(sums + 1, ctx.subdomains());
  }
#endif
  reduce_to(ctx, p.nx, p.ny, Product<T>{p, q}, curvature, unused);
  sums[0] = reduce_on_cpu(ctx, p.nx, p.ny, term, sums);
  advance(sums, 1);
}

#define STRATUM_INSTANTIATE(T, X)                                                                               \
  template ConjugateStep conjugate_step(Context&, double, FieldView<const T>, FieldView<const T>, double,       \
                                        FieldView<X>, FieldView<T>);                                            \
  template double residual_step(Context&, double, FieldView<const T>, FieldView<const T>, double, FieldView<X>, \
                                FieldView<T>);
STRATUM_INSTANTIATE(float, float)
STRATUM_INSTANTIATE(float, double)
STRATUM_INSTANTIATE(double, double)
#undef STRATUM_INSTANTIATE
template class SearchDirection<float>;
template class SearchDirection<double>;
template class QueuedSteps<float>;

}  // namespace stratum
