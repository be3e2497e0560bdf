#pragma once

// Errors of one subdomain are reported to all, so that all throw the same error. Collective; on the host.

#include <string>

#include <stratum/core/comm/communicator.hpp>

namespace stratum {

/// The first subdomain with a fault, and what it is; an empty one where none has any. The same on all.
struct SubdomainFault {
  int rank = 0;
  std::string text;
};
[[nodiscard]] SubdomainFault first_fault(Communicator& comm, const std::string& mine);

/// Throws UsageError on all subdomains where one has a fault, with that of the first.
void refuse_on_all(Communicator& comm, const std::string& mine);

}  // namespace stratum
