#include <stratum/multigrid/box_slabs.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <stratum/core/field/blas_3d.hpp>
#include <stratum/core/operators/box_operator.hpp>

namespace stratum {

BoxSlabs::BoxSlabs(const Context& ctx, const TensorMesh<3>& mesh, const BoxOrder& order)
    : slab_(slab_of(ctx, mesh, order, rank_of(ctx))), order_(order), ranks_(ctx.subdomains()) {
  const auto lines = static_cast<int>(order[2]);
  const Axis& axis = mesh.axis(lines);
  for (std::size_t d = 0; d < 3; ++d) periodic_[d] = mesh.axis(static_cast<int>(order[d])).is_periodic();
  first_unknown_ = axis.first_unknown();
  nodes_ = nodes_of(ctx, mesh, lines, slab_);
  if (ranks_ == 1) return;
  cuts_.reserve(static_cast<std::size_t>(ranks_) + 1);
  for (int r = 0; r < ranks_; ++r) cuts_.push_back(slab_of(ctx, mesh, order, r).first[2] - first_unknown_);
  cuts_.push_back(axis.unknowns());
}

int BoxSlabs::first_plane() const { return slab_.first[2] - first_unknown_; }

BoxSlab BoxSlabs::of_matrices() const {
  if (ranks_ == 1) return {};
  constexpr int most = BoxSlab::overlap;
  BoxSlab slab{.first = first_plane(), .planes = cuts_.back(), .around = periodic_[2]};
  if (has_below()) {
    slab.rank_before = slab_.lower[2].rank;
    slab.before = slab.around ? most : std::min(most, slab.first);
  }
  if (has_above()) {
    slab.rank_behind = slab_.upper[2].rank;
    slab.behind = slab.around ? most : std::min(most, slab.planes - slab.first - slab_.extents.nz);
  }
  return slab;
}

GridLayout<3> BoxSlabs::unknowns(const TensorMesh<3>& mesh) const {
  GridLayout<3> layout = mesh.unknowns();
  const std::size_t lines = order_[2];
  auto& [nx, ny, nz] = layout.extents;
  *std::array{&nx, &ny, &nz}[lines] = slab_.extents.nz;
  layout.first[lines] = slab_.first[2];
  layout.lower[lines] = slab_.lower[2];
  layout.upper[lines] = slab_.upper[2];
  return layout;
}

std::array<AxisFactors, 3> BoxSlabs::own(std::array<AxisFactors, 3> factors) const {
  for (auto* const numbers : {&factors[2].k, &factors[2].m}) {
    const auto first = numbers->begin() + first_plane();
    *numbers = {first, first + slab_.extents.nz + 1};
  }
  return factors;
}

std::vector<BoxBodyFlux> BoxSlabs::means(const Context& ctx, const TensorMesh<3>& mesh, const BoxBodies& bodies,
                                         const std::vector<double>& nodal) const {
  const NodePlanes planes = ranks_ > 1 ? nodes_ : NodePlanes{2, 0, mesh.z().size()};
  return means_of_bodies(mesh, bodies,
                         sums_of_ranks(ctx, sums_of_bodies(mesh, bodies, nodal, static_cast<std::size_t>(planes.first),
                                                           static_cast<std::size_t>(planes.last))));
}

void BoxSlabs::exchange(Context& ctx, Communicator::Rows planes, std::int64_t numbers) const {
  planes.bytes = sizeof(double) * static_cast<std::size_t>(numbers);
  planes.below = slab_.lower[2].rank;
  planes.above = slab_.upper[2].rank;
  ctx.communicator()->exchange(ctx, planes);
}

void BoxSlabs::add_from_below(Context& ctx, FieldView<double, 3> b, FieldView<double, 3> scratch) const {
  if (!has_below() && !has_above()) return;
  const Extents<3> plane{b.extents.nx, b.extents.ny, 1};
  Communicator::Rows planes;
  if (has_above()) planes.to_above = &b(0, 0, b.extents.nz);
  if (has_below()) planes.from_below = scratch.data;
  exchange(ctx, planes, (plane.ny - 1) * b.strides.row + plane.nx);
  if (has_below())
    axpy(ctx, 1, FieldView<const double, 3>{scratch.data, plane, b.strides},
         FieldView<double, 3>{b.data, plane, b.strides});
}

void BoxSlabs::fill_ghosts(Context& ctx, FieldView<double, 3> x) const {
  fill_periodic_ghosts(ctx, {periodic_[0], periodic_[1], periodic_[2] && ranks_ == 1}, x);
  if (!has_below() && !has_above()) return;
  // From column -2 on: GPUs store 16 bytes at once where addresses are multiples of them.
  constexpr int first = -2;
  const auto& [nx, ny, nz] = x.extents;
  const auto plane = [&x](bool there, int k) { return there ? &x(first, -1, k) : nullptr; };
  exchange(ctx, {plane(has_below(), 0), plane(has_above(), nz - 1), plane(has_below(), -1), plane(has_above(), nz)},
           (ny + 1) * x.strides.row + nx + 1 - first);
}

std::array<LineModes, 2> modes_of(const Context& ctx, const AxisFactors& x, const AxisFactors& y) {
  const int ranks = ctx.subdomains(), own = rank_of(ctx);
  const auto made = [&](const AxisFactors& axis, int by) {
    LineModes modes = own == by ? ModeProducts::modes(ctx, axis) : LineModes{};
    if (ranks == 1) return modes;
    return LineModes{ctx.communicator()->join_on_host(modes.vectors), ctx.communicator()->join_on_host(modes.values)};
  };
  LineModes of_x = made(x, 0);
  if (y == x) return {of_x, of_x};
  return {std::move(of_x), made(y, ranks > 1 ? 1 : 0)};
}

std::vector<double> sums_of_ranks(const Context& ctx, std::vector<double> own) {
  if (ctx.subdomains() == 1 || own.empty()) return own;
  const std::vector<double> all = ctx.communicator()->join_on_host(own);
  std::copy_n(all.begin(), own.size(), own.begin());
  for (std::size_t k = own.size(); k < all.size(); ++k) own[k % own.size()] += all[k];
  return own;
}

BoundaryFluxes3D BoxSlabs::sum(const Context& ctx, const BoundaryFluxes3D& own) const {
  if (ranks_ == 1) return own;
  BoundaryFluxes3D all;
  for (const BoundaryFluxes3D& part : ctx.communicator()->gather_on_host(own)) {
    for (std::size_t face = 0; face < all.faces.size(); ++face) all.faces[face] += part.faces[face];
    all.reaction += part.reaction;
    all.load += part.load;
    all.rounding += part.rounding;
    all.magnitudes += part.magnitudes;
  }
  return all;
}

SolutionRange3D BoxSlabs::joined(const Context& ctx, const SolutionRange3D& own, const BoxDiscretization& of_cells,
                                 Context& there, StoredBox<const double> u) const {
  if (ranks_ == 1) return own;
  SolutionRange3D all = stratum::joined(ctx.communicator()->gather_on_host(own));
  if (all.edge.axis < 0) return all;
  // The edges beside may be another rank's.
  using Fluxes = BoxDiscretization::FluxesOfEdge;
  Fluxes found{std::nan(""), std::nan(""), std::nan("")};
  for (const Fluxes& part : ctx.communicator()->gather_on_host(of_cells.fluxes_of_edge(there, u, all.edge)))
    for (double Fluxes::*const flux : {&Fluxes::before, &Fluxes::own, &Fluxes::behind})
      if (!std::isnan(part.*flux)) found.*flux = part.*flux;
  all.change_of_flux = change_of_flux(found);
  return all;
}

}  // namespace stratum
