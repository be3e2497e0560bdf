#pragma once

// Lattice: nx x ny x nz x nt sites, periodic, all extents even, so that sites are even or odd by x + y + z + t and neighbours
// of even ones are odd. Lexicographic numbers run along x first, then y, z, t.
//
// Fields on the sites of one parity are flat vectors of planes, number k of site s at k * half() + s, where
//
//     s = x / 2 + (nx / 2) (y + ny (z + nz t)).
//
// Kernels run over i = x / 2 + (nx / 2) y in a row and j = z + nz t: neighbours along z and t are a constant apart.

#include <array>
#include <cstdint>
#include <optional>

#include <stratum/core/config.hpp>
#include <stratum/core/device/context.hpp>
#include <stratum/core/errors.hpp>

namespace stratum::staggered {

enum class Parity : std::uint8_t { even, odd };

[[nodiscard]] constexpr Parity other(Parity parity) { return parity == Parity::even ? Parity::odd : Parity::even; }

struct Lattice {
  int nx, ny, nz, nt;

  friend bool operator==(const Lattice&, const Lattice&) = default;

  [[nodiscard]] std::array<int, 4> extents() const { return {nx, ny, nz, nt}; }
  [[nodiscard]] std::int64_t volume() const { return std::int64_t{nx} * ny * nz * nt; }
  /// Sites of one parity.
  [[nodiscard]] int half() const { return static_cast<int>(volume() / 2); }
  [[nodiscard]] int row() const { return nx / 2 * ny; }
  [[nodiscard]] int rows() const { return nz * nt; }

  /// Throws UsageError for extents that are odd, below 2, or so many sites that 18 numbers each cannot be counted.
  void validate() const {
    const char* const names[] = {"nx", "ny", "nz", "nt"};
    std::int64_t sites = 1;
    constexpr std::int64_t most = (std::int64_t{1} << 31) / 9;
    for (int mu = 0; mu < 4; ++mu) {
      const int n = extents()[static_cast<std::size_t>(mu)];
      expects(n >= 2 && n % 2 == 0, names[mu], " must be even and 2 or more, not ", n,
              ": sites are even and odd in turn, around the lattice too");
      expects(n <= most / sites, "a lattice of ", nx, " x ", ny, " x ", nz, " x ", nt, " has more than ", most,
              " sites");
      sites *= n;
    }
  }

  [[nodiscard]] std::int64_t site(int x, int y, int z, int t) const {
    return x + std::int64_t{nx} * (y + std::int64_t{ny} * (z + std::int64_t{nz} * t));
  }
  [[nodiscard]] std::array<int, 4> position(std::int64_t site) const {
    return {static_cast<int>(site % nx), static_cast<int>(site / nx % ny),
            static_cast<int>(site / (std::int64_t{nx} * ny) % nz),
            static_cast<int>(site / (std::int64_t{nx} * ny * nz))};
  }
  /// The neighbour in direction mu, one step forward (+1) or backward (-1).
  [[nodiscard]] std::int64_t neighbour(std::int64_t of, int mu, int step) const {
    auto at = position(of);
    const auto m = static_cast<std::size_t>(mu);
    const int n = extents()[m];
    at[m] = (at[m] + step + n) % n;
    return site(at[0], at[1], at[2], at[3]);
  }
  [[nodiscard]] Parity parity(std::int64_t of) const {
    const auto [x, y, z, t] = position(of);
    return (x + y + z + t) % 2 == 0 ? Parity::even : Parity::odd;
  }
  /// Its number among the sites of its parity.
  [[nodiscard]] int half_site(std::int64_t of) const { return static_cast<int>(of / 2); }
  /// And back.
  [[nodiscard]] std::int64_t site(Parity p, int s) const {
    const std::int64_t first = 2 * std::int64_t{s};
    return parity(first) == p ? first : first + 1;
  }
};

/// How a lattice is cut, for the subdomains of a Context.
struct LatticePartition {
  int t = 0, z = 0;  // subdomains along them; 0: along t alone where that is possible, else as few as can be along z
  std::optional<bool> overlap;  // sites whose neighbours are here are worked on while faces travel; unset: they are
};

/// z .. z + nz - 1 and t .. t + nt - 1 of a lattice, with all x and y.
struct Box {
  int z, nz, t, nt;

