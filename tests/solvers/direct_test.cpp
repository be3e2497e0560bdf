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
      const auto b = test::to_device<T>(ctx, a.shape(), random.values(oracle.size()));
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
  EXPECT_THROW(BandCholesky<double>(ctx, test::nine_band_operator<double>(ctx, a)), UsageError);
  a.at(1, 0, 0, 0) = a.at(-1, 0, 1, 0) = 0;
  a.at(0, 0, 1, 1) = -1;
  EXPECT_THROW(BandCholesky<double>(ctx, test::nine_band_operator<double>(ctx, a)), UsageError);
  a.at(0, 0, 1, 1) = std::nan("");
  EXPECT_THROW(BandCholesky<double>(ctx, test::nine_band_operator<double>(ctx, a)), UsageError);
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

}  // namespace
