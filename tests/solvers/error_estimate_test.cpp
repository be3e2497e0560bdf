// Errors by the size of corrections: the arithmetic of it.

#include <stratum/solvers/error_estimate.hpp>

#include <cmath>

#include <gtest/gtest.h>

namespace {

using namespace stratum;

TEST(ErrorEstimate, OfAnIterateWhoseCorrectionIsKnownIsItsSize) {
  ErrorEstimate estimate;
  EXPECT_FALSE(estimate.of(3));
  estimate.add(3, 1e-4);
  EXPECT_TRUE(estimate.has(3));
  EXPECT_EQ(estimate.of(3), 1e-4);
  EXPECT_EQ(estimate.of(4), 1e-4) << "how it falls is not known";
}

TEST(ErrorEstimate, GoesOnAsCorrectionsFall) {
  ErrorEstimate estimate;
  estimate.add(3, 1e-2);
  estimate.add(4, 1e-3);
  EXPECT_NEAR(*estimate.of(5), 1e-4 / 0.9, 1e-9);
  EXPECT_EQ(estimate.of(5, false), 1e-3) << "steps are not alike";
  estimate.add(6, 1e-5);
  EXPECT_NEAR(*estimate.of(7), 1e-6 / 0.9, 1e-12) << "one was left out";
  estimate.add(7, 1e-4);
  EXPECT_GE(*estimate.of(8), 1e-4) << "it grew";
  EXPECT_LE(*estimate.of(8), 2e-4);
}

// 0.94 a cycle: what is to come is seventeen times what the last one did, and hovers by chance.
TEST(ErrorEstimate, AddsUpWhatSlowCyclesWillDo) {
  ErrorEstimate estimate;
  for (int k = 1; k <= 20; ++k) {
    estimate.add(k, std::pow(0.94, k) * (1 + 0.05 * (k % 3)));
    if (k > 6) {
      EXPECT_GT(*estimate.of(k), 10 * std::pow(0.94, k)) << k;
      EXPECT_LT(*estimate.of(k), 25 * std::pow(0.94, k)) << k;
    }
  }
}

TEST(ErrorEstimate, HasStoppedWhereItDoesNotFallByAFifthInSixIterations) {
  ErrorEstimate estimate;
  EXPECT_FALSE(estimate.stopped(9));
  for (int k = 1; k <= 6; ++k) estimate.add(k, std::pow(0.95, k));
  EXPECT_FALSE(estimate.stopped(6)) << "slow, and falling";
  estimate.add(7, 0.4);
  EXPECT_FALSE(estimate.stopped(7));
  for (int k = 8; k < 14; ++k) estimate.add(k, 0.33);
  EXPECT_TRUE(estimate.stopped(13));
  estimate.add(14, 0.1);
  EXPECT_FALSE(estimate.stopped(14));
}

TEST(ErrorEstimate, DoubtsWhatTheFirstCorrectionTellsOfLaterOnes) {
  ErrorEstimate estimate;
  estimate.add(0, 1);
  estimate.add(1, 1e-5);
  EXPECT_EQ(estimate.doubt(1), 1) << "it is known";
  EXPECT_GT(estimate.doubt(2), 5);
  estimate.add(7, 1e-9);
  EXPECT_EQ(estimate.doubt(8), 1);
}

TEST(ErrorEstimate, IsRelativeToTheMagnitudeOfConstants) {
  EXPECT_DOUBLE_EQ(relative_error(1e-6, {300, 302}), 5e-7);
  EXPECT_DOUBLE_EQ(relative_error(1e-6, {299.9999, 300}), 1e-6 / 0.3) << "a range of a hundred times the error is one";
  EXPECT_DOUBLE_EQ(relative_error(1e-6, {299.9999990, 300}), 1e-6 / 6) << "that of a constant and an error";
  EXPECT_EQ(relative_error(0, {0, 0}), 0);
  EXPECT_TRUE(std::isinf(relative_error(1, {0, 0})));
}

TEST(ErrorEstimate, SizesAreRangesAndConstantsHaveOne) {
  Context ctx(Backend::cpu, 1);
  Field<double> x(ctx, GridLayout<2>{3, 1});
  const auto size = [&](double a, double b, double c) {
    const double numbers[] = {a, b, c};
    copy_from_host(ctx, numbers, x.view());
    return size_of(ctx, x.cview());
  };
  EXPECT_DOUBLE_EQ(size(300, 301.25, 300), 1.25);
  EXPECT_DOUBLE_EQ(size(-3, -1, -2), 2);
  EXPECT_DOUBLE_EQ(size(-2, -2, -2), 2e-3);
  EXPECT_EQ(size(0, 0, 0), 0);
  EXPECT_TRUE(std::isnan(size(0, NAN, 0)));
}

}  // namespace
