#pragma once

// The thread block cluster of a block: blocks that run at the same time and write to each other's shared memory. A block is its
// own cluster on GPUs of compute capability below 9.0, and in builds without clusters (STRATUM_NO_CLUSTERS). On the host
// `cuda::has_clusters` of core/device/launch.hpp tells. For CUDA sources only.

#include <stratum/core/config.hpp>

#if !defined(STRATUM_NO_CLUSTERS) && defined(__CUDA_ARCH__)
#if __CUDA_ARCH__ >= 900
#define STRATUM_CLUSTERS
#include <cooperative_groups.h>
#endif
#endif

namespace stratum::cuda {

constexpr int most_blocks = 16;  // of a cluster; GPUs of other kinds may hold none so large

struct Cluster {
#if defined(STRATUM_CLUSTERS)
  [[nodiscard]] __device__ STRATUM_INLINE int blocks() const { return static_cast<int>(group().num_blocks()); }
  [[nodiscard]] __device__ STRATUM_INLINE int rank() const { return static_cast<int>(group().block_rank()); }
  __device__ STRATUM_INLINE void sync() const { group().sync(); }
  /// What `shared` is in the shared memory of block `rank`.
  template <class Shared>
  [[nodiscard]] __device__ STRATUM_INLINE Shared* at(Shared* shared, int rank) const {
    return group().map_shared_rank(shared, rank);
  }

 private:
  __device__ STRATUM_INLINE static cooperative_groups::cluster_group group() {
    return cooperative_groups::this_cluster();
  }
#else
  [[nodiscard]] __device__ STRATUM_INLINE int blocks() const { return 1; }
  [[nodiscard]] __device__ STRATUM_INLINE int rank() const { return 0; }
  __device__ STRATUM_INLINE void sync() const {}
  template <class Shared>
  [[nodiscard]] __device__ STRATUM_INLINE Shared* at(Shared* shared, int /*rank*/) const {
    return shared;
  }
#endif
};

}  // namespace stratum::cuda
