#include <stratum/core/comm/peer.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <fstream>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <unistd.h>

#include <stratum/core/device/context.hpp>
#include <stratum/core/errors.hpp>

#if defined(__CUDACC__)
#include <stratum/core/comm/gpu_communicator.hpp>
#include <stratum/core/comm/peer_numbers.hpp>
#endif

namespace stratum {

#if defined(__CUDACC__)

namespace {

using peer::load;
using peer::next_chunk;
using peer::Pair;
using peer::store;

constexpr int threads = 256, most_blocks = 32, most_links = PeerNumbers::most - 1;
constexpr std::size_t word = 4;                          // bytes of data in half a Pair
constexpr std::size_t least_chunk = threads * 2 * word;  // bytes of data
constexpr std::size_t most_chunk = 8 * least_chunk;

constexpr std::size_t pairs_of_slot = most_chunk / (2 * word);

/// Of what is long: bytes from which on it travels as it is, with the number of a chunk after all of it.
constexpr std::size_t long_from = std::size_t{256} << 10;
constexpr int most_long_blocks = 64;
constexpr std::size_t least_long_chunk = threads * sizeof(uint4), most_long_chunk = std::size_t{32} << 10;

/// What two subdomains have between them, as one sees it.
enum Box : int { from_below, from_above, gathered, boxes };
struct Slots {
  Pair pairs[most_blocks][2][pairs_of_slot];
};
struct LongSlots {
  uint4 data[most_long_blocks][2][most_long_chunk / sizeof(uint4)];
  /// Of the chunk that a slot has, one block's in a line of the cache.
  struct alignas(128) Arrived {
    std::uint32_t number[2];
  } arrived[most_long_blocks];
};

/// A subdomain's memory for another one.
struct Desk {
  Slots box[boxes];
  LongSlots long_box[boxes];
  std::uint32_t chunks[boxes][most_blocks], long_chunks[boxes][most_long_blocks];  // this subdomain's count
};

/// What goes to another subdomain and what comes from it; null: nothing, in 0 bytes. Both subdomains cut the longer of both
/// into the same chunks, by a number of blocks that is the same, too; other links of theirs may have others.
struct Link {
  const std::uint32_t* out = nullptr;
  std::uint32_t* in = nullptr;
  std::size_t out_bytes = 0, in_bytes = 0, chunk = 0;
  unsigned blocks = 0;
  bool is_long = false;
  Slots* theirs = nullptr;
  const Slots* mine = nullptr;
  std::uint32_t* chunks = nullptr;
  LongSlots* long_theirs = nullptr;
  LongSlots* long_mine = nullptr;
  std::uint32_t* long_chunks = nullptr;
};
struct Links {
  Link of[most_links];
};

/// A block's chunks of a link: b, b + blocks, ... What is shorter than the other direction sends a pair without data in its
/// place. `gone`, in memory of the host: the others never come.
__device__ inline void exchange_chunks(const Link& link, const volatile int* gone) {
  const std::size_t block = blockIdx.x, chunk = link.chunk,
                    all = link.out_bytes > link.in_bytes ? link.out_bytes : link.in_bytes;
  std::uint32_t number = link.chunks[block];
  __syncthreads();
  for (std::size_t begin = block * chunk; begin < all; begin += link.blocks * chunk) {
    number = next_chunk(number);
    const auto words = [&](std::size_t bytes) {
      return static_cast<int>((bytes < begin ? 0 : bytes - begin < chunk ? bytes - begin : chunk) / word);
    };
    const int out = words(link.out_bytes), in = words(link.in_bytes), slot = static_cast<int>(number & 1);
    const std::uint32_t* const from = link.out + begin / word;
    std::uint32_t* const to = link.in + begin / word;
    for (int k = static_cast<int>(threadIdx.x); k == 0 || 2 * k < out; k += threads)
      store(&link.theirs->pairs[block][slot][k],
            {2 * k < out ? from[2 * k] : 0, number, 2 * k + 1 < out ? from[2 * k + 1] : 0, number});
    for (int k = static_cast<int>(threadIdx.x); k == 0 || 2 * k < in; k += threads) {
      Pair pair = load(&link.mine->pairs[block][slot][k]);
      for (unsigned tries = 1; pair.first_number != number || pair.second_number != number; ++tries) {
        if (tries % peer::tries_between == 0 && *gone != 0) return;
        pair = load(&link.mine->pairs[block][slot][k]);
      }
      if (2 * k < in) to[2 * k] = pair.first;
      if (2 * k + 1 < in) to[2 * k + 1] = pair.second;
    }
    __syncthreads();  // before the slot of the chunk before is written again
  }
  if (threadIdx.x == 0) link.chunks[block] = number;
}

__device__ inline void release(std::uint32_t* to, std::uint32_t number) {
  asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(to), "r"(number) : "memory");
}
__device__ inline std::uint32_t acquire(const std::uint32_t* from) {
  std::uint32_t number;
  asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(number) : "l"(from) : "memory");
  return number;
}

