#include <stratum/core/comm/nccl.hpp>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <stratum/core/device/context.hpp>
#include <stratum/core/errors.hpp>

#if defined(__CUDACC__)
#include <dlfcn.h>

#include <stratum/core/comm/gpu_communicator.hpp>
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
/// The beginning of ncclConfig_t, as version 2.17 has it: newer ones take what is not there by default.
struct NcclConfig {
  static constexpr int by_default = std::numeric_limits<int>::min();
  std::size_t size = sizeof(NcclConfig);
  unsigned magic = 0xcafebeef, version = 21700;
  int blocking = by_default, cga_cluster_size = by_default, min_ctas = by_default, max_ctas = by_default;
};

/// Functions of the library, which stays open.
struct Library {
  int (*get_unique_id)(NcclId*) = nullptr;
  int (*comm_init_rank_config)(NcclHandle*, int, NcclId, int, NcclConfig*) = nullptr;
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
    find(comm_init_rank_config, "ncclCommInitRankConfig");
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

class NcclCommunicator final : public GpuCommunicator {
 public:
  NcclCommunicator(Context& ctx, std::shared_ptr<Communicator> host) : GpuCommunicator(std::move(host)) {
    on_all(this->host(), [&] { library_ = std::make_unique<Library>(); });
    NcclId id{};
    on_all(this->host(), [&] {
      if (rank() == 0) library_->expect(library_->get_unique_id(&id), "ncclGetUniqueId");
    });
    id = this->host().gather_on_host(id)[0];
    on_all(this->host(), [&] {
      NcclConfig config;
      config.max_ctas = most_channels;
      library_->expect(library_->comm_init_rank_config(&comm_, size(), id, rank(), &config), "ncclCommInitRankConfig");
    });
    on_all(this->host(), [&] { connect(ctx); });
  }
  ~NcclCommunicator() override {
    if (comm_ != nullptr) (void)(is_alone() ? library_->comm_abort : library_->comm_destroy)(comm_);
  }
  NcclCommunicator(const NcclCommunicator&) = delete;
  NcclCommunicator& operator=(const NcclCommunicator&) = delete;

  [[nodiscard]] std::string_view name() const override { return "nccl"; }
  void check() override {
    int state = nccl_success;
    library_->expect(library_->comm_get_async_error(comm_, &state), "ncclCommGetAsyncError");
    if (state == nccl_success || state == nccl_in_progress) return;
    fail();
    library_->expect(state, "NCCL");
  }

 private:
  /// Each takes a kernel's block and is set up at the first call that goes by it, on all subdomains: a second for 32 of them.
  /// Rows and numbers of a cycle need no more.
  static constexpr int most_channels = 8;

  /// NCCL connects subdomains at the first call of each kind, which is none of a solve: rows for either neighbour, numbers of
  /// all, and rows of all in different numbers.
  void connect(Context& ctx) {
    constexpr std::size_t bytes = std::size_t{1} << 20;  // enough for every channel
    const auto subdomains = static_cast<std::size_t>(size());
    const auto memory = allocate(ctx, (subdomains + 3) * bytes);
    auto* const own = static_cast<std::byte*>(memory.get());
    std::byte* const all = own + 3 * bytes;
    const int below = (rank() + size() - 1) % size(), above = (rank() + 1) % size();
    const Rows rows{own, own, own + bytes, own + 2 * bytes, bytes, below, above};
    exchange_on(stream_of(ctx), {&rows, 1});
    std::vector<std::size_t> counts(subdomains, bytes), offsets(subdomains);
    for (std::size_t r = 0; r < subdomains; ++r) offsets[r] = r * bytes;
    do_gather(ctx, own, all, counts, offsets);
    counts.back() /= 2;
    do_gather(ctx, own, all, counts, offsets);
    STRATUM_CUDA_CHECK(cudaStreamSynchronize(stream_of(ctx)));
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

  void exchange_on(cudaStream_t stream, std::span<const Rows> rows) override {
    // Of two subdomains around the ends both neighbours are one: what it sends first is for the side above.
    in_group([&] {
      for (const auto& one : rows) {
        if (one.to_below != nullptr) send(stream, one.to_below, one.bytes.to_below, one.below);
        if (one.to_above != nullptr) send(stream, one.to_above, one.bytes.to_above, one.above);
        if (one.from_above != nullptr) receive(stream, one.from_above, one.bytes.from_above, one.above);
        if (one.from_below != nullptr) receive(stream, one.from_below, one.bytes.from_below, one.below);
      }
    });
  }

  std::unique_ptr<Library> library_;
  NcclHandle comm_ = nullptr;
};

}  // namespace

std::shared_ptr<Communicator> nccl_communicator(Context& ctx, std::shared_ptr<Communicator> host) {
  expects(ctx.on_gpu(), "NCCL is for contexts on GPUs");
  return std::make_shared<NcclCommunicator>(ctx, std::move(host));
}

#else

std::shared_ptr<Communicator> nccl_communicator(Context& /*ctx*/, std::shared_ptr<Communicator> /*host*/) {
  throw ResourceError("this build has no CUDA backend, and NCCL is for GPUs");
}

#endif

}  // namespace stratum
