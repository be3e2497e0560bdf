#include <stratum/assembly/expression.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include <stratum/core/errors.hpp>

namespace {

using namespace stratum;
using testing::HasSubstr;
using testing::ThrowsMessage;

class ExpressionTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!expressions_available()) GTEST_SKIP() << "this build has no muParser";
  }
};

TEST_F(ExpressionTest, KnowsItsNames) {
  const Point p{0.25, 0.5, 1.75, 2.5};
  const auto value = [&](const char* text) { return parse_expression(text, 2, 3)(p); };
  EXPECT_EQ(value("x"), 0.25);
  EXPECT_EQ(value("y"), 0.5);
  EXPECT_EQ(value("xr"), 1.75);
  EXPECT_EQ(value("yr"), 2.5);
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

TEST(Expression, WithoutMuParserItSaysSo) {
  if (expressions_available()) GTEST_SKIP() << "this build has muParser";
  EXPECT_THAT([] { (void)parse_expression("x", 1, 1); }, ThrowsMessage<UsageError>(HasSubstr("muParser")));
}

}  // namespace
