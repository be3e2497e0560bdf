#pragma once

// Barriers in shared memory on GPUs with clusters (core/device/cluster.hpp): a thread waits until a number of threads have
// arrived and a number of bytes have come, from the copy engine or from another block of the cluster (mbarrier, PTX ISA). This
// is cheaper than a barrier of all threads. For CUDA sources only.

#include <cstdint>

#include <stratum/core/device/cluster.hpp>

namespace stratum::cuda {

/// Goes off once a use, when all arrivals of that use have been made and all announced bytes have come; uses are numbered
/// from 0. Nobody may be two uses behind.
struct Signal {
  std::uint64_t word;

#if defined(STRATUM_CLUSTERS)
  static __device__ STRATUM_INLINE unsigned address(const void* shared) {
    return static_cast<unsigned>(__cvta_generic_to_shared(shared));
  }
  /// The address of the same place in block `rank`.
  static __device__ STRATUM_INLINE unsigned address(const void* shared, int rank) {
    unsigned there = 0;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address(shared)), "r"(rank));
    return there;
  }
  /// By one thread, before the blocks of the cluster meet.
  __device__ STRATUM_INLINE void open(int arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address(this)), "r"(arrivals) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  }
  __device__ STRATUM_INLINE void arrive() {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(address(this)) : "memory");
  }
  /// Arrives, and announces bytes.
  __device__ STRATUM_INLINE void expect(int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address(this)), "r"(bytes) : "memory");
  }
  /// Copies bytes, a multiple of 16 at such an address, by the copy engine.
  __device__ STRATUM_INLINE void fetch(void* shared, const void* global, int bytes) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                     address(shared)),
                 "l"(global), "r"(bytes), "r"(address(this))
                 : "memory");
  }
  /// For threads of the block, and what the copy engine brings.
  __device__ STRATUM_INLINE void wait(int use) {
    asm volatile("{\n.reg .pred done;\nwaiting:\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
                 "@!done bra waiting;\n}" ::"r"(address(this)),
                 "r"(use & 1)
                 : "memory");
  }
  /// For what other blocks send.
  __device__ STRATUM_INLINE void wait_for_cluster(int use) {
    asm volatile("{\n.reg .pred done;\nwaiting:\n"
                 "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [%0], %1;\n"
                 "@!done bra waiting;\n}" ::"r"(address(this)),
                 "r"(use & 1)
                 : "memory");
  }
#else
  __device__ void open(int /*arrivals*/) {}
  __device__ void arrive() {}
  __device__ void expect(int /*bytes*/) {}
  __device__ void fetch(void* /*shared*/, const void* /*global*/, int /*bytes*/) {}
  __device__ void wait(int /*use*/) {}
  __device__ void wait_for_cluster(int /*use*/) {}
#endif
};

}  // namespace stratum::cuda
