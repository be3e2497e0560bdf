#pragma once

// Device function by which one thread block gathers a number from every rank of a peer communicator (core/comm/peer.hpp), so
// that the kernel that sums the numbers of this rank also ends the sum over all ranks. It uses the buffers of gathered numbers
// and their counters, as Communicator::gather does: the two may follow each other in any order that is the same on all ranks.
// It orders no other memory access between the ranks. For CUDA sources only.

#include <cstdint>

#include <stratum/core/config.hpp>

namespace stratum {

namespace peer {

/// Two words and, after each, the number of its chunk, which arrive together.
struct alignas(16) Pair {
  std::uint32_t first, first_number, second, second_number;
};

/// Of the chunk after this one: not the zeros of the beginning, and the slots in turn.
__device__ inline std::uint32_t next_chunk(std::uint32_t number) { return number + 1 == 0 ? 2 : number + 1; }

/// How often who waits for a chunk looks before it asks whether the others have gone.
constexpr unsigned tries_between = 65536;

__device__ inline void store(Pair* to, Pair pair) {
  asm volatile("st.volatile.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(pair.first), "r"(pair.first_number),
               "r"(pair.second), "r"(pair.second_number)
               : "memory");
}
__device__ inline Pair load(const Pair* from) {
  Pair pair;
  asm volatile("ld.volatile.global.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(pair.first), "=r"(pair.first_number), "=r"(pair.second), "=r"(pair.second_number)
               : "l"(from)
               : "memory");
  return pair;
}
}  // namespace peer

struct PeerNumbers {
  static constexpr int most = 17;  // subdomains
  /// With another subdomain: the first pairs of both slots, there and here, and the count of chunks. Nothing with itself.
  struct With {
    peer::Pair* theirs[2];
    const peer::Pair* mine[2];
    std::uint32_t* chunks;
  };
  With with[most];
  int rank, size;
  const volatile int* gone;  // in memory of the host: not 0 where the others never come

  /// Called by all threads of one block, as many as subdomains or more, with this subdomain's number. `all`, in shared
  /// memory, has those of all by rank then.
  __device__ void gather(double own, double* all) const {
    const int other = static_cast<int>(threadIdx.x);
    if (other == rank) all[rank] = own;
    if (other < size && other != rank) {
      const With& there = with[other];
      const std::uint32_t number = peer::next_chunk(*there.chunks), slot = number & 1;
      const long long bits = __double_as_longlong(own);
      const auto low = static_cast<std::uint32_t>(bits), high = static_cast<std::uint32_t>(bits >> 32);
      peer::store(there.theirs[slot], {low, number, high, number});
      peer::Pair pair = peer::load(there.mine[slot]);
      for (unsigned tries = 1; pair.first_number != number || pair.second_number != number; ++tries) {
        if (tries % peer::tries_between == 0 && *gone != 0) break;
        pair = peer::load(there.mine[slot]);
      }
      all[other] = __hiloint2double(static_cast<int>(pair.second), static_cast<int>(pair.first));
      *there.chunks = number;
    }
    __syncthreads();
  }
};

}  // namespace stratum
