#pragma once

// GaugeField: an SU(3) matrix U_mu(x) on every link of a lattice, on the host and in double, without phases; made, measured and
// transformed here, narrowed and packed in dirac.hpp.
//
//     unit        U = 1
//     random      U uniform in SU(3) (Haar)
//     near unit   U = the projection of 1 + sigma X on SU(3), X with independent normal real and imaginary parts
//
// A projection is Gram-Schmidt on the first two rows; the third is conj(row 1 x row 2). Random numbers belong to links, not to
// the order in which they are drawn: the same seed gives the same field on any machine.
// Plaquette: the mean of Re tr U_mu(x) U_nu(x+mu) U_mu(x+nu)^H U_nu(x)^H / 3 over all sites and mu < nu.

#include <array>
#include <complex>
#include <cstdint>
#include <vector>

#include "lattice.hpp"

namespace stratum::staggered {

using Complex = std::complex<double>;

/// By rows.
struct Matrix3 {
  std::array<Complex, 9> a{};
  [[nodiscard]] static Matrix3 unit() { return {{1, 0, 0, 0, 1, 0, 0, 0, 1}}; }
  [[nodiscard]] Complex& operator()(int i, int j) { return a[static_cast<std::size_t>(3 * i + j)]; }
  [[nodiscard]] const Complex& operator()(int i, int j) const { return a[static_cast<std::size_t>(3 * i + j)]; }
};

[[nodiscard]] Matrix3 operator*(const Matrix3& a, const Matrix3& b);
[[nodiscard]] Matrix3 adjoint(const Matrix3& a);
[[nodiscard]] Complex trace(const Matrix3& a);
/// The third row from the first two.
void complete(Matrix3& u);
/// Onto SU(3), by rows.
[[nodiscard]] Matrix3 projected(const Matrix3& a);
/// max |U U^H - 1| and |det U - 1|
[[nodiscard]] double distance_from_su3(const Matrix3& u);

/// Normal and uniform numbers of one link or site, the same wherever they are drawn.
class SiteRandom {
 public:
  SiteRandom(std::uint64_t seed, std::uint64_t index);
  /// In (0, 1).
  [[nodiscard]] double uniform();
  [[nodiscard]] double normal();

 private:
  std::uint64_t state_;
  double spare_ = 0;
  bool has_spare_ = false;
};

struct GaugeField {
  Lattice lattice;
  std::vector<Matrix3> links;  // mu of site at 4 site + mu

  [[nodiscard]] const Matrix3& operator()(std::int64_t site, int mu) const {
    return links[static_cast<std::size_t>(4 * site + mu)];
  }
  [[nodiscard]] Matrix3& operator()(std::int64_t site, int mu) {
    return links[static_cast<std::size_t>(4 * site + mu)];
  }
  [[nodiscard]] static std::int64_t bytes(const Lattice& lattice) {
    return 4 * lattice.volume() * static_cast<std::int64_t>(sizeof(Matrix3));
  }

  /// All throw UsageError for a lattice that is none.
  [[nodiscard]] static GaugeField unit(const Lattice& lattice);
  [[nodiscard]] static GaugeField random(const Lattice& lattice, std::uint64_t seed);
  [[nodiscard]] static GaugeField near_unit(const Lattice& lattice, double sigma, std::uint64_t seed);

  /// Throws UsageError with the first link that is further than this from SU(3).
  void expect_su3(double tolerance) const;
};

[[nodiscard]] double plaquette(const GaugeField& u);
/// The mean of Re tr U / 3.
[[nodiscard]] double link_trace(const GaugeField& u);
/// A random element of SU(3) for every site, and U_mu(x) <- g(x) U_mu(x) g(x + mu)^H.
[[nodiscard]] std::vector<Matrix3> random_transformation(const Lattice& lattice, std::uint64_t seed);
void transform(GaugeField& u, const std::vector<Matrix3>& g);

}  // namespace stratum::staggered
