#include <stratum/core/device/context.hpp>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <future>
#include <sstream>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <omp.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <stratum/core/device/memory_limits.hpp>
#include <stratum/core/errors.hpp>

#if defined(__CUDACC__)
#include <stratum/core/device/cuda_check.hpp>
#endif

namespace stratum {

namespace {

constexpr double gibibyte = 1024.0 * 1024.0 * 1024.0;

std::shared_ptr<void> allocate_bytes(const Context& ctx, std::size_t bytes) {
#if defined(__CUDACC__)
  if (ctx.on_gpu()) {
    void* p = nullptr;
    if (cudaMalloc(&p, bytes) != cudaSuccess) {
      (void)cudaGetLastError();
      return nullptr;
    }
    STRATUM_CUDA_CHECK(cudaMemsetAsync(p, 0, bytes, static_cast<cudaStream_t>(ctx.stream())));
    return {p, [](void* q) { (void)cudaFree(q); }};
  }
#endif
  // What is beyond the limits is handed out all the same, and ends the process when it is touched.
  constexpr std::size_t worth_asking = std::size_t{1} << 24;
  if (bytes >= worth_asking && static_cast<std::int64_t>(bytes) > available_memory(ctx)) return nullptr;
  // Sweeps along y touch a new page with every row: large vectors ask for huge pages.
  constexpr std::size_t huge_page = std::size_t{1} << 21;
  const std::size_t alignment = bytes >= 2 * huge_page ? huge_page : 64;
  // Vectors of one size would begin alike in their pages, and their rows would compete for the same sets of a cache, which
  // nine bands, x and b are too many for: each begins in a cache line of its page that its address decides on.
  constexpr std::size_t worth_moving = std::size_t{1} << 17, line = 64, lines = 64;
  const bool moves = bytes >= worth_moving;
  void* memory = nullptr;
  if (posix_memalign(&memory, alignment, bytes + (moves ? (lines - 1) * line : 0)) != 0) return nullptr;
  const std::uint64_t place = reinterpret_cast<std::uintptr_t>(memory) / (lines * line) * 0x9e3779b97f4a7c15U;
  void* const p = static_cast<char*>(memory) + (moves ? place >> 58 : 0) * line;
  // Only whole ones: a vector takes the memory that it says, not up to 2 MiB more.
  if (alignment == huge_page) (void)madvise(memory, bytes / huge_page * huge_page, MADV_HUGEPAGE);
  // Pages belong to the thread that touches them first: zero them as the sweeps will walk them.
  constexpr std::size_t page = std::size_t{1} << 16;
  const auto pages = static_cast<std::int64_t>((bytes + page - 1) / page);
#pragma omp parallel for schedule(static) num_threads(ctx.threads()) if (pages > 16)
  for (std::int64_t k = 0; k < pages; ++k) {
    const std::size_t begin = static_cast<std::size_t>(k) * page;
    std::memset(static_cast<char*>(p) + begin, 0, std::min(page, bytes - begin));
  }
  return {p, [memory](void* /*p*/) { std::free(memory); }};
}

/// Throws ResourceError where so many threads cannot be made: OpenMP ends the process then.
void expect_threads(int count) {
  std::vector<std::thread> threads;
  std::promise<void> all_there;
  const auto wait = all_there.get_future().share();
  std::string reason;
  try {
    for (int k = 1; k < count; ++k) threads.emplace_back([wait] { wait.get(); });
  } catch (const std::system_error& error) {
    reason = error.what();
  }
  all_there.set_value();
  const std::size_t made = threads.size() + 1;
  for (auto& thread : threads) thread.join();
  if (!reason.empty())
    throw ResourceError(message(count, " threads cannot be made, only ", made, ": ", reason, "; ask for fewer"));
  // With a limit on its memory the team is made now, so that what it takes counts as taken.
  rlimit limit{};
  if (count > 1 && getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    int team = 0;
#pragma omp parallel num_threads(count) reduction(+ : team)
    team += 1;
    expects(team >= 1, "OpenMP has made no thread");
  }
}

}  // namespace

Context::Context(Backend backend, int threads, std::shared_ptr<void> stream)
    : backend_(backend), threads_(threads), stream_(std::move(stream)), memory_(std::make_shared<MemoryStatistics>()),
      scratch_(std::make_shared<Scratch>()) {
  expects(threads >= 0, "threads must be 0 (all) or more, not ", threads);
  if (threads_ == 0) threads_ = omp_get_max_threads();
  expect_threads(threads_);
  if (backend_ == Backend::cpu) return;
#if defined(__CUDACC__)
  if (!cuda_available()) throw ResourceError("no CUDA device answers; use the cpu backend");
  double* numbers = nullptr;
  STRATUM_CUDA_CHECK(cudaMallocHost(&numbers, (1 + expected_numbers) * sizeof(double)));
  host_number_ = {numbers, [](double* p) { (void)cudaFreeHost(p); }};
#else
  throw ResourceError("this build has no CUDA backend (configure with -DSTRATUM_CUDA=ON); use the cpu backend");
#endif
}

Context::Context(Backend backend, int threads) : Context(backend, threads, nullptr) {
#if defined(__CUDACC__)
  if (backend_ == Backend::cpu) return;
  cudaStream_t stream = nullptr;
  STRATUM_CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  stream_ = {stream, [](void* s) { (void)cudaStreamDestroy(static_cast<cudaStream_t>(s)); }};
#endif
}

Context Context::on_stream(void* stream) {
  return {Backend::cuda, 0, std::shared_ptr<void>(stream, [](void*) {})};
}

Context Context::memory_dry_run() const {
  Context counted(*this);
  counted.dry_run_ = true;
  counted.memory_ = std::make_shared<MemoryStatistics>();
  counted.scratch_ = std::make_shared<Scratch>();
  return counted;
}

namespace {

/// Stands for a number that is not written yet: a NaN with digits of its own, which no arithmetic makes.
constexpr std::uint64_t not_written = 0xfff8'5354'5241'5455;

#if defined(__CUDACC__)
bool is_written(const volatile double& number) { return std::bit_cast<std::uint64_t>(double{number}) != not_written; }
#endif

}  // namespace

void Context::expect(double* number) { std::memcpy(number, &not_written, sizeof(not_written)); }

double* Context::expected_number(int k) const {
  double* const number = host_number_.get() + 1 + k;
  expect(number);
  return number;
}

double Context::await_number(int k) const { return await(host_number_.get() + 1 + k); }

double Context::await(const double* awaited) const {
  const volatile double* const number = awaited;
#if defined(__CUDACC__)
  // Now and then the stream is asked: a kernel that failed writes nothing.
  constexpr int looks_between = 4096;
  while (on_gpu() && (communicator_ == nullptr || communicator_->keeps_order())) {
    for (int k = 0; k < looks_between; ++k)
      if (is_written(*number)) return *number;
    if (cudaStreamQuery(static_cast<cudaStream_t>(stream())) != cudaErrorNotReady) break;
    (void)cudaGetLastError();  // that it is not ready counts as an error, which a borrower of the stream would find
    if (communicator_ == nullptr) continue;
    communicator_->check();  // another subdomain may never come
    std::this_thread::yield();
  }
#endif
  synchronise();
  return *number;
}

void Context::synchronise() const {
#if defined(__CUDACC__)
  if (!on_gpu() || dry_run_) return;
  auto* const own = static_cast<cudaStream_t>(stream());
  if (communicator_ == nullptr || !communicator_->keeps_order()) {
    STRATUM_CUDA_CHECK(cudaStreamSynchronize(own));
    return;
  }
  // Another subdomain may never come.
  cudaError_t state = cudaStreamQuery(own);
  for (; state == cudaErrorNotReady; state = cudaStreamQuery(own)) {
    (void)cudaGetLastError();
    communicator_->check();
    std::this_thread::yield();
  }
  STRATUM_CUDA_CHECK(state);
#endif
}

double* Context::reduction_scratch(std::size_t count) {
  count = std::max<std::size_t>(count, 1);  // of nothing there is a sum too
  if (count > scratch_->size) {
    scratch_->numbers = std::static_pointer_cast<double>(allocate(*this, count * sizeof(double)));
    scratch_->size = count;
  }
  return scratch_->numbers.get();
}

std::string Context::description() const {
#if defined(__CUDACC__)
  if (on_gpu()) {
    int device = 0;
    cudaDeviceProp properties{};
    STRATUM_CUDA_CHECK(cudaGetDevice(&device));
    STRATUM_CUDA_CHECK(cudaGetDeviceProperties(&properties, device));
    return message("cuda, ", properties.name);
  }
#endif
  return message("cpu, ", threads_, threads_ == 1 ? " thread" : " threads");
}

bool cuda_available() {
#if defined(__CUDACC__)
  int count = 0;
  if (cudaGetDeviceCount(&count) == cudaSuccess && count > 0) return true;
  (void)cudaGetLastError();
#endif
  return false;
}

void select_device([[maybe_unused]] int number) {
  if (!cuda_available()) throw ResourceError("no CUDA device answers");
#if defined(__CUDACC__)
  int count = 0;
  STRATUM_CUDA_CHECK(cudaGetDeviceCount(&count));
  STRATUM_CUDA_CHECK(cudaSetDevice(number % count));
#endif
}

std::int64_t available_memory([[maybe_unused]] const Context& ctx) {
#if defined(__CUDACC__)
  if (ctx.on_gpu()) {
    std::size_t free = 0, total = 0;
    STRATUM_CUDA_CHECK(cudaMemGetInfo(&free, &total));
    return static_cast<std::int64_t>(free);
  }
#endif
  return available_host_memory();
}

void expect_memory(const Context& ctx, const std::string& what, std::int64_t needed) {
  const std::int64_t there = available_memory(ctx);
  if (needed <= there) return;
  std::ostringstream text;
  text.precision(2);
  text << std::fixed << what << " needs " << static_cast<double>(needed) / gibibyte << " GiB of memory, "
       << static_cast<double>(there) / gibibyte << " GiB are available";
  throw ResourceError(text.str());
}

bool reaches([[maybe_unused]] const Context& ctx, [[maybe_unused]] const void* address) {
#if defined(__CUDACC__)
  if (ctx.on_gpu()) {
    cudaPointerAttributes attributes{};
    if (cudaPointerGetAttributes(&attributes, address) == cudaSuccess) return attributes.devicePointer != nullptr;
    (void)cudaGetLastError();
    return false;
  }
#endif
  return true;
}

std::shared_ptr<void> allocate(Context& ctx, std::size_t bytes) {
  // Nobody follows the address of a memory dry run.
  alignas(128) static std::byte nowhere[128];
  auto memory = ctx.is_dry_run() ? std::shared_ptr<void>(nowhere, [](void*) {}) : allocate_bytes(ctx, bytes);
  if (memory == nullptr)
    throw ResourceError(message("out of memory: ", static_cast<double>(bytes) / gibibyte, " GiB asked for, ",
                                static_cast<double>(available_memory(ctx)) / gibibyte, " GiB available"));
  auto& statistics = *ctx.memory();
  statistics.allocations += 1;
  const std::int64_t now = statistics.bytes += static_cast<std::int64_t>(bytes);
  if (now > statistics.peak_bytes) statistics.peak_bytes = now;
  // The returned pointer keeps the memory alive and gives its bytes back to the count when it goes.
  void* p = memory.get();
  return {p, [owner = std::move(memory), counter = ctx.memory(), bytes](void*) mutable {
            owner.reset();
            counter->bytes -= static_cast<std::int64_t>(bytes);
          }};
}

std::shared_ptr<void> allocate_on_host([[maybe_unused]] const Context& ctx, std::size_t bytes) {
#if defined(__CUDACC__)
  if (ctx.on_gpu()) {
    void* p = nullptr;
    STRATUM_CUDA_CHECK(cudaMallocHost(&p, bytes));
    return {p, [](void* q) { (void)cudaFreeHost(q); }};
  }
#endif
  return {new std::byte[bytes], [](void* q) { delete[] static_cast<std::byte*>(q); }};
}

void copy_bytes([[maybe_unused]] const Context& ctx, const void* from, void* to, std::size_t bytes) {
  if (bytes == 0 || from == to) return;
#if defined(__CUDACC__)
  if (ctx.on_gpu()) {
    STRATUM_CUDA_CHECK(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, static_cast<cudaStream_t>(ctx.stream())));
    return;
  }
#endif
  std::memcpy(to, from, bytes);
}

}  // namespace stratum
