#include <gmock/gmock.h>

#include <cmath>

#include <stratum/smoothers/smoother.hpp>

#include "support/backends.hpp"

namespace {

using namespace stratum;
using testing::HasSubstr;
using testing::ThrowsMessage;

/// x <- x + omega (b - A x): what a user might write.
template <class T>
class Richardson final : public Smoother<T> {
 public:
  Richardson(Context& ctx, const GridLayout<2>& shape, const SmootherParams& params)
      : defect_(ctx, shape), omega_(damping_or(params, 0.125)) {}

  void smooth(Context& ctx, const GridOperator<T>& a, FieldView<const T> b, FieldView<T> x, int sweeps, Guess guess,
              SweepOrder /*order*/, Ghosts /*ghosts_of_x*/) override {
    if (guess == Guess::zero) set(ctx, T(0), x);
    for (int k = 0; k < sweeps; ++k) {
      a.residual(ctx, b, x, defect_.view());
      axpy(ctx, omega_, defect_.cview(), x);
    }
  }
  [[nodiscard]] double words_per_step(int coefficient_words) const override { return 6.0 + coefficient_words; }

 private:
  Field<T> defect_;
  double omega_;
};

TEST(SmootherRegistryTest, HoldsThePublishedSmoothers) {
  const auto registry = builtin_smoothers();
  for (const char* name : {"jacobi", "colour_gs", "line_x", "line_y", "adi"}) {
    ASSERT_TRUE(registry.entries().contains(name)) << name;
    EXPECT_FALSE(registry.find(name).description.empty());
  }
}

TEST(SmootherRegistryTest, TakesASmootherOfTheUsers) {
  Context ctx(Backend::cpu, 1);
  auto registry = builtin_smoothers();
  const auto before = registry.entries().size();
  registry.add<Richardson>("richardson", "x <- x + omega (b - A x)");
  EXPECT_EQ(registry.entries().size(), before + 1);
  const GridLayout<2> shape = test::unknowns(3, 3);
  const auto smoother = registry.make<double>(ctx, "richardson", shape, {});
  test::Random random(81);
  const auto [oracle, a] = test::random_operator<double>(ctx, random, 3, 3, StorageFormat::symmetric);
  const auto b = test::random_vector<double>(ctx, random, shape);
  Field<double> x(ctx, shape);
  smoother->smooth(ctx, a, b.cview(), x.view(), 1, Guess::zero, SweepOrder::forward);
  const auto values = test::to_host(ctx, x), rhs = test::to_host(ctx, b);
  for (std::size_t k = 0; k < 9; ++k) EXPECT_EQ(values[k], 0.125 * rhs[k]);
  // A registry is a value: another is not changed.
  EXPECT_FALSE(builtin_smoothers().entries().contains("richardson"));
}

TEST(SmootherRegistryTest, ANameIsTakenOnce) {
  auto registry = builtin_smoothers();
  EXPECT_THAT([&] { registry.add<Richardson>("jacobi", "another"); }, ThrowsMessage<UsageError>(HasSubstr("jacobi")));
  EXPECT_NE(registry.find("jacobi").description, "another");
}

TEST(SmootherRegistryTest, UnknownNamesListTheKnownOnes) {
  EXPECT_THAT([] { (void)builtin_smoothers().find("ssor"); },
              ThrowsMessage<UsageError>(AllOf(HasSubstr("ssor"), HasSubstr("jacobi"), HasSubstr("colour_gs"),
                                              HasSubstr("line_x"), HasSubstr("line_y"), HasSubstr("adi"))));
}

TEST(SmootherRegistryTest, DampingOutsideItsRangeIsRefused) {
  Context ctx(Backend::cpu, 1);
  const auto registry = builtin_smoothers();
  for (const auto& [name, entry] : registry.entries())
    for (const double omega : {0.0, 2.0, -1.0, std::nan(""), HUGE_VAL}) {
      SmootherParams params;
      params.damping = omega;
      EXPECT_THROW((void)entry.make_double(ctx, test::unknowns(3, 3), params), UsageError) << name << " " << omega;
      EXPECT_THROW((void)entry.make_float(ctx, test::unknowns(3, 3), params), UsageError) << name << " " << omega;
    }
}

TEST(SmootherRegistryTest, AnOddNumberOfStepsIsRefusedByAdi) {
  Context ctx(Backend::cpu, 1);
  test::Random random(82);
  const auto [oracle, a] = test::random_operator<double>(ctx, random, 3, 3, StorageFormat::tensor);
  Field<double> b(ctx, a.shape()), x(ctx, a.shape());
  for (const auto order : {LineOrder::zebra, LineOrder::simultaneous}) {
    SmootherParams params;
    params.line_order = order;
    const auto adi = builtin_smoothers().make<double>(ctx, "adi", a.shape(), params);
    EXPECT_EQ(adi->sweeps_per_application(), 2);
    EXPECT_THROW(adi->smooth(ctx, a, b.cview(), x.view(), 3, Guess::given, SweepOrder::forward), UsageError);
  }
}

}  // namespace
