#pragma once

// TensorMesh: the product of D axes (mesh/axis.hpp): a rectangle, or a box in three dimensions, cut into cells,
//
//     cell (i, j, k) = [x_i, x_i+1] x [y_j, y_j+1] x [z_k, z_k+1] .
//
// Its unknowns are the products of the unknowns of its axes. Errors: UsageError where a mesh without a coarser one is
// coarsened.

#include <array>
#include <cstddef>
#include <string>

#include <stratum/core/field/field_3d.hpp>
#include <stratum/mesh/axis.hpp>

namespace stratum {

template <int D>
class TensorMesh {
 public:
  static_assert(D == 2 || D == 3);

  explicit TensorMesh(std::array<Axis, D> axes, std::string name = "custom");
  TensorMesh(Axis x, Axis y, std::string name = "custom") requires(D == 2);
  TensorMesh(Axis x, Axis y, Axis z, std::string name = "custom") requires(D == 3);

  /// Of direction d = 0 .. D - 1: x, y, z.
  [[nodiscard]] const Axis& axis(int d) const { return axes_[static_cast<std::size_t>(d)]; }
  [[nodiscard]] const Axis& x() const { return axes_[0]; }
  [[nodiscard]] const Axis& y() const { return axes_[1]; }
  [[nodiscard]] const Axis& z() const requires(D == 3) { return axes_[2]; }
  [[nodiscard]] const std::string& name() const { return name_; }

  /// The nodes that are unknowns: the interior ones where all boundaries are Dirichlet's.
  [[nodiscard]] GridLayout<D> unknowns() const;
  [[nodiscard]] std::int64_t cells() const;

  [[nodiscard]] double smallest_width() const;
  /// Largest ratio of two edges of a cell, the longer to the shorter.
  [[nodiscard]] double largest_aspect_ratio() const;

  /// At least one axis can coarsen, and there are unknowns.
  [[nodiscard]] bool can_coarsen() const;
  /// The next coarser mesh of the hierarchy: each axis that can coarsen does.
  [[nodiscard]] TensorMesh coarser() const;

 private:
  std::array<Axis, D> axes_;
  std::string name_;
};

/// axis(d) of each direction d = 0 .. D - 1, in this order.
template <int D, class Make>
[[nodiscard]] std::array<Axis, D> make_axes(const Make& axis) {
  if constexpr (D == 2)
    return {axis(std::size_t{0}), axis(std::size_t{1})};
  else
    return {axis(std::size_t{0}), axis(std::size_t{1}), axis(std::size_t{2})};
}

TensorMesh(Axis, Axis)->TensorMesh<2>;
TensorMesh(Axis, Axis, std::string)->TensorMesh<2>;
TensorMesh(Axis, Axis, Axis)->TensorMesh<3>;
TensorMesh(Axis, Axis, Axis, std::string)->TensorMesh<3>;

template <>
GridLayout<2> TensorMesh<2>::unknowns() const;
/// With ghosts of width 1.
template <>
GridLayout<3> TensorMesh<3>::unknowns() const;

extern template class TensorMesh<2>;
extern template class TensorMesh<3>;

}  // namespace stratum
