#pragma once

// A x, alone or with the next search direction of conjugate gradients. The build generates one source per number type.

#include <algorithm>
#include <cstdint>

#include <stratum/core/field/field_functors.hpp>
#include <stratum/core/field/reduce.hpp>
#include <stratum/core/operators/grid_operator_kernels.hpp>
#include <stratum/core/operators/residual_row.hpp>

namespace stratum {

namespace {

template <class View, class T>
struct Apply {
  View a;
  FieldView<const T> x;
  FieldView<T> y;
  STRATUM_HOST_DEVICE STRATUM_INLINE T value(int i, int j) const { return a.sum(x, i, j); }
  STRATUM_HOST_DEVICE STRATUM_INLINE void store(int i, int j, T value) const { y(i, j) = value; }
};

template <class View, class T>
struct WriteProductRow {
  Apply<View, T> node;
  int j;
  template <int bytes>
  STRATUM_INLINE void run() const {
    const Apply<View, T> f = node;
    if constexpr (!ResidualRow<bytes, View>::in_packs) {
#pragma omp simd
      for (int i = 0; i < f.y.nx; ++i) f.store(i, j, f.value(i, j));
    } else {
      ResidualRow<bytes, View> row(f.a, f.x, f.x, j);
      for (int i = row.begin; i < row.end; i += row.width) row.store(row.product(i), i - row.width, &f.y(0, j));
    }
  }
};

}  // namespace

template <class T>
void GridOperator<T>::apply(Context& ctx, FieldView<const T> x, FieldView<T> y) const {
  expects_fit(ctx, "x", x, shape());
  expects_fit(ctx, "A x", y, shape());
  exchange(ctx, shape(), x);
  visit([&](const auto& a) {
    const Apply<std::decay_t<decltype(a)>, T> node{a, x, y};
    if (ctx.on_gpu()) return for_each_node_on_gpu(ctx, all_nodes(y), node);
    if (ctx.is_dry_run()) return;
#pragma omp parallel for schedule(static) num_threads(ctx.threads()) if (y.nodes() > serial_limit)
    for (int j = 0; j < y.ny; ++j) simd::run_widest(WriteProductRow<std::decay_t<decltype(a)>, T>{node, j});
  });
}

// Row j of A p follows row j + 1 of p. Those at the ends of a thread's rows, which two threads read, come first.
template <class T>
double GridOperator<T>::next_direction(Context& ctx, FieldView<const T> z, double beta, FieldView<T> p,
                                       FieldView<T> q) const {
  if (ctx.on_gpu() || ctx.is_dry_run() || shape().has_halo() || p.ny == 1)
    return LinearOperator<T>::next_direction(ctx, z, beta, p, q);
  expects_fit(ctx, "z", z, shape());
  expects_fit(ctx, "p", p, shape());
  expects_fit(ctx, "A p", q, shape());
  const auto hold = ctx.hold_scratch();
  double* const partial = ctx.reduction_scratch(static_cast<std::size_t>(p.ny));
  const Xpay<T> direction{z, beta, p};
  const Product<T> product{p, q};
  const int parts = p.nodes() > serial_limit ? std::min(ctx.threads(), p.ny) : 1;
  const auto begin = [&](int part) { return static_cast<int>(std::int64_t{p.ny} * part / parts); };
  const auto next = [&](int j) { for_row(direction, 0, p.nx, 1, j); };
  visit([&](const auto& a) {
    using View = std::decay_t<decltype(a)>;
    const Apply<View, T> node{a, p, q};
#pragma omp parallel num_threads(ctx.threads()) if (parts > 1)
    {
#pragma omp for schedule(static, 1)
      for (int part = 0; part < parts; ++part) {
        next(begin(part));
        if (begin(part + 1) - begin(part) > 1) next(begin(part + 1) - 1);
      }
#pragma omp for schedule(static, 1)
      for (int part = 0; part < parts; ++part)
        for (int j = begin(part), last = begin(part + 1) - 1; j <= last; ++j) {
          if (j + 1 < last) next(j + 1);
          simd::run_widest(WriteProductRow<View, T>{node, j});
          partial[j] = detail::reduce_row(product, 0, p.nx, j);
        }
    }
  });
  return detail::total_of<Product<T>>(ctx, partial, p.ny);
}

#if defined(__CUDACC__)
namespace {

/// The rows of z + beta p.
template <class T>
struct NextDirection {
  using Number = T;
  cuda::Given<T> z, p;
  T beta;
  struct Rows {
    T beta;
    typename cuda::Given<T>::Rows z, p;
    __device__ STRATUM_INLINE Rows(const NextDirection& stage, const cuda::Lane<T>& lane, int first)
        : beta(stage.beta), z(stage.z, lane, first), p(stage.p, lane, first) {}
    __device__ STRATUM_INLINE cuda::Chunk<T> next() {
      const auto of_z = z.next(), of_p = p.next();
      cuda::Chunk<T> sum;
#pragma unroll
      for (int e = 0; e < cuda::chunk_width<T>; ++e) sum.v[e] = of_z.v[e] + beta * of_p.v[e];
      return sum;
    }
  };
};

/// Stores p = z + beta p_before and q = A p, and adds up (p, q).
template <class View>
struct StoreDirection {
  using Number = typename View::Number;
  using T = Number;
  View a;
  NextDirection<T> direction;
  FieldView<T> p, q;
  double* partial;
  int panels;

