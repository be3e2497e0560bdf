#include <stratum/core/for_each_node.hpp>

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

/// Rows -1 and ny of a column, halo columns included.
template <class T>
struct WrapRows {
  GridView<T> x;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int i, int /*row*/) const {
    x(i, -1) = x(i, x.ny - 1);
    x(i, x.ny) = x(i, 0);
  }
};

}  // namespace

template <class T>
void fill_halo(Context& ctx, const GridView<T>& view) {
  if (view.periodic_x) for_each_node(ctx, {0, view.ny, 1, 0, 1, 1}, WrapColumns<T>{view});
  if (view.periodic_y) for_each_node(ctx, {-1, view.nx + 1, 1, 0, 1, 1}, WrapRows<T>{view});
}

template void fill_halo(Context&, const GridView<float>&);
template void fill_halo(Context&, const GridView<double>&);

}  // namespace stratum::detail
