#include <stratum/core/comm/nccl.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>
#include <utility>

#include <stratum/core/device/context.hpp>
#include <stratum/core/errors.hpp>

#if defined(__CUDACC__)
#include <dlfcn.h>

#include <stratum/core/device/cuda_check.hpp>
#endif

namespace stratum {

#if defined(__CUDACC__)

namespace {

/// As NCCL 2 has them.
using NcclHandle = void*;
struct NcclId {
  std::array<char, 128> bytes;
};
enum : int { nccl_success = 0, nccl_in_progress = 7, nccl_bytes = 0 };

/// Functions of the library, which stays open.
struct Library {
  int (*get_unique_id)(NcclId*) = nullptr;
  int (*comm_init_rank)(NcclHandle*, int, NcclId, int) = nullptr;
  int (*comm_destroy)(NcclHandle) = nullptr;
  int (*comm_abort)(NcclHandle) = nullptr;
  int (*comm_get_async_error)(NcclHandle, int*) = nullptr;
  int (*send)(const void*, std::size_t, int, int, NcclHandle, cudaStream_t) = nullptr;
  int (*recv)(void*, std::size_t, int, int, NcclHandle, cudaStream_t) = nullptr;
  int (*all_gather)(const void*, void*, std::size_t, int, NcclHandle, cudaStream_t) = nullptr;
  int (*group_start)() = nullptr;
  int (*group_end)() = nullptr;
  const char* (*get_error_string)(int) = nullptr;

  Library() {
    const char* const named = std::getenv("STRATUM_NCCL");
    const std::string name = named != nullptr ? named : "libnccl.so.2";
    void* const library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) throw ResourceError(message("NCCL cannot be opened: ", dlerror()));
    const auto find = [&](auto& function, const char* symbol) {
      function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(library, symbol));
      if (function == nullptr) throw ResourceError(message(name, " has no ", symbol));
    };
    find(get_unique_id, "ncclGetUniqueId");
    find(comm_init_rank, "ncclCommInitRank");
    find(comm_destroy, "ncclCommDestroy");
    find(comm_abort, "ncclCommAbort");
    find(comm_get_async_error, "ncclCommGetAsyncError");
    find(send, "ncclSend");
    find(recv, "ncclRecv");
    find(all_gather, "ncclAllGather");
    find(group_start, "ncclGroupStart");
    find(group_end, "ncclGroupEnd");
    find(get_error_string, "ncclGetErrorString");
  }

  void expect(int code, const char* call) const {
    if (code != nccl_success) throw std::runtime_error(message(call, ": ", get_error_string(code)));
  }
};

/// Does on every piece what may fail on one; throws on all then.
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

class NcclCommunicator final : public Communicator {
 public:
  explicit NcclCommunicator(std::shared_ptr<Communicator> host) : host_(std::move(host)) {
    on_all(*host_, [&] { library_ = std::make_unique<Library>(); });
    NcclId id{};
    on_all(*host_, [&] {
      if (rank() == 0) library_->expect(library_->get_unique_id(&id), "ncclGetUniqueId");
    });
    id = host_->gather_on_host(id)[0];
    on_all(*host_, [&] { library_->expect(library_->comm_init_rank(&comm_, size(), id, rank()), "ncclCommInitRank"); });
  }
  ~NcclCommunicator() override {
    // After a failure the others may never come.
    const bool alone = failed_ || std::uncaught_exceptions() > 0;
    if (comm_ != nullptr) (void)(alone ? library_->comm_abort : library_->comm_destroy)(comm_);
    for (cudaEvent_t event : {ready_, arrived_})
      if (event != nullptr) (void)cudaEventDestroy(event);
    if (beside_ != nullptr) (void)cudaStreamDestroy(beside_);
  }
  NcclCommunicator(const NcclCommunicator&) = delete;
  NcclCommunicator& operator=(const NcclCommunicator&) = delete;