  /// Of its site s of a parity, numbered as on a lattice of its own, among those of the whole.
  [[nodiscard]] int half_site(const Lattice& whole, int s) const {
    const int j = s / whole.row();
    return s % whole.row() + whole.row() * (z + j % nz + whole.nz * (t + j / nz));
  }
};

/// One subdomain of a lattice that is cut in t and z, with even extents, so that parities stay. Ranks run along z first.
/// Directions mu are 2 (z) and 3 (t).
struct LatticeSubdomain {
  Lattice whole;
  LatticePartition partition;  // as it was chosen
  int rank = 0;

  /// That of a subdomain of a Context. Throws UsageError where such subdomains have odd extents, or are more or fewer than
  /// those of the Context.
  [[nodiscard]] static LatticeSubdomain of(const Context& ctx, const Lattice& whole,
                                           const LatticePartition& partition = {}) {
    whole.validate();
    const int subdomains = ctx.subdomains();
    const auto even = [](int n, int parts) { return n % (2 * parts) == 0; };
    LatticeSubdomain subdomain{whole, partition, ctx.communicator() == nullptr ? 0 : ctx.communicator()->rank()};
    subdomain.partition.overlap = partition.overlap.value_or(true);
    if (partition.t == 0 && partition.z == 0) {
      int z = 1;
      while (z <= subdomains && !(subdomains % z == 0 && even(whole.nz, z) && even(whole.nt, subdomains / z))) ++z;
      expects(z <= subdomains, "nt = ", whole.nt, " and nz = ", whole.nz, " cannot be cut into ", subdomains,
              " subdomains with even nt and nz");
      subdomain.partition.t = subdomains / z;
      subdomain.partition.z = z;
      return subdomain;
    }
    expects(partition.t >= 1 && partition.z >= 1, "subdomains along t and z must be 1 or more, not ", partition.t,
            " and ", partition.z);
    expects(std::int64_t{partition.t} * partition.z == subdomains, partition.t, " x ", partition.z,
            " subdomains are not ", subdomains, ", as there are");
    expects(even(whole.nt, partition.t), "nt = ", whole.nt, " cannot be cut into ", partition.t,
            " subdomains with even nt");
    expects(even(whole.nz, partition.z), "nz = ", whole.nz, " cannot be cut into ", partition.z,
            " subdomains with even nz");
    return subdomain;
  }

  [[nodiscard]] Lattice lattice() const { return {whole.nx, whole.ny, whole.nz / partition.z, whole.nt / partition.t}; }
  [[nodiscard]] int subdomains(int mu) const { return mu == 3 ? partition.t : partition.z; }
  [[nodiscard]] bool is_distributed(int mu) const { return subdomains(mu) > 1; }
  [[nodiscard]] bool is_whole() const { return !is_distributed(2) && !is_distributed(3); }
  /// Among the subdomains along mu.
  [[nodiscard]] int place(int mu) const { return mu == 3 ? rank / partition.z : rank % partition.z; }
  [[nodiscard]] bool is_first(int mu) const { return place(mu) == 0; }
  [[nodiscard]] bool is_last(int mu) const { return place(mu) == subdomains(mu) - 1; }
  /// The rank of the next subdomain along mu, one step forward (+1) or backward (-1), around the ends.
  [[nodiscard]] int neighbour(int mu, int step) const {
    const int there = (place(mu) + step + subdomains(mu)) % subdomains(mu);
    return mu == 3 ? there * partition.z + place(2) : place(3) * partition.z + there;
  }

  [[nodiscard]] Box box() const {
    const Lattice own = lattice();
    return {place(2) * own.nz, own.nz, place(3) * own.nt, own.nt};
  }
  /// The sites before the first ones along mu, which belong to the subdomain below.
  [[nodiscard]] Box below(int mu) const {
    Box box = this->box();
    if (mu == 2)
      box.z = (box.z + whole.nz - 1) % whole.nz, box.nz = 1;
    else
      box.t = (box.t + whole.nt - 1) % whole.nt, box.nt = 1;
    return box;
  }
};

}  // namespace stratum::staggered
