#pragma once

// Subdomains of a grid on a GPU each, by NCCL: rows and numbers go from GPU to GPU in the order of the stream, so that nothing
// waits on the host and a whole cycle can be recorded (core/device/recording.hpp).
//
// NCCL's library, libnccl.so.2, is opened while the program runs; the environment's STRATUM_NCCL may name it. What the host has
// to say goes by the communicator beside it. Recording and replaying are calls that all subdomains make in the same order;
// recordings must be gone before the communicator is.
//
// Source: NVIDIA, NCCL user guide, "Point-to-point communication" and "Using NCCL with CUDA graphs".

#include <memory>

#include <stratum/core/comm/communicator.hpp>

namespace stratum {

/// All subdomains of `host` call it, each on its own GPU. Throws ResourceError on all of them where the library is not found or
/// not to be used on one: not in a build without CUDA, nor with two subdomains on a GPU.
[[nodiscard]] std::shared_ptr<Communicator> nccl_communicator(Context& ctx, std::shared_ptr<Communicator> host);

}  // namespace stratum
