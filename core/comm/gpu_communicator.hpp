#pragma once

// The common part of the communicators that send rows and numbers from GPU to GPU in the order of a stream. Data of the host
// go through the communicator that they are given besides. For CUDA sources only.

#include <array>
#include <cstdio>
#include <exception>
#include <memory>
#include <span>
#include <utility>

#include <stratum/core/comm/communicator.hpp>
#include <stratum/core/device/context.hpp>
#include <stratum/core/device/cuda_check.hpp>
#include <stratum/core/errors.hpp>

namespace stratum {

/// Does on every subdomain what may fail on one; throws ResourceError on all then.
template <class Work>
void on_all(Communicator& host, const Work& work) {
  std::array<char, 256> reason{};
  try {
    work();
  } catch (const std::exception& error) {
    (void)std::snprintf(reason.data(), reason.size(), "%s", error.what());
  }
  for (const auto& other : host.gather_on_host(reason))
    if (other[0] != '\0') throw ResourceError(other.data());
}

class GpuCommunicator : public Communicator {
 public:
  explicit GpuCommunicator(std::shared_ptr<Communicator> host) : host_(std::move(host)) {}
  ~GpuCommunicator() override {
    for (cudaEvent_t event : {ready_, arrived_})
      if (event != nullptr) (void)cudaEventDestroy(event);
    if (beside_ != nullptr) (void)cudaStreamDestroy(beside_);
  }
  GpuCommunicator(const GpuCommunicator&) = delete;
  GpuCommunicator& operator=(const GpuCommunicator&) = delete;

  [[nodiscard]] int rank() const override { return host_->rank(); }
  [[nodiscard]] int size() const override { return host_->size(); }
  [[nodiscard]] bool keeps_order() const override { return true; }
  void barrier() override { host_->barrier(); }
  void abandon() override {
    failed_ = true;
    host_->abandon();
  }

 protected:
  [[nodiscard]] Communicator& host() { return *host_; }
  static cudaStream_t stream_of(const Context& ctx) { return static_cast<cudaStream_t>(ctx.stream()); }
  void fail() { failed_ = true; }
  /// After a failure, when the others may never come.
  [[nodiscard]] bool is_alone() const { return failed_ || std::uncaught_exceptions() > 0; }

 private:
  /// On all subdomains in the same order.
  virtual void exchange_on(cudaStream_t stream, std::span<const Rows> rows) = 0;

  void do_gather_on_host(const void* mine, void* all, std::size_t bytes) override {
    host_->gather_on_host(mine, all, bytes);
  }
  void do_all_to_all_on_host(const void* out, std::span<const std::size_t> to, void* in,
                             std::span<const std::size_t> from) override {
    host_->all_to_all_on_host(out, to, in, from);
  }

  void do_exchange(Context& ctx, const Rows& rows) override { exchange_on(stream_of(ctx), {&rows, 1}); }

  /// On a stream beside the Context's, after what that has been given so far.
  void do_start(Context& ctx, std::span<const Rows> rows) override {
    if (beside_ == nullptr) {
      int lowest = 0, highest = 0;
      STRATUM_CUDA_CHECK(cudaDeviceGetStreamPriorityRange(&lowest, &highest));
      STRATUM_CUDA_CHECK(cudaStreamCreateWithPriority(&beside_, cudaStreamNonBlocking, highest));
      STRATUM_CUDA_CHECK(cudaEventCreateWithFlags(&ready_, cudaEventDisableTiming));
      STRATUM_CUDA_CHECK(cudaEventCreateWithFlags(&arrived_, cudaEventDisableTiming));
    }
    STRATUM_CUDA_CHECK(cudaEventRecord(ready_, stream_of(ctx)));
    STRATUM_CUDA_CHECK(cudaStreamWaitEvent(beside_, ready_, 0));
    exchange_on(beside_, rows);
    STRATUM_CUDA_CHECK(cudaEventRecord(arrived_, beside_));
  }
  void do_finish(Context& ctx, std::span<const Rows> /*rows*/) override {
    STRATUM_CUDA_CHECK(cudaStreamWaitEvent(stream_of(ctx), arrived_, 0));
  }

  std::shared_ptr<Communicator> host_;
  cudaStream_t beside_ = nullptr;
  cudaEvent_t ready_ = nullptr, arrived_ = nullptr;
  bool failed_ = false;
};

}  // namespace stratum
