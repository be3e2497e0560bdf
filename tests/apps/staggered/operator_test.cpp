#include <stratum/staggered/dirac.hpp>

#include <cmath>
#include <numbers>

#include <stratum/solvers/krylov/cg.hpp>
#include <stratum/solvers/mixed/reliable_cg.hpp>
#include <stratum/staggered/propagator.hpp>

#include "support/backends.hpp"

namespace {

using namespace stratum;
using namespace stratum::staggered;
using test::Values;

constexpr Lattice small{4, 6, 2, 8};  // no extent twice

/// D by the formula, site by site, from links without phases: x and y on all sites, three complex numbers each.
std::vector<Complex> naive_hop(const GaugeField& u, const std::vector<Complex>& x) {
  const Lattice& l = u.lattice;
  std::vector<Complex> y(x.size());
  for (std::int64_t site = 0; site < l.volume(); ++site)
    for (int mu = 0; mu < 4; ++mu) {
      const auto at = l.position(site);
      int odd = 0;
      for (std::size_t nu = 0; nu < static_cast<std::size_t>(mu); ++nu) odd += at[nu];
      const double eta = odd % 2 == 0 ? 1 : -1;
      const std::int64_t up = l.neighbour(site, mu, 1), down = l.neighbour(site, mu, -1);
      const double across_up = mu == 3 && at[3] == l.nt - 1 ? -1 : 1, across_down = mu == 3 && at[3] == 0 ? -1 : 1;
      for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) {
          auto& sum = y[static_cast<std::size_t>(3 * site + i)];
          sum += eta * across_up * u(site, mu)(i, j) * x[static_cast<std::size_t>(3 * up + j)];
          sum -= eta * across_down * std::conj(u(down, mu)(j, i)) * x[static_cast<std::size_t>(3 * down + j)];
        }
    }
  return y;
}

/// The sites of one parity as planes, and back.
Values planes(const Lattice& l, Parity parity, const std::vector<Complex>& x) {
  const auto half = static_cast<std::size_t>(l.half());
  Values v(6 * half);
  for (std::size_t s = 0; s < half; ++s)
    for (std::size_t c = 0; c < 3; ++c) {
      const Complex value = x[3 * static_cast<std::size_t>(l.site(parity, static_cast<int>(s))) + c];
      v[2 * c * half + s] = value.real();
      v[(2 * c + 1) * half + s] = value.imag();
    }
  return v;
}

std::vector<Complex> random_field(const Lattice& l, std::uint64_t seed) {
  std::vector<Complex> x(static_cast<std::size_t>(3 * l.volume()));
  SiteRandom random(seed, 0);
  for (auto& value : x) {
    const double re = random.normal();
    value = {re, random.normal()};
  }
  return x;
}

TEST(Lattice, NumbersSitesOfOneParityAndFindsThemAgain) {
  for (std::int64_t site = 0; site < small.volume(); ++site) {
    const auto [x, y, z, t] = small.position(site);
    EXPECT_EQ(small.site(x, y, z, t), site);
    EXPECT_EQ(small.half_site(site), x / 2 + 2 * (y + 6 * (z + 2 * t)));
    EXPECT_EQ(small.site(small.parity(site), small.half_site(site)), site);
    for (int mu = 0; mu < 4; ++mu) {
      EXPECT_NE(small.parity(small.neighbour(site, mu, 1)), small.parity(site));
      EXPECT_EQ(small.neighbour(small.neighbour(site, mu, 1), mu, -1), site);
    }
  }
}

TEST(Lattice, RefusesWhatHasNoEvenAndOddSites) {
  for (const Lattice& l : {Lattice{3, 4, 4, 4}, Lattice{4, 4, 4, 5}, Lattice{0, 4, 4, 4}, Lattice{4, -2, 4, 4},
                           Lattice{1 << 14, 1 << 14, 2, 2}})
    EXPECT_THROW(l.validate(), UsageError);
  EXPECT_NO_THROW((Lattice{2, 2, 2, 2}.validate()));
}