/// By all threads of a block: `bytes`, a multiple of a word, between memory of any alignment to words and a slot. `out`: to it.
template <bool out>
__device__ inline void copy_slot(std::conditional_t<out, const std::uint32_t, std::uint32_t>* other, uint4* slot,
                                 std::size_t bytes) {
  constexpr std::size_t unroll = 4;
  const std::size_t quads = reinterpret_cast<std::uintptr_t>(other) % sizeof(uint4) == 0 ? bytes / sizeof(uint4) : 0;
  for (std::size_t begin = threadIdx.x; begin < quads; begin += unroll * threads) {
    uint4 some[unroll];
#pragma unroll
    for (std::size_t k = 0; k < unroll; ++k) {
      const std::size_t i = begin + k * threads;
      if (i >= quads) break;
      if constexpr (out)
        some[k] = reinterpret_cast<const uint4*>(other)[i];
      else
        some[k] = __ldcg(slot + i);
    }
#pragma unroll
    for (std::size_t k = 0; k < unroll; ++k) {
      const std::size_t i = begin + k * threads;
      if (i >= quads) break;
      if constexpr (out)
        slot[i] = some[k];
      else
        reinterpret_cast<uint4*>(other)[i] = some[k];
    }
  }
  auto* const words = reinterpret_cast<std::uint32_t*>(slot);
  for (std::size_t i = quads * (sizeof(uint4) / word) + threadIdx.x; i < bytes / word; i += threads)
    if constexpr (out)
      words[i] = other[i];
    else
      other[i] = __ldcg(words + i);
}

/// The same of what is long: 16 bytes a store, and one number after a chunk.
__device__ inline void exchange_long_chunks(const Link& link, const volatile int* gone) {
  __shared__ bool left;
  const std::size_t block = blockIdx.x, chunk = link.chunk,
                    all = link.out_bytes > link.in_bytes ? link.out_bytes : link.in_bytes;
  std::uint32_t number = link.long_chunks[block];
  if (threadIdx.x == 0) left = false;
  __syncthreads();
  for (std::size_t begin = block * chunk; begin < all; begin += link.blocks * chunk) {
    number = next_chunk(number);
    const auto bytes = [&](std::size_t most) { return most < begin ? 0 : most - begin < chunk ? most - begin : chunk; };
    const int slot = static_cast<int>(number & 1);
    copy_slot<true>(link.out + begin / word, link.long_theirs->data[block][slot], bytes(link.out_bytes));
    __threadfence_system();
    __syncthreads();
    if (threadIdx.x == 0) {
      release(&link.long_theirs->arrived[block].number[slot], number);
      const std::uint32_t* const arrived = &link.long_mine->arrived[block].number[slot];
      for (unsigned tries = 1; acquire(arrived) != number; ++tries)
        if (tries % 16384 == 0 && *gone != 0) {
          left = true;
          break;
        }
    }
    __syncthreads();
    if (left) return;
    copy_slot<false>(link.in + begin / word, link.long_mine->data[block][slot], bytes(link.in_bytes));
    __syncthreads();  // before the number of the next chunk lets the other subdomain write to this slot again
  }
  if (threadIdx.x == 0) link.long_chunks[block] = number;
}

/// Block (b, l): block b of link l.
__global__ void __launch_bounds__(threads) exchange_links(Links links, const volatile int* gone) {
  const Link& link = links.of[blockIdx.y];
  if (blockIdx.x >= link.blocks) return;
  if (link.is_long)
    exchange_long_chunks(link, gone);
  else
    exchange_chunks(link, gone);
}

/// How other processes get at an arena.
struct Address {
  std::array<char, 40> boot{};  // of the host
  int process = 0;
  std::array<char, 16> bus{};
  bool has_handle = false;
  cudaIpcMemHandle_t handle{};
};

struct Free {
  void operator()(Desk* arena) const { (void)cudaFree(arena); }
};
struct Close {
  void operator()(void* opened) const { (void)cudaIpcCloseMemHandle(opened); }
};

