#include <stratum/core/field/blas.hpp>

#include <cmath>
#include <cstring>

#include "support/backends.hpp"

namespace {

using namespace stratum;
using test::Values;

template <class T>
class BlasTest : public test::OnEverySetting<T> {
 protected:
  using Number = T;
  static constexpr double rounding = 4 * static_cast<double>(std::numeric_limits<Number>::epsilon());
  struct Pair {
    GridLayout<2> shape;
    Field<Number> x, y;
    Values host_x, host_y;  // as they are on the device
  };
  Pair random_pair(int nx, int ny) {
    const auto shape = test::unknowns(nx, ny);
    const auto n = static_cast<std::size_t>(shape.nodes());
    Pair p{shape,
           test::to_device<Number>(this->ctx(), shape, random_.values(n)),
           test::to_device<Number>(this->ctx(), shape, random_.values(n)),
           {},
           {}};
    p.host_x = test::to_host(this->ctx(), p.x);
    p.host_y = test::to_host(this->ctx(), p.y);
    return p;
  }
  void expect_values(const Field<Number>& v, const Values& expected) {
    EXPECT_LE(reference::relative_difference(test::to_host(this->ctx(), v), expected), rounding);
    EXPECT_TRUE(test::halo_is_zero(this->ctx(), v));
  }

