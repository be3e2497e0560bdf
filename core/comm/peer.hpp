#pragma once

// Subdomains of a grid on GPUs of one host that see each other's memory: rows and numbers are stored where the other GPU waits
// for them, in the order of the stream, so that a whole cycle can be recorded. Every subdomain has an arena of 18 MiB for each
// of them, in which any two have three boxes: rows from below, rows from above, numbers that are gathered. A box has two slots
// for each of 32 blocks of threads; a block sends a chunk to the other subdomain's block of its number, waits for the chunk
// that it sends in turn, and goes on with the other slot, so that none is written before it has been read. Each 4 bytes travel
// with 4 that count the chunks, in one store: no flag and no fence come after them. From 256 KiB on 64 blocks store 16 bytes of
// data at a time, and one number after a chunk of theirs, which is faster by then (two H100, microseconds an exchange of 384 KB
// 6.9 for 8.2, of 2 MB 11.5 for 30). The counts live on the device and go on when a recording is replayed. A kernel that ends a
// sum may gather the numbers of all subdomains by itself (core/comm/peer_numbers.hpp).
//
// Recording and replaying are calls that all subdomains make in the same order; recordings must be gone before the communicator
// is, which waits for all subdomains when it ends. What the host has to say goes by the communicator beside it. Rows and
// numbers have multiples of 4 bytes at addresses that are: UsageError.
//
// Source: the 8-byte words of data and flag are those of NVIDIA's NCCL, protocol LL.

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
