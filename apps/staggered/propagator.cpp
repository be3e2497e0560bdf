#include "propagator.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include <stratum/core/field/blas.hpp>

namespace stratum::staggered {

std::vector<double> free_propagator(const Lattice& lattice, double mass) {
  lattice.validate();
  const auto extents = lattice.extents();
  const auto momentum = [&](std::size_t mu, int n) {
    return 2 * std::numbers::pi * (n + (mu == 3 ? 0.5 : 0.0)) / extents[mu];
  };
  std::vector<Complex> f(static_cast<std::size_t>(lattice.volume()));
  for (std::int64_t site = 0; site < lattice.volume(); ++site) {
    const auto k = lattice.position(site);
    double sum = mass * mass;
    for (std::size_t mu = 0; mu < 4; ++mu) sum += 4 * std::pow(std::sin(momentum(mu, k[mu])), 2);
    f[static_cast<std::size_t>(site)] = 1 / (sum * static_cast<double>(lattice.volume()));
  }
  // One direction after the other.
  std::int64_t stride = 1;
  for (std::size_t mu = 0; mu < 4; ++mu) {
    const int n = extents[mu];
    std::vector<Complex> phase(static_cast<std::size_t>(n) * static_cast<std::size_t>(n)),
        line(static_cast<std::size_t>(n));
    for (int x = 0; x < n; ++x)
      for (int k = 0; k < n; ++k) phase[static_cast<std::size_t>(x * n + k)] = std::polar(1.0, momentum(mu, k) * x);
    for (std::int64_t first = 0; first < lattice.volume(); ++first) {
      if (first / stride % n != 0) continue;
      const auto at = [&](int k) -> Complex& { return f[static_cast<std::size_t>(first + k * stride)]; };
      for (int k = 0; k < n; ++k) line[static_cast<std::size_t>(k)] = at(k);
      for (int x = 0; x < n; ++x) {
        Complex sum = 0;
        for (int k = 0; k < n; ++k)
          sum += phase[static_cast<std::size_t>(x * n + k)] * line[static_cast<std::size_t>(k)];
        at(x) = sum;
      }
    }
    stride *= n;
  }
  std::vector<double> result;
  result.reserve(f.size());
  for (const auto& value : f) result.push_back(value.real());
  return result;
}

void add_pion(Context& ctx, const StaggeredOperator<double>& a, FieldView<const double> y,
              std::vector<double>& correlator) {
  const Lattice& lattice = a.links()->lattice();
  expects(correlator.size() == static_cast<std::size_t>(lattice.nt), "a correlator has nt = ", lattice.nt,
          " numbers, not ", correlator.size());
  Field<double> odd(ctx, a.shape());
  a.hop(ctx, Parity::odd, y, odd.view());
  std::vector<double> host(static_cast<std::size_t>(a.shape().nx));
  const auto add = [&](FieldView<const double> q, double factor) {
    copy_to_host(ctx, q, host.data());
    const int of_one_time = lattice.half() / lattice.nt;
    for (std::size_t k = 0; k < host.size(); ++k) {
      const auto t = k % static_cast<std::size_t>(lattice.half()) / static_cast<std::size_t>(of_one_time);
      correlator[t] += factor * host[k] * host[k];
    }
  };
  add(y, a.mass() * a.mass());
  add(odd.cview(), 1);
}

std::vector<double> joined_correlator(Context& ctx, const LatticeSubdomain& subdomain,
                                      const std::vector<double>& correlator) {
  if (ctx.communicator() == nullptr) return correlator;
  const auto own = static_cast<std::size_t>(subdomain.lattice().nt),
             along_z = static_cast<std::size_t>(subdomain.partition.z);
  const auto all = ctx.communicator()->join_on_host(correlator);
  std::vector<double> whole(static_cast<std::size_t>(subdomain.whole.nt));
  for (std::size_t k = 0; k < all.size(); ++k) whole[k / (own * along_z) * own + k % own] += all[k];
  return whole;
}

std::vector<double> effective_masses(const std::vector<double>& correlator) {
  const int nt = static_cast<int>(correlator.size());
  std::vector<double> masses;
  for (int t = 0; t + 1 < nt / 2; ++t) {
    const double wanted = correlator[static_cast<std::size_t>(t)] / correlator[static_cast<std::size_t>(t) + 1];
    const double here = 0.5 * nt - t, next = here - 1;
    const auto ratio = [&](double m) {
      return std::exp(m) * (1 + std::exp(-2 * m * here)) / (1 + std::exp(-2 * m * next));
    };
    double low = 0, high = 20;
    if (!(wanted > 1 && wanted < ratio(high))) {
      masses.push_back(std::numeric_limits<double>::quiet_NaN());
      continue;
    }
    for (int k = 0; k < 100; ++k) {
      const double middle = 0.5 * (low + high);
      (ratio(middle) < wanted ? low : high) = middle;
    }
    masses.push_back(low);
  }
  return masses;
}

double pion_mass_squared(const std::vector<double>& correlator) {
  const double p = 2 * std::numbers::pi / static_cast<double>(correlator.size());
  double at_zero = 0, at_p = 0;
  for (std::size_t t = 0; t < correlator.size(); ++t) {
    at_zero += correlator[t];
    at_p += correlator[t] * std::cos(p * static_cast<double>(t));
  }
  return 4 * std::pow(std::sin(p / 2), 2) / (at_zero / at_p - 1);
}

std::vector<double> source(const Lattice& lattice, Source kind, int colour, std::uint64_t seed) {
  const auto half = static_cast<std::size_t>(lattice.half()), of_one_time = half / static_cast<std::size_t>(lattice.nt);
  std::vector<double> b(6 * half);
  const std::size_t plane = 2 * static_cast<std::size_t>(colour) * half;
  if (kind == Source::point) b[plane] = 1;
  if (kind == Source::wall) std::fill_n(b.begin() + static_cast<std::ptrdiff_t>(plane), of_one_time, 1.0);
  if (kind == Source::random)
    for (std::size_t s = 0; s < half; ++s) {
      SiteRandom random(seed, s);
      for (std::size_t k = 0; k < 6; ++k) b[k * half + s] = random.normal();
    }
  return b;
}

std::vector<double> of_subdomain(const LatticeSubdomain& subdomain, const std::vector<double>& whole) {
  const auto own = static_cast<std::size_t>(subdomain.lattice().half()),
             half = static_cast<std::size_t>(subdomain.whole.half());
  std::vector<double> part(6 * own);
  for (std::size_t s = 0; s < own; ++s) {
    const auto from = static_cast<std::size_t>(subdomain.box().half_site(subdomain.whole, static_cast<int>(s)));
    for (std::size_t k = 0; k < 6; ++k) part[k * own + s] = whole[k * half + from];
  }
  return part;
}

}  // namespace stratum::staggered
