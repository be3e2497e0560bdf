#pragma once

// What the sources of Transfer share. None of the headers with its members includes another: a source would compile the kernels
// of that one, too.

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include <stratum/core/field/blas.hpp>
#include <stratum/core/field/for_each_node.hpp>
#include <stratum/multigrid/transfer/by_cells.hpp>
#if defined(__CUDACC__)
#include <stratum/multigrid/transfer/streams.hpp>
#endif

namespace stratum {

/// Coarse rows 0 .. rows - 1. Without looking for fine nodes where they are all there, else with: which of the two a node takes
/// does not depend on where the grid is cut, nor do its bits.
template <class Defect, class T>
void restrict_nodes(Context& ctx, const TransferView<T>& x, const TransferView<T>& y, const Defect& defect, int fine_nx,
                    int fine_ny, FieldView<T> coarse, int rows) {
  struct Range {
    int begin, end;
  };
  // Coarse nodes with fine ones on both sides.
  const auto inner = [](const TransferView<T>& t, int fine_nodes, int nodes) -> Range {
    if (t.left == nullptr) return {0, nodes};
    const int offset = 2 * t.coarse_origin - t.origin, begin = std::min(nodes, offset > 0 ? 0 : (2 - offset) / 2);
    return {begin, std::max(begin, std::min(nodes, (fine_nodes - offset) / 2))};
  };
  const Range in_x = inner(x, fine_nx, coarse.nx), in_y = inner(y, fine_ny, rows);
  const auto some = [&](const Range& columns, const Range& lines, const auto& functor) {
    const NodeRange<2> range{columns.begin, columns.end, 1, lines.begin, lines.end, 1};
    if (range.count() > 0) for_each_node(ctx, range, functor);
  };
  const Restrict<false, Defect, T> beside{x, y, defect, fine_nx, fine_ny, coarse};
  const Range all{0, coarse.nx};
  const bool plain = in_x.end - in_x.begin == coarse.nx && in_y.end - in_y.begin == rows;
  if (ctx.on_gpu() && !plain) return some(all, {0, rows}, beside);  // one launch
  some(in_x, in_y, Restrict<true, Defect, T>{x, y, defect, fine_nx, fine_ny, coarse});
  some(all, {0, in_y.begin}, beside);
  some(all, {in_y.end, rows}, beside);
  some({0, in_x.begin}, in_y, beside);
  some({in_x.end, coarse.nx}, in_y, beside);
}

template <class Defect, class T>
void restrict_weighted(Context& ctx, const WeightsView<const T>& w, const Defect& defect, const GridLayout<2>& fine,
                       const GridLayout<2>& layout, FieldView<T> coarse) {
  for_each_node(ctx, {0, coarse.nx, 1, 0, restricted_rows(w.south != nullptr, layout), 1},
                RestrictWeighted<Defect, T>{w, defect, fine.nx, fine.ny, coarse});
}

/// One row for the subdomain above, and one from the subdomain below.
template <class T>
void pass_upward(Context& ctx, const GridLayout<2>& coarse, const T* to_above, T* from_below, int count) {
  if (!coarse.below && !coarse.above) return;
  Communicator::Rows rows;
  if (coarse.above) rows.to_above = to_above;
  if (coarse.below) rows.from_below = from_below;
  rows.bytes = static_cast<std::size_t>(count) * sizeof(T);
  ctx.communicator()->exchange(ctx, rows);
}

/// CPU: calls f(part, begin, end) for the shares of coarse rows, `parts` of them at most, in parallel where b is long.
template <class T, class F>
void for_each_share(const Context& ctx, const FieldView<const T>& b, int rows, int parts, const F& f) {
  const int team = std::min(ctx.threads(), parts);
#pragma omp parallel for schedule(static, 1) num_threads(ctx.threads()) if (b.nodes() > serial_limit)
  for (int part = 0; part < team; ++part) {
    const auto share = [&](int p) { return static_cast<int>(std::int64_t{rows} * p / team); };
    if (share(part) < share(part + 1)) f(part, share(part), share(part + 1));
  }
}

}  // namespace stratum
