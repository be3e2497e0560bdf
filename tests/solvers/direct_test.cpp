#include <stratum/solvers/direct.hpp>

#include <cmath>

#include "support/backends.hpp"

namespace {

using namespace stratum;
using test::Values;

template <class S>
class BandCholeskyTest : public test::OnEverySetting<S> {};
TYPED_TEST_SUITE(BandCholeskyTest, test::EverySetting);

TYPED_TEST(BandCholeskyTest, AgreesWithElimination) {
  using T = typename TypeParam::Number;
  auto& ctx = this->ctx();
  test::Random random(111);
  for (const auto& [nx, ny] : test::small_shapes)
    for (const auto form : {OperatorForm::tensor, OperatorForm::symmetric}) {
      SCOPED_TRACE(testing::Message() << nx << " x " << ny << ", " << to_string(form));
      const auto [oracle, a] = test::random_operator<T>(ctx, random, nx, ny, form);
      const auto b = test::random_vector<T>(ctx, random, a.shape());
      Vector<T> x(ctx, a.shape());
      const BandCholesky<T> factor(ctx, a);
      factor.solve(ctx, b.cview(), x.view());
      // The matrix itself is rounded to T.
      EXPECT_LT(reference::relative_difference(test::to_host(ctx, x), reference::solve(oracle, test::to_host(ctx, b))),
                (std::is_same_v<T, float>) ? 1e-2 : 1e-10);
      EXPECT_TRUE(test::halo_is_zero(ctx, x));
    }
}

TEST(BandCholeskyErrors, IndefiniteMatricesAreRefused) {
  Context ctx(Backend::cpu, 1);
  reference::Stencil a(2, 2);
  for (int k = 0; k < 4; ++k) a.at(0, 0, k % 2, k / 2) = 1;
  a.at(1, 0, 0, 0) = a.at(-1, 0, 1, 0) = 2;  // eigenvalue 1 - 2
  EXPECT_THROW(BandCholesky<double>(ctx, test::nine_band_operator<double>(ctx, a)), BreakdownError);
  a.at(1, 0, 0, 0) = a.at(-1, 0, 1, 0) = 0;
  a.at(0, 0, 1, 1) = -1;
  EXPECT_THROW(BandCholesky<double>(ctx, test::nine_band_operator<double>(ctx, a)), BreakdownError);
  a.at(0, 0, 1, 1) = std::nan("");
  EXPECT_THROW(BandCholesky<double>(ctx, test::nine_band_operator<double>(ctx, a)), BreakdownError);
}

TEST(BandCholeskyErrors, TooManyUnknownsAreRefusedBeforeAnythingIsDone) {
  Context ctx(Backend::cpu, 1);
  try {
    BandCholesky<double>(ctx, GridOperator<double>(stratum::TensorOperator<double>(ctx, test::unknowns(600, 600))));
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("360000"), std::string::npos) << error.what();
  }
}

template <class S>
class BandLUTest : public test::OnEverySetting<S> {};
TYPED_TEST_SUITE(BandLUTest, test::EverySetting);

TYPED_TEST(BandLUTest, AgreesWithElimination) {
  using T = typename TypeParam::Number;
  auto& ctx = this->ctx();
  test::Random random(112);
  for (const auto& [nx, ny] : test::small_shapes)
    for (const auto form : test::every_form) {
      SCOPED_TRACE(testing::Message() << nx << " x " << ny << ", " << to_string(form));
      const auto first = test::random_operator<T>(ctx, random, nx, ny, form);
      const auto [oracle, a] = test::random_operator<T>(ctx, random, nx, ny, form);
      const auto b = test::random_vector<T>(ctx, random, a.shape());
      Vector<T> x(ctx, a.shape());
      BandLU<T> factors(ctx, first.a);
      const auto before = ctx.memory()->allocations.load();
      factors.factor(ctx, a);
      factors.solve(ctx, b.cview(), x.view());
      EXPECT_EQ(ctx.memory()->allocations, before);
      EXPECT_LT(reference::relative_difference(test::to_host(ctx, x), reference::solve(oracle, test::to_host(ctx, b))),
                (std::is_same_v<T, float>) ? 1e-2 : 1e-10);
      EXPECT_TRUE(test::halo_is_zero(ctx, x));
    }
}

// Without exchanging rows the first pivot would be zero, and the badly scaled rows would choose the wrong one.
TEST(BandLU, ExchangesRows) {
  Context ctx(Backend::cpu, 1);
  test::Random random(113);
  for (const auto& [nx, ny] : {std::pair{2, 1}, {6, 5}, {4, 9}}) {
    reference::Stencil a(nx, ny);
    for (int j = 0; j < ny; ++j)
      for (int i = 0; i < nx; ++i) {
        const double scale = std::pow(10.0, random.uniform(-9, 9));
        for (int dy = -1; dy <= 1; ++dy)
          for (int dx = -1; dx <= 1; ++dx)
            if (a.inside(i + dx, j + dy)) a.at(dx, dy, i, j) = scale * (dx == 0 && dy == 0 ? 0 : random.uniform(-1, 1));
      }
    const auto op = test::nine_band_operator<double>(ctx, a);
    const Values expected = random.values(a.size());
    const auto b = test::to_device<double>(ctx, op.shape(), reference::apply(a, expected));
    Vector<double> x(ctx, op.shape());
    BandLU<double>(ctx, op).solve(ctx, b.cview(), x.view());
    EXPECT_LT(reference::relative_difference(test::to_host(ctx, x), expected), 1e-11) << nx << " x " << ny;
  }
}

TEST(BandLUErrors, SingularMatricesAreRefused) {
  Context ctx(Backend::cpu, 1);
  const auto factor = [&](const reference::Stencil& a) {
    BandLU<double>(ctx, test::nine_band_operator<double>(ctx, a));
  };
  reference::Stencil a(3, 3);
  for (int k = 0; k < 9; ++k) a.at(0, 0, k % 3, k / 3) = -1;
  EXPECT_NO_THROW(factor(a)) << "indefinite is no obstacle";
  a.at(0, 0, 1, 1) = 0;
  EXPECT_THROW(factor(a), BreakdownError) << "an empty row";
  a.at(1, 0, 1, 1) = a.at(1, 0, 0, 1) = 1;
  a.at(0, 0, 0, 1) = 0;
  a.at(-1, 0, 2, 1) = 1;
  EXPECT_THROW(factor(a), BreakdownError) << "an empty column";
  a.at(0, 0, 0, 1) = std::nan("");
  EXPECT_THROW(factor(a), BreakdownError);
  EXPECT_THROW(
      BandLU<double>(ctx, GridOperator<double>(stratum::NineBandMatrix<double>(ctx, test::unknowns(400, 400)))),
      UsageError)
      << "too large";
}

}  // namespace