  [[nodiscard]] int rows() const { return q.ny; }
  __device__ STRATUM_INLINE void run(const cuda::Lane<T>& lane, int begin, int end) const {
    cuda::LaneOperator<View> a_lane(a, lane, begin);
    typename NextDirection<T>::Rows given(direction, lane, begin - 1);
    cuda::Window<T> window;
    window.set(0, given.next());
    window.set(1, given.next());
    double sum = 0;
#pragma unroll cuda::rows_ahead
    for (int j = begin; j < end; ++j) {
      window.advance(given.next());
      a_lane.row(lane, j);
      const View local = a_lane.view();
      const auto own = window.chunk(0);
      cuda::Chunk<T> product;
#pragma unroll
      for (int e = 0; e < lane.n; ++e) product.v[e] = local.sum(window, e, 0);
      lane.clear_outside(product);
      lane.store(p, j, own);
      lane.store(q, j, product);
#pragma unroll
      for (int e = 0; e < lane.n; ++e) sum += static_cast<double>(own.v[e]) * static_cast<double>(product.v[e]);
    }
    cuda::store_sum(lane, sum, partial, panels);
  }
};

}  // namespace
#endif

template <class T>
bool GridOperator<T>::next_direction_on_gpu([[maybe_unused]] Context& ctx, [[maybe_unused]] FieldView<const T> z,
                                            [[maybe_unused]] double beta, [[maybe_unused]] FieldView<const T> p,
                                            [[maybe_unused]] FieldView<T> next, [[maybe_unused]] FieldView<T> q) const {
#if defined(__CUDACC__)
  if (shape().has_halo() || !cuda::has_chunks(z, p, next, q)) return false;
  expects_fit(ctx, "z", z, shape());
  expects_fit(ctx, "p", p, shape());
  expects_fit(ctx, "the next p", next, shape());
  expects_fit(ctx, "A p", q, shape());
  return visit([&](const auto& a) {
    using View = std::decay_t<decltype(a)>;
    if constexpr (View::streams_alone) {
      const cuda::StreamGrid<T> most(q.nx, q.ny, 1);
      double* const partial = ctx.reduction_scratch(static_cast<std::size_t>(most.count()));
      const StoreDirection<View> stream{a, {{z}, {p}, static_cast<T>(beta)}, next, q, partial, most.panels};
      const int count = cuda::run_stream(ctx, stream, q.nx, q.ny).count();
      const cuda::Launch one_block{1, detail::reduction_threads};
      one_block(ctx, detail::reduce_partials<Product<T>>, partial, count, ctx.host_number());
    }
    return View::streams_alone;
  });
#else
  return false;
#endif
}

}  // namespace stratum
