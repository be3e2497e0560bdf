#pragma once

// Transfer::restrict_residual by weights of lines. The build writes sources for each number, one for bands and one for all
// other storage formats.

#include <algorithm>
#include <utility>

#include <stratum/core/device/simd.hpp>
#include <stratum/core/operators/residual_row.hpp>
#include <stratum/core/operators/stencil_formulas.hpp>
#include <stratum/multigrid/transfer/transfer_shared.hpp>

namespace stratum {

namespace {

#if defined(__CUDACC__)
namespace stream {

/// coarse = P^T (b - A x), x a `Given`, from row `first` on.
template <class View, class Source, class T>
void restrict_rows(const Context& ctx, const TransferView<T>& x, const TransferView<T>& y, const View& a,
                   FieldView<const T> b, const Source& given, FieldView<T> coarse, int first) {
  using Defect = cuda::Stencil<View, Source, DefectFormula, depth>;
  const int columns_back = first_is_coarse(x) ? 3 : 2;  // the defect's among them
  run_restriction(ctx, x, y, Defect{a, {b}, given, {}}, coarse, b.nx, b.ny, margin_of<T>(columns_back), first);
}

}  // namespace stream
#endif

/// CPU: coarse rows begin .. end - 1; every fine row is computed once and kept while coarse rows need it. Rows are kept from
/// their column -1 on, up to two columns beyond the last. `from_below`: what coarse row 0 has of the fine row before a
/// subdomain's first. `for_above`: nothing but this for the subdomain above, whose first row is `begin`, in the first row kept.
/// So a row on a cut has the bits that it has without.
template <class View, class T>
struct RestrictRows {
  ComputedDefect<View, T> defect;
  TransferView<T> x, y;
  FieldView<T> coarse;
  int begin, end;
  T *first_kept, *second_kept;
  const T* from_below = nullptr;
  bool for_above = false;

  template <int bytes>
  STRATUM_INLINE void run() const {
    const int fine_nx = defect.b.nx, fine_ny = defect.b.ny;
    T *lower = first_kept, *middle = second_kept;
    const bool coarsened_y = y.left != nullptr;
    const bool goes_on = begin == 0 && from_below != nullptr;
    if (goes_on)
      std::copy_n(from_below, fine_nx, lower);
    else
      std::fill_n(lower, fine_nx, T(0));
    for (int j = begin; j < end; ++j) {
      // The fine row after the coarse one belongs to this coarse row and to the next. One call for all rows: what a thread
      // computes first and what it computes later then has the same bits.
      const int node = j + y.coarse_origin;
      for (int k = coarsened_y && (j > begin || goes_on) ? 1 : 0; k < (coarsened_y && !for_above ? 3 : 1); ++k) {
        const T here = !coarsened_y || k == 1 ? T(1) : k == 0 ? y.right[node - 1] : y.left[node];
        const T next = k == 2 && j + 1 < end ? y.right[node] : T(0);
        const int row = coarsened_y ? fine_node(y.periodic, 2 * node - y.origin + k - 1, fine_ny) : j;
        if (row < 0) {
          if (k == 2) std::fill_n(middle, fine_nx, T(0));
          continue;
        }
        residual_row<bytes>(
            defect.a, defect.b, defect.x, row,
            [ lower, middle, here, next ](int i, T d) __attribute__((always_inline)) {
              lower[i] += here * d;
              middle[i] = next * d;
            });
      }
      if (for_above) return;
      if (x.left != nullptr) {
        lower[-1] = x.periodic ? lower[fine_nx - 1] : T(0);
        lower[fine_nx] = x.periodic ? lower[0] : T(0);
        lower[fine_nx + 1] = 0;
        const T *left = x.left + x.origin, *right = x.right + x.origin - 1, *from = lower + x.origin;
#pragma omp simd
        for (int i = 0; i < coarse.nx; ++i)
          coarse(i, j) = linear::gathered(right[i], from[2 * i - 1], from[2 * i], left[i], from[2 * i + 1]);
      } else {
        for (int i = 0; i < coarse.nx; ++i) coarse(i, j) = lower[i];
      }
      std::swap(lower, middle);
    }
  }
};

}  // namespace

template <class T>
template <bool has_bands>
void Transfer<T>::restrict_residual_by_lines(Context& ctx, const GridOperator<T>& a, FieldView<const T> b,
                                             FieldView<const T> x, FieldView<T> coarse, int origin,
                                             [[maybe_unused]] int first) const {
  const GridLayout<2> target = target_of(x);
  TransferView<T> in_y = y_.view();
  in_y.origin = origin;
  const bool upward = !ctx.on_gpu() && !y_.left.empty();
  const auto restrict_by = [&](const auto& view) {
    using View = std::decay_t<decltype(view)>;
    const ComputedDefect<View, T> defect{view, b, x};
    const int coarse_rows = upward ? coarse.ny : restricted_rows(!y_.left.empty(), target);
#if defined(__CUDACC__)
    if constexpr (View::streams)
      if (ctx.on_gpu() && can_stream() && cuda::has_chunks(b, x, coarse)) {
        TransferView<T> y = in_y;
        y.coarse_origin -= first;
        return cuda::with_rows_of<stream::depth>(a.shape(), x, [&](const auto& given) {
          stream::restrict_rows(ctx, x_.view(), y, view, b, given, stream::rows_before(target, coarse, first), first);
        });
      }
    if (ctx.on_gpu()) return restrict_nodes(ctx, x_.view(), in_y, defect, x.nx, x.ny, coarse, coarse_rows);
#endif
    const FieldView<T> rows = rows_.view();
    RestrictRows<View, T> some{defect, x_.view(), in_y, coarse, coarse.ny, coarse.ny + 1, &rows(1, 0), &rows(1, 1)};
    if (upward) {
      some.for_above = true;
      if (target.above) simd::run_widest(some);
      pass_upward(ctx, target, some.first_kept, row_from_below(), fine_.nx);
      some.for_above = false;
      if (target.below) some.from_below = row_from_below();
    }
    for_each_share(ctx, b, coarse_rows, rows.ny / 2, [&](int part, int begin, int end) {
      RestrictRows<View, T> of_part = some;
      of_part.begin = begin;
      of_part.end = end;
      of_part.first_kept = &rows(1, 2 * part);
      of_part.second_kept = of_part.first_kept + rows.pitch;
      simd::run_widest(of_part);
    });
  };
  a.visit([&]<class View>([[maybe_unused]] const View& view) {
    if constexpr (View::has_bands == has_bands) restrict_by(view);
  });
  if (!y_.left.empty() && !upward) detail::add_from_below(ctx, target, coarse);
}

}  // namespace stratum
