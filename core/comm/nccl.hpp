#pragma once

// Communicator between GPUs by NCCL: rows and numbers go from GPU to GPU in the order of the stream. The host does not wait, so
// that a whole cycle can be recorded (core/device/recording.hpp).
//
// The library libnccl.so.2 is opened at run time; the environment variable STRATUM_NCCL may name another file. Data of the host
// go through the communicator that is given besides. All ranks record and replay in the same order. Recordings must be
// destroyed before the communicator.
//
// Source: NVIDIA, NCCL user guide, "Point-to-point communication" and "Using NCCL with CUDA graphs".

#include <memory>

#include <stratum/core/comm/communicator.hpp>

namespace stratum {

/// All subdomains of `host` call it, each on its own GPU. Throws ResourceError on all of them where the library is not found or
/// not to be used on one: not in a build without CUDA, nor with two subdomains on a GPU.
[[nodiscard]] std::shared_ptr<Communicator> nccl_communicator(Context& ctx, std::shared_ptr<Communicator> host);

}  // namespace stratum
