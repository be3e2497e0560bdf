#include <stratum/core/comm/faults.hpp>

#include <algorithm>
#include <cstddef>

#include <stratum/core/errors.hpp>

namespace stratum {

SubdomainFault first_fault(Communicator& comm, const std::string& mine) {
  const auto lengths = comm.gather_on_host(mine.size());
  const std::size_t longest = *std::max_element(lengths.begin(), lengths.end());
  if (longest == 0) return {};
  std::string own = mine, all(longest * lengths.size(), ' ');
  own.resize(longest);
  comm.gather_on_host(own.data(), all.data(), longest);
  const auto first = static_cast<std::size_t>(
      std::find_if(lengths.begin(), lengths.end(), [](std::size_t length) { return length > 0; }) - lengths.begin());
  return {static_cast<int>(first), all.substr(first * longest, lengths[first])};
}

void refuse_on_all(Communicator& comm, const std::string& mine) {
  if (const auto fault = first_fault(comm, mine); !fault.text.empty()) throw UsageError(fault.text);
}

}  // namespace stratum
