#include <stratum/core/field/ghost_exchange.hpp>

#include <stratum/core/comm/communicator.hpp>
#include <stratum/core/field/for_each_node.hpp>

namespace stratum {

namespace {

/// Ghosts at both ends of an axis, from the other end. A line along the axis starts at first + a * stride_a + b * stride_b.
template <class T>
struct WrapLines {
  T* first;
  std::int64_t stride_a, stride_b, stride;  // the last one along the axis
  int n, width;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int a, int b) const {
    T* const line = first + a * stride_a + b * stride_b;
    for (int g = 1; g <= width; ++g) {
      line[-g * stride] = line[(n - g) * stride];
      line[(n - 1 + g) * stride] = line[(g - 1) * stride];
    }
  }
};

}  // namespace

GhostExchange<3>::GhostExchange(const Context& ctx, const GridLayout<3>& layout) : layout_(layout) {
  detail::expects_layout(layout);
  const int subdomains = ctx.subdomains(), axes[] = {layout.extents.nx, layout.extents.ny, layout.extents.nz};
  for (int axis = 0; axis < 3; ++axis) {
    const auto a = static_cast<std::size_t>(axis);
    const char name = axis_names[a];
    const Face &lower = layout.lower[a], &upper = layout.upper[a];
    expects((lower.kind == Face::Kind::itself) == (upper.kind == Face::Kind::itself), "one end of axis ", name,
            " is periodic and the other is not");
    for (const Face& face : {lower, upper}) {
      if (face.kind != Face::Kind::subdomain) continue;
      expects(axis == 2, "subdomains are slabs along z, and a subdomain borders on this one along ", name);
      expects(face.rank >= 0 && face.rank < subdomains, "subdomain ", face.rank, " borders on this one, and there are ",
              subdomains);
    }
    if (!layout.has_neighbours(axis) || layout.ghost_width == 0) continue;
    expects(axes[a] >= layout.ghost_width, "axis ", name, " has ", axes[a], " unknowns, fewer than ghosts, ",
            layout.ghost_width);
    needed_ = true;
  }
}

template <class T>
void GhostExchange<3>::fill_ghosts(Context& ctx, const FieldView<T, 3>& view) const {
  expects_fit(ctx, "a field whose ghosts are exchanged", view, layout_.extents);
  if (ctx.is_dry_run()) return;
  const auto& [nx, ny, nz] = view.extents;
  const auto& [row, plane] = view.strides;
  const int w = layout_.ghost_width;
  const auto is_periodic = [&](std::size_t axis) { return layout_.lower[axis].kind == Face::Kind::itself; };
  if (is_periodic(0)) for_each_node(ctx, {0, ny, 1, 0, nz, 1}, WrapLines<T>{view.data, row, plane, 1, nx, w});
  if (is_periodic(1)) for_each_node(ctx, {-w, nx + w, 1, 0, nz, 1}, WrapLines<T>{view.data, 1, plane, row, ny, w});
  if (is_periodic(2))
    return for_each_node(ctx, {-w, nx + w, 1, -w, ny + w, 1}, WrapLines<T>{view.data, 1, row, plane, nz, w});
  const Face &below = layout_.lower[2], &above = layout_.upper[2];
  // Planes k .. k + w - 1 from their first ghost to their last one.
  const auto planes = [&](const Face& face, int k) {
    return face.kind == Face::Kind::subdomain ? &view(-w, -w, k) : nullptr;
  };
  Communicator::Rows block{planes(below, 0), planes(above, nz - w), planes(below, -w), planes(above, nz)};
  if (block.to_below == nullptr && block.to_above == nullptr) return;
  block.bytes = sizeof(T) * static_cast<std::size_t>((w - 1) * plane + (ny + 2 * w - 1) * row + nx + 2 * w);
  block.below = below.rank;
  block.above = above.rank;
  ctx.communicator()->exchange(ctx, block);
}

template void GhostExchange<3>::fill_ghosts(Context&, const FieldView<float, 3>&) const;
template void GhostExchange<3>::fill_ghosts(Context&, const FieldView<double, 3>&) const;

}  // namespace stratum
