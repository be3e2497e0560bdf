#pragma once

// for_each_node: runs a named functor at every node of a range, in parallel. The per-node formula is written once, as
// `STRATUM_HOST_DEVICE STRATUM_INLINE` members of the functor. A functor has one of
//
//     T value(int i, int j) const;  void store(int i, int j, T value) const;      one number per node
//     void operator()(int i, int j) const;                                        anything else
//     auto row(int j) const;      returns a functor of i that holds what the nodes of a row have in common
//
// With the first form a GPU thread loads for several nodes before it stores. Functors are named types and not lambdas, because
// the host path of an extended lambda is several times slower under nvcc. A functor may have two marks:
//
//     static constexpr bool hot = true;      iterations run it: on the CPU it is compiled for each instruction set
//     static constexpr bool strided = true;  it runs on nodes that are more than one column apart (step_x)
//
// Nodes must be independent: no value may depend on a store. CPU: OpenMP over rows (over parts of the row if there is only one,
// as in flat vectors), SIMD along a row. CUDA: on the Context's stream, without synchronisation. Memory dry run: nothing.
//
// Code that does something else on the CPU calls `for_each_node_on_gpu`, which compiles nothing for the CPU.

#include <concepts>
#include <cstdint>

#include <stratum/core/device/context.hpp>
#include <stratum/core/errors.hpp>
#include <stratum/core/field/field.hpp>
#if defined(__CUDACC__)
#include <stratum/core/device/launch.hpp>
#endif

namespace stratum {

template <int D>
struct NodeRange;

/// Nodes i = begin_x, begin_x + step_x, ... < end_x, and the same in y. Three dimensions: core/field/for_each_node_3d.hpp.
template <>
struct NodeRange<2> {
  int begin_x = 0, end_x = 0, step_x = 1;
  int begin_y = 0, end_y = 0, step_y = 1;

  [[nodiscard]] STRATUM_HOST_DEVICE int count_x() const {
    return end_x > begin_x ? (end_x - begin_x + step_x - 1) / step_x : 0;
  }
  [[nodiscard]] int count_y() const { return end_y > begin_y ? (end_y - begin_y + step_y - 1) / step_y : 0; }
  [[nodiscard]] std::int64_t count() const { return std::int64_t{count_x()} * count_y(); }
};

template <class T>
[[nodiscard]] NodeRange<2> all_nodes(const FieldView<T>& view) {
  return {0, view.nx, 1, 0, view.ny, 1};
}

/// Below this many nodes a parallel region costs more than it gains.
inline constexpr std::int64_t serial_limit = 20000;
/// A row that is alone is shared among threads in parts of this many nodes.
inline constexpr int row_part = 8192;

/// One number a node: value, then store.
template <class Functor>
concept NodeMap = requires(const Functor f, int i, int j) {
  f.store(i, j, f.value(i, j));
};

template <class Functor>
STRATUM_HOST_DEVICE STRATUM_INLINE void run_node(const Functor& f, int i, int j) {
  if constexpr (NodeMap<Functor>)
    f.store(i, j, f.value(i, j));
  else if constexpr (requires { f.row(j); })
    f.row(j)(i);
  else
    f(i, j);
}

/// See above.
template <class Functor>
concept Hot = requires {
  requires Functor::hot;
};
template <class Functor>
concept Strided = requires {
  requires Functor::strided;
};

namespace detail {

template <class Functor>
STRATUM_INLINE void run_row(const Functor& f, int begin, int end, [[maybe_unused]] int step, int j) {
  if constexpr (Strided<Functor>)
    if (step != 1) {
#pragma omp simd
      for (int i = begin; i < end; i += step) run_node(f, i, j);
      return;
    }
  if constexpr (requires { f.row(j); }) {
    const auto row = f.row(j);
#pragma omp simd
    for (int i = begin; i < end; ++i) row(i);
  } else {
#pragma omp simd
    for (int i = begin; i < end; ++i) run_node(f, i, j);
  }
}
// By value: nothing that a functor stores may then be what it reads of itself.
template <class Functor>
void cold_row(const Functor f, int begin, int end, int step, int j) {
  run_row(f, begin, end, step, j);
}
template <class Functor>
STRATUM_SIMD_CLONES void hot_row(const Functor f, int begin, int end, int step, int j) {
  run_row(f, begin, end, step, j);
}

}  // namespace detail

template <class Functor>
void for_row(const Functor& f, int begin, int end, int step, int j) {
  if constexpr (Hot<Functor>)
    detail::hot_row(f, begin, end, step, j);
  else
    detail::cold_row(f, begin, end, step, j);
}

#if defined(__CUDACC__)
namespace detail {

/// Nodes of one column that a thread takes together, so that enough loads are in flight to fill the memory's pipeline.
template <class Functor>
constexpr int nodes_per_thread = NodeMap<Functor> ? 4 : 1;

/// Those that are this thread's of a launch of `blocks_of_nodes`.
template <class Functor>
__device__ STRATUM_INLINE void run_nodes(const Functor& f, const NodeRange<2>& range) {
  const int i = range.begin_x + range.step_x * static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= range.end_x) return;
  constexpr int nodes = nodes_per_thread<Functor>;
  // The y dimension of a grid ends at 65535 blocks; rows beyond it are reached by striding.
  const int stride = nodes * static_cast<int>(gridDim.y * blockDim.y);
  for (int row = nodes * static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y);; row += stride) {
    const int j = range.begin_y + range.step_y * row;
    if (j >= range.end_y) return;
    const int last = j + (nodes - 1) * range.step_y;
    if constexpr (NodeMap<Functor>) {
      if (last < range.end_y) {
        decltype(f.value(i, j)) values[nodes];
#pragma unroll
        for (int k = 0; k < nodes; ++k) values[k] = f.value(i, j + k * range.step_y);
#pragma unroll
        for (int k = 0; k < nodes; ++k) f.store(i, j + k * range.step_y, values[k]);
        continue;
      }
    }
    for (int k = 0; k < nodes && j + k * range.step_y < range.end_y; ++k) run_node(f, i, j + k * range.step_y);
  }
}

