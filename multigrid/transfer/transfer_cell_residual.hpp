#pragma once

// Transfer::restrict_residual by weights of cells. The build writes a source for each number.

#include <algorithm>
#include <cstdint>
#include <utility>

#include <stratum/core/device/simd.hpp>
#include <stratum/core/operators/residual_row.hpp>
#include <stratum/core/operators/stencil_formulas.hpp>
#include <stratum/multigrid/transfer/transfer_shared.hpp>

namespace stratum {

namespace {

/// CPU: coarse rows begin .. end - 1 by weights, both directions coarsened; three fine rows are kept, from their column -1 on.
template <class View, class T>
struct RestrictCells {
  ComputedDefect<View, T> defect;
  WeightsView<const T> w;
  FieldView<T> coarse;
  int begin, end;
  T* kept[3];

  template <int bytes>
  STRATUM_INLINE void run() const {
    const View a = defect.a;
    const FieldView<const T> b = defect.b, x = defect.x;
    const int fine_nx = b.nx, fine_ny = b.ny;
    T* lines[3] = {kept[0], kept[1], kept[2]};
    for (int j = begin; j < end; ++j) {
      const int row = j + w.coarse_origin_y, centre = 2 * row - w.origin_y;
      if (j > begin) std::swap(lines[0], lines[2]);
      // One call for all rows, as the code is long.
      for (int k = j > begin ? 1 : 0; k < 3; ++k) {
        T* const line = lines[k];
        const int fine_row = fine_node(w.periodic_y, centre + k - 1, fine_ny);
        if (fine_row < 0) {
          std::fill_n(line - 1, fine_nx + 3, T(0));
          continue;
        }
        residual_row<bytes>(
            a, b, x, fine_row, [line](int i, T d) __attribute__((always_inline)) { line[i] = d; });
        line[-1] = w.periodic_x ? line[fine_nx - 1] : T(0);
        line[fine_nx] = w.periodic_x ? line[0] : T(0);
        line[fine_nx + 1] = 0;
      }
      const T *low = lines[0] + w.origin_x, *mid = lines[1] + w.origin_x, *up = lines[2] + w.origin_x;
      const std::int64_t at = w.at(w.origin_x, row), below = at - w.pitch;
      const T *west = w.west + at, *south = w.south + at, *under = w.south + below;
      const T *sw = w.sw + at, *se = w.se + at - 1, *nw = w.nw + below, *ne = w.ne + below - 1;
      T* to = &coarse(0, j);
#pragma omp simd
      for (int i = 0; i < coarse.nx; ++i)
        to[i] = by_cells::sum(ne[i], low[2 * i - 1], T(1) - under[i], low[2 * i], nw[i], low[2 * i + 1]) +
                by_cells::gathered(west[i - 1], mid[2 * i - 1], mid[2 * i], west[i], mid[2 * i + 1]) +
                by_cells::sum(se[i], up[2 * i - 1], south[i], up[2 * i], sw[i], up[2 * i + 1]);
    }
  }
};

}  // namespace

template <class T>
void Transfer<T>::restrict_residual_by_cells(Context& ctx, const GridOperator<T>& a, FieldView<const T> b,
                                             FieldView<const T> x, FieldView<T> coarse, int origin,
                                             [[maybe_unused]] int first) const {
  const GridLayout<2> target = target_of(x);
  WeightsView<const T> w = weights();
  w.origin_y = origin;
  a.visit([&](const auto& view) {
    using View = std::decay_t<decltype(view)>;
    const ComputedDefect<View, T> defect{view, b, x};
#if defined(__CUDACC__)
    if constexpr (View::streams)
      if (ctx.on_gpu() && can_stream_by_cells() && cuda::has_chunks(b, x, coarse)) {
        WeightsView<const T> cells = w;
        cells.coarse_origin_y -= first;
        return cuda::with_rows_of<stream::depth>(a.shape(), x, [&](const auto& given) {
          using Defect = cuda::Stencil<View, std::decay_t<decltype(given)>, DefectFormula, stream::depth>;
          stream::restrict_by_cells(ctx, cells, Defect{view, {b}, given, {}},
                                    stream::rows_before(target, coarse, first), x.nx, x.ny, first);
        });
      }
#endif
    if (ctx.on_gpu() || !coarsens_both()) return restrict_weighted(ctx, w, defect, a.shape(), target, coarse);
    const FieldView<T> rows = rows_.view();
    for_each_share(ctx, b, restricted_rows(true, target), rows.ny / 3, [&](int part, int begin, int end) {
      T* const own = &rows(1, 3 * part);
      simd::run_widest(
          RestrictCells<View, T>{defect, w, coarse, begin, end, {own, own + rows.pitch, own + 2 * rows.pitch}});
    });
  });
  if (!y_.left.empty()) detail::add_from_below(ctx, target, coarse);
}

}  // namespace stratum
