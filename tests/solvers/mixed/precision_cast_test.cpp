#include <stratum/solvers/mixed/precision_cast.hpp>

#include <cmath>

#include "support/backends.hpp"
#include "support/preconditioners.hpp"

namespace {

using namespace stratum;
using test::Values;

class PrecisionCastTest : public test::OnEveryBackend {};
INSTANTIATE_ON_EVERY_BACKEND(PrecisionCastTest);

TEST_P(PrecisionCastTest, DefectsOfAnySizeSurviveNarrowing) {
  test::Random random(141);
  const auto shape = test::unknowns(17, 5);
  const Values values = random.values(85);
  for (const double scale : {1.0, 1e-60, 1e60, 1e-300, 1e300, 3e-38, 1e39}) {
    SCOPED_TRACE(scale);
    Values scaled = values;
    for (double& v : scaled) v *= scale;
    const auto r = test::to_device<double>(ctx(), shape, scaled);
    Field<double> z(ctx(), shape);
    set(ctx(), std::nan(""), z.view());
    const auto identity = std::make_shared<test::ScaledIdentity<float>>(0.5);
    PrecisionCast<double, float> cast(ctx(), shape, identity);
    cast.apply(ctx(), r.cview(), z.view());
    Values expected = scaled;
    for (double& v : expected) v *= 0.5;
    EXPECT_LT(reference::relative_difference(test::to_host(ctx(), z), expected), 1e-7);
    EXPECT_TRUE(test::halo_is_zero(ctx(), z));
    EXPECT_LE(identity->largest_seen(), 2) << "not scaled to unit size";
    EXPECT_GE(identity->largest_seen(), 0.25);
  }
}

TEST_P(PrecisionCastTest, PowersOfTwoAddNoRounding) {
  test::Random random(142);
  const auto shape = test::unknowns(31, 3);
  Values values = random.values(93);
  for (double& v : values) v = static_cast<double>(static_cast<float>(v));  // representable in float
  const auto r = test::to_device<double>(ctx(), shape, values);
  Field<double> z(ctx(), shape);
  const auto identity = std::make_shared<test::ScaledIdentity<float>>(1);
  PrecisionCast<double, float> cast(ctx(), shape, identity);
  cast.apply(ctx(), r.cview(), z.view());
  EXPECT_EQ(test::to_host(ctx(), z), values);
}

TEST_P(PrecisionCastTest, TheProductComesWithIt) {
  test::Random random(143);
  for (const auto& shape : {test::unknowns(31, 7), test::unknowns(300, 100), GridLayout<2>::flat(20000)}) {
    const auto r = test::to_device<double>(ctx(), shape, random.values(static_cast<std::size_t>(shape.nodes())));
    Field<double> z(ctx(), shape), expected(ctx(), shape);
    PrecisionCast<double, float> cast(ctx(), shape, std::make_shared<test::ScaledIdentity<float>>(0.5));
    cast.apply(ctx(), r.cview(), expected.view());
    EXPECT_EQ(cast.apply_dot(ctx(), r.cview(), z.view()), dot(ctx(), r.cview(), expected.cview()));
    EXPECT_EQ(test::to_host(ctx(), z), test::to_host(ctx(), expected));
  }
}

TEST_P(PrecisionCastTest, ZeroStaysZeroAndNaNIsNotHidden) {
  const auto shape = test::unknowns(4, 4);
  const auto identity = std::make_shared<test::ScaledIdentity<float>>(1);
  PrecisionCast<double, float> cast(ctx(), shape, identity);
  const Field<double> zero(ctx(), shape);
  Field<double> z(ctx(), shape);
  set(ctx(), 5.0, z.view());
  cast.apply(ctx(), zero.cview(), z.view());
  EXPECT_EQ(test::to_host(ctx(), z), Values(16, 0.0));
  Values values(16, 1.0);
  values[3] = std::nan("");
  const auto r = test::to_device<double>(ctx(), shape, values);
  cast.apply(ctx(), r.cview(), z.view());
  EXPECT_TRUE(std::isnan(norm_max(ctx(), z.cview())));
}

TEST_P(PrecisionCastTest, PassesOnWhatThePreconditionerIs) {
  test::Random random(143);
  const auto [oracle, a] = test::random_operator<float>(ctx(), random, 3, 3, StorageFormat::tensor);
  for (const bool constant : {true, false})
    for (const bool symmetric : {true, false}) {
      const PrecisionCast<double, float> cast(ctx(), a.shape(),
                                              test::ScaledInverse<float>(ctx(), a, 1, constant, symmetric));
      EXPECT_EQ(cast.is_constant(), constant);
      EXPECT_EQ(cast.is_symmetric(), symmetric);
      EXPECT_EQ(cast.iterations(), 1);
    }
}

TEST_P(PrecisionCastTest, NothingIsAllocatedByApply) {
  const auto shape = test::unknowns(90, 70);
  const auto identity = std::make_shared<test::ScaledIdentity<float>>(1);
  PrecisionCast<double, float> cast(ctx(), shape, identity);
  Field<double> r(ctx(), shape), z(ctx(), shape);
  set(ctx(), 1.0, r.view());
  (void)norm2(ctx(), r.cview());  // the scratch of reductions belongs to the Context
  const auto before = ctx().memory()->allocations.load();
  cast.apply(ctx(), r.cview(), z.view());
  EXPECT_EQ(ctx().memory()->allocations, before);
}

}  // namespace
