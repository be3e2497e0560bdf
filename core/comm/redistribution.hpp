#pragma once

// Redistribution: moves numbers of the nodes of an nx x ny grid from ranks that hold any of them, in any order, to ranks that
// hold whole rows, and back:
//
//     subdomain((j - first + halo) nx + i) = own_k     where some rank's number k belongs to node j nx + i
//
// Rank r receives rows cut[r] .. cut[r + 1] - 1 and `halo` rows of other ranks on either side, which are zero at the boundary
// of the domain; on a grid that is periodic in y they wrap around. Arrays are on the host. All ranks make the same calls. A
// call is one exchange of every rank with every other, and none if all ranks have the numbers of their own rows already.

#include <cstddef>
#include <span>
#include <vector>

#include <stratum/core/comm/communicator.hpp>

namespace stratum {

class Redistribution {
 public:
  /// `node`: j nx + i of every number of this subdomain. Throws UsageError on all subdomains unless every node is one
  /// subdomain's, once.
  Redistribution(Communicator& comm, std::span<const int> node, int nx, std::vector<int> cut, int halo, bool periodic);

  void to_subdomain(Communicator& comm, std::span<const double> own, std::span<double> subdomain) const;
  void to_own(Communicator& comm, std::span<const double> subdomain, std::span<double> own) const;

  /// Numbers of this subdomain, and of its subdomain with the lines beside it.
  [[nodiscard]] std::size_t own_size() const { return own_size_; }
  [[nodiscard]] std::size_t subdomain_size() const { return subdomain_size_; }
  [[nodiscard]] const std::vector<int>& cut() const { return cut_; }
  /// Own numbers are the subdomain's, in order, on all subdomains.
  [[nodiscard]] bool in_place() const { return in_place_; }

 private:
  /// From numbers `out` of one array to numbers `in` of another, by rank one after another.
  struct Way {
    std::vector<int> out, in;
    std::vector<std::size_t> to, from;  // how many by rank
    void go(Communicator& comm, std::span<const double> source, std::span<double> target) const;
  };
  std::vector<int> cut_;
  std::size_t own_size_ = 0, subdomain_size_ = 0;
  Way there_, back_;
  bool in_place_ = false;
};

}  // namespace stratum
