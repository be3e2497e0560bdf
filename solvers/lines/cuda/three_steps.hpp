#pragma once

// Line solves in three steps, for lines that are longer than what a block or a cluster holds: the parts of all lines are
// eliminated to chunks (solvers/lines/algebra/chunks.hpp), one a block; the chunks of a line, which are a line themselves, are
// solved; the parts are eliminated again and their unknowns follow from the ends. Any length, and no clusters. For CUDA sources
// only.

#include <stratum/core/device/launch.hpp>
#include <stratum/solvers/lines/cuda/joined_chunks.hpp>

namespace stratum::cuda {

/// What a kernel does: all, the first or the last of three steps.
enum class Step : std::uint8_t { solve, eliminate, substitute };

/// The chunks of lines, `count` a line. Once they are solved, the last row of each holds its ends.
template <class T, bool sums>
struct Interface {
  ReducedChunk<T, sums>* chunks = nullptr;
  int count = 1;

  __device__ STRATUM_INLINE void put(std::int64_t line, int part, const ReducedChunk<T, sums>& chunk) const {
    chunks[line * count + part] = chunk;
  }
  [[nodiscard]] __device__ STRATUM_INLINE InterfaceUnknowns<T> ends(std::int64_t line, int part) const {
    const Row<T, sums>& row = chunks[line * count + part].last;
    return {row.a, row.c, row.f};
  }
};

constexpr int interface_warps = 4;

/// A warp solves the chunks of a line: a lane joins some that follow one another, and the warp those of its lanes.
template <bool is_cyclic, class T, bool sums>
__global__ void __launch_bounds__(interface_warps* warp)
    solve_interface(const Interface<T, sums> parts, const int lines) {
  after_previous();
  const int lane = static_cast<int>(threadIdx.x) % warp;
  const int line = static_cast<int>(blockIdx.x) * interface_warps + static_cast<int>(threadIdx.x) / warp;
  if (line >= lines) return;
  ReducedChunk<T, sums>* const chunks = parts.chunks + static_cast<std::int64_t>(line) * parts.count;
  const int each = (parts.count + warp - 1) / warp, lanes = (parts.count + each - 1) / each;
  const int begin = lane * each, end = min(begin + each, parts.count);
  ReducedChunk<T, sums> joined{};
  if (lane < lanes) {
    joined = chunks[begin];
    for (int k = begin + 1; k < end; ++k) chunks[k - 1].last = line::append(joined, chunks[k]);
  }
  const InterfaceUnknowns<T> ends = solve_whole<is_cyclic>(joined, lane, lanes, lane);
  if (lane >= lanes) return;
  T own = ends.own, right_first = ends.right_first;
  for (int k = end - 1; k >= begin; --k) {
    T left = ends.left;
    if (k > begin) {
      const Row<T, sums> between = chunks[k - 1].last;
      left = between.f - between.a * ends.left - between.c * own;
    }
    Row<T, sums> known{};
    known.a = left;
    known.c = own;
    known.f = right_first;
    chunks[k].last = known;
    const Row<T, sums> first = chunks[k].first;
    right_first = first.f - first.a * left - first.c * own;
    own = left;
  }
}

template <bool is_cyclic, class T, bool sums>
void launch_interface(const Context& ctx, const Interface<T, sums>& parts, int lines) {
  Launch{divide_up(lines, interface_warps), interface_warps * warp}(ctx, solve_interface<is_cyclic, T, sums>, parts,
                                                                    lines);
}

}  // namespace stratum::cuda