class PeerCommunicator final : public GpuCommunicator {
 public:
  PeerCommunicator(Context& ctx, std::shared_ptr<Communicator> host, bool share_gpu)
      : GpuCommunicator(std::move(host)) {
    const auto subdomains = static_cast<std::size_t>(size());
    Address own;
    on_all(this->host(), [&] {
      gone_ = std::static_pointer_cast<int>(allocate_on_host(ctx, sizeof(int)));
      *gone_ = 0;
      int device = 0;
      STRATUM_CUDA_CHECK(cudaGetDevice(&device));
      STRATUM_CUDA_CHECK(cudaDeviceGetPCIBusId(own.bus.data(), static_cast<int>(own.bus.size()), device));
      if (subdomains > most_links + 1)
        throw ResourceError(message("peers are up to ", most_links + 1, " GPUs, not ", subdomains));
      void* arena = nullptr;
      STRATUM_CUDA_CHECK(cudaMalloc(&arena, subdomains * sizeof(Desk)));
      arena_.reset(static_cast<Desk*>(arena));
      STRATUM_CUDA_CHECK(cudaMemset(arena, 0, subdomains * sizeof(Desk)));
      STRATUM_CUDA_CHECK(cudaDeviceSynchronize());
      own.has_handle = cudaIpcGetMemHandle(&own.handle, arena) == cudaSuccess;
      if (!own.has_handle) (void)cudaGetLastError();
      own.process = static_cast<int>(getpid());
      std::ifstream("/proc/sys/kernel/random/boot_id").read(own.boot.data(), own.boot.size() - 1);
    });
    const auto all = this->host().gather_on_host(own);
    try {
      on_all(this->host(), [&] { open(all, share_gpu); });
    } catch (const ResourceError&) {
      opened_.clear();
      this->host().barrier();  // nobody's arena is freed while another subdomain has it open
      throw;
    }
    numbers_ = numbers_of_all();
  }
  ~PeerCommunicator() override {
    if (is_alone())
      *gone_ = 1;
    else
      wait_for_all();
    opened_.clear();
    if (!is_alone()) wait_for_all();
    if (is_alone()) (void)arena_.release();  // others may write to it yet
  }
  PeerCommunicator(const PeerCommunicator&) = delete;
  PeerCommunicator& operator=(const PeerCommunicator&) = delete;

  [[nodiscard]] std::string_view name() const override { return "peer"; }
  [[nodiscard]] const PeerNumbers* peer_numbers() const override { return &numbers_; }
  void abandon() override {
    *gone_ = 1;
    GpuCommunicator::abandon();
  }

 private:
  /// The arenas of the others.
  void open(const std::vector<Address>& all, bool share_gpu) {
    const auto me = static_cast<std::size_t>(rank());
    const Address& own = all[me];
    for (std::size_t r = 0; r < all.size(); ++r) {
      if (r == me) {
        arenas_.push_back(arena_.get());
        continue;
      }
      const Address& other = all[r];
      if (other.boot != own.boot) throw ResourceError(message("rank ", r, " is on another host"));
      if (other.process == own.process) throw ResourceError(message("rank ", r, " is a thread of the same process"));
      if (!share_gpu && other.bus == own.bus) throw ResourceError(message("rank ", r, " is on the same GPU"));
      if (!other.has_handle) throw ResourceError(message("rank ", r, " cannot show its GPU's memory"));
      void* arena = nullptr;
      STRATUM_CUDA_CHECK(cudaIpcOpenMemHandle(&arena, other.handle, cudaIpcMemLazyEnablePeerAccess));
      opened_.emplace_back(arena);
      arenas_.push_back(static_cast<Desk*>(arena));
    }
  }
  void wait_for_all() {
    (void)cudaDeviceSynchronize();
    try {
      host().barrier();
    } catch (const std::exception&) {
      fail();
    }
  }

  /// With another subdomain; `theirs`: the box there in which it finds what this one sends.
  [[nodiscard]] Link link(int other, Box mine, Box theirs) const {
    Desk& desk = arena_.get()[other];
    Link link;
    Desk& there = arenas_[static_cast<std::size_t>(other)][rank()];
    link.theirs = &there.box[theirs];
    link.mine = &desk.box[mine];
    link.chunks = desk.chunks[mine];
    link.long_theirs = &there.long_box[theirs];
    link.long_mine = &desk.long_box[mine];
    link.long_chunks = desk.long_chunks[mine];
    return link;
  }
  [[nodiscard]] PeerNumbers numbers_of_all() const {
    PeerNumbers numbers{};
    numbers.rank = rank();
    numbers.size = size();
    numbers.gone = gone_.get();
    for (int other = 0; other < size(); ++other) {
      if (other == rank()) continue;
      const Link there = link(other, gathered, gathered);
      PeerNumbers::With& with = numbers.with[other];
      for (int slot = 0; slot < 2; ++slot) {
        with.theirs[slot] = there.theirs->pairs[0][slot];
        with.mine[slot] = there.mine->pairs[0][slot];
      }
      with.chunks = there.chunks;
    }
    return numbers;
  }
  static void send(Link& link, const void* from, std::size_t bytes) {
    link.out = static_cast<const std::uint32_t*>(from);
    link.out_bytes = from == nullptr ? 0 : checked(from, bytes);
  }
  static void receive(Link& link, void* to, std::size_t bytes) {
    link.in = static_cast<std::uint32_t*>(to);
    link.in_bytes = to == nullptr ? 0 : checked(to, bytes);
  }
  static std::size_t checked(const void* address, std::size_t bytes) {
    expects(bytes % word == 0 && reinterpret_cast<std::uintptr_t>(address) % word == 0, "GPUs exchange multiples of ",
            word, " bytes at addresses that are, not ", bytes, " at ", address);
    return bytes;
  }

