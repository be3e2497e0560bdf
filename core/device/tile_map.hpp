#pragma once

// Tiles of a row-major array for the copy engine of GPUs of compute capability 9.0 and later: one instruction fetches a tile,
// without threads and registers (bulk tensor copies, CUDA C++ Programming Guide). For CUDA sources only.

#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <optional>

#include <stratum/core/device/cuda_check.hpp>
#include <stratum/core/device/signal.hpp>

namespace stratum::cuda {

/// Tiles are `width` columns wide and `height` rows high.
struct TileShape {
  int width, height;
  /// Rows are 128 bytes. Of 8 rows, counted from a multiple of 1024 bytes of shared memory, row r has its 16 bytes number n
  /// at place n ^ r, so that those below each other lie in different banks.
  bool turned = false;
};

/// Of `rows` rows of `columns` numbers from `origin` on, `pitch` numbers apart: multiples of 16 bytes. Beyond them are zeros.
/// Nothing where the driver knows no such tiles.
inline std::optional<CUtensorMap> tile_map(const float* origin, int columns, int rows, std::int64_t pitch,
                                           TileShape shape) {
  using Encode = CUresult (*)(CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*, const cuuint64_t*,
                              const cuuint64_t*, const cuuint32_t*, const cuuint32_t*, CUtensorMapInterleave,
                              CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill);
  static const auto encode = [] {
    void* function = nullptr;
    cudaDriverEntryPointQueryResult found{};
    constexpr auto* name = "cuTensorMapEncodeTiled";
#if CUDART_VERSION >= 12050
    constexpr unsigned first_with_tiles = 12000;
    STRATUM_CUDA_CHECK(cudaGetDriverEntryPointByVersion(name, &function, first_with_tiles, cudaEnableDefault, &found));
#else
    STRATUM_CUDA_CHECK(cudaGetDriverEntryPoint(name, &function, cudaEnableDefault, &found));
#endif
    return found == cudaDriverEntryPointSuccess ? reinterpret_cast<Encode>(function) : nullptr;
  }();
  if (encode == nullptr) return {};
  const cuuint64_t size[2] = {static_cast<cuuint64_t>(columns), static_cast<cuuint64_t>(rows)};
  const cuuint64_t stride[1] = {static_cast<cuuint64_t>(pitch) * sizeof(float)};
  const cuuint32_t tile[2] = {static_cast<cuuint32_t>(shape.width), static_cast<cuuint32_t>(shape.height)};
  const cuuint32_t step[2] = {1, 1};
  CUtensorMap map;
  const CUresult result =
      encode(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, const_cast<float*>(origin), size, stride, tile, step,
             CU_TENSOR_MAP_INTERLEAVE_NONE, shape.turned ? CU_TENSOR_MAP_SWIZZLE_128B : CU_TENSOR_MAP_SWIZZLE_NONE,
             CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS) return {};
  return map;
}

#if defined(STRATUM_CLUSTERS)
/// Asks for the tile from (column, row) on, which may lie beside the array; it comes to `shared`, a multiple of 128 bytes,
/// and `come` counts its bytes. By one thread.
__device__ STRATUM_INLINE void ask_for_tile(void* shared, const CUtensorMap& map, int column, int row, Signal& come) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(
          Signal::address(shared)),
      "l"(&map), "r"(column), "r"(row), "r"(Signal::address(&come))
      : "memory");
}
#endif

}  // namespace stratum::cuda
