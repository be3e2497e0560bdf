#pragma once

// Recording: work that is submitted to a stream again and again without change. On a GPU the second run with the same two
// buffers is captured as a CUDA graph, and later runs replay the graph: a fraction of a microsecond per kernel instead of a
// few. On a CPU the work simply runs. The work must not allocate, read back or wait.
//
// Nothing is captured on CUDA's default stream, which does not allow it; on a stream that its owner is capturing, where the
// work becomes part of the owner's graph; and where ranks wait for each other on the host (Communicator::keeps_order). A
// Recording keeps the graphs of the last few pairs of buffers, since full multigrid and the iteration after it use different
// ones.

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
