#include <stratum/mesh/tensor_mesh.hpp>

#include <algorithm>
#include <utility>

namespace stratum {

template <int D>
TensorMesh<D>::TensorMesh(std::array<Axis, D> axes, std::string name)
    : axes_(std::move(axes)), name_(std::move(name)) {}

template <int D>
TensorMesh<D>::TensorMesh(Axis x, Axis y, std::string name) requires(D == 2)
    : TensorMesh(std::array<Axis, 2>{std::move(x), std::move(y)}, std::move(name)) {}

template <int D>
TensorMesh<D>::TensorMesh(Axis x, Axis y, Axis z, std::string name) requires(D == 3)
    : TensorMesh(std::array<Axis, 3>{std::move(x), std::move(y), std::move(z)}, std::move(name)) {}

template <>
GridLayout<2> TensorMesh<2>::unknowns() const {
  return {x().unknowns(),      y().unknowns(),    x().first_unknown(),
          y().first_unknown(), x().is_periodic(), y().is_periodic()};
}

template <>
GridLayout<3> TensorMesh<3>::unknowns() const {
  GridLayout<3> layout = GridLayout<3>::box({x().unknowns(), y().unknowns(), z().unknowns()},
                                            {x().is_periodic(), y().is_periodic(), z().is_periodic()});
  layout.first = {x().first_unknown(), y().first_unknown(), z().first_unknown()};
  return layout;
}

template <int D>
std::int64_t TensorMesh<D>::cells() const {
  std::int64_t cells = 1;
  for (const Axis& axis : axes_) cells *= axis.size();
  return cells;
}

template <int D>
double TensorMesh<D>::smallest_width() const {
  double smallest = axes_[0].widths().front();
  for (const Axis& axis : axes_)
    smallest = std::min(smallest, *std::min_element(axis.widths().begin(), axis.widths().end()));
  return smallest;
}

template <int D>
double TensorMesh<D>::largest_aspect_ratio() const {
  double largest = 1;
  for (const Axis& a : axes_)
    for (const Axis& b : axes_)
      if (&a != &b)
        largest = std::max(largest, *std::max_element(a.widths().begin(), a.widths().end()) /
                                        *std::min_element(b.widths().begin(), b.widths().end()));
  return largest;
}

template <int D>
bool TensorMesh<D>::can_coarsen() const {
  return unknowns().nodes() > 0 &&
         std::any_of(axes_.begin(), axes_.end(), [](const Axis& axis) { return axis.can_coarsen(); });
}

template <int D>
TensorMesh<D> TensorMesh<D>::coarser() const {
  if (!can_coarsen()) {
    std::string cells;
    for (const Axis& axis : axes_) cells += (cells.empty() ? "" : " x ") + std::to_string(axis.size());
    throw UsageError(message("the mesh of ", cells, " cells has no coarser one"));
  }
  std::array<Axis, D> axes = axes_;
  for (Axis& axis : axes)
    if (axis.can_coarsen()) axis = axis.coarser();
  return TensorMesh(std::move(axes), name_);
}

template class TensorMesh<2>;
template class TensorMesh<3>;

}  // namespace stratum
