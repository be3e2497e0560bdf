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

/// The times of one piece of a lattice that is cut in t: an even number of them each, so that parities stay.
struct TimeStrip {
  Lattice whole;
  int rank = 0, pieces = 1;

  /// That of a piece of a Context. Throws UsageError where nt is no multiple of twice the pieces.
  [[nodiscard]] static TimeStrip of(const Context& ctx, const Lattice& whole) {
    whole.validate();
    const TimeStrip strip{whole, ctx.communicator() == nullptr ? 0 : ctx.communicator()->rank(), ctx.pieces()};
    expects(whole.nt % (2 * strip.pieces) == 0, "nt = ", whole.nt, " cannot be cut into ", strip.pieces,
            " pieces of an even number of times each");
    return strip;
  }
  [[nodiscard]] Lattice lattice() const { return {whole.nx, whole.ny, whole.nz, whole.nt / pieces}; }
  [[nodiscard]] bool is_first() const { return rank == 0; }
  [[nodiscard]] bool is_last() const { return rank == pieces - 1; }
  /// Sites of one parity and one time.
  [[nodiscard]] int slab() const { return whole.half() / whole.nt; }
  /// Of its first site among those of a parity of the whole lattice; and of those of the time before.
  [[nodiscard]] int first_half_site() const { return rank * lattice().half(); }
  [[nodiscard]] int half_site_below() const { return (is_first() ? whole.half() : first_half_site()) - slab(); }
};

}  // namespace stratum::staggered