TEST(GaugeField, IsSu3AndTheSameWithTheSameSeed) {
  for (const auto& u : {GaugeField::random(small, 3), GaugeField::near_unit(small, 0.3, 3)}) {
    EXPECT_NO_THROW(u.expect_su3(1e-14));
    EXPECT_LT(plaquette(u), 0.5);
  }
  EXPECT_EQ(plaquette(GaugeField::random(small, 3)), plaquette(GaugeField::random(small, 3)));
  EXPECT_NE(plaquette(GaugeField::random(small, 3)), plaquette(GaugeField::random(small, 4)));
  EXPECT_NEAR(plaquette(GaugeField::random({8, 8, 8, 8}, 5)), 0, 5e-3);
  EXPECT_DOUBLE_EQ(plaquette(GaugeField::unit(small)), 1);
  EXPECT_DOUBLE_EQ(plaquette(GaugeField::near_unit(small, 0, 1)), 1);
  EXPECT_THROW((void)GaugeField::near_unit(small, -1, 1), UsageError);
  auto broken = GaugeField::unit(small);
  broken(7, 2)(1, 1) = 1.1;
  EXPECT_THROW(broken.expect_su3(1e-8), UsageError);
  for (const std::size_t entry : {0, 4, 8}) {
    auto no_number = GaugeField::unit(small);
    no_number(7, 2).a[entry] = std::nan("");
    EXPECT_THROW(no_number.expect_su3(1e-8), UsageError);
  }
}

TEST(GaugeField, PlaquettesDoNotSeeATransformation) {
  auto u = GaugeField::near_unit(small, 0.3, 6);
  const double before = plaquette(u), trace_before = link_trace(u);
  transform(u, random_transformation(small, 7));
  EXPECT_NEAR(plaquette(u), before, 1e-14);
  EXPECT_GT(std::abs(link_trace(u) - trace_before), 0.1);
}

class StaggeredTest : public test::OnEveryBackend {
 protected:
  template <class T>
  Field<T> vector(const Values& v) {
    return vector_from_host(ctx(), std::vector<T>(v.begin(), v.end()));
  }
  template <class T>
  Values host(const Field<T>& v) {
    return test::to_host(ctx(), v);
  }
};
INSTANTIATE_ON_EVERY_BACKEND(StaggeredTest);

TEST_P(StaggeredTest, DAgreesWithTheFormulaFromEveryNumberOfReals) {
  for (const Lattice& l : {small, Lattice{2, 2, 2, 2}, Lattice{2, 4, 6, 4}, Lattice{10, 2, 2, 6}}) {
    const auto u = GaugeField::random(l, 11);
    const auto x = random_field(l, 12), expected = naive_hop(u, x);
    for (const Reals reals : {Reals::r18, Reals::r12, Reals::r10}) {
      const StaggeredOperator<double> a(ctx(), u, 1, reals);
      const StaggeredOperator<float> f(ctx(), u, 1, reals);
      for (const Parity to : {Parity::even, Parity::odd}) {
        SCOPED_TRACE(testing::Message() << l.nx << " x " << l.ny << ", " << static_cast<int>(reals) << " reals");
        Field<double> y(ctx(), a.shape());
        Field<float> z(ctx(), a.shape());
        set(ctx(), std::nan(""), y.view());
        set(ctx(), std::nanf(""), z.view());
        a.hop(ctx(), to, vector<double>(planes(l, other(to), x)).cview(), y.view());
        f.hop(ctx(), to, vector<float>(planes(l, other(to), x)).cview(), z.view());
        EXPECT_LT(reference::relative_difference(host(y), planes(l, to, expected)), 1e-14);
        EXPECT_LT(reference::relative_difference(host(z), planes(l, to, expected)), 1e-6);
      }
    }
  }
}

