#pragma once

// Redistribution: numbers of the nodes of a grid of nx x ny, of which every subdomain has some, in whatever order, brought to
// subdomains of whole lines, and back:
//
//     subdomain((j - first + halo) nx + i) = own_k     where k is some subdomain's number at node j nx + i
//
// Subdomain r has the lines cut[r] .. cut[r + 1] - 1, and `halo` lines of others on either side, zero where there
// are none; where the grid is periodic in y they go around its ends. Arrays are on the host. All subdomains make the same
// calls; each is one exchange of every subdomain with every other, but where all have what their subdomains hold already.

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
