#include <stratum/core/comm/communicator.hpp>
#include <stratum/core/field/for_each_node.hpp>

namespace stratum::detail {

namespace {

/// Columns -1 and nx of a row, from its other end.
template <class T>
struct WrapColumns {
  FieldView<T> x;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int j, int /*row*/) const {
    x(-1, j) = x(x.nx - 1, j);
    x(x.nx, j) = x(0, j);
  }
};

/// All of the halo from the grid itself, in one launch: number k stands for row k, and behind the rows for columns -1 to nx.
template <class T>
struct WrapHalo {
  WrapColumns<T> columns;
  bool periodic_x;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int k, int row) const {
    const FieldView<T>& x = columns.x;
    if (k < x.ny) return columns(k, row);
    const int i = k - x.ny - 1, from = !periodic_x ? i : i < 0 ? x.nx - 1 : i < x.nx ? i : 0;
    x(i, -1) = x(from, x.ny - 1);
    x(i, x.ny) = x(from, 0);
  }
};

/// Row 0 grows by row -1.
template <class T>
struct AddRowBelow {
  FieldView<T> x;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int i, int /*row*/) const { x(i, 0) += x(i, -1); }
};

Communicator& communicator_of(const Context& ctx) {
  expects(ctx.communicator() != nullptr,
          "other subdomains of the grid border on this one, and its context has no communicator");
  return *ctx.communicator();
}

}  // namespace

template <class T>
void fill_halo(Context& ctx, const GridLayout<2>& layout, const FieldView<T>& view) {
  const int rows = view.ny;
  const bool below = layout.below, above = layout.above;
  if (!below && !above) {
    const int begin = layout.periodic_x ? 0 : rows, end = layout.periodic_y ? rows + view.nx + 2 : rows;
    return for_each_node(ctx, {begin, end, 1, 0, 1, 1}, WrapHalo<T>{{view}, layout.periodic_x});
  }
  if (layout.periodic_x) for_each_node(ctx, {0, rows, 1, 0, 1, 1}, WrapColumns<T>{view});
  const auto row = [&](bool there, int j) { return there ? &view(-1, j) : nullptr; };
  communicator_of(ctx).exchange(ctx, {row(below, 0), row(above, rows - 1), row(below, -1), row(above, rows),
                                      static_cast<std::size_t>(view.nx + 2) * sizeof(T)});
}

template <class T>
void add_from_below(Context& ctx, const GridLayout<2>& layout, const FieldView<T>& view) {
  if (!layout.below && !layout.above) return;
  Communicator::Rows rows;
  if (layout.above) rows.to_above = &view(0, view.ny);
  if (layout.below) rows.from_below = &view(0, -1);
  rows.bytes = static_cast<std::size_t>(view.nx) * sizeof(T);
  communicator_of(ctx).exchange(ctx, rows);
  if (layout.below) for_each_node(ctx, {0, view.nx, 1, 0, 1, 1}, AddRowBelow<T>{view});
}

template void fill_halo(Context&, const GridLayout<2>&, const FieldView<float>&);
template void fill_halo(Context&, const GridLayout<2>&, const FieldView<double>&);
template void add_from_below(Context&, const GridLayout<2>&, const FieldView<float>&);
template void add_from_below(Context&, const GridLayout<2>&, const FieldView<double>&);

}  // namespace stratum::detail
