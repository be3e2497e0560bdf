#include "gauge_field.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

namespace stratum::staggered {

namespace {

// The operator of std::complex looks for infinities.
Complex product(const Complex& a, const Complex& b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

std::uint64_t mixed(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31);
}

constexpr std::uint64_t golden = 0x9e3779b97f4a7c15U;

template <class Make>
GaugeField made(const Lattice& lattice, const Make& make) {
  lattice.validate();
  GaugeField u{lattice, std::vector<Matrix3>(static_cast<std::size_t>(4 * lattice.volume()))};
#pragma omp parallel for schedule(static)
  for (std::size_t k = 0; k < u.links.size(); ++k) u.links[k] = make(k);
  return u;
}

Matrix3 normal_matrix(SiteRandom& random) {
  Matrix3 a;
  for (auto& entry : a.a) {
    const double re = random.normal();
    entry = {re, random.normal()};
  }
  return a;
}

}  // namespace

Matrix3 operator*(const Matrix3& a, const Matrix3& b) {
  Matrix3 c;
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j)
      c(i, j) = product(a(i, 0), b(0, j)) + product(a(i, 1), b(1, j)) + product(a(i, 2), b(2, j));
  return c;
}

Matrix3 adjoint(const Matrix3& a) {
  Matrix3 c;
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) c(i, j) = std::conj(a(j, i));
  return c;
}

Complex trace(const Matrix3& a) { return a(0, 0) + a(1, 1) + a(2, 2); }

void complete(Matrix3& u) {
  for (int j = 0; j < 3; ++j) {
    const int k = (j + 1) % 3, l = (j + 2) % 3;
    u(2, j) = std::conj(product(u(0, k), u(1, l)) - product(u(0, l), u(1, k)));
  }
}

Matrix3 projected(const Matrix3& a) {
  Matrix3 u = a;
  const auto normalise = [&u](int i) {
    const double norm = std::sqrt(std::norm(u(i, 0)) + std::norm(u(i, 1)) + std::norm(u(i, 2)));
    for (int j = 0; j < 3; ++j) u(i, j) /= norm;
  };
  normalise(0);
  // Twice is enough, where the rows are almost parallel.
  for (int pass = 0; pass < 2; ++pass) {
    Complex along = 0;
    for (int j = 0; j < 3; ++j) along += product(std::conj(u(0, j)), u(1, j));
    for (int j = 0; j < 3; ++j) u(1, j) -= product(along, u(0, j));
    normalise(1);
  }
  complete(u);
  return u;
}

double distance_from_su3(const Matrix3& u) {
  const Matrix3 square = u * adjoint(u);
  double distance = 0;
  const auto larger = [&distance](double apart) {
    distance = apart > distance || std::isnan(apart) ? apart : distance;
  };  // NaN stays
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) larger(std::abs(square(i, j) - (i == j ? 1.0 : 0.0)));
  Matrix3 completed = u;
  complete(completed);
  for (int j = 0; j < 3; ++j) larger(std::abs(completed(2, j) - u(2, j)));
  return std::isfinite(distance) ? distance : HUGE_VAL;
}

SiteRandom::SiteRandom(std::uint64_t seed, std::uint64_t index)
    : state_(mixed(mixed(seed + golden) + golden * index)) {}

double SiteRandom::uniform() {
  state_ += golden;
  return (static_cast<double>(mixed(state_) >> 11) + 0.5) * 0x1p-53;
}

double SiteRandom::normal() {
  has_spare_ = !has_spare_;
  if (!has_spare_) return spare_;
  const double radius = std::sqrt(-2 * std::log(uniform())), angle = 2 * std::numbers::pi * uniform();
  spare_ = radius * std::sin(angle);
  return radius * std::cos(angle);
}

GaugeField GaugeField::unit(const Lattice& lattice) {
  return made(lattice, [](std::size_t /*k*/) { return Matrix3::unit(); });
}

GaugeField GaugeField::random(const Lattice& lattice, std::uint64_t seed) {
  return made(lattice, [seed](std::size_t k) {
    SiteRandom random(seed, k);
    return projected(normal_matrix(random));
  });
}

GaugeField GaugeField::near_unit(const Lattice& lattice, double sigma, std::uint64_t seed) {
  expects(std::isfinite(sigma) && sigma >= 0, "sigma must be finite and not negative, not ", sigma);
  return made(lattice, [seed, sigma](std::size_t k) {
    SiteRandom random(seed, k);
    Matrix3 a = normal_matrix(random);
    for (auto& entry : a.a) entry *= sigma;
    for (int i = 0; i < 3; ++i) a(i, i) += 1;
    return projected(a);
  });
}

void GaugeField::expect_su3(double tolerance) const {
  for (std::size_t k = 0; k < links.size(); ++k) {
    const double distance = distance_from_su3(links[k]);
    if (distance <= tolerance) continue;
    const auto at = lattice.position(static_cast<std::int64_t>(k / 4));
    throw UsageError(message("the link in direction ", "xyzt"[k % 4], " of site (", at[0], ", ", at[1], ", ", at[2],
                             ", ", at[3], ") is ", distance, " away from SU(3); ", tolerance, " is allowed"));
  }
}

double plaquette(const GaugeField& u) {
  // By times, so that any number of threads gives the same bits.
  std::vector<double> sums(static_cast<std::size_t>(u.lattice.nt));
  const std::int64_t sites = u.lattice.volume() / u.lattice.nt;
#pragma omp parallel for schedule(static)
  for (std::size_t t = 0; t < sums.size(); ++t) {
    const std::int64_t first = static_cast<std::int64_t>(t) * sites;
    for (std::int64_t site = first; site < first + sites; ++site)
      for (int mu = 0; mu < 4; ++mu)
        for (int nu = mu + 1; nu < 4; ++nu) {
          const std::int64_t at_mu = u.lattice.neighbour(site, mu, 1), at_nu = u.lattice.neighbour(site, nu, 1);
          const Matrix3 there = u(site, mu) * u(at_mu, nu), here = u(site, nu) * u(at_nu, mu);
          for (std::size_t k = 0; k < 9; ++k)
            sums[t] += there.a[k].real() * here.a[k].real() + there.a[k].imag() * here.a[k].imag();
        }
  }
  return std::accumulate(sums.begin(), sums.end(), 0.0) / (18.0 * static_cast<double>(u.lattice.volume()));
}

double link_trace(const GaugeField& u) {
  double sum = 0;
  for (const auto& link : u.links) sum += trace(link).real();
  return sum / (3.0 * static_cast<double>(u.links.size()));
}

std::vector<Matrix3> random_transformation(const Lattice& lattice, std::uint64_t seed) {
  std::vector<Matrix3> g(static_cast<std::size_t>(lattice.volume()));
  for (std::size_t site = 0; site < g.size(); ++site) {
    SiteRandom random(seed, site);
    g[site] = projected(normal_matrix(random));
  }
  return g;
}

void transform(GaugeField& u, const std::vector<Matrix3>& g) {
  expects(static_cast<std::int64_t>(g.size()) == u.lattice.volume(), "a matrix a site: ", u.lattice.volume(), ", not ",
          g.size());
  for (std::int64_t site = 0; site < u.lattice.volume(); ++site)
    for (int mu = 0; mu < 4; ++mu)
      u(site, mu) = g[static_cast<std::size_t>(site)] * u(site, mu) *
                    adjoint(g[static_cast<std::size_t>(u.lattice.neighbour(site, mu, 1))]);
}

}  // namespace stratum::staggered