TEST_P(StaggeredTest, SixteenBitsAgreeToTheirRounding) {
  for (const Lattice& l : {small, Lattice{2, 4, 6, 4}}) {
    const auto u = GaugeField::random(l, 13);
    const StaggeredOperator<double> a(ctx(), u, 0.3);
    const auto x = planes(l, Parity::even, random_field(l, 14)), b = planes(l, Parity::even, random_field(l, 15));
    Field<double> y(ctx(), a.shape()), r(ctx(), a.shape()), odd(ctx(), a.shape());
    const auto xd = vector<double>(x), bd = vector<double>(b);
    a.hop(ctx(), Parity::odd, xd.cview(), odd.view());
    a.apply(ctx(), xd.cview(), y.view());
    a.residual(ctx(), bd.cview(), xd.cview(), r.view());
    for (const Reals reals : {Reals::r18, Reals::r12}) {
      const StaggeredOperator<Short> s(ctx(), u, 0.3, reals);
      const auto xf = vector<float>(x), bf = vector<float>(b);
      Field<float> z(ctx(), s.shape());
      set(ctx(), std::nanf(""), z.view());
      s.hop(ctx(), Parity::odd, xf.cview(), z.view());
      EXPECT_LT(reference::relative_difference(host(z), host(odd)), 1e-4);
      EXPECT_GT(reference::relative_difference(host(z), host(odd)), 1e-6) << "this is not 16 bits";
      set(ctx(), std::nanf(""), z.view());
      s.apply(ctx(), xf.cview(), z.view());
      EXPECT_LT(reference::relative_difference(host(z), host(y)), 1e-4);
      s.residual(ctx(), bf.cview(), xf.cview(), z.view());
      EXPECT_LT(reference::relative_difference(host(z), host(r)), 1e-4);
    }
    EXPECT_THROW(PackedLinks<Short>(ctx(), u, Reals::r10), UsageError);
  }
}

/// A scale per site: sites may differ by orders of magnitude, zeros stay, and what is no number is not hidden.
TEST_P(StaggeredTest, SixteenBitsScaleEverySiteByItself) {
  const auto u = GaugeField::unit(small);
  const StaggeredOperator<Short> a(ctx(), u, 0.5);
  const StaggeredOperator<double> exact(ctx(), u, 0.5);
  for (const double size : {1e-12, 1e12}) {
    Values x(static_cast<std::size_t>(a.shape().nx));
    x[0] = 1;
    x[7] = size;
    Field<float> y(ctx(), a.shape());
    Field<double> expected(ctx(), a.shape());
    a.apply(ctx(), vector<float>(x).cview(), y.view());
    exact.apply(ctx(), vector<double>(x).cview(), expected.view());
    const auto here = host(y), there = host(expected);
    const double largest = std::max(1.0, size);
    for (std::size_t k = 0; k < here.size(); ++k) {
      EXPECT_NEAR(here[k], there[k], there[k] == 0 ? 0 : 1e-4 * largest);
    }
    x[0] = std::nan("");
    a.apply(ctx(), vector<float>(x).cview(), y.view());
    EXPECT_TRUE(std::isnan(norm2(ctx(), y.cview())));
  }
}

TEST_P(StaggeredTest, DIsAntiHermitian) {
  const auto u = GaugeField::random(small, 21);
  const StaggeredOperator<double> a(ctx(), u, 1);
  const auto even = vector<double>(planes(small, Parity::even, random_field(small, 22)));
  const auto odd = vector<double>(planes(small, Parity::odd, random_field(small, 23)));
  Field<double> to_odd(ctx(), a.shape()), to_even(ctx(), a.shape());
  a.hop(ctx(), Parity::odd, even.cview(), to_odd.view());
  a.hop(ctx(), Parity::even, odd.cview(), to_even.view());
  // The real parts of <odd, D even> and of <even, D odd>.
  const double size = norm2(ctx(), to_odd.cview()) * norm2(ctx(), odd.cview());
  EXPECT_NEAR(dot(ctx(), odd.cview(), to_odd.cview()), -dot(ctx(), even.cview(), to_even.cview()), 1e-14 * size);
}

