#include <stratum/core/comm/redistribution.hpp>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include <stratum/core/comm/faults.hpp>
#include <stratum/core/errors.hpp>

namespace stratum {

namespace {

/// Bytes of so many.
template <class T>
std::vector<std::size_t> bytes_of(const std::vector<std::size_t>& counts) {
  std::vector<std::size_t> bytes;
  for (const std::size_t count : counts) bytes.push_back(count * sizeof(T));
  return bytes;
}

std::size_t sum_of(const std::vector<std::size_t>& counts) {
  std::size_t sum = 0;
  for (const std::size_t count : counts) sum += count;
  return sum;
}

}  // namespace

void Redistribution::Way::go(Communicator& comm, std::span<const double> source, std::span<double> target) const {
  std::vector<double> leaving, arriving(in.size());
  leaving.reserve(out.size());
  for (const int k : out) leaving.push_back(source[static_cast<std::size_t>(k)]);
  comm.all_to_all_on_host(leaving.data(), bytes_of<double>(to), arriving.data(), bytes_of<double>(from));
  for (std::size_t n = 0; n < in.size(); ++n) target[static_cast<std::size_t>(in[n])] = arriving[n];
}

Redistribution::Redistribution(Communicator& comm, std::span<const int> node, int nx, std::vector<int> cut, int halo,
                               bool periodic)
    : cut_(std::move(cut)), own_size_(node.size()) {
  const auto subdomains = static_cast<std::size_t>(comm.size()), rank = static_cast<std::size_t>(comm.rank());
  const int ny = cut_.back(), first = cut_[rank], lines = cut_[rank + 1] - first;
  subdomain_size_ = static_cast<std::size_t>(lines + 2 * halo) * static_cast<std::size_t>(nx);
  std::string fault;
  for (std::size_t k = 0; k < node.size() && fault.empty(); ++k)
    if (node[k] < 0 || node[k] / nx >= ny)
      fault =
          message("unknown ", k, " of rank ", rank, " is said to be node ", node[k], " of a grid of ", nx, " x ", ny);
  refuse_on_all(comm, fault);

  // Where every line goes to: the subdomain, and the line in it.
  struct Place {
    std::size_t subdomain;
    int line;
    bool own;
  };
  std::vector<std::vector<Place>> places(static_cast<std::size_t>(ny));
  for (std::size_t r = 0; r < subdomains; ++r)
    for (int line = -halo; line < cut_[r + 1] - cut_[r] + halo; ++line) {
      int j = cut_[r] + line;
      const bool own = line >= 0 && j < cut_[r + 1];
      if (periodic) j = (j % ny + ny) % ny;
      if (j >= 0 && j < ny) places[static_cast<std::size_t>(j)].push_back({r, line + halo, own});
    }
  // Own numbers for every subdomain, and their positions there.
  std::vector<std::vector<std::array<int, 2>>> leaving(subdomains);
  std::vector<std::vector<int>> core(subdomains);
  for (std::size_t k = 0; k < node.size(); ++k)
    for (const auto& place : places[static_cast<std::size_t>(node[k] / nx)]) {
      leaving[place.subdomain].push_back({static_cast<int>(k), place.line * nx + node[k] % nx});
      if (place.own) core[place.subdomain].push_back(static_cast<int>(k));
    }
  std::vector<int> positions;
  for (std::size_t r = 0; r < subdomains; ++r) {
    there_.to.push_back(leaving[r].size());
    back_.from.push_back(core[r].size());
    for (const auto& [k, position] : leaving[r]) {
      there_.out.push_back(k);
      positions.push_back(position);
    }
    back_.in.insert(back_.in.end(), core[r].begin(), core[r].end());
  }
  there_.from.resize(subdomains);
  const std::vector<std::size_t> one(subdomains, sizeof(std::size_t));
  comm.all_to_all_on_host(there_.to.data(), one, there_.from.data(), one);
  there_.in.resize(sum_of(there_.from));
  comm.all_to_all_on_host(positions.data(), bytes_of<int>(there_.to), there_.in.data(), bytes_of<int>(there_.from));

  std::vector<char> taken(subdomain_size_);
  std::size_t next = 0;
  for (std::size_t r = 0; r < subdomains; ++r) {
    std::size_t count = 0;
    for (std::size_t n = 0; n < there_.from[r]; ++n, ++next) {
      const int position = there_.in[next], line = position / nx - halo;
      char& here = taken[static_cast<std::size_t>(position)];
      if (here != 0 && fault.empty())
        fault = message("node (", position % nx, ", ", first + line, ") is said to be of two unknowns");
      here = 1;
      if (line < 0 || line >= lines) continue;
      back_.out.push_back(position);
      ++count;
    }
    back_.to.push_back(count);
  }
  for (int position = halo * nx; position < (halo + lines) * nx && fault.empty(); ++position)
    if (taken[static_cast<std::size_t>(position)] == 0)
      fault = message("no rank has the unknown of node (", position % nx, ", ", first + position / nx - halo, ")");
  refuse_on_all(comm, fault);

  bool in_place = halo == 0 && node.size() == subdomain_size_;
  for (std::size_t k = 0; k < node.size() && in_place; ++k) in_place = node[k] == first * nx + static_cast<int>(k);
  const auto all = comm.gather_on_host(in_place ? 1 : 0);
  in_place_ = std::find(all.begin(), all.end(), 0) == all.end();
}

void Redistribution::to_subdomain(Communicator& comm, std::span<const double> own, std::span<double> subdomain) const {
  if (in_place_) {
    std::copy(own.begin(), own.end(), subdomain.begin());
    return;
  }
  // What nobody gives: lines beyond the grid.
  if (there_.in.size() < subdomain_size_) std::fill(subdomain.begin(), subdomain.end(), 0.0);
  there_.go(comm, own, subdomain);
}

void Redistribution::to_own(Communicator& comm, std::span<const double> subdomain, std::span<double> own) const {
  if (in_place_)
    std::copy(subdomain.begin(), subdomain.end(), own.begin());
  else
    back_.go(comm, subdomain, own);
}

}  // namespace stratum