template <class Functor>
__global__ void for_each_node_kernel(const Functor f, const NodeRange<2> range) {
  cuda::after_previous();
  run_nodes(f, range);
}

struct Blocks {
  dim3 grid, block;
};
template <class Functor>
Blocks blocks_of_nodes(const NodeRange<2>& range) {
  const dim3 block(64, 4);
  constexpr unsigned rows = 4 * nodes_per_thread<Functor>;
  const auto blocks_y = (static_cast<unsigned>(range.count_y()) + rows - 1) / rows;
  return {{(static_cast<unsigned>(range.count_x()) + block.x - 1) / block.x, blocks_y < 65535 ? blocks_y : 65535},
          block};
}

/// One row: every thread of a block has a node.
template <class Functor>
__global__ void for_each_node_of_row_kernel(const Functor f, const NodeRange<2> range) {
  cuda::after_previous();
  const std::int64_t k = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (k < range.count_x()) run_node(f, range.begin_x + range.step_x * static_cast<int>(k), range.begin_y);
}
}  // namespace detail
#endif

// A function of the same functor that knows GPUs is another one than in sources of C++: where both were of one name the linker
// would take either.
#if defined(__CUDACC__)
inline namespace on_either {
#else
inline namespace on_cpu {
#endif

/// For a Context that is on a GPU.
template <class Functor>
void for_each_node_on_gpu([[maybe_unused]] Context& ctx, [[maybe_unused]] const NodeRange<2>& range,
                          [[maybe_unused]] const Functor& f) {
#if defined(__CUDACC__)
  if (range.count() == 0 || ctx.is_dry_run()) return;
  if (range.count_y() == 1) {
    const auto blocks = (static_cast<unsigned>(range.count_x()) + 255) / 256;
    cuda::Launch{blocks, 256}(ctx, detail::for_each_node_of_row_kernel<Functor>, f, range);
    return;
  }
  const auto [grid, block] = detail::blocks_of_nodes<Functor>(range);
  cuda::Launch{grid, block}(ctx, detail::for_each_node_kernel<Functor>, f, range);
#else
  expects(false, "this was compiled for the CPU alone, and its context is on a GPU");
#endif
}

template <class Functor>
void for_each_node(Context& ctx, const NodeRange<2>& range, const Functor& f) {
  if (range.count() == 0 || ctx.is_dry_run()) return;
  if constexpr (!Strided<Functor>)
    expects(range.step_x == 1, "a functor that is not marked as strided was given steps");
  if (ctx.on_gpu()) return for_each_node_on_gpu(ctx, range, f);
  if (range.count_y() == 1) {
    const int parts = (range.count_x() - 1) / row_part + 1;
#pragma omp parallel for schedule(static) num_threads(ctx.threads()) if (range.count() > serial_limit)
    for (int k = 0; k < parts; ++k) {
      const int begin = range.begin_x + k * row_part * range.step_x;
      const int end = k + 1 < parts ? begin + row_part * range.step_x : range.end_x;
      for_row(f, begin, end, range.step_x, range.begin_y);
    }
    return;
  }
#pragma omp parallel for schedule(static) num_threads(ctx.threads()) if (range.count() > serial_limit)
  for (int j = range.begin_y; j < range.end_y; j += range.step_y)
    for_row(f, range.begin_x, range.end_x, range.step_x, j);
}

}  // inline namespace

}  // namespace stratum
