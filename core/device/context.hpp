#pragma once

// Context: where a computation runs. It is the first argument of everything that computes or allocates. There is no global
// state, no hidden device and no hidden synchronisation.
//
// On the CPU a Context is a number of OpenMP threads. On a GPU it is a device and a stream; `stream()` is the Context's own
// stream or one of the caller's (null on the CPU), and all work runs in its order. Allocations are counted, so that a test can
// show that nothing allocates after set-up.
//
// Memory dry run: a Context that counts requested memory, allocates none and computes nothing. A constructor that runs on it
// reports the memory that it will take (`memory()->peak_bytes`), without an estimate that somebody has to maintain.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include <stratum/core/comm/communicator.hpp>
#include <stratum/core/config.hpp>
#include <stratum/core/reentrancy_guard.hpp>

namespace stratum {

/// Counters shared by a Context and the vectors it allocated.
struct MemoryStatistics {
  std::atomic<std::int64_t> allocations{0};
  std::atomic<std::int64_t> bytes{0};
  std::atomic<std::int64_t> peak_bytes{0};
};

/// Copies are the same Context. It serves one thread at a time: give each its own.
class Context {
 public:
  /// threads = 0 takes what OpenMP offers. Throws UsageError for a negative number, ResourceError when so many threads
  /// cannot be made, or the backend is not in this build or has no device.
  explicit Context(Backend backend = Backend::cpu, int threads = 0);

  /// On a CUDA stream of the caller's (a cudaStream_t; null is CUDA's default stream), which must outlive the Context and
  /// everything made with it. Throws ResourceError like the constructor.
  [[nodiscard]] static Context on_stream(void* stream);

  [[nodiscard]] Backend backend() const { return backend_; }
  [[nodiscard]] bool on_gpu() const { return backend_ == Backend::cuda; }
  [[nodiscard]] int threads() const { return threads_; }
  [[nodiscard]] void* stream() const { return stream_.get(); }
  [[nodiscard]] const std::shared_ptr<MemoryStatistics>& memory() const { return memory_; }

  /// A Context of the same kind for a memory dry run, with the same communicator. Vectors made with it have shapes and no
  /// numbers.
  [[nodiscard]] Context memory_dry_run() const;
  [[nodiscard]] bool is_dry_run() const { return dry_run_; }

  /// With the other subdomains of a grid that is partitioned into subdomains; null where there are none.
  void set_communicator(std::shared_ptr<Communicator> communicator) { communicator_ = std::move(communicator); }
  [[nodiscard]] Communicator* communicator() const { return communicator_.get(); }
  [[nodiscard]] int subdomains() const { return communicator_ == nullptr ? 1 : communicator_->size(); }
  /// The same Context without them: for what every subdomain has whole.
  [[nodiscard]] Context alone() const {
    Context context = *this;
    context.communicator_.reset();
    return context;
  }

  /// Waits until everything submitted through this Context has run.
  void synchronise() const;

  /// At least `count` doubles of scratch for reductions, kept for the life of the Context; grows, never shrinks.
  [[nodiscard]] double* reduction_scratch(std::size_t count);
  /// Whoever uses that scratch holds this meanwhile. Throws UsageError where somebody does already.
  [[nodiscard]] ReentrancyGuard::Entered hold_scratch() { return scratch_->guard.enter("Context"); }

  /// On a GPU: a double in host memory that kernels write, to be read after `synchronise`; null on the CPU.
  [[nodiscard]] double* host_number() const { return host_number_.get(); }
  /// On a GPU: another one, for one kernel to write; whoever asks for it holds the scratch until `await_number` returns what
  /// was written. That waits for the kernel alone, which takes less time than to wait for the stream. There are
  /// `expected_numbers` of them: the first is for reductions that are awaited at once, the others are for those that are
  /// fetched later.
  static constexpr int expected_numbers = 4;
  [[nodiscard]] double* expected_number(int k = 0) const;
  [[nodiscard]] double await_number(int k = 0) const;
  /// The same of a number in host memory of the caller's, from `allocate_on_host`, without the scratch.
  static void expect(double* number);
  [[nodiscard]] double await(const double* number) const;

  /// What the Context runs on, for reports: "cpu, 2 threads" or the name of the device.
  [[nodiscard]] std::string description() const;

 private:
  Context(Backend backend, int threads, std::shared_ptr<void> stream);

  struct Scratch {
    std::shared_ptr<double> numbers;
    std::size_t size = 0;
    ReentrancyGuard guard;
  };

  Backend backend_;
  int threads_;
  bool dry_run_ = false;
  std::shared_ptr<void> stream_;
  std::shared_ptr<MemoryStatistics> memory_;
  std::shared_ptr<Scratch> scratch_;
  std::shared_ptr<double> host_number_;
  std::shared_ptr<Communicator> communicator_;
};

/// True when this build has the CUDA backend and a device answers.
[[nodiscard]] bool cuda_available();

/// Contexts that this thread makes from now on are on GPU `number` of those there are, counted around: of several processes on
/// a host, each takes its own by its rank there. Throws ResourceError where there is none.
void select_device(int number);

/// Bytes that allocations on the backend may still take: on the CPU as core/device/memory_limits.hpp says, device memory on a
/// GPU.
[[nodiscard]] std::int64_t available_memory(const Context& ctx);
/// Throws ResourceError, which says that `what` needs so many bytes, where there are fewer.
void expect_memory(const Context& ctx, const std::string& what, std::int64_t needed);

/// False for an address that the Context's device cannot use. On the CPU every address is taken on trust.
[[nodiscard]] bool reaches(const Context& ctx, const void* address);

/// Raw memory of a Context's space, 64-byte aligned (256 on a GPU), zeroed by the threads that will use it.
/// Throws ResourceError with what was asked and what is there.
[[nodiscard]] std::shared_ptr<void> allocate(Context& ctx, std::size_t bytes);

/// Memory of the host that the Context's device copies from and to without help: page-locked for a GPU. Not counted.
[[nodiscard]] std::shared_ptr<void> allocate_on_host(const Context& ctx, std::size_t bytes);

/// Bytes from anywhere to anywhere, memory of the Context's space or of the host, in the order of its stream.
void copy_bytes(const Context& ctx, const void* from, void* to, std::size_t bytes);

}  // namespace stratum
