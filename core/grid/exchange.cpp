#include <stratum/core/comm/communicator.hpp>
#include <stratum/core/grid/for_each_node.hpp>

namespace stratum::detail {

namespace {

/// Columns -1 and nx of a row, from its other end.
template <class T>
struct WrapColumns {
  GridView<T> x;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int j, int /*row*/) const {
    x(-1, j) = x(x.nx - 1, j);
    x(x.nx, j) = x(0, j);
  }
};

/// All of the halo from the grid itself, in one launch: number k stands for row k, and behind the rows for columns -1 to nx.
template <class T>
struct WrapHalo {
  WrapColumns<T> columns;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int k, int row) const {
    const GridView<T>& x = columns.x;
    if (k < x.ny) return columns(k, row);
    const int i = k - x.ny - 1, from = !x.periodic_x ? i : i < 0 ? x.nx - 1 : i < x.nx ? i : 0;
    x(i, -1) = x(from, x.ny - 1);
    x(i, x.ny) = x(from, 0);
  }
};

/// Row `to` of x is, or grows by, row `from` of y.
template <bool add, class T>
struct TakeRow {
  GridView<T> x, y;
  int to, from;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int i, int /*row*/) const {
    x(i, to) = add ? x(i, to) + y(i, from) : y(i, from);
  }
};

template <bool add, class T>
void take_row(Context& ctx, const GridView<T>& x, int to, const GridView<T>& y, int from) {
  expects(x.nx == y.nx, "a strip of rows ", x.nx, " nodes long borders on one of ", y.nx);
  const int halo = add ? 0 : 1;
  for_each_node(ctx, {-halo, x.nx + halo, 1, 0, 1, 1}, TakeRow<add, T>{x, y, to, from});
}

/// What the pieces beside this one have now, with everything done that they have asked for.
template <class T>
class Neighbours {
 public:
  GridView<T> below, above;

  Neighbours(Context& ctx, const GridView<T>& view) : ctx_(ctx) {
    expects(ctx.communicator() != nullptr,
            "other pieces of the grid border on this one, and its context has no communicator");
    ctx.synchronise();
    const auto views = ctx.communicator()->gather(&view);
    const auto size = views.size(), rank = static_cast<std::size_t>(ctx.communicator()->rank());
    below = *static_cast<const GridView<T>*>(views[(rank + size - 1) % size]);
    above = *static_cast<const GridView<T>*>(views[(rank + 1) % size]);
  }
  /// Their rows have been read.
  void release() {
    ctx_.synchronise();
    ctx_.communicator()->barrier();
  }

 private:
  Context& ctx_;
};

}  // namespace

template <class T>
void fill_halo(Context& ctx, const GridView<T>& view) {
  const int rows = view.ny;
  if (!view.below && !view.above) {
    const int begin = view.periodic_x ? 0 : rows, end = view.periodic_y ? rows + view.nx + 2 : rows;
    return for_each_node(ctx, {begin, end, 1, 0, 1, 1}, WrapHalo<T>{{view}});
  }
  if (view.periodic_x) for_each_node(ctx, {0, rows, 1, 0, 1, 1}, WrapColumns<T>{view});
  Neighbours<T> neighbours(ctx, view);
  if (view.below) take_row<false>(ctx, view, -1, neighbours.below, neighbours.below.ny - 1);
  if (view.above) take_row<false>(ctx, view, view.ny, neighbours.above, 0);
  neighbours.release();
}

template <class T>
void add_from_below(Context& ctx, const GridView<T>& view) {
  if (!view.below && !view.above) return;
  Neighbours<T> neighbours(ctx, view);
  if (view.below) take_row<true>(ctx, view, 0, neighbours.below, neighbours.below.ny);
  neighbours.release();
}

template void fill_halo(Context&, const GridView<float>&);
template void fill_halo(Context&, const GridView<double>&);
template void add_from_below(Context&, const GridView<float>&);
template void add_from_below(Context&, const GridView<double>&);

}  // namespace stratum::detail