 private:
  test::Random random_{7};
};

TEST_ON_EVERY_SETTING(BlasTest, UpdatesAgreeWithTheirFormulae) {
  auto& ctx = this->ctx();
  for (const auto& [nx, ny] : test::small_shapes) {
    SCOPED_TRACE(testing::Message() << nx << " x " << ny);
    auto p = this->random_pair(nx, ny);
    const std::size_t n = p.host_x.size();
    Values expected(n);

    Field<T> z(ctx, p.shape);
    set(ctx, T(2.5), z.view());
    this->expect_values(z, Values(n, 2.5));
    copy(ctx, p.x.cview(), z.view());
    this->expect_values(z, p.host_x);
    copy_scaled(ctx, -0.3, p.x.cview(), z.view());
    for (std::size_t k = 0; k < n; ++k) expected[k] = -0.3 * p.host_x[k];
    this->expect_values(z, expected);

    copy(ctx, p.y.cview(), z.view());
    axpy(ctx, 1.7, p.x.cview(), z.view());
    for (std::size_t k = 0; k < n; ++k) expected[k] = p.host_y[k] + 1.7 * p.host_x[k];
    this->expect_values(z, expected);

    copy(ctx, p.y.cview(), z.view());
    xpay(ctx, p.x.cview(), -0.9, z.view());
    for (std::size_t k = 0; k < n; ++k) expected[k] = p.host_x[k] - 0.9 * p.host_y[k];
    this->expect_values(z, expected);
  }
}

TEST_ON_EVERY_SETTING(BlasTest, SeveralTermsAtOnce) {
  auto& ctx = this->ctx();
  test::Random random(8);
  for (const auto& [nx, ny] : std::initializer_list<std::pair<int, int>>{{1, 1}, {17, 13}, {3000, 1}, {130, 200}})
    for (const std::size_t count : {0U, 1U, 2U, 8U, 9U, 19U}) {
      SCOPED_TRACE(testing::Message() << nx << " x " << ny << ", " << count);
      const auto shape = test::unknowns(nx, ny);
      const auto n = static_cast<std::size_t>(shape.nodes());
      std::vector<Field<T>> vectors;
      std::vector<FieldView<const T>> views;
      std::vector<DotPair<T>> pairs;
      auto y = test::to_device<T>(ctx, shape, random.values(n));
      const Values before = test::to_host(ctx, y);
      Values sum = before;
      const std::vector<double> alpha = random.values(count);
      for (std::size_t k = 0; k < count; ++k) {
        vectors.push_back(test::to_device<T>(ctx, shape, random.values(n)));
        const Values host = test::to_host(ctx, vectors.back());
        for (std::size_t i = 0; i < n; ++i) sum[i] += alpha[k] * host[i];
      }
      for (std::size_t k = 0; k < count; ++k) {
        views.push_back(vectors[k].cview());
        pairs.push_back({vectors[k].cview(), k % 3 == 2 ? vectors[0].cview() : y.cview()});
      }
      const auto products = dots(ctx, pairs);
      ASSERT_EQ(products.size(), count);
      for (std::size_t k = 0; k < count; ++k) {
        // Bit for bit what one product at a time gives, and right.
        EXPECT_EQ(products[k], dot(ctx, pairs[k].x, pairs[k].y)) << k;
        const double expected =
            reference::dot(test::to_host(ctx, vectors[k]), k % 3 == 2 ? test::to_host(ctx, vectors[0]) : before);
        EXPECT_NEAR(products[k], expected, 1e-12 * static_cast<double>(n)) << k;
      }
      EXPECT_EQ(dots(ctx, pairs), products) << "the same bits again";
      axpys(ctx, alpha, views, y.view());
      EXPECT_LE(reference::relative_difference(test::to_host(ctx, y), sum), 3 * this->rounding);
      EXPECT_TRUE(test::halo_is_zero(ctx, y));
    }
  Field<T> small(ctx, test::unknowns(2, 2)), large(ctx, test::unknowns(3, 2));
  EXPECT_THROW((void)dots<T>(ctx, {{small.cview(), large.cview()}}), UsageError);
  EXPECT_THROW((void)dots<T>(ctx, {{small.cview(), small.cview()}, {large.cview(), large.cview()}}), UsageError);
  EXPECT_THROW(axpys<T>(ctx, {1, 2}, {small.cview()}, small.view()), UsageError);
  EXPECT_THROW(axpys<T>(ctx, {1}, {small.cview()}, large.view()), UsageError);
}

TEST_ON_EVERY_SETTING(BlasTest, UpdatesConvertBetweenPrecisions) {
  using Other = std::conditional_t<std::is_same_v<T, float>, double, float>;
  auto& ctx = this->ctx();
  auto p = this->random_pair(37, 5);
  Field<Other> other(ctx, p.shape);
  copy(ctx, p.x.cview(), other.view());
  EXPECT_LE(reference::relative_difference(test::to_host(ctx, other), p.host_x), 1e-7);
  axpy(ctx, 2.0, p.y.cview(), other.view());
  Values expected = p.host_x;
  for (std::size_t k = 0; k < expected.size(); ++k) expected[k] += 2 * p.host_y[k];
  EXPECT_LE(reference::relative_difference(test::to_host(ctx, other), expected), 2e-7);
  // The scale is applied before narrowing: 1e-60 leaves the range of float, 1e-60 * 1e60 does not.
  Field<double> tiny(ctx, p.shape);
  Field<float> narrowed(ctx, p.shape);
  copy_scaled(ctx, 1e-60, p.x.cview(), tiny.view());
  copy_scaled(ctx, 1e60, tiny.cview(), narrowed.view());
  EXPECT_LE(reference::relative_difference(test::to_host(ctx, narrowed), p.host_x), 1e-7);
}

TEST_ON_EVERY_SETTING(BlasTest, NormsOfNumbersWhoseSquaresLeaveTheRangeOfDouble) {
  auto& ctx = this->ctx();
  const double wide = std::is_same_v<T, double> ? 1e200 : 1e30;
  for (const double size : {wide, 1 / wide, static_cast<double>(std::numeric_limits<T>::denorm_min())}) {
    const auto x = test::to_device<T>(ctx, {5, 5}, Values(25, size));
    EXPECT_NEAR(norm2(ctx, x.cview()) / static_cast<double>(static_cast<T>(size)), 5, 1e-14) << size;
  }
  const auto zero = test::to_device<T>(ctx, {5, 5}, Values(25, 0.0));
  EXPECT_EQ(norm2(ctx, zero.cview()), 0);
}

TEST_ON_EVERY_SETTING(BlasTest, ReductionsAgreeWithTheirFormulae) {
  auto& ctx = this->ctx();
  for (const auto& [nx, ny] : test::small_shapes) {
    SCOPED_TRACE(testing::Message() << nx << " x " << ny);
    auto p = this->random_pair(nx, ny);
    double sum = 0, squares = 0, largest = 0, magnitude = 0;
    for (std::size_t k = 0; k < p.host_x.size(); ++k) {
      sum += p.host_x[k] * p.host_y[k];
      magnitude += std::abs(p.host_x[k] * p.host_y[k]);
      squares += p.host_x[k] * p.host_x[k];
      largest = std::max(largest, std::abs(p.host_x[k]));
    }
    // Sums are accumulated in double in every precision.
    EXPECT_NEAR(dot(ctx, p.x.cview(), p.y.cview()), sum, 1e-14 * magnitude);
    EXPECT_NEAR(norm2(ctx, p.x.cview()), std::sqrt(squares), 1e-14 * std::sqrt(squares));
    EXPECT_EQ(norm_max(ctx, p.x.cview()), largest);
  }
}

TEST_ON_EVERY_SETTING(BlasTest, FloatSumsDoNotLoseDigits) {
  // A sum in float of 4e6 equal terms would be off by percents.
  const Field<T> x = [&] {
    Field<T> v(this->ctx(), test::unknowns(2000, 2000));
    set(this->ctx(), T(0.1), v.view());
    return v;
  }();
  const double tenth = static_cast<double>(T(0.1));
  EXPECT_NEAR(dot(this->ctx(), x.cview(), x.cview()), 4e6 * tenth * tenth, 1e-12 * 4e4);
}

TEST_ON_EVERY_SETTING(BlasTest, ANaNIsSeenByEveryReduction) {
  auto& ctx = this->ctx();
  for (const std::size_t place : {0, 1, 63, 64, 99}) {
    Values values(100, 1.0);
    values[place] = std::nan("");
    const auto x = test::to_device<T>(ctx, test::unknowns(20, 5), values);
    EXPECT_TRUE(std::isnan(norm_max(ctx, x.cview()))) << place;
    EXPECT_TRUE(std::isnan(norm2(ctx, x.cview()))) << place;
    EXPECT_TRUE(std::isnan(dot(ctx, x.cview(), x.cview()))) << place;
  }
}

TEST_ON_EVERY_SETTING(BlasTest, ReductionsGiveTheSameBitsEveryTime) {
  auto& ctx = this->ctx();
  auto p = this->random_pair(301, 211);
  const double first = dot(ctx, p.x.cview(), p.y.cview());
  for (int k = 0; k < 20; ++k) {
    const double again = dot(ctx, p.x.cview(), p.y.cview());
    EXPECT_EQ(std::memcmp(&first, &again, sizeof first), 0);
  }
}

TEST_ON_EVERY_SETTING(BlasTest, ReductionsAllocateOnce) {
  auto& ctx = this->ctx();
  auto p = this->random_pair(50, 40);
  const double value = norm2(ctx, p.x.cview());
  const auto before = ctx.memory()->allocations.load();
  EXPECT_EQ(norm2(ctx, p.x.cview()), value);
  EXPECT_EQ(ctx.memory()->allocations, before);
}

TEST_ON_EVERY_SETTING(BlasTest, ShapesMustAgree) {
  auto& ctx = this->ctx();
  Field<T> x(ctx, test::unknowns(3, 4)), y(ctx, test::unknowns(4, 3));
  EXPECT_THROW(copy(ctx, x.cview(), y.view()), UsageError);
  EXPECT_THROW(copy_scaled(ctx, 2, x.cview(), y.view()), UsageError);
  EXPECT_THROW(axpy(ctx, 1, x.cview(), y.view()), UsageError);
  EXPECT_THROW(xpay(ctx, x.cview(), 1, y.view()), UsageError);
  EXPECT_THROW((void)dot(ctx, x.cview(), y.cview()), UsageError);
}

TEST(BlasThreads, TheNumberOfThreadsDoesNotChangeABit) {
  test::Random random(11);
  const Values x = random.values(517 * 131), y = random.values(517 * 131);
  double expected_dot = 0, expected_norm = 0;
  for (const int threads : {1, 2, 3, 5, 8}) {
    Context ctx(Backend::cpu, threads);
    const auto shape = test::unknowns(517, 131);
    const auto vx = test::to_device<double>(ctx, shape, x), vy = test::to_device<double>(ctx, shape, y);
    const double product = dot(ctx, vx.cview(), vy.cview()), norm = norm2(ctx, vx.cview());
    if (threads == 1) {
      expected_dot = product;
      expected_norm = norm;
    }
    EXPECT_EQ(std::memcmp(&product, &expected_dot, sizeof product), 0) << threads << " threads";
    EXPECT_EQ(std::memcmp(&norm, &expected_norm, sizeof norm), 0) << threads << " threads";
  }
}

}  // namespace
