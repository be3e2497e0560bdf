#include <stratum/solvers/krylov/conjugate_step.hpp>

#include <cmath>

#include "support/backends.hpp"

namespace {

using namespace stratum;
using test::Values;

template <class T>
class ConjugateStepTest : public test::OnEverySetting<T> {
 protected:
  void is_the_step(const GridLayout<2>& shape) {
    auto& ctx = this->ctx();
    test::Random random(17);
    const auto p = test::random_vector<T>(ctx, random, shape);
    auto x = test::random_vector<T>(ctx, random, shape), r = test::random_vector<T>(ctx, random, shape);
    Field<T> q(ctx, shape);
    copy_scaled<T, T>(ctx, 2, p.cview(), q.view());  // (p, q) > 0
    const auto hp = test::to_host(ctx, p), hx = test::to_host(ctx, x), hr = test::to_host(ctx, r);
    double curvature = 0;
    for (const double v : hp) curvature += 2 * v * v;
    const double square = 0.7 * curvature, scale = 0.25;
    const auto step = conjugate_step<T, T>(ctx, square, p.cview(), q.cview(), scale, x.view(), r.view());
    EXPECT_NEAR(step.curvature, curvature, 1e-6 * curvature);
    double rr = 0;
    const auto nx = test::to_host(ctx, x), nr = test::to_host(ctx, r);
    for (std::size_t i = 0; i < hp.size(); ++i) {
      ASSERT_NEAR(nx[i], hx[i] + 0.25 * 0.7 * hp[i], 1e-5);
      ASSERT_NEAR(nr[i], hr[i] - 0.7 * 2 * hp[i], 1e-5);
      rr += nr[i] * nr[i];
    }
    EXPECT_NEAR(step.square, rr, 1e-12 * rr);
    EXPECT_TRUE(test::halo_is_zero(ctx, x));
    EXPECT_TRUE(test::halo_is_zero(ctx, r));
  }
};

TEST_ON_EVERY_SETTING(ConjugateStepTest, IsTheStepOnVectorsAndOnGrids) {
  for (const int n : {1, 33, 5000, 3'000'000}) this->is_the_step(GridLayout<2>::flat(n));
  this->is_the_step(test::unknowns(37, 53));
}

TEST_ON_EVERY_SETTING(ConjugateStepTest, ChangesNothingWhereTheCurvatureIsNotAboveZero) {
  auto& ctx = this->ctx();
  for (const double value : {-1.0, 0.0, std::nan("")}) {
    const auto p = test::to_device<T>(ctx, GridLayout<2>::flat(3), {1, 1, 1});
    const auto q = test::to_device<T>(ctx, GridLayout<2>::flat(3), {value, value, value});
    auto x = test::to_device<T>(ctx, GridLayout<2>::flat(3), {1, 2, 3}),
         r = test::to_device<T>(ctx, GridLayout<2>::flat(3), {4, 5, 6});
    const auto step = conjugate_step<T, T>(ctx, 1, p.cview(), q.cview(), 1, x.view(), r.view());
    EXPECT_FALSE(step.curvature > 0);
    EXPECT_TRUE(std::isnan(step.square));
    EXPECT_EQ(test::to_host(ctx, x), (Values{1, 2, 3}));
    EXPECT_EQ(test::to_host(ctx, r), (Values{4, 5, 6}));
  }
}

TEST_ON_EVERY_SETTING(ConjugateStepTest, RefusesVectorsOfAnotherShape) {
  Field<T> p(this->ctx(), 3), longer(this->ctx(), 4);
  EXPECT_THROW((conjugate_step<T, T>(this->ctx(), 1, p.cview(), longer.cview(), 1, p.view(), p.view())), UsageError);
  EXPECT_THROW((residual_step<T, T>(this->ctx(), 1, p.cview(), p.cview(), 1, longer.view(), p.view())), UsageError);
}

}  // namespace
