#include <stratum/assembly/expressions/expression.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include <stratum/core/errors.hpp>
#include <stratum/mesh/graded.hpp>

namespace {

using namespace stratum;
using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

class ExpressionTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!expressions_available()) GTEST_SKIP() << "this build has no muParser";
  }
};

TEST_F(ExpressionTest, KnowsItsNames) {
  const Point p{0.25, 0.5, 1.75, 2.5, 0.125, 0.75};
  const auto value = [&](const char* text) { return parse_expression(text, 2, 3)(p); };
  EXPECT_EQ(value("x"), 0.25);
  EXPECT_EQ(value("y"), 0.5);
  EXPECT_EQ(value("xr"), 1.75);
  EXPECT_EQ(value("yr"), 2.5);
  EXPECT_EQ(value("xl"), 0.125);
  EXPECT_EQ(value("yl"), 0.75);
  EXPECT_EQ(value("a + 10*b"), 32);
  EXPECT_EQ(value("pi"), std::numbers::pi);
  EXPECT_EQ(value("e"), std::numbers::e);
  EXPECT_DOUBLE_EQ(value("sin(pi*x)*exp(-y)"), std::sin(std::numbers::pi / 4) * std::exp(-0.5));
  EXPECT_EQ(value("x < y ? 1 : 2"), 1);
}

TEST_F(ExpressionTest, CopiesAreIndependent) {
  const auto f = parse_expression("x + 10*y", 1, 1);
  const auto g = f;
  EXPECT_EQ(f({1, 2, 0, 0}), 21);
  EXPECT_EQ(g({3, 4, 0, 0}), 43);
  EXPECT_EQ(f({1, 2, 0, 0}), 21);
}

TEST_F(ExpressionTest, WhatDoesNotParseIsRefusedWithTheText) {
  for (const char* bad : {"2*", "sin(x", "foo + 1", "x y", ")", "", "  ", "z", "x, y", "1 2"})
    EXPECT_THROW((void)parse_expression(bad, 1, 1), UsageError) << "'" << bad << "' was taken";
  EXPECT_THAT([] { (void)parse_expression("x + foo", 1, 1); }, ThrowsMessage<UsageError>(HasSubstr("foo")));
}

TEST_F(ExpressionTest, AssignmentIsRefusedWithWhatWasMeant) {
  for (const char* bad : {"x=0 ? 1 : 0", "x = 0", "(x=3)+x", "x==1 || y=2", "x+=1", "1 <= x = 2", "x=y=3"})
    EXPECT_THROW((void)parse_expression(bad, 1, 1), UsageError) << "'" << bad << "' was taken";
  EXPECT_THAT([] { (void)parse_expression("x=0 ? 1 : 0", 1, 1); },
              ThrowsMessage<UsageError>(AllOf(HasSubstr("character 2"), HasSubstr("'x==0 ? 1 : 0'"))));
  for (const char* good : {"x==0 ? 1 : 0", "x<=0", "x>=0", "x!=0", "x==0 || y==b"})
    EXPECT_NO_THROW((void)parse_expression(good, 1, 1)) << good;
}

TEST_F(ExpressionTest, ChainedComparisonsAreRefused) {
  for (const char* bad : {"0 < x < 1", "0<=x<=1 ? 2 : 3", "sin(0<x<1)", "x==y==1", "x < 1 && 0 < y < 1"})
    EXPECT_THAT([bad] { (void)parse_expression(bad, 1, 1); }, ThrowsMessage<UsageError>(HasSubstr("&&"))) << bad;
  const Point p{0.25, 0.5, 0.75, 0.5};
  EXPECT_EQ(parse_expression("0 < x && x < 1 ? 2 : 3", 1, 1)(p), 2);
  EXPECT_EQ(parse_expression("(x < y) == (y < 1)", 1, 1)(p), 1);
  EXPECT_EQ(parse_expression("x < 0.1 ? 1 : x < 0.3 ? 2 : 3", 1, 1)(p), 2);
  EXPECT_EQ(parse_expression("max(x < 1, y < 1)", 1, 1)(p), 1);
}

TEST_F(ExpressionTest, ConstantsHaveAllTheirDigits) {
  EXPECT_EQ(parse_expression("pi", 1, 1)({}), std::numbers::pi);
  EXPECT_THROW((void)parse_expression("_pi", 1, 1), UsageError);  // muParser's has twelve
}

TEST_F(ExpressionTest, SidesAreFoundByComparison) {
  for (int n = 1; n < 146; ++n) {
    const double a = 1 + n % 3 * 0.7, b = 0.1 * n;
    const TensorMesh<2> mesh{uniform(a, n), geometric(b, n, 1.1, GradedSide::both)};
    Context ctx(Backend::cpu, 1);
    const auto count = [&](const char* text) {
      const auto values = at_nodes(ctx, mesh, parse_expression(text, a, b));
      return std::count(values.begin(), values.end(), 1.0);
    };
    for (const char* side : {"x==0 ? 1 : 0", "x==a ? 1 : 0", "xr==0", "xr==a", "y==0", "y==b", "yr==0", "yr==b"})
      ASSERT_EQ(count(side), n + 1) << side << " with " << n << " cells";
    ASSERT_EQ(count("x<0 || x>a || y<0 || y>b"), 0);
  }
}

TEST_F(ExpressionTest, TheTimeIsKnownWhereThereIsOne) {
  const auto u = parse_expression("x+10*t", 1, 1, Variables::space_and_time);
  Point p{1, 2, 3, 4};
  p.t = 5;
  EXPECT_EQ(u(p), 51);
  EXPECT_THAT([] { (void)parse_expression("x+t", 1, 1); },
              ThrowsMessage<UsageError>(HasSubstr("known names: x, y, a")));
  EXPECT_THAT([] { (void)parse_expression("x+s", 1, 1, Variables::space_and_time); },
              ThrowsMessage<UsageError>(HasSubstr("known names: x, y, t, a")));
  EXPECT_TRUE(depends_on_time("exp(-t)*x", 1, 1));
  EXPECT_FALSE(depends_on_time("tan(x)", 1, 1));
}

TEST(Expression, WithoutMuParserItSaysSo) {
  if (expressions_available()) GTEST_SKIP() << "this build has muParser";
  EXPECT_THAT([] { (void)parse_expression("x", 1, 1); }, ThrowsMessage<UsageError>(HasSubstr("muParser")));
}

}  // namespace