  /// `most_links`: of the subdomain with the most of them. By this and the link's own bytes alone, which both its subdomains
  /// know.
  static void cut(Link& link, std::size_t most_links) {
    const std::size_t all = std::max(link.out_bytes, link.in_bytes);
    const auto into = [&](std::size_t of_one, std::size_t of_all, std::size_t least, std::size_t longest) {
      const std::size_t most = std::max<std::size_t>(1, std::min(of_one, of_all / most_links));
      const std::size_t share = (all + most - 1) / most;
      link.chunk = std::min((share + least - 1) / least * least, longest);
      link.blocks = all == 0 ? 0 : static_cast<unsigned>(std::min((all + link.chunk - 1) / link.chunk, most));
    };
    link.is_long = all >= long_from;
    // So few that even a small GPU holds the blocks of all links: they wait for each other.
    if (link.is_long)
      into(most_long_blocks, most_long_blocks, least_long_chunk, most_long_chunk);
    else
      into(most_blocks, 2 * most_blocks, least_chunk, most_chunk);
  }

  void run(cudaStream_t stream, Links& links, std::size_t count, std::size_t most_links) {
    unsigned blocks = 0;
    for (Link& link : std::span(links.of).first(count)) {
      cut(link, most_links);
      blocks = std::max(blocks, link.blocks);
    }
    if (blocks == 0) return;
    exchange_links<<<dim3(blocks, static_cast<unsigned>(count)), threads, 0, stream>>>(links, gone_.get());
    STRATUM_CUDA_CHECK(cudaGetLastError());
  }

  void exchange_on(cudaStream_t stream, std::span<const Rows> rows) override {
    for (const Rows& one : rows) {
      Links links;
      std::size_t count = 0;
      const auto add = [&](int other, Box mine, Box theirs) -> Link& {
        return links.of[count++] = link(other, mine, theirs);
      };
      if (one.to_below != nullptr || one.from_below != nullptr) {
        Link& below = add(one.below, from_below, from_above);
        send(below, one.to_below, one.bytes.to_below);
        receive(below, one.from_below, one.bytes.from_below);
      }
      if (one.to_above != nullptr || one.from_above != nullptr) {
        Link& above = add(one.above, from_above, from_below);
        send(above, one.to_above, one.bytes.to_above);
        receive(above, one.from_above, one.bytes.from_above);
      }
      // The first of three subdomains has one neighbour, the second has two.
      run(stream, links, count, size() == 2 ? count : 2);
    }
  }

  void do_gather(Context& ctx, const void* mine, void* all, std::span<const std::size_t> counts,
                 std::span<const std::size_t> offsets) override {
    auto* const to = static_cast<std::byte*>(all);
    const auto own = static_cast<std::size_t>(rank());
    if (to + offsets[own] != mine) copy_bytes(ctx, mine, to + offsets[own], counts[own]);
    Links links;
    // The subdomain after this one first, so that not all send to the same one.
    for (std::size_t k = 1; k < counts.size(); ++k) {
      const std::size_t other = (own + k) % counts.size();
      Link& added = links.of[k - 1] = link(static_cast<int>(other), gathered, gathered);
      send(added, mine, counts[own]);
      receive(added, to + offsets[other], counts[other]);
    }
    const std::size_t others = counts.size() - 1;
    run(stream_of(ctx), links, others, others);
  }

  std::shared_ptr<int> gone_;  // kernels read it
  std::unique_ptr<Desk, Free> arena_;
  std::vector<Desk*> arenas_;
  std::vector<std::unique_ptr<void, Close>> opened_;
  PeerNumbers numbers_{};
};

}  // namespace

std::shared_ptr<Communicator> peer_communicator(Context& ctx, std::shared_ptr<Communicator> host, bool share_gpu) {
  expects(ctx.on_gpu(), "peers are contexts on GPUs");
  return std::make_shared<PeerCommunicator>(ctx, std::move(host), share_gpu);
}

#else

std::shared_ptr<Communicator> peer_communicator(Context& /*ctx*/, std::shared_ptr<Communicator> /*host*/,
                                                bool /*share_gpu*/) {
  throw ResourceError("this build has no CUDA backend, and peers are GPUs");
}

#endif

}  // namespace stratum
