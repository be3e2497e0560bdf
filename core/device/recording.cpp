#include <stratum/core/device/recording.hpp>

#include <algorithm>

#if defined(__CUDACC__)
#include <stratum/core/device/cuda_check.hpp>
#endif

namespace stratum {

#if defined(__CUDACC__)
namespace {

constexpr std::size_t most_takes = 4;

/// Whether work submitted to the stream now can be captured in a graph of its own.
bool can_capture(cudaStream_t stream) {
  if (stream == nullptr || stream == cudaStreamLegacy) return false;
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  STRATUM_CUDA_CHECK(cudaStreamIsCapturing(stream, &status));
  return status == cudaStreamCaptureStatusNone;
}

}  // namespace
#endif

void Recording::run(Context& ctx, const void* input, const void* output, const std::function<void()>& work) {
#if defined(__CUDACC__)
  if (ctx.on_gpu()) {
    auto* stream = static_cast<cudaStream_t>(ctx.stream());
    const bool waits = ctx.communicator() != nullptr && !ctx.communicator()->keeps_order();
    if (waits || !can_capture(stream)) return work();
    const auto of_these = [&](const Take& take) { return take.input == input && take.output == output; };
    auto take = std::find_if(takes_.begin(), takes_.end(), of_these);
    if (take == takes_.end()) {
      // The first run with these buffers: not captured, since it may load kernels.
      if (takes_.size() == most_takes) takes_.erase(takes_.begin());
      takes_.push_back({input, output, nullptr});
      return work();
    }
    std::rotate(take, take + 1, takes_.end());
    std::shared_ptr<void>& recorded = takes_.back().graph;
    if (!recorded) {
      cudaGraph_t graph = nullptr;
      STRATUM_CUDA_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
      try {
        work();
      } catch (...) {
        (void)cudaStreamEndCapture(stream, &graph);
        if (graph != nullptr) (void)cudaGraphDestroy(graph);
        throw;
      }
      STRATUM_CUDA_CHECK(cudaStreamEndCapture(stream, &graph));
      cudaGraphExec_t executable = nullptr;
      const cudaError_t error = cudaGraphInstantiate(&executable, graph, 0);
      (void)cudaGraphDestroy(graph);
      STRATUM_CUDA_CHECK(error);
      recorded = {executable, [](void* g) { (void)cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(g)); }};
    }
    STRATUM_CUDA_CHECK(cudaGraphLaunch(static_cast<cudaGraphExec_t>(recorded.get()), stream));
    return;
  }
#endif
  (void)ctx;
  (void)input;
  (void)output;
  work();
}

}  // namespace stratum
