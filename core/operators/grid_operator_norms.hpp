#pragma once

// s (b - A x) and its norm, in one pass on a GPU. The build generates one source per number type of r.

#include <cmath>

#include <stratum/core/field/blas.hpp>
#include <stratum/core/operators/grid_operator_kernels.hpp>
#include <stratum/core/operators/stencil_formulas.hpp>

namespace stratum {

#if defined(__CUDACC__)
namespace {

/// The rows of x + alpha c, and so many of their halos.
template <class T, class C, int halo>
struct Updated {
  using Number = T;
  using GivenRows = cuda::Given<T, cuda::rows_ahead, halo>;
  GivenRows x;
  FieldView<const C> c;
  T alpha;
  struct Rows {
    static constexpr int n = cuda::chunk_width<T>, depth = cuda::rows_ahead;
    const Updated& stage;
    const cuda::Lane<T>& lane;
    int j;
    typename GivenRows::Rows x;
    cuda::Chunk<C, n> ahead[depth];
    __device__ STRATUM_INLINE Rows(const Updated& s, const cuda::Lane<T>& l, int first)
        : stage(s), lane(l), j(first), x(s.x, l, first) {
#pragma unroll
      for (int k = 0; k < depth; ++k) ahead[k] = load(j + k);
    }
    [[nodiscard]] __device__ STRATUM_INLINE cuda::Chunk<C, n> load(int row) const {
      if (!lane.inside || row < -halo || row >= lane.ny + halo) return {};
      return cuda::load_chunk<n>(&stage.c(lane.column, row));
    }
    __device__ STRATUM_INLINE cuda::Chunk<T> next() {
      cuda::Chunk<T> sum = x.next();
      const cuda::Chunk<C, n> own = ahead[0];
#pragma unroll
      for (int k = 1; k < depth; ++k) ahead[k - 1] = ahead[k];
      ahead[depth - 1] = load(j + depth);
      ++j;
#pragma unroll
      for (int e = 0; e < n; ++e) sum.v[e] += stage.alpha * static_cast<T>(own.v[e]);
      return sum;
    }
  };
};

/// r = scale (b - A x), the rows of x those of a stage, and its norm; `keeps`: what x is goes to `kept`.
template <bool keeps, class T, class Source, class R>
double stream_residual(Context& ctx, const GridOperator<T>& op, double scale, FieldView<const T> b, const Source& x,
                       FieldView<T> kept, FieldView<R> r, const std::function<void()>& meanwhile) {
  const cuda::StreamGrid<T> most(r.nx, r.ny, 1);
  double* const partial = ctx.reduction_scratch(static_cast<std::size_t>(most.count()));
  int count = 0;
  op.visit([&](const auto& a) {
    using View = std::decay_t<decltype(a)>;
    if constexpr (View::streams) {
      using Rows = cuda::Stencil<View, Source, ScaledDefectFormula>;
      const cuda::StoreRowsAndSquares<Rows, R, keeps> stream{{a, {b}, x, {scale}}, r, partial, most.panels, kept};
      count = cuda::run_stream(ctx, stream, r.nx, r.ny).count();
    }
  });
  const double square = sum_of_scratch(ctx, count, meanwhile);
  return std::isnormal(square) ? std::sqrt(square) : norm2<R>(ctx, r);
}

}  // namespace
#endif

template <class T>
template <class R>
double GridOperator<T>::scaled_residual_norm(Context& ctx, double scale, FieldView<const T> b, FieldView<const T> x,
                                             FieldView<R> r,
                                             [[maybe_unused]] const std::function<void()>& meanwhile) const {
#if defined(__CUDACC__)
  if (ctx.on_gpu() && traits().streams && cuda::can_stream(shape(), b, x, r)) {
    expects_fit(ctx, "b - A x", r, shape());
    prepare_residual(ctx, shape(), b, x);
    double norm = 0;
    cuda::with_rows_of(shape(), x, [&](const auto& rows) {
      norm = stream_residual<false, T>(ctx, *this, scale, b, rows, {}, r, meanwhile);
    });
    return norm;
  }
#endif
  scaled_residual(ctx, scale, b, x, r);
  return norm2<R>(ctx, r);
}

template <class T>
bool GridOperator<T>::fuses_update([[maybe_unused]] const Context& ctx, [[maybe_unused]] FieldView<const T> b,
                                   [[maybe_unused]] FieldView<const T> x) const {
#if defined(__CUDACC__)
  return ctx.on_gpu() && traits().streams && cuda::can_stream(shape(), b, x);
#else
  return false;
#endif
}

template <class T>
template <class R>
double GridOperator<T>::updated_residual_norm(Context& ctx, [[maybe_unused]] double scale, FieldView<const T> b,
                                              FieldView<const T> x, [[maybe_unused]] double alpha, FieldView<const R> c,
                                              FieldView<T> next, FieldView<R> r,
                                              [[maybe_unused]] const std::function<void()>& meanwhile) const {
  expects(fuses_update(ctx, b, x), "updated_residual_norm: not for this operator, backend or memory");
  expects_fit(ctx, "b - A x", r, shape());
  expects_fit(ctx, "c", c, shape());
  expects_fit(ctx, "x + alpha c", next, shape());
  prepare_residual(ctx, shape(), b, x);
#if defined(__CUDACC__)
  const auto pass = [&]<int halo>() {
    const Updated<T, R, halo> updated{{x}, c, static_cast<T>(alpha)};
    return stream_residual<true, T>(ctx, *this, scale, b, updated, next, r, meanwhile);
  };
  if (!shape().has_halo()) return pass.template operator()<0>();
  exchange(ctx, shape(), c);
  return pass.template operator()<1>();
#else
  return 0;
#endif
}

}  // namespace stratum
