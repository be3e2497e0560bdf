#include <stratum/multigrid/structured/rows_of_operator.hpp>

#include <limits>
#include <vector>

#include <stratum/core/field/blas.hpp>
#include <stratum/core/field/for_each_node.hpp>
#include <stratum/core/operators/csr_matrix.hpp>

namespace stratum {

namespace {

/// Coefficients in nine arrays on the host's terms, those that reach across sides zero.
template <class View>
struct StoreBands {
  View a;
  GridLayout<2> grid;
  double* to;
  template <int dx, int dy>
  STRATUM_HOST_DEVICE STRATUM_INLINE void store(int i, int j) const {
    to[(std::int64_t{band_index(dx, dy)} * grid.ny + j) * grid.nx + i] =
        couples(grid, i + dx, j + dy) ? a.template coefficient<dx, dy>(i, j) : 0.0;
  }
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int i, int j) const {
    store<-1, -1>(i, j);
    store<0, -1>(i, j);
    store<1, -1>(i, j);
    store<-1, 0>(i, j);
    store<0, 0>(i, j);
    store<1, 0>(i, j);
    store<-1, 1>(i, j);
    store<0, 1>(i, j);
    store<1, 1>(i, j);
  }
};

}  // namespace

GridRows rows_of_operator(Context& ctx, const GridOperator<double>& a, std::span<const int> numbering,
                          const CellCounts& cells, const OnSubdomains& on_subdomains) {
  const GridLayout<2> shape = a.shape();
  if (ctx.communicator() == nullptr) {
    const SparseRows rows = sparse_rows(ctx, a);
    return {ctx,          RowArrays<int>{rows.start, rows.column, rows.value}, shape.nx, shape.ny, numbering, cells,
            on_subdomains};
  }
  expects(numbering.empty(), "nodes of an operator on a grid lie in order: give no numbering");
  expects(shape.nodes() <= std::numeric_limits<int>::max() / 9, shape.nodes(), " unknowns have more than 2^31 entries");
  Field<double> bands(ctx, static_cast<int>(9 * shape.nodes()));
  a.visit([&]<class View>(const View& view) {
    for_each_node(ctx, {0, shape.nx, 1, 0, shape.ny, 1}, StoreBands<View>{view, shape, bands.view().data});
  });
  std::vector<double> numbers(static_cast<std::size_t>(9 * shape.nodes()));
  copy_to_host(ctx, bands.cview(), numbers.data());
  return {ctx, BandArrays{numbers}, shape.nx, shape.ny, cells, on_subdomains};
}

}  // namespace stratum
