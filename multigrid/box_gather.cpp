#include <stratum/multigrid/box_gather.hpp>

#include <cstddef>

#include <stratum/core/comm/communicator.hpp>

namespace stratum {

template <class T>
void BoxGather::gather(Context& ctx, const T* mine, T* all, std::int64_t apart, int last) const {
  std::vector<std::size_t> counts, offsets;
  for (std::size_t r = 0; r + 1 < cuts_.size(); ++r) {
    const int planes = cuts_[r + 1] - cuts_[r] + (r + 2 == cuts_.size() ? last : 0);
    counts.push_back(sizeof(T) * static_cast<std::size_t>(planes * apart));
    offsets.push_back(sizeof(T) * static_cast<std::size_t>(cuts_[r] * apart));
  }
  ctx.communicator()->gather(ctx, mine, all, counts, offsets);
}

BoxShape BoxGather::whole() const {
  BoxShape shape{{slab_.n.nx, slab_.n.ny, slab_.slab.planes}, slab_.periodic};
  shape.periodic[2] = slab_.slab.around;
  return shape;
}

BoxBands<double> BoxGather::bands(Context& ctx, const BoxMatrix<double>& slab) const {
  const BoxBands<double> own = bands_of(ctx, slab);
  BoxBands<double> all(ctx, whole());
  for (int n = 0; n <= box_neighbours; ++n) {
    const FieldView<double, 3> from = own.band(n), to = all.band(n);
    gather<double>(ctx, &from(-1, -1, 0), &to(-1, -1, 0), to.strides.plane);
  }
  all.fill_ghosts(ctx);
  return all;
}

BoxConductances BoxGather::conductances(Context& ctx, BoxConductances slab) const {
  if (!slab.of_cells) return slab;
  const BoxShape shape = whole();
  BoxConductances all = zero_conductances(ctx, shape);
  for (std::size_t d = 0; d < 3; ++d)
    gather<double>(ctx, layer_of(slab, slab_, d, 0), layer_of(all, shape, d, 0), all.g[d].view().strides.plane, 1);
  return all;
}

template <class T>
void BoxGather::complete(Context& ctx, const FieldView<T, 3>& all) const {
  gather<T>(ctx, own(all).data, all.data, all.strides.plane);
}
template void BoxGather::complete(Context&, const FieldView<float, 3>&) const;
template void BoxGather::complete(Context&, const FieldView<double, 3>&) const;

void fill_beside_slab(Context& ctx, BoxBands<double>& bands, BoxConductances& g) {
  bands.fill_ghosts(ctx);
  if (!g.of_cells) return;
  // Layers 0 .. nz are this rank's already.
  constexpr int planes = BoxSlab::overlap;
  const BoxShape& shape = bands.rows().shape;
  const int nz = shape.n.nz;
  for (std::size_t d = 0; d < 3; ++d) {
    const auto layer = [&](int k) { return layer_of(g, shape, d, k); };
    const auto& strides = g.g[d].view().strides;
    exchange_planes<double>(ctx, shape.slab,
                            {layer(1), layer(nz - planes), layer(-planes), layer(nz + 1), strides.plane,
                             shape.n.ny * strides.row + shape.n.nx + 1, planes});
  }
}

}  // namespace stratum
