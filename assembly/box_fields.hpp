#pragma once

// Arrays of the nodes of a box in the Context's memory, and computations on them: loads of products, sums by weights, copies
// between orders of storage. The same functors run on a CPU and on a GPU.
//
// A StoredBox is a view with the order in which its directions are stored; lines along the direction that is cut come last.
// Shapes are the caller's duty. Reductions wait for the stream, nothing else does. Memory traffic: one word per unknown and
// array that is read or written; weights are 1-D.

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <stratum/core/device/context.hpp>
#include <stratum/core/field/field.hpp>
#include <stratum/core/field/field_3d.hpp>

namespace stratum {

/// Numbers whose direction d of storage is direction order[d] of the box; `order` swaps z with one direction, or none.
template <class T>
struct StoredBox {
  FieldView<T, 3> view;
  std::array<std::size_t, 3> order{0, 1, 2};

  /// How many numbers there are along the directions of the box, and how far apart they are.
  [[nodiscard]] std::array<int, 3> counts() const {
    const std::array<int, 3> stored{view.extents.nx, view.extents.ny, view.extents.nz};
    std::array<int, 3> of_box{};
    for (std::size_t d = 0; d < 3; ++d) of_box[order[d]] = stored[d];
    return of_box;
  }
  [[nodiscard]] std::array<std::int64_t, 3> apart() const {
    const std::array<std::int64_t, 3> stored{1, view.strides.row, view.strides.plane};
    std::array<std::int64_t, 3> of_box{};
    for (std::size_t d = 0; d < 3; ++d) of_box[order[d]] = stored[d];
    return of_box;
  }
  /// Numbers of the directions of the box in the order of storage.
  template <class N>
  [[nodiscard]] std::array<N, 3> stored(const std::array<N, 3>& of_box) const {
    return {of_box[order[0]], of_box[order[1]], of_box[order[2]]};
  }
  /// `count` of them from this one on, along direction d of the box.
  [[nodiscard]] StoredBox part(std::size_t d, int first, int count) const {
    StoredBox part = *this;
    part.view.data += first * apart()[d];
    int* const extents[] = {&part.view.extents.nx, &part.view.extents.ny, &part.view.extents.nz};
    for (std::size_t s = 0; s < 3; ++s)
      if (order[s] == d) *extents[s] = count;
    return part;
  }
  template <std::same_as<const T> Const>
  // NOLINTNEXTLINE(google-explicit-constructor): the usual pointer-to-const conversion
  operator StoredBox<Const>() const {
    return {view, order};
  }
};

/// Factors of products x_i y_j z_k in memory of the Context's, of the directions of the box.
class BoxFactors {
 public:
  BoxFactors(Context& ctx, const std::array<std::vector<double>, 3>& of_box);
  [[nodiscard]] const std::array<const double*, 3>& begin() const { return begin_; }

 private:
  Field<double> numbers_;
  std::array<const double*, 3> begin_{};
};

/// b = 2 (p_x h_y h_z + h_x p_y h_z + ... ) with p and h in the places of each other: 2 (h p p + p h p + p p h)
void set_polynomial_load(Context& ctx, const BoxFactors& h, const BoxFactors& p, StoredBox<double> b);
/// b = factor x_i y_j z_k
void set_product(Context& ctx, double factor, const BoxFactors& of, StoredBox<double> b);

/// A number, and the node of the box that has it.
struct BoxNode {
  double value = 0;
  std::array<int, 3> at{};
};
/// The first node, x fastest, with the largest value, or with the smallest. The first one of all where values are not finite.
[[nodiscard]] BoxNode largest_node(Context& ctx, StoredBox<const double> u);
[[nodiscard]] BoxNode smallest_node(Context& ctx, StoredBox<const double> u);
/// The first node whose neighbour behind it in direction d differs most, and by how much; u has the neighbours of its nodes.
[[nodiscard]] BoxNode largest_step(Context& ctx, StoredBox<const double> u, std::size_t d);

/// One number, on the host.
[[nodiscard]] double value_of(Context& ctx, StoredBox<const double> u, const std::array<int, 3>& at);
/// To the host, x fastest.
[[nodiscard]] std::vector<double> to_host(Context& ctx, StoredBox<const double> u);
/// Numbers of the host's, so far apart along the directions of the box, added to u where `add`.
void from_host(Context& ctx, const std::vector<double>& numbers, const std::array<std::int64_t, 3>& apart, bool add,
               StoredBox<double> u);
/// u = numbers of the nodes of all, in memory of the host, from node first[d] on; of a periodic direction the first ones get
/// those of its other end, node other_end[d], too, which is zero of other directions.
void from_nodes(Context& ctx, const double* nodes, const std::array<std::int64_t, 3>& apart,
                const std::array<int, 3>& first, const std::array<int, 3>& other_end, StoredBox<double> u);

}  // namespace stratum