  [[nodiscard]] int rank() const override { return host_->rank(); }
  [[nodiscard]] int size() const override { return host_->size(); }
  [[nodiscard]] bool keeps_order() const override { return true; }
  void check() override {
    int state = nccl_success;
    library_->expect(library_->comm_get_async_error(comm_, &state), "ncclCommGetAsyncError");
    if (state == nccl_success || state == nccl_in_progress) return;
    failed_ = true;
    library_->expect(state, "NCCL");
  }
  void barrier() override { host_->barrier(); }
  void abandon() override {
    failed_ = true;
    host_->abandon();
  }

 private:
  static cudaStream_t stream_of(const Context& ctx) { return static_cast<cudaStream_t>(ctx.stream()); }

  void do_gather_on_host(const void* mine, void* all, std::size_t bytes) override {
    host_->gather_on_host(mine, all, bytes);
  }
  void do_all_to_all_on_host(const void* out, std::span<const std::size_t> to, void* in,
                             std::span<const std::size_t> from) override {
    host_->all_to_all_on_host(out, to, in, from);
  }

  /// Sends and receipts that belong together.
  template <class Work>
  void in_group(const Work& work) {
    library_->expect(library_->group_start(), "ncclGroupStart");
    work();
    library_->expect(library_->group_end(), "ncclGroupEnd");
  }
  void send(cudaStream_t stream, const void* from, std::size_t bytes, int to) {
    library_->expect(library_->send(from, bytes, nccl_bytes, to, comm_, stream), "ncclSend");
  }
  void receive(cudaStream_t stream, void* to, std::size_t bytes, int from) {
    library_->expect(library_->recv(to, bytes, nccl_bytes, from, comm_, stream), "ncclRecv");
  }

  void do_gather(Context& ctx, const void* mine, void* all, std::span<const std::size_t> counts,
                 std::span<const std::size_t> offsets) override {
    auto* const to = static_cast<std::byte*>(all);
    const auto own = static_cast<std::size_t>(rank());
    bool even = true;
    for (std::size_t r = 0; r < counts.size(); ++r)
      even = even && counts[r] == counts[0] && offsets[r] == r * counts[0];
    if (even) {
      library_->expect(library_->all_gather(mine, to, counts[0], nccl_bytes, comm_, stream_of(ctx)), "ncclAllGather");
      return;
    }
    copy_bytes(ctx, mine, to + offsets[own], counts[own]);
    in_group([&] {
      for (std::size_t r = 0; r < counts.size(); ++r) {
        if (r == own) continue;
        if (counts[own] > 0) send(stream_of(ctx), mine, counts[own], static_cast<int>(r));
        if (counts[r] > 0) receive(stream_of(ctx), to + offsets[r], counts[r], static_cast<int>(r));
      }
    });
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

  void exchange_on(cudaStream_t stream, std::span<const Rows> rows) {
    // Of two pieces around the ends both neighbours are one: what it sends first is for the side above.
    in_group([&] {
      for (const auto& one : rows) {
        if (one.to_below != nullptr) send(stream, one.to_below, one.bytes, one.below);
        if (one.to_above != nullptr) send(stream, one.to_above, one.bytes, one.above);
        if (one.from_above != nullptr) receive(stream, one.from_above, one.bytes, one.above);
        if (one.from_below != nullptr) receive(stream, one.from_below, one.bytes, one.below);
      }
    });
  }

  std::shared_ptr<Communicator> host_;
  std::unique_ptr<Library> library_;
  NcclHandle comm_ = nullptr;
  cudaStream_t beside_ = nullptr;
  cudaEvent_t ready_ = nullptr, arrived_ = nullptr;
  bool failed_ = false;
};

}  // namespace

std::shared_ptr<Communicator> nccl_communicator(Context& ctx, std::shared_ptr<Communicator> host) {
  expects(ctx.on_gpu(), "NCCL is for contexts on GPUs");
  return std::make_shared<NcclCommunicator>(std::move(host));
}

#else

std::shared_ptr<Communicator> nccl_communicator(Context& /*ctx*/, std::shared_ptr<Communicator> /*host*/) {
  throw ResourceError("this build has no CUDA backend, and NCCL is for GPUs");
}

#endif

}  // namespace stratum
