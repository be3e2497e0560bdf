// The lattice cut in t, a piece a thread: nothing shows that it is.

#include <cmath>

#include <gmock/gmock.h>

#include <stratum/solvers/iterative/cg.hpp>
#include <stratum/solvers/reliable_cg.hpp>

#include "staggered/propagator.hpp"
#include "support/strips.hpp"

namespace {

using namespace stratum;
using namespace stratum::staggered;
using test::Values;

constexpr Lattice lattice{4, 2, 6, 8};

/// The times of a piece, of a vector on the whole lattice.
Values of_piece(const Context& ctx, const Values& whole) {
  const auto strip = TimeStrip::of(ctx, lattice);
  const auto own = static_cast<std::size_t>(strip.lattice().half()), half = static_cast<std::size_t>(lattice.half());
  Values part;
  for (std::size_t plane = 0; plane < 6; ++plane) {
    const auto first = whole.begin() + static_cast<std::ptrdiff_t>(plane * half) + strip.first_half_site();
    part.insert(part.end(), first, first + static_cast<std::ptrdiff_t>(own));
  }
  return part;
}

/// And back, from those of all pieces.
Values joined(const Values& parts, int pieces) {
  const auto half = static_cast<std::size_t>(lattice.half()), own = half / static_cast<std::size_t>(pieces);
  Values whole(6 * half);
  for (std::size_t k = 0; k < parts.size(); ++k) {
    const std::size_t piece = k / (6 * own), plane = k % (6 * own) / own, s = k % own;
    whole[plane * half + piece * own + s] = parts[k];
  }
  return whole;
}

template <class T>
Vector<T> vector_of_piece(Context& ctx, const Values& whole) {
  const Values part = of_piece(ctx, whole);
  return vector_from_host(ctx, std::vector<T>(part.begin(), part.end()));
}

class StaggeredStrips : public testing::TestWithParam<Backend> {
 protected:
  void SetUp() override {
    if (!test::available(GetParam())) GTEST_SKIP() << test::not_available();
  }
  /// On so many pieces; the values of all.
  template <class Work>
  Values on(int pieces, const Work& work) {
    const auto result = test::on_pieces(GetParam(), pieces, work);
    for (const auto& error : result.errors) EXPECT_EQ(error, "");
    return joined(result.values, pieces);
  }
};
INSTANTIATE_ON_EVERY_BACKEND(StaggeredStrips);

TEST_P(StaggeredStrips, DIsThatOfTheWholeLattice) {
  const auto u = GaugeField::random(lattice, 81);
  const Values x = source(lattice, Source::random, 0, 82);
  const auto check = [&]<class Format>(Format /*format*/, Reals reals, double tolerance) {
    using T = typename StaggeredOperator<Format>::Number;
    for (const Parity to : {Parity::even, Parity::odd}) {
      const auto d = [&](Context& ctx) {
        const StaggeredOperator<Format> a(ctx, u, 0.3, reals);
        Vector<T> y(ctx, a.shape()), bad(ctx, a.shape());
        // What a face brought before must not be read again.
        set(ctx, static_cast<T>(std::nan("")), bad.view());
        a.hop(ctx, to, bad.cview(), y.view());
        a.hop(ctx, to, vector_of_piece<T>(ctx, x).cview(), y.view());
        return test::to_host(ctx, y);
      };
      const Values whole = on(1, d);
      for (const int pieces : {2, 4}) EXPECT_LT(reference::relative_difference(on(pieces, d), whole), tolerance);
    }
    const auto product = [&](Context& ctx) {
      const StaggeredOperator<Format> a(ctx, u, 0.3, reals);
      Vector<T> y(ctx, a.shape());
      a.apply(ctx, vector_of_piece<T>(ctx, x).cview(), y.view());
      return test::to_host(ctx, y);
    };
    const Values whole = on(1, product);
    for (const int pieces : {2, 4}) EXPECT_LT(reference::relative_difference(on(pieces, product), whole), tolerance);
  };
  for (const Reals reals : {Reals::r18, Reals::r12, Reals::r10}) {
    check(double(), reals, 1e-15);
    check(float(), reals, 1e-6);
    if (reals != Reals::r10) check(Short(), reals, 1e-6);
  }
}

/// The last time of piece 0 reaches the first time of piece 1, and no further.
TEST_P(StaggeredStrips, FacesBringWhatThePieceBesideHas) {
  const auto u = GaugeField::random(lattice, 83);
  Values x = source(lattice, Source::random, 0, 84);
  const auto slab = static_cast<std::size_t>(lattice.half() / lattice.nt),
             half = static_cast<std::size_t>(lattice.half());
  for (std::size_t s = 3 * slab; s < 4 * slab; ++s) x[s] = std::nan("");
  const Values y = on(2, [&](Context& ctx) {
    const StaggeredOperator<double> a(ctx, u, 0.3);
    Vector<double> d(ctx, a.shape());
    a.hop(ctx, Parity::odd, vector_of_piece<double>(ctx, x).cview(), d.view());
    return test::to_host(ctx, d);
  });
  for (std::size_t k = 0; k < y.size(); ++k) {
    const std::size_t t = k % half / slab;
    EXPECT_EQ(std::isnan(y[k]), t >= 2 && t <= 4) << "time " << t;
  }
}

TEST_P(StaggeredStrips, SolvesTakeTheIterationsOfTheWholeLattice) {
  const auto u = GaugeField::near_unit(lattice, 0.3, 85);
  const Values b = source(lattice, Source::random, 0, 86);
  StoppingParams stop;
  stop.rtol = 1e-10;
  stop.max_iterations = 2000;
  std::vector<int> iterations;
  Values first;
  for (const int pieces : {1, 2, 4})
    for (const bool shorts : {false, true}) {
      std::vector<int> of_pieces(static_cast<std::size_t>(pieces));
      const Values x = on(pieces, [&](Context& ctx) {
        const StaggeredOperator<double> a(ctx, u, 0.1);
        const StaggeredOperator<float> f(ctx, u, 0.1);
        const StaggeredOperator<Short> s(ctx, u, 0.1, Reals::r12);
        const LinearOperator<float>& inner = shorts ? static_cast<const LinearOperator<float>&>(s) : f;
        Vector<double> solution(ctx, a.shape());
        const auto report = ReliableCg(ctx, a.shape())
                                .solve(ctx, a, inner, vector_of_piece<double>(ctx, b).cview(), solution.view(), stop);
        EXPECT_EQ(report.status, Status::converged) << report.reason;
        of_pieces[static_cast<std::size_t>(TimeStrip::of(ctx, lattice).rank)] = report.iterations;
        return test::to_host(ctx, solution);
      });
      EXPECT_THAT(of_pieces, testing::Each(of_pieces.front()));
      if (first.empty()) first = x;
      EXPECT_LT(reference::relative_difference(x, first), 1e-8);
      iterations.push_back(of_pieces.front());
    }
  for (std::size_t k = 2; k < iterations.size(); ++k) EXPECT_NEAR(iterations[k], iterations[k - 2], 1);
}

TEST_P(StaggeredStrips, MorePiecesThanPairsOfTimesAreRefused) {
  const auto u = GaugeField::unit(lattice);
  for (const int pieces : {3, 8}) {
    const auto result = test::on_pieces(GetParam(), pieces, [&](Context& ctx) {
      const StaggeredOperator<double> a(ctx, u, 0.3);
      return Values{};
    });
    for (const auto& error : result.errors)
      EXPECT_THAT(error, testing::HasSubstr(message("nt = 8 cannot be cut into ", pieces, " pieces")));
  }
}

}  // namespace
