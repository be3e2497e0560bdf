#include <stratum/core/operators/grid_operator.hpp>

#include <cmath>

#include <stratum/assembly/operators.hpp>
#include <stratum/mesh/tensor_mesh.hpp>

#include "support/backends.hpp"

namespace {

using namespace stratum;
using test::Values;

template <class T>
class GridOperatorTest : public test::OnEverySetting<T> {};

TEST_ON_EVERY_SETTING(GridOperatorTest, ApplyAndResidualAgreeWithTheOracle) {
  auto& ctx = this->ctx();
  test::Random random(21);
  for (const auto& [nx, ny] : test::small_shapes)
    for (const auto format : test::every_storage_format) {
      SCOPED_TRACE(testing::Message() << nx << " x " << ny << ", " << to_string(format));
      const auto [oracle, a] = test::random_operator<T>(ctx, random, nx, ny, format);
      ASSERT_EQ(a.format(), format);
      ASSERT_EQ(a.shape(), test::unknowns(nx, ny));
      const auto x = test::to_device<T>(ctx, a.shape(), random.values(oracle.size()));
      const auto b = test::to_device<T>(ctx, a.shape(), random.values(oracle.size()));
      const Values host_x = test::to_host(ctx, x), host_b = test::to_host(ctx, b);
      Field<T> y(ctx, a.shape());

      a.apply(ctx, x.cview(), y.view());
      EXPECT_LT(reference::relative_difference(test::to_host(ctx, y), reference::apply(oracle, host_x)),
                test::tolerance<T>);
      EXPECT_TRUE(test::halo_is_zero(ctx, y));
      a.residual(ctx, b.cview(), x.cview(), y.view());
      EXPECT_LT(reference::relative_difference(test::to_host(ctx, y), reference::residual(oracle, host_b, host_x)),
                test::tolerance<T>);
      EXPECT_TRUE(test::halo_is_zero(ctx, y));

      // The residual may overwrite b.
      copy(ctx, b.cview(), y.view());
      a.residual(ctx, y.cview(), x.cview(), y.view());
      EXPECT_LT(reference::relative_difference(test::to_host(ctx, y), reference::residual(oracle, host_b, host_x)),
                test::tolerance<T>);

      diagonal(ctx, a, y.view());
      EXPECT_LT(reference::relative_difference(test::to_host(ctx, y), oracle.band[4]), test::tolerance<T>);
    }
}

TEST_ON_EVERY_SETTING(GridOperatorTest, AssembledFormsAreOneOperator) {
  auto& ctx = this->ctx();
  test::Random random(22);
  for (const auto& [nx, ny] : test::small_shapes) {
    const Values hx = random.widths(nx + 1, 4), hy = random.widths(ny + 1, 4);
    const TensorMesh<2> mesh{Axis(hx), Axis(hy)};
    const auto oracle = reference::laplace(hx, hy);
    const auto x = test::to_device<T>(ctx, mesh.unknowns(), random.values(oracle.size()));
    const Values expected = reference::apply(oracle, test::to_host(ctx, x));
    for (const auto format : test::every_storage_format) {
      SCOPED_TRACE(testing::Message() << nx << " x " << ny << ", " << to_string(format));
      const auto a = assemble_laplace<T>(ctx, mesh, format);
      EXPECT_EQ(a.format(), format);
      Field<T> y(ctx, mesh.unknowns());
      a.apply(ctx, x.cview(), y.view());
      EXPECT_LT(reference::relative_difference(test::to_host(ctx, y), expected), test::tolerance<T>);
    }
  }
}

// Row by row on a CPU, by one thread and by several: the bits of three passes.
TEST_ON_EVERY_SETTING(GridOperatorTest, TheNextDirectionIsThreePassesInOne) {
  test::Random random(25);
  for (const auto& [nx, ny] : {std::pair{1, 1}, {5, 1}, {5, 3}, {64, 2}, {211, 190}})
    for (const auto format : test::every_storage_format)
      for (const int threads : {1, 3}) {
        SCOPED_TRACE(testing::Message() << nx << " x " << ny << ", " << to_string(format) << ", " << threads
                                        << " threads");
        Context ctx(this->backend(), threads);
        const auto [oracle, a] = test::random_operator<T>(ctx, random, nx, ny, format);
        const auto z = test::to_device<T>(ctx, a.shape(), random.values(oracle.size()));
        const Values given = random.values(oracle.size());
        auto p = test::to_device<T>(ctx, a.shape(), given), expected_p = test::to_device<T>(ctx, a.shape(), given);
        Field<T> q(ctx, a.shape()), expected_q(ctx, a.shape());
        xpay<T>(ctx, z.cview(), 0.75, expected_p.view());
        a.apply(ctx, expected_p.cview(), expected_q.view());
        EXPECT_EQ(a.next_direction(ctx, z.cview(), 0.75, p.view(), q.view()),
                  dot<T>(ctx, expected_p.cview(), expected_q.cview()));
        EXPECT_EQ(test::to_host(ctx, p), test::to_host(ctx, expected_p));
        EXPECT_EQ(test::to_host(ctx, q), test::to_host(ctx, expected_q));
        EXPECT_TRUE(test::halo_is_zero(ctx, p));
        EXPECT_TRUE(test::halo_is_zero(ctx, q));
      }
}

// On a GPU, out of place: what the three passes give.
TEST_ON_EVERY_SETTING(GridOperatorTest, TheNextDirectionInOneStream) {
  auto& ctx = this->ctx();
  if (!ctx.on_gpu()) return;
  test::Random random(26);
  int streamed = 0;
  for (const auto& [nx, ny] : {std::pair{1, 1}, {3, 3}, {4, 7}, {64, 2}, {119, 40}, {129, 70}, {1023, 700}})
    for (const auto format : test::every_storage_format) {
      SCOPED_TRACE(testing::Message() << nx << " x " << ny << ", " << to_string(format));
      const auto [oracle, a] = test::random_operator<T>(ctx, random, nx, ny, format);
      const auto z = test::to_device<T>(ctx, a.shape(), random.values(oracle.size()));
      const Values given = random.values(oracle.size());
      const auto p = test::to_device<T>(ctx, a.shape(), given), p_before = test::to_device<T>(ctx, a.shape(), given);
      auto expected_p = test::to_device<T>(ctx, a.shape(), given);
      Field<T> next(ctx, a.shape()), q(ctx, a.shape()), expected_q(ctx, a.shape());
      xpay<T>(ctx, z.cview(), 0.75, expected_p.view());
      a.apply(ctx, expected_p.cview(), expected_q.view());
      const double expected = dot<T>(ctx, expected_p.cview(), expected_q.cview());
      {
        const auto hold = ctx.hold_scratch();
        if (!a.next_direction_on_gpu(ctx, z.cview(), 0.75, p.cview(), next.view(), q.view())) continue;
        ctx.synchronise();
      }
      ++streamed;
      const double curvature = *ctx.host_number();
      EXPECT_LT(std::abs(curvature - expected),
                test::tolerance<T> * norm2<T>(ctx, expected_p.cview()) * norm2<T>(ctx, expected_q.cview()));
      EXPECT_LT(reference::relative_difference(test::to_host(ctx, next), test::to_host(ctx, expected_p)),
                test::tolerance<T>);
      EXPECT_LT(reference::relative_difference(test::to_host(ctx, q), test::to_host(ctx, expected_q)),
                test::tolerance<T>);
      EXPECT_EQ(test::to_host(ctx, p), test::to_host(ctx, p_before));
      EXPECT_TRUE(test::halo_is_zero(ctx, next));
      EXPECT_TRUE(test::halo_is_zero(ctx, q));
    }
  EXPECT_GE(streamed, 7);
}

// On a GPU, out of place: what an update and a residual with its norm give.
TEST_ON_EVERY_SETTING(GridOperatorTest, UpdateAndResidualInOneStream) {
  if constexpr (std::is_same_v<T, double>) {
    auto& ctx = this->ctx();
    test::Random random(27);
    int streamed = 0;
    for (const auto& [nx, ny] : {std::pair{1, 1}, {3, 3}, {4, 7}, {64, 2}, {119, 40}, {129, 70}, {1023, 700}})
      for (const auto format : test::every_storage_format) {
        SCOPED_TRACE(testing::Message() << nx << " x " << ny << ", " << to_string(format));
        const auto [oracle, a] = test::random_operator<double>(ctx, random, nx, ny, format);
        const auto b = test::to_device<double>(ctx, a.shape(), random.values(oracle.size()));
        const Values given = random.values(oracle.size());
        const auto x = test::to_device<double>(ctx, a.shape(), given);
        const auto c = test::to_device<float>(ctx, a.shape(), random.values(oracle.size()));
        Field<double> next(ctx, a.shape());
        Field<float> r(ctx, a.shape()), expected_r(ctx, a.shape());
        ASSERT_EQ(a.fuses_update(ctx, b.cview(), x.cview()), ctx.on_gpu() && a.traits().streams);
        if (!a.fuses_update(ctx, b.cview(), x.cview())) {
          EXPECT_THROW((void)a.template updated_residual_norm<float>(ctx, 3, b.cview(), x.cview(), 0.75, c.cview(),
                                                                     next.view(), r.view()),
                       UsageError);
          continue;
        }
        ++streamed;
        auto expected = test::to_device<double>(ctx, a.shape(), given);
        axpy<float, double>(ctx, 0.75, c.cview(), expected.view());
        const double norm =
            a.template scaled_residual_norm<float>(ctx, 3, b.cview(), expected.cview(), expected_r.view());
        EXPECT_NEAR(a.template updated_residual_norm<float>(ctx, 3, b.cview(), x.cview(), 0.75, c.cview(), next.view(),
                                                            r.view()),
                    norm, test::tolerance<double> * norm);
        EXPECT_LT(reference::relative_difference(test::to_host(ctx, next), test::to_host(ctx, expected)),
                  test::tolerance<double>);
        EXPECT_LT(reference::relative_difference(test::to_host(ctx, r), test::to_host(ctx, expected_r)),
                  test::tolerance<float>);
        EXPECT_EQ(test::to_host(ctx, x), given);
        EXPECT_TRUE(test::halo_is_zero(ctx, next));
        EXPECT_TRUE(test::halo_is_zero(ctx, r));
      }
    EXPECT_GE(streamed, ctx.on_gpu() ? 14 : 0);
  }
}

TEST_ON_EVERY_SETTING(GridOperatorTest, NothingIsAllocatedByApply) {
  auto& ctx = this->ctx();
  test::Random random(23);
  for (const auto format : test::every_storage_format) {
    const auto [oracle, a] = test::random_operator<T>(ctx, random, 90, 80, format);
    Field<T> x(ctx, a.shape()), y(ctx, a.shape());
    const auto before = ctx.memory()->allocations.load();
    a.apply(ctx, x.cview(), y.view());
    a.residual(ctx, y.cview(), x.cview(), y.view());
    EXPECT_EQ(ctx.memory()->allocations, before);
  }
}

class ConvertTest : public test::OnEveryBackend {};
INSTANTIATE_ON_EVERY_BACKEND(ConvertTest);

TEST_P(ConvertTest, NineBandsThatAreSymmetricBecomeFive) {
  test::Random random(26);
  const reference::Stencil oracle = random.stencil(9, 6, true);
  auto narrowed = convert<float>(ctx(), test::nine_band_operator<double>(ctx(), oracle), true);
  ASSERT_EQ(narrowed.format(), StorageFormat::symmetric);
  const auto expect = [&](const reference::Stencil& expected) {
    const auto x = test::to_device<float>(ctx(), narrowed.shape(), random.values(54));
    Field<float> y(ctx(), narrowed.shape());
    narrowed.apply(ctx(), x.cview(), y.view());
    EXPECT_LT(
        reference::relative_difference(test::to_host(ctx(), y), reference::apply(expected, test::to_host(ctx(), x))),
        test::tolerance<float>);
  };
  expect(oracle);
  const reference::Stencil other = random.stencil(9, 6, true);
  assign(ctx(), test::nine_band_operator<double>(ctx(), other), narrowed);
  expect(other);
  EXPECT_EQ(convert<float>(ctx(), test::nine_band_operator<double>(ctx(), oracle)).format(), StorageFormat::nine_band);
}

// Small shapes, and one of many subdomains.
TEST_P(ConvertTest, AScaledResidualComesWithItsNorm) {
  test::Random random(23);
  for (const auto& [nx, ny] : {std::pair{5, 3}, {64, 64}, {1, 40}, {700, 300}})
    for (const auto format : test::every_storage_format) {
      SCOPED_TRACE(testing::Message() << nx << " x " << ny << ", " << to_string(format));
      const auto [oracle, a] = test::random_operator<double>(ctx(), random, nx, ny, format);
      const auto x = test::to_device<double>(ctx(), a.shape(), random.values(oracle.size()));
      const auto b = test::to_device<double>(ctx(), a.shape(), random.values(oracle.size()));
      Values expected = reference::residual(oracle, test::to_host(ctx(), b), test::to_host(ctx(), x));
      double squares = 0;
      for (double& r : expected) {
        r *= 0.25;
        squares += r * r;
      }
      const auto expect = [&, &a = a](auto number) {
        using R = decltype(number);
        Field<R> r(ctx(), a.shape());
        const double norm = a.scaled_residual_norm(ctx(), 0.25, b.cview(), x.cview(), r.view());
        EXPECT_NEAR(norm / std::sqrt(squares), 1, 10 * test::tolerance<R>);
        EXPECT_LT(reference::relative_difference(test::to_host(ctx(), r), expected), 10 * test::tolerance<R>);
      };
      expect(1.0F);
      expect(1.0);
    }
}

// Squares that leave the range of double although the norm does not.
TEST_P(ConvertTest, TheNormOfAScaledResidualSurvivesItsSquares) {
  test::Random random(24);
  const auto [oracle, a] = test::random_operator<double>(ctx(), random, 40, 30, StorageFormat::tensor);
  const auto b = test::to_device<double>(ctx(), a.shape(), random.values(oracle.size()));
  Field<double> x(ctx(), a.shape()), r(ctx(), a.shape());
  const double norm = norm2(ctx(), b.cview());
  const auto scaled_norm = [&, &a = a](double scale) {
    return a.scaled_residual_norm(ctx(), scale, b.cview(), x.cview(), r.view());
  };
  for (const double scale : {1e-200, 1e200}) EXPECT_NEAR(scaled_norm(scale) / (scale * norm), 1, 1e-12);
  EXPECT_EQ(scaled_norm(0), 0);
}

TEST_P(ConvertTest, KeepsFormAndValues) {
  test::Random random(24);
  for (const auto format : test::every_storage_format) {
    const auto [oracle, a] = test::random_operator<double>(ctx(), random, 17, 6, format);
    const auto narrowed = convert<float>(ctx(), a);
    EXPECT_EQ(narrowed.format(), format);
    EXPECT_EQ(narrowed.shape(), a.shape());
    const auto widened = convert<double>(ctx(), narrowed);
    const auto x = test::to_device<double>(ctx(), a.shape(), random.values(oracle.size()));
    Field<double> y(ctx(), a.shape());
    widened.apply(ctx(), x.cview(), y.view());
    EXPECT_LT(
        reference::relative_difference(test::to_host(ctx(), y), reference::apply(oracle, test::to_host(ctx(), x))),
        1e-6);
  }
}

TEST_P(ConvertTest, CoefficientsThatLeaveTheRangeOfFloatAreRefused) {
  // A width of 1e-40 has no reciprocal in float, and one of 1e-39 no normal sixth.
  const TensorMesh<2> mesh{Axis({0.5, 0.5, 1e-40}), Axis({0.5, 0.25, 0.25})};
  for (const auto format : test::every_storage_format) {
    SCOPED_TRACE(to_string(format));
    const auto a = assemble_laplace<double>(ctx(), mesh, format);
    EXPECT_THROW((void)assemble_laplace<float>(ctx(), mesh, format), UsageError);
    try {
      (void)convert<float>(ctx(), a);
      FAIL() << "a coefficient of 1e40 became infinite";
    } catch (const UsageError& error) {
      EXPECT_NE(std::string(error.what()).find("e+"), std::string::npos) << "no offending value in: " << error.what();
    }
  }
}

TEST(StorageFormatTest, NamesGoBothWays) {
  for (const auto format : test::every_storage_format) EXPECT_EQ(storage_format(to_string(format)), format);
  try {
    (void)storage_format("dense");
    FAIL();
  } catch (const UsageError& error) {
    for (const char* name : {"dense", "tensor", "symmetric", "nine-band"})
      EXPECT_NE(std::string(error.what()).find(name), std::string::npos) << error.what();
  }
}

TEST(GridOperatorThreads, TheNumberOfThreadsDoesNotChangeABit) {
  Values expected;
  for (const int threads : {1, 2, 3, 5}) {
    test::Random random(25);
    Context ctx(Backend::cpu, threads);
    const auto [oracle, a] = test::random_operator<double>(ctx, random, 131, 97, StorageFormat::tensor);
    const auto x = test::to_device<double>(ctx, a.shape(), random.values(oracle.size()));
    Field<double> y(ctx, a.shape());
    a.apply(ctx, x.cview(), y.view());
    if (expected.empty()) expected = test::to_host(ctx, y);
    EXPECT_EQ(test::to_host(ctx, y), expected) << threads << " threads";
  }
}

TEST(GridOperatorErrors, BandsOfDifferentLayoutAreRefused) {
  Context ctx(Backend::cpu, 1);
  NineBandMatrix<double> a(ctx, test::unknowns(5, 4));
  a.band[3] = Field<double>(ctx, test::unknowns(5, 5));
  EXPECT_THROW(GridOperator<double>(std::move(a)), UsageError);
  SymmetricNineBand<double> s(ctx, test::unknowns(5, 4));
  Field<double> wide(ctx, test::unknowns(40, 4));
  s.band[1] = Field<double>::borrow(ctx, wide.view().data, test::unknowns(5, 4), wide.view().pitch);
  EXPECT_THROW(GridOperator<double>(std::move(s)), UsageError);
}

}  // namespace