TEST_P(StaggeredTest, AIsWhatItsPartsGive) {
  const auto u = GaugeField::near_unit(small, 0.3, 31);
  const StaggeredOperator<double> a(ctx(), u, 0.3);
  const auto x = vector<double>(planes(small, Parity::even, random_field(small, 32)));
  const auto b = vector<double>(planes(small, Parity::even, random_field(small, 33)));
  Field<double> odd(ctx(), a.shape()), expected(ctx(), a.shape()), y(ctx(), a.shape());
  a.hop(ctx(), Parity::odd, x.cview(), odd.view());
  a.hop(ctx(), Parity::even, odd.cview(), expected.view());
  copy_scaled<double, double>(ctx(), -1, expected.cview(), expected.view());
  axpy<double, double>(ctx(), 0.09, x.cview(), expected.view());
  set(ctx(), std::nan(""), y.view());
  a.apply(ctx(), x.cview(), y.view());
  EXPECT_LT(reference::relative_difference(host(y), host(expected)), 1e-14);
  set(ctx(), std::nan(""), y.view());
  a.residual(ctx(), b.cview(), x.cview(), y.view());
  axpy<double, double>(ctx(), 1, expected.cview(), y.view());
  EXPECT_LT(reference::relative_difference(host(y), host(b)), 1e-14);
  copy(ctx(), b.cview(), y.view());
  a.residual(ctx(), y.cview(), x.cview(), y.view());  // in place
  axpy<double, double>(ctx(), 1, expected.cview(), y.view());
  EXPECT_LT(reference::relative_difference(host(y), host(b)), 1e-14);
}

TEST_P(StaggeredTest, TheSpectrumIsBounded) {
  const auto x0 = vector<double>(planes(small, Parity::even, random_field(small, 42)));
  for (const auto& u : {GaugeField::unit(small), GaugeField::random(small, 41)}) {
    const StaggeredOperator<double> a(ctx(), u, 0.5);
    Field<double> x(ctx(), a.shape()), y(ctx(), a.shape());
    copy(ctx(), x0.cview(), x.view());
    for (int k = 0; k < 200; ++k) {
      const double norm = norm2(ctx(), x.cview());
      copy_scaled<double, double>(ctx(), 1 / norm, x.cview(), x.view());
      a.apply(ctx(), x.cview(), y.view());
      const double quotient = dot(ctx(), x.cview(), y.cview());
      EXPECT_GE(quotient, 0.25);
      EXPECT_LE(quotient, 64.25);
      std::swap(x, y);
    }
    EXPECT_GT(norm2(ctx(), x.cview()), 8);
  }
}

TEST_P(StaggeredTest, DIsCovariant) {
  auto u = GaugeField::near_unit(small, 0.3, 51);
  const auto g = random_transformation(small, 52);
  const auto x = random_field(small, 53);
  const auto rotated = [&](const std::vector<Complex>& v) {
    std::vector<Complex> w(v.size());
    for (std::size_t site = 0; site < g.size(); ++site)
      for (std::size_t i = 0; i < 3; ++i)
        for (std::size_t j = 0; j < 3; ++j) w[3 * site + i] += g[site].a[3 * i + j] * v[3 * site + j];
    return w;
  };
  const auto expected = rotated(naive_hop(u, x));
  transform(u, g);
  const StaggeredOperator<double> a(ctx(), u, 1);
  Field<double> y(ctx(), a.shape());
  a.hop(ctx(), Parity::odd, vector<double>(planes(small, Parity::even, rotated(x))).cview(), y.view());
  EXPECT_LT(reference::relative_difference(host(y), planes(small, Parity::odd, expected)), 1e-13);
}

TEST_P(StaggeredTest, LinksComeBackFromFewerReals) {
  const Lattice many{8, 8, 8, 8};
  const auto u = GaugeField::random(many, 61);
  EXPECT_LT(PackedLinks<float>(ctx(), u, Reals::r18).error(), 6e-8);
  EXPECT_LT(PackedLinks<float>(ctx(), u, Reals::r12).error(), 2e-7);
  EXPECT_LT(PackedLinks<float>(ctx(), u, Reals::r10).error(), 1e-6);
  EXPECT_LT(PackedLinks<double>(ctx(), u, Reals::r10).error(), 1e-14);
  EXPECT_LT(PackedLinks<Short>(ctx(), u, Reals::r18).error(), 2.2e-5);
  EXPECT_LT(PackedLinks<Short>(ctx(), u, Reals::r12).error(), 6e-5);
}

TEST_P(StaggeredTest, TenRealsRefuseTheUnitFieldAndTwelveTakeIt) {
  const auto u = GaugeField::unit(small);
  EXPECT_THROW(PackedLinks<float>(ctx(), u, Reals::r10), UsageError);
  EXPECT_THROW(PackedLinks<double>(ctx(), u, Reals::r10), UsageError);
  EXPECT_EQ(PackedLinks<float>(ctx(), u, Reals::r12).error(), 0);
}

