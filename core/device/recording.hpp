#pragma once

// Recording: work that is submitted again and again, unchanged, to a stream. On a GPU the second run with the same two buffers
// is captured as a CUDA graph and later runs replay it, a fraction of a microsecond a kernel instead of a few; elsewhere the
// work just runs. The work must not allocate, read back or wait. Nothing is captured on CUDA's default stream, which cannot be,
// nor on a stream that its owner is capturing: there the work becomes part of the owner's graph. Nor is anything where
// subdomains of a grid wait for each other on the host (Communicator::keeps_order). The last few pairs of buffers are
// remembered: full multigrid and the iteration that goes on from it have their own.

#include <functional>
#include <memory>
#include <vector>

#include <stratum/core/device/context.hpp>

namespace stratum {

class Recording {
 public:
  /// Runs `work`, which depends on nothing that changes but the two buffers.
  void run(Context& ctx, const void* input, const void* output, const std::function<void()>& work);
  /// Forgets what was captured: for when the work reads or writes other memory than before. New numbers in the same memory do
  /// not need it.
  void clear() { *this = {}; }

 private:
  struct Take {
    const void *input, *output;
    std::shared_ptr<void> graph;  // from the second run on
  };
  std::vector<Take> takes_;  // the latest last
};

}  // namespace stratum
