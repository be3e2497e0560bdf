#pragma once

// for_each_node: runs a named functor f(i, j) at every node of a range, in parallel. The per-node formula is written
// once, as a functor with `STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int i, int j) const`; named, not a lambda,
// because the host path of an extended lambda is several times slower under nvcc. Nodes must be independent.
// CPU: OpenMP over rows, SIMD along a row. CUDA: one thread per node, on the Context's stream, no synchronisation.

#include <cstdint>

#include <stratum/core/context.hpp>
#include <stratum/core/vector.hpp>

namespace stratum {

/// Nodes i = begin_x, begin_x + step_x, ... < end_x, and the same in y.
struct NodeRange {
  int begin_x = 0, end_x = 0, step_x = 1;
  int begin_y = 0, end_y = 0, step_y = 1;

  [[nodiscard]] int count_x() const { return end_x > begin_x ? (end_x - begin_x + step_x - 1) / step_x : 0; }
  [[nodiscard]] int count_y() const { return end_y > begin_y ? (end_y - begin_y + step_y - 1) / step_y : 0; }
  [[nodiscard]] std::int64_t count() const { return std::int64_t{count_x()} * count_y(); }
};

template <class T>
[[nodiscard]] NodeRange all_nodes(const GridView<T>& view) {
  return {0, view.nx, 1, 0, view.ny, 1};
}

/// Below this many nodes a parallel region costs more than it gains.
inline constexpr std::int64_t serial_limit = 4096;

template <class Functor>
STRATUM_SIMD_CLONES void for_row(const Functor f, int begin, int end, int step, int j) {
  if (step == 1) {
#pragma omp simd
    for (int i = begin; i < end; ++i) f(i, j);
  } else {
#pragma omp simd
    for (int i = begin; i < end; i += step) f(i, j);
  }
}

#if defined(__CUDACC__)
namespace detail {
template <class Functor>
__global__ void for_each_node_kernel(const Functor f, const NodeRange range) {
  const int i = range.begin_x + range.step_x * static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= range.end_x) return;
  // The y dimension of a grid ends at 65535 blocks; rows beyond it are reached by striding.
  const int stride = static_cast<int>(gridDim.y * blockDim.y);
  for (int row = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y);; row += stride) {
    const int j = range.begin_y + range.step_y * row;
    if (j >= range.end_y) return;
    f(i, j);
  }
}
}  // namespace detail
#endif

template <class Functor>
void for_each_node(Context& ctx, const NodeRange& range, const Functor& f) {
  if (range.count() == 0) return;
#if defined(__CUDACC__)
  if (ctx.on_gpu()) {
    const dim3 block(64, 4);
    const auto blocks_y = (static_cast<unsigned>(range.count_y()) + block.y - 1) / block.y;
    const dim3 grid((static_cast<unsigned>(range.count_x()) + block.x - 1) / block.x,
                    blocks_y < 65535 ? blocks_y : 65535);
    detail::for_each_node_kernel<<<grid, block, 0, static_cast<cudaStream_t>(ctx.stream())>>>(f, range);
    return;
  }
#endif
#pragma omp parallel for schedule(static) num_threads(ctx.threads()) if (range.count() > serial_limit)
  for (int j = range.begin_y; j < range.end_y; j += range.step_y)
    for_row(f, range.begin_x, range.end_x, range.step_x, j);
}

}  // namespace stratum
