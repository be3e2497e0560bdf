#pragma once

// r = s (b - A x). The build generates one source per number type of r and x.

#include <stratum/core/operators/grid_operator_kernels.hpp>
#include <stratum/core/operators/residual_row.hpp>
#include <stratum/core/operators/stencil_formulas.hpp>

namespace stratum {

namespace {

/// r = formula(b, x), formula b - A x times a number.
template <class View, class T, class Formula, class R>
struct Residual {
  View a;
  FieldView<const T> b, x;
  FieldView<R> r;
  Formula formula;
  STRATUM_HOST_DEVICE STRATUM_INLINE T value(int i, int j) const { return static_cast<T>(formula(a, b, x, i, j)); }
  STRATUM_HOST_DEVICE STRATUM_INLINE void store(int i, int j, T value) const { r(i, j) = static_cast<R>(value); }
};

template <class View, class T, class R>
struct WriteResidualRow {
  View a;
  FieldView<const T> b, x;
  T scale;
  FieldView<R> r;
  int j;
  template <int bytes>
  STRATUM_INLINE void run() const {
    R* const to = &r(0, j);
    const T factor = scale;
    residual_row<bytes>(
        a, b, x, j,
        [ to, factor ](int i, T value) __attribute__((always_inline)) { to[i] = static_cast<R>(factor * value); });
  }
};

}  // namespace

namespace {

template <class T, class Formula, class R>
void residual_impl(Context& ctx, const GridOperator<T>& op, const Formula& formula, T scale, FieldView<const T> b,
                   FieldView<const T> x, FieldView<R> r) {
  expects_fit(ctx, "b - A x", r, op.shape());
  prepare_residual(ctx, op.shape(), b, x);
  op.visit([&](const auto& a) {
    using View = std::decay_t<decltype(a)>;
#if defined(__CUDACC__)
    if constexpr (View::streams_alone)
      if (ctx.on_gpu() && cuda::can_stream(op.shape(), b, x, r)) {
        return cuda::with_rows_of(op.shape(), x, [&](const auto& rows) {
          using Rows = cuda::Stencil<View, std::decay_t<decltype(rows)>, Formula>;
          cuda::run_stream(ctx, cuda::StoreRows<Rows, R>{{a, {b}, rows, formula}, r}, r.nx, r.ny);
        });
      }
#endif
    if (ctx.on_gpu())
      return for_each_node_on_gpu(ctx, all_nodes(r), Residual<View, T, Formula, R>{a, b, x, r, formula});
#pragma omp parallel for schedule(static) num_threads(ctx.threads()) if (r.nodes() > serial_limit)
    for (int j = 0; j < r.ny; ++j) simd::run_widest(WriteResidualRow<View, T, R>{a, b, x, scale, r, j});
  });
}

}  // namespace

template <class T>
void GridOperator<T>::residual(Context& ctx, FieldView<const T> b, FieldView<const T> x, FieldView<T> r) const {
  residual_impl(ctx, *this, DefectFormula{}, T(1), b, x, r);
}

template <class T>
template <class R>
void GridOperator<T>::scaled_residual(Context& ctx, double scale, FieldView<const T> b, FieldView<const T> x,
                                      FieldView<R> r) const {
  residual_impl(ctx, *this, ScaledDefectFormula{scale}, static_cast<T>(scale), b, x, r);
}

}  // namespace stratum
