#pragma once

// Transfer::interpolated_residual. The build writes a source for each number of r.

#include <stratum/multigrid/transfer/transfer_shared.hpp>
#if defined(__CUDACC__)
#include <stratum/multigrid/transfer/interpolated_defect.hpp>
#endif

namespace stratum {

#if defined(__CUDACC__)
namespace {

/// Calls f with the view of an operator that is known to be separable.
template <class T, class F>
void visit_separable(const GridOperator<T>& a, const F& f) {
  a.visit([&](const auto& view) {
    if constexpr (std::decay_t<decltype(view)>::is_separable) f(view);
  });
}

}  // namespace
#endif

template <class T>
template <class R>
void Transfer<T>::interpolated_residual([[maybe_unused]] Context& ctx, [[maybe_unused]] const GridOperator<T>& a,
                                        [[maybe_unused]] double scale, [[maybe_unused]] FieldView<const T> b,
                                        [[maybe_unused]] FieldView<const T> coarse, [[maybe_unused]] FieldView<R> r,
                                        [[maybe_unused]] Ghosts of_coarse) const {
  expects(fuses_interpolation(ctx, a, b), "interpolated_residual: not for this operator, backend or memory");
#if defined(__CUDACC__)
  exchange(ctx, coarse_, coarse, of_coarse);
  visit_separable(a, [&](const auto& view) {
    stream::with_shift(x_.view(), [&](auto shifted_x) {
      stream::with_shift(y_.view(), [&](auto shifted_y) {
        using Rows = cuda::InterpolatedDefect<std::decay_t<decltype(view)>, R, shifted_x, shifted_y>;
        // Intervals are counted from the subdomain's first one on.
        TransferView<T> y = y_.view();
        y.left += y.coarse_origin - (shifted_y ? 0 : 1);
        y.right += y.coarse_origin - (shifted_y ? 0 : 1);
        cuda::run_stream(ctx, Rows{view, x_.view(), y, b, coarse, scale, r, fine_.below, fine_.above}, r.nx, r.ny);
      });
    });
  });
#endif
}

}  // namespace stratum
