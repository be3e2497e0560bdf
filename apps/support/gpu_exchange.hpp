#pragma once

// By what the GPUs of several subdomains exchange rows and numbers.

#include <memory>

#include <stratum/core/comm/nccl.hpp>
#include <stratum/core/comm/peer.hpp>
#include <stratum/core/errors.hpp>

namespace stratum::apps {

enum class GpuExchange { automatic, nccl, peer, host };

/// `host`: the communicator of the processes, which is what remains where `automatic` finds nothing better: peers on one host,
/// else NCCL.
[[nodiscard]] inline std::shared_ptr<Communicator> among_gpus(Context& ctx, const std::shared_ptr<Communicator>& host,
                                                              GpuExchange by = GpuExchange::automatic) {
  switch (by) {
    case GpuExchange::nccl: return nccl_communicator(ctx, host);
    case GpuExchange::peer: return peer_communicator(ctx, host, true);
    case GpuExchange::host: return host;
    case GpuExchange::automatic: break;
  }
  try {
    return peer_communicator(ctx, host);
  } catch (const ResourceError&) {  // several hosts, or not one GPU for each
  }
  try {
    return nccl_communicator(ctx, host);
  } catch (const ResourceError&) {
    return host;
  }
}

}  // namespace stratum::apps
