#pragma once

// Communicator between GPUs of one host that can access each other's memory. A rank stores rows and numbers directly into the
// memory of the receiving GPU, in the order of the stream, so that a whole cycle can be recorded.
//
// Protocol. Every rank has an arena of 18 MiB for each other rank, with three exchange buffers per pair: rows from below, rows
// from above, gathered numbers. A buffer has two slots for each of 32 thread blocks. A block sends a chunk to the block of the
// same number on the other rank, waits for the chunk that it receives in turn, and continues with the other slot; hence no slot
// is overwritten before it has been read. A store of 8 bytes carries 4 bytes of data and a 4-byte chunk counter, so that
// neither a flag nor a fence has to follow. From 256 KiB on, 64 blocks store 16 bytes of data at a time and one counter after a
// chunk, which is faster for long messages (two H100, microseconds per exchange: 384 KB 6.9 instead of 8.2, 2 MB 11.5 instead
// of 30). Counters live on the device and continue when a recording is replayed. A kernel that ends a sum may gather the
// numbers of all ranks by itself (core/comm/peer_numbers.hpp).
//
// All ranks record and replay in the same order. Recordings must be destroyed before the communicator, whose destructor waits
// for all ranks. Data of the host go through the communicator that is given besides. Throws UsageError for rows and numbers
// whose size or address is not a multiple of 4 bytes.
//
// Source: the 8-byte words of data and counter are those of NVIDIA's NCCL, protocol LL.

#include <memory>

#include <stratum/core/comm/communicator.hpp>

namespace stratum {

/// All subdomains of `host`, a process each, call it on their GPUs; with `share_gpu` these may be one, where each waits for its
/// turn.
/// Throws ResourceError on all of them where GPUs cannot see each other's memory, on several hosts, with two subdomains in a
/// process (the one that waits would hold up the calls of the other) or more than 17, and in a build without CUDA.
[[nodiscard]] std::shared_ptr<Communicator> peer_communicator(Context& ctx, std::shared_ptr<Communicator> host,
                                                              bool share_gpu = false);

}  // namespace stratum