TEST_P(StaggeredTest, RefusesMassesThatAreNotPositive) {
  const auto u = GaugeField::unit(small);
  for (const double mass : {0.0, -0.1, std::nan("")})
    EXPECT_THROW(StaggeredOperator<double>(ctx(), u, mass), UsageError);
}

TEST_P(StaggeredTest, TheUnitFieldsPropagatorIsTheOneByFourierTransform) {
  const Lattice l{4, 4, 6, 8};
  const double mass = 0.2;
  const auto exact = free_propagator(l, mass);
  const auto u = GaugeField::unit(l);
  const StaggeredOperator<double> a(ctx(), u, mass);
  for (const Reals reals : {Reals::r18, Reals::r12}) {
    const StaggeredOperator<float> f(ctx(), u, mass, reals);
    const auto b = vector<double>(source(l, Source::point, 1, 0));
    Field<double> x(ctx(), a.shape());
    StoppingParams stop;
    stop.rtol = 1e-13;
    stop.max_iterations = 1000;
    ReliableCg(ctx(), a.shape()).solve(ctx(), a, f, b.cview(), x.view(), stop);
    const Values y = host(x);
    const auto half = static_cast<std::size_t>(l.half());
    for (std::size_t k = 0; k < y.size(); ++k) {
      const auto site = static_cast<std::size_t>(l.site(Parity::even, static_cast<int>(k % half)));
      EXPECT_NEAR(y[k], k / half == 2 ? exact[site] : 0, 1e-11);
    }
  }
}

TEST_P(StaggeredTest, StepsInSixteenBitsReachTheTruth) {
  const Lattice l{6, 6, 6, 8};
  const double mass = 0.05;
  const auto u = GaugeField::near_unit(l, 0.3, 71);
  const StaggeredOperator<double> a(ctx(), u, mass);
  const auto b = vector<double>(source(l, Source::random, 0, 72));
  StoppingParams stop;
  stop.rtol = 1e-11;
  stop.max_iterations = 5000;
  const auto solved = [&](const LinearOperator<float>& inner) {
    Field<double> x(ctx(), a.shape()), r(ctx(), a.shape());
    const auto report = ReliableCg(ctx(), a.shape()).solve(ctx(), a, inner, b.cview(), x.view(), stop);
    EXPECT_EQ(report.status, Status::converged) << report.reason;
    a.residual(ctx(), b.cview(), x.cview(), r.view());
    EXPECT_LE(norm2(ctx(), r.cview()), 1e-11 * norm2(ctx(), b.cview()));
    return report.iterations;
  };
  const int in_float = solved(StaggeredOperator<float>(ctx(), u, mass));
  EXPECT_LE(solved(StaggeredOperator<Short>(ctx(), u, mass)), 1.2 * in_float);
  EXPECT_LE(solved(StaggeredOperator<Short>(ctx(), u, mass, Reals::r12)), 1.2 * in_float);
}

TEST(Pion, TheEffectiveMassOfAHyperbolicCosineIsItsOwn) {
  std::vector<double> c;
  for (int t = 0; t < 16; ++t) c.push_back(3 * std::cosh(0.7 * (t - 8)));
  const auto masses = effective_masses(c);
  ASSERT_EQ(masses.size(), 7);
  for (const double m : masses) EXPECT_NEAR(m, 0.7, 1e-10);
  EXPECT_TRUE(std::isnan(effective_masses({1, 2, 3, 2})[0]));
}

/// One pole: C(t) is the inverse of M^2 + 4 sin^2(p/2), summed over p.
TEST(Pion, TheSecondMomentOfOnePoleIsItsMass) {
  std::vector<double> c(16);
  for (std::size_t t = 0; t < 16; ++t)
    for (int n = 0; n < 16; ++n) {
      const double p = 2 * std::numbers::pi * n / 16;
      c[t] += std::cos(p * static_cast<double>(t)) / (0.3 + 4 * std::pow(std::sin(p / 2), 2));
    }
  EXPECT_NEAR(pion_mass_squared(c), 0.3, 1e-12);
}

}  // namespace
