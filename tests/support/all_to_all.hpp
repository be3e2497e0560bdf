#pragma once

// Numbers for every rank from every rank, different many, and what is to arrive.

#include <cstddef>
#include <vector>

#include <stratum/core/comm/communicator.hpp>

namespace test {

struct AllToAll {
  std::vector<std::size_t> to, from;  // bytes
  std::vector<int> out, expected;

  AllToAll(int rank, int size) {
    for (int other = 0; other < size; ++other) {
      const auto count = static_cast<std::size_t>(other * rank + 1);
      to.push_back(count * sizeof(int));
      from.push_back(count * sizeof(int));
      out.insert(out.end(), count, 10 * rank + other);
      expected.insert(expected.end(), count, 10 * other + rank);
    }
  }
  [[nodiscard]] std::vector<int> sent(stratum::Communicator& comm) const {
    std::vector<int> in(expected.size());
    comm.all_to_all_on_host(out.data(), to, in.data(), from);
    return in;
  }
};

}  // namespace test
