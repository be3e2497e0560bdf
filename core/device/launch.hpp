#pragma once

// How kernels are launched. A kernel of a cycle takes microseconds, and the gap between two kernels would take as long. Hence
// the next kernel is scheduled while the last one drains (programmatic dependent launch, CUDA C++ Programming Guide). Every
// kernel that is launched here calls `after_previous()` before it touches memory that a kernel of the stream may write.
// Constant data, such as the coefficients of an operator, may be read before. For CUDA sources only.

#include <cuda_runtime.h>

#include <algorithm>

#include <stratum/core/device/context.hpp>
#include <stratum/core/device/cuda_check.hpp>

namespace stratum::cuda {

/// Waits until the kernel before has finished and all that it wrote is visible; lets the next one come.
__device__ STRATUM_INLINE void after_previous() {
#if defined(__CUDA_ARCH__) && !defined(STRATUM_NO_CLUSTERS)
#if __CUDA_ARCH__ >= 900
  cudaGridDependencySynchronize();
  cudaTriggerProgrammaticLaunchCompletion();
#endif
#endif
}

constexpr int divide_up(int a, int b) { return (a + b - 1) / b; }

inline int device_attribute(cudaDeviceAttr attribute) {
  int device = 0, value = 0;
  STRATUM_CUDA_CHECK(cudaGetDevice(&device));
  STRATUM_CUDA_CHECK(cudaDeviceGetAttribute(&value, attribute, device));
  return value;
}

/// Whether there are clusters, and kernels that come while the one before drains: from compute capability 9.0 on, in the device
/// and in the code (STRATUM_NO_CLUSTERS: all of it is for older devices, or a test runs as they do).
inline bool has_clusters() {
#if defined(STRATUM_NO_CLUSTERS)
  return false;
#else
  constexpr int first_with_clusters = 9;
  return device_attribute(cudaDevAttrComputeCapabilityMajor) >= first_with_clusters;
#endif
}

/// A grid of blocks, in clusters of `cluster`, with `bytes` of dynamic shared memory each; on the Context's stream.
struct Launch {
  dim3 grid, block;
  std::size_t bytes = 0;
  int cluster = 1;
  /// Whether blocks may come while the kernel before drains. They take the places that come free first, and so are spread less
  /// evenly than over a device that is empty: no gain where clusters or subdomains fill it once.
  bool early = true;

  [[nodiscard]] bool fits() const {
    return bytes <= static_cast<std::size_t>(device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin));
  }
  /// The same for blocks of a cluster, which need not find room in any part of the device.
  template <class... Parameters>
  [[nodiscard]] bool runs(const Context& ctx, void (*kernel)(Parameters...)) const {
    int count = 1;
    if (!fits() || (cluster > 1 && !has_clusters())) return false;
    if (cluster > 1) {
      const Configuration c(*this, ctx, kernel);
      STRATUM_CUDA_CHECK(cudaOccupancyMaxActiveClusters(&count, kernel, &c.config));
    }
    return count > 0;
  }
  template <class... Parameters, class... Arguments>
  void operator()(const Context& ctx, void (*kernel)(Parameters...), const Arguments&... arguments) const {
    if (grid.x == 0 || grid.y == 0) return;
    const Configuration c(*this, ctx, kernel);
    STRATUM_CUDA_CHECK(cudaLaunchKernelEx(&c.config, kernel, Parameters(arguments)...));
  }
  /// Blocks, or clusters, that run at the same time.
  template <class... Parameters>
  [[nodiscard]] int resident(const Context& ctx, void (*kernel)(Parameters...)) const {
    const Configuration c(*this, ctx, kernel);
    int count = 0;
    if (cluster > 1) {
      STRATUM_CUDA_CHECK(cudaOccupancyMaxActiveClusters(&count, kernel, &c.config));
      return std::max(1, count);
    }
    const auto threads = static_cast<int>(block.x * block.y);
    STRATUM_CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&count, kernel, threads, bytes));
    return std::max(1, count * device_attribute(cudaDevAttrMultiProcessorCount));
  }

 private:
  struct Configuration {
    cudaLaunchConfig_t config{};
    cudaLaunchAttribute attributes[2]{};
    template <class Kernel>
    Configuration(const Launch& launch, const Context& ctx, Kernel kernel) {
      constexpr std::size_t always_there = 48 * 1024;
      constexpr int portable_cluster = 8;
      const auto* function = reinterpret_cast<const void*>(kernel);
      if (launch.bytes > always_there)
        STRATUM_CUDA_CHECK(cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                static_cast<int>(launch.bytes)));
      if (launch.cluster > portable_cluster)
        STRATUM_CUDA_CHECK(cudaFuncSetAttribute(function, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
      config.gridDim = launch.grid;
      config.blockDim = launch.block;
      config.dynamicSmemBytes = launch.bytes;
      config.stream = static_cast<cudaStream_t>(ctx.stream());
      attributes[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
      attributes[0].val.programmaticStreamSerializationAllowed = launch.early ? 1 : 0;
      attributes[1].id = cudaLaunchAttributeClusterDimension;
      attributes[1].val.clusterDim = {static_cast<unsigned>(launch.cluster), 1, 1};
      config.attrs = attributes;
      config.numAttrs = !has_clusters() ? 0 : launch.cluster > 1 ? 2 : 1;
    }
    Configuration(const Configuration&) = delete;
    Configuration& operator=(const Configuration&) = delete;
  };
};

}  // namespace stratum::cuda
