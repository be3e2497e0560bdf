#pragma once

// for_each_node in three dimensions: runs a named functor at every node of a box, in parallel. A functor has one of
//
//     T value(int i, int j, int k) const;  void store(int i, int j, int k, T value) const;      one number per node
//     void operator()(int i, int j, int k) const;                                               anything else
//     auto plane(int k) const;      returns the functor of two dimensions for plane k (core/field/for_each_node.hpp), so that a
//                                   formula of two dimensions is not written again
//
// Marks, independence and streams are as in two dimensions. CPU: OpenMP over the rows of all planes, SIMD along a row. CUDA:
// the planes are the blocks along z of the launch.

#include <stratum/core/field/field_3d.hpp>
#include <stratum/core/field/for_each_node.hpp>

namespace stratum {

/// Nodes begin, begin + step, ... < end of an axis.
struct AxisRange {
  int begin = 0, end = 0, step = 1;
  [[nodiscard]] STRATUM_HOST_DEVICE int count() const { return end > begin ? (end - begin + step - 1) / step : 0; }
};

template <>
struct NodeRange<3> {
  AxisRange x, y, z;

  NodeRange(AxisRange of_x, AxisRange of_y, AxisRange of_z) : x(of_x), y(of_y), z(of_z) {}
  [[nodiscard]] std::int64_t rows() const { return std::int64_t{y.count()} * z.count(); }
  [[nodiscard]] std::int64_t count() const { return x.count() * rows(); }
  /// Those of one plane.
  [[nodiscard]] STRATUM_HOST_DEVICE NodeRange<2> plane() const {
    return {x.begin, x.end, x.step, y.begin, y.end, y.step};
  }
};

[[nodiscard]] inline NodeRange<3> all_nodes(const Extents<3>& extents) {
  return {{0, extents.nx}, {0, extents.ny}, {0, extents.nz}};
}
template <class T>
[[nodiscard]] NodeRange<3> all_nodes(const FieldView<T, 3>& view) {
  return all_nodes(view.extents);
}

namespace detail {

template <class Functor>
concept NodeMapInSpace = requires(const Functor f, int i, int j, int k) {
  f.store(i, j, k, f.value(i, j, k));
};

/// A functor of (i, j, k) in one plane.
template <class Functor>
struct InPlane {
  static constexpr bool hot = Hot<Functor>, strided = Strided<Functor>;
  Functor f;
  int k;
  STRATUM_HOST_DEVICE STRATUM_INLINE auto value(int i, int j) const requires NodeMapInSpace<Functor> {
    return f.value(i, j, k);
  }
  template <class T>
  STRATUM_HOST_DEVICE STRATUM_INLINE void store(int i, int j, T value) const requires NodeMapInSpace<Functor> {
    f.store(i, j, k, value);
  }
  STRATUM_HOST_DEVICE STRATUM_INLINE auto operator()(int i, int j) const requires(!NodeMapInSpace<Functor>) {
    return f(i, j, k);
  }
};

/// What does plane k.
template <class Functor>
STRATUM_HOST_DEVICE STRATUM_INLINE auto plane_of(const Functor& f, int k) {
  if constexpr (requires { f.plane(k); })
    return f.plane(k);
  else
    return InPlane<Functor>{f, k};
}
template <class Functor>
using PlaneOf = decltype(plane_of(std::declval<const Functor&>(), 0));

#if defined(__CUDACC__)
template <class Functor>
__global__ void for_each_node_of_planes_kernel(const Functor f, const NodeRange<2> range, const AxisRange planes) {
  cuda::after_previous();
  // The z dimension of a grid ends at 65535 blocks; planes beyond it are reached by striding.
  for (int n = static_cast<int>(blockIdx.z); n < planes.count(); n += static_cast<int>(gridDim.z))
    run_nodes(plane_of(f, planes.begin + n * planes.step), range);
}
#endif

}  // namespace detail

// See core/field/for_each_node.hpp.
#if defined(__CUDACC__)
inline namespace on_either {
#else
inline namespace on_cpu {
#endif

template <class Functor>
void for_each_node(Context& ctx, const NodeRange<3>& range, const Functor& f) {
  if (range.count() == 0 || ctx.is_dry_run()) return;
  const NodeRange<2> nodes = range.plane();
  if (range.z.count() == 1) return for_each_node(ctx, nodes, detail::plane_of(f, range.z.begin));
  if constexpr (!Strided<detail::PlaneOf<Functor>>)
    expects(nodes.step_x == 1, "a functor that is not marked as strided was given steps");
  if (ctx.on_gpu()) {
#if defined(__CUDACC__)
    auto [grid, block] = detail::blocks_of_nodes<detail::PlaneOf<Functor>>(nodes);
    grid.z = static_cast<unsigned>(range.z.count() < 65535 ? range.z.count() : 65535);
    cuda::Launch{grid, block}(ctx, detail::for_each_node_of_planes_kernel<Functor>, f, nodes, range.z);
#else
    expects(false, "this was compiled for the CPU alone, and its context is on a GPU");
#endif
    return;
  }
  const int rows = nodes.count_y();
  const std::int64_t all_rows = range.rows();
#pragma omp parallel for schedule(static) num_threads(ctx.threads()) if (range.count() > serial_limit)
  for (std::int64_t row = 0; row < all_rows; ++row) {
    const int n = static_cast<int>(row / rows), j = static_cast<int>(row % rows);
    for_row(detail::plane_of(f, range.z.begin + n * range.z.step), nodes.begin_x, nodes.end_x, nodes.step_x,
            nodes.begin_y + j * nodes.step_y);
  }
}

}  // inline namespace

}  // namespace stratum
