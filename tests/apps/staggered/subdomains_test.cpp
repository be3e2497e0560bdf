// The lattice cut in t and z, a subdomain a thread: nothing shows that it is.

#include <cmath>

#include <gmock/gmock.h>

#include <stratum/solvers/krylov/cg.hpp>
#include <stratum/solvers/mixed/reliable_cg.hpp>

#include "support/subdomains.hpp"
#include <stratum/staggered/propagator.hpp>

namespace {

using namespace stratum;
using namespace stratum::staggered;
using test::Values;

constexpr Lattice lattice{4, 2, 12, 8};

/// All there are for up to 8 subdomains, with sites inside and without, and some more.
std::vector<LatticePartition> partitions() {
  std::vector<LatticePartition> all;
  for (const auto& [t, z] : {std::pair(2, 1), {4, 1}, {1, 2}, {1, 3}, {1, 6}, {2, 2}, {2, 3}, {4, 2}})
    for (const bool overlap : {false, true}) all.push_back({t, z, overlap});
  return all;
}

constexpr LatticePartition whole_lattice{1, 1, false};

/// Of the whole lattice, from those of all subdomains.
Values joined(const Values& parts, const LatticePartition& partition) {
  const auto half = static_cast<std::size_t>(lattice.half()),
             own = half / static_cast<std::size_t>(partition.t * partition.z);
  Values whole(6 * half, std::nan(""));
  for (std::size_t k = 0; k < parts.size(); ++k) {
    const LatticeSubdomain subdomain{lattice, partition, static_cast<int>(k / (6 * own))};
    const int s = subdomain.box().half_site(lattice, static_cast<int>(k % own));
    whole[k % (6 * own) / own * half + static_cast<std::size_t>(s)] = parts[k];
  }
  return whole;
}

template <class T>
Field<T> vector_of_subdomain(Context& ctx, const LatticePartition& partition, const Values& whole) {
  const Values part = of_subdomain(LatticeSubdomain::of(ctx, lattice, partition), whole);
  return vector_from_host(ctx, std::vector<T>(part.begin(), part.end()));
}

class StaggeredSubdomains : public testing::TestWithParam<Backend> {
 protected:
  void SetUp() override {
    if (!test::available(GetParam())) GTEST_SKIP() << test::not_available();
  }
  /// work(ctx, partition) on all subdomains; the values of the whole lattice.
  template <class Work>
  Values on(const LatticePartition& partition, const Work& work) {
    const auto result =
        test::on_subdomains(GetParam(), partition.t * partition.z, [&](Context& ctx) { return work(ctx, partition); });
    for (const auto& error : result.errors) EXPECT_EQ(error, "");
    return joined(result.values, partition);
  }
};
INSTANTIATE_ON_EVERY_BACKEND(StaggeredSubdomains);

TEST_P(StaggeredSubdomains, DIsThatOfTheWholeLattice) {
  const auto u = GaugeField::random(lattice, 81);
  const Values x = source(lattice, Source::random, 0, 82);
  const auto check = [&]<class Format>(Format /*format*/, Reals reals, double tolerance) {
    using T = typename StaggeredOperator<Format>::Number;
    const auto agrees = [&](const auto& work, const char* what) {
      const Values expected = on(whole_lattice, work);
      for (const auto& partition : partitions())
        EXPECT_LT(reference::relative_difference(on(partition, work), expected), tolerance)
            << what << ", " << partition.t << " x " << partition.z << " subdomains, overlap " << *partition.overlap;
    };
    for (const Parity to : {Parity::even, Parity::odd})
      agrees(
          [&](Context& ctx, const LatticePartition& partition) {
            const StaggeredOperator<Format> a(ctx, u, 0.3, reals, partition);
            Field<T> y(ctx, a.shape()), bad(ctx, a.shape());
            // What a face brought before must not be read again.
            set(ctx, static_cast<T>(std::nan("")), bad.view());
            a.hop(ctx, to, bad.cview(), y.view());
            a.hop(ctx, to, vector_of_subdomain<T>(ctx, partition, x).cview(), y.view());
            return test::to_host(ctx, y);
          },
          "D");
    agrees(
        [&](Context& ctx, const LatticePartition& partition) {
          const StaggeredOperator<Format> a(ctx, u, 0.3, reals, partition);
          Field<T> y(ctx, a.shape());
          a.apply(ctx, vector_of_subdomain<T>(ctx, partition, x).cview(), y.view());
          return test::to_host(ctx, y);
        },
        "A");
  };
  for (const Reals reals : {Reals::r18, Reals::r12, Reals::r10}) {
    check(double(), reals, 1e-15);
    check(float(), reals, 1e-6);
    if (reals != Reals::r10) check(Short(), reals, 1e-6);
  }
}

/// The last sites of the first subdomain along a direction reach the first ones of the second, and no further.
TEST_P(StaggeredSubdomains, FacesBringWhatTheSubdomainBesideHas) {
  const auto u = GaugeField::random(lattice, 83);
  for (const bool overlap : {false, true})
    for (const int mu : {2, 3}) {
      const int last = mu == 3 ? 3 : 5;
      const auto place = [&](Parity parity, std::size_t s) {
        return lattice.position(lattice.site(parity, static_cast<int>(s)))[static_cast<std::size_t>(mu)];
      };
      const auto half = static_cast<std::size_t>(lattice.half());
      Values x = source(lattice, Source::random, 0, 84);
      for (std::size_t s = 0; s < half; ++s)
        if (place(Parity::even, s) == last) x[s] = std::nan("");
      const LatticePartition halves{mu == 3 ? 2 : 1, mu == 2 ? 2 : 1, overlap};
      const Values y = on(halves, [&](Context& ctx, const LatticePartition& partition) {
        const StaggeredOperator<double> a(ctx, u, 0.3, Reals::r18, partition);
        Field<double> d(ctx, a.shape());
        a.hop(ctx, Parity::odd, vector_of_subdomain<double>(ctx, partition, x).cview(), d.view());
        return test::to_host(ctx, d);
      });
      for (std::size_t k = 0; k < y.size(); ++k) {
        const int at = place(Parity::odd, k % half);
        EXPECT_EQ(std::isnan(y[k]), std::abs(at - last) <= 1) << "direction " << mu << ", " << at;
      }
    }
}

TEST_P(StaggeredSubdomains, SitesBesideASubdomainTravelOnceADirectionOrAllTogether) {
  const auto u = GaugeField::unit(lattice);
  for (const bool overlap : {false, true})
    (void)on({2, 3, overlap}, [&](Context& ctx, const LatticePartition& partition) {
      const StaggeredOperator<float> a(ctx, u, 0.3, Reals::r18, partition);
      Field<float> x(ctx, a.shape()), y(ctx, a.shape());
      const auto before = ctx.communicator()->exchanges();
      a.apply(ctx, x.cview(), y.view());
      EXPECT_EQ(ctx.communicator()->exchanges() - before, overlap ? 2 : 4);
      return Values(6 * static_cast<std::size_t>(a.links()->lattice().half()));
    });
}

TEST_P(StaggeredSubdomains, SolvesTakeTheIterationsOfTheWholeLattice) {
  const auto u = GaugeField::near_unit(lattice, 0.3, 85);
  const Values b = source(lattice, Source::random, 0, 86);
  StoppingParams stop;
  stop.rtol = 1e-10;
  stop.max_iterations = 2000;
  for (const bool shorts : {false, true}) {
    Values expected;
    int iterations = 0;
    for (const LatticePartition& partition :
         {whole_lattice, LatticePartition{2, 1, true}, LatticePartition{4, 1, false}, LatticePartition{1, 3, true},
          LatticePartition{2, 2, true}}) {
      std::vector<int> of_subdomains(static_cast<std::size_t>(partition.t * partition.z));
      const Values x = on(partition, [&](Context& ctx, const LatticePartition& /*partition*/) {
        const StaggeredOperator<double> a(ctx, u, 0.1, Reals::r18, partition);
        const StaggeredOperator<float> f(ctx, u, 0.1, Reals::r18, partition);
        const StaggeredOperator<Short> s(ctx, u, 0.1, Reals::r12, partition);
        const LinearOperator<float>& inner = shorts ? static_cast<const LinearOperator<float>&>(s) : f;
        Field<double> solution(ctx, a.shape());
        const auto report =
            ReliableCg(ctx, a.shape())
                .solve(ctx, a, inner, vector_of_subdomain<double>(ctx, partition, b).cview(), solution.view(), stop);
        EXPECT_EQ(report.status, Status::converged) << report.reason;
        of_subdomains[static_cast<std::size_t>(a.links()->subdomain().rank)] = report.iterations;
        return test::to_host(ctx, solution);
      });
      EXPECT_THAT(of_subdomains, testing::Each(of_subdomains.front()));
      if (expected.empty()) {
        expected = x;
        iterations = of_subdomains.front();
      }
      EXPECT_LT(reference::relative_difference(x, expected), 1e-8);
      EXPECT_NEAR(of_subdomains.front(), iterations, 1);
    }
  }
}

TEST_P(StaggeredSubdomains, CorrelatorsAreThoseOfTheWholeLattice) {
  const auto u = GaugeField::random(lattice, 87);
  const Values x = source(lattice, Source::random, 0, 88);
  Values expected;
  for (const LatticePartition& partition :
       {whole_lattice, LatticePartition{4, 1, true}, LatticePartition{1, 6, true}, LatticePartition{2, 3, true}}) {
    (void)on(partition, [&](Context& ctx, const LatticePartition& /*partition*/) {
      const StaggeredOperator<double> a(ctx, u, 0.3, Reals::r18, partition);
      Values own(static_cast<std::size_t>(a.links()->lattice().nt));
      add_pion(ctx, a, vector_of_subdomain<double>(ctx, partition, x).cview(), own);
      const Values all = joined_correlator(ctx, a.links()->subdomain(), own);
      if (partition.t * partition.z == 1)
        expected = all;
      else
        EXPECT_LT(reference::relative_difference(all, expected), 1e-13);
      return Values(6 * static_cast<std::size_t>(a.links()->lattice().half()));
    });
  }
  EXPECT_EQ(expected.size(), 8);
}

TEST_P(StaggeredSubdomains, AreCutInTFirst) {
  const auto chosen = [&](const Lattice& whole, int subdomains) {
    std::pair<int, int> found;
    const auto result = test::on_subdomains(GetParam(), subdomains, [&](Context& ctx) {
      const auto subdomain = LatticeSubdomain::of(ctx, whole);
      if (subdomain.rank == 0) found = {subdomain.partition.t, subdomain.partition.z};
      return Values{};
    });
    for (const auto& error : result.errors) EXPECT_EQ(error, "");
    return found;
  };
  EXPECT_EQ(chosen(lattice, 1), std::pair(1, 1));
  EXPECT_EQ(chosen(lattice, 4), std::pair(4, 1));
  EXPECT_EQ(chosen(lattice, 3), std::pair(1, 3));
  EXPECT_EQ(chosen(lattice, 8), std::pair(4, 2));
  EXPECT_EQ(chosen(lattice, 6), std::pair(2, 3));
  EXPECT_EQ(chosen({4, 4, 4, 12}, 4), std::pair(2, 2));
}

TEST_P(StaggeredSubdomains, WhatCannotBeCutIsRefused) {
  const auto u = GaugeField::unit(lattice);
  const auto refused = [&](int subdomains, const LatticePartition& partition, const std::string& why) {
    const auto result = test::on_subdomains(GetParam(), subdomains, [&](Context& ctx) {
      const StaggeredOperator<double> a(ctx, u, 0.3, Reals::r18, partition);
      return Values{};
    });
    for (const auto& error : result.errors) EXPECT_THAT(error, testing::HasSubstr(why));
  };
  for (const int subdomains : {5, 16, 32})
    refused(subdomains, {},
            message("nt = 8 and nz = 12 cannot be cut into ", subdomains, " subdomains with even nt and nz"));
  refused(8, {8, 1, {}}, "nt = 8 cannot be cut into 8 subdomains with even nt");
  refused(4, {1, 4, {}}, "nz = 12 cannot be cut into 4 subdomains with even nz");
  refused(4, {2, 1, {}}, "2 x 1 subdomains are not 4, as there are");
  refused(2, {2, 0, {}}, "subdomains along t and z must be 1 or more, not 2 and 0");
}

}  // namespace
