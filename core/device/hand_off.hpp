#pragma once

// Hand-off between clusters of one launch (core/device/cluster.hpp), through global memory: flags, and tickets. CUDA promises
// neither an order in which clusters are dispatched nor that all clusters of a launch run at the same time, least of all where
// another stream uses the device, too. A cluster that waits for another one therefore needs a ticket: clusters are numbered in
// the order in which they start, and each waits for lower numbers alone. Those run already. For CUDA sources only.

#include <cuda_runtime.h>

#include <stratum/core/config.hpp>

namespace stratum::cuda {

/// Numbers that a counter of tickets takes: a cache line of its own, since others may poll what lies behind it.
template <class T>
constexpr int ticket_numbers = static_cast<int>(128 / sizeof(T));

/// Returns 0, 1, ... in the order of the calls, of which one thread of each of `clusters` clusters makes one. The counter at
/// `memory` is zero before the launch and after the last call. Two launches of a stream may share it, and the call may precede
/// `after_previous`: when the second kernel begins, all blocks of the first have called `after_previous` after their tickets.
template <class T>
__device__ STRATUM_INLINE int take_ticket(T* memory, int clusters) {
  return static_cast<int>(atomicInc(reinterpret_cast<unsigned*>(memory), static_cast<unsigned>(clusters - 1)));
}

/// A flag says that the numbers before it have been written by one thread for one thread of another cluster. It is zero before
/// the launch, and the thread that has waited for it makes it zero again.
template <class T>
__device__ STRATUM_INLINE void raise_flag(T* flag) {
  asm volatile("st.release.gpu.global.u32 [%0], 1;" ::"l"(flag) : "memory");
}
template <class T>
__device__ STRATUM_INLINE void wait_for_flag(const T* flag) {
  unsigned raised = 0;
  do asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(raised) : "l"(flag) : "memory");
  while (raised == 0);
}

}  // namespace stratum::cuda
