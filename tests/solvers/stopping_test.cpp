#include <stratum/solvers/stopping.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <vector>

#include <stratum/core/errors.hpp>

namespace {

using namespace stratum;

StoppingParams params(double rtol, double atol = 0, int max_iterations = 100) {
  StoppingParams p;
  p.rtol = rtol;
  p.atol = atol;
  p.max_iterations = max_iterations;
  return p;
}

/// Feeds residuals until the test ends; the status it ends with.
Status run(const StoppingParams& p, double rhs_norm, const std::vector<double>& residuals) {
  StoppingTest test(p, rhs_norm, residuals.front());
  for (std::size_t k = 0; k < residuals.size(); ++k)
    if (test.done(static_cast<int>(k), residuals[k])) {
      EXPECT_EQ(test.report().iterations, static_cast<int>(k));
      EXPECT_EQ(std::isnan(residuals[k]) ? 0 : test.report().residual, std::isnan(residuals[k]) ? 0 : residuals[k]);
      EXPECT_EQ(test.report().history.size(), k + 1);
      EXPECT_FALSE(test.report().reason.empty());
      return test.status();
    }
  ADD_FAILURE() << "never ended";
  return test.status();
}

TEST(Stopping, BadTolerancesAreRefused) {
  for (const double bad : {-1e-8, std::nan(""), HUGE_VAL}) {
    EXPECT_THROW(params(bad).validate(), UsageError) << bad;
    EXPECT_THROW(params(1e-8, bad).validate(), UsageError) << bad;
  }
  EXPECT_THROW(params(0, 0).validate(), UsageError);
  EXPECT_THROW(params(1e-8, 0, -1).validate(), UsageError);
  EXPECT_THROW(params(1).validate(), UsageError) << "the residual to begin with would do";
  EXPECT_NO_THROW(params(0, 1e-5).validate());
  EXPECT_NO_THROW(params(1e-8).validate());
}

TEST(Stopping, NormsWhoseSquaresAreLostAreRefused) {
  for (const double norm : {1e-200, 1e200}) EXPECT_THROW(StoppingTest(params(1e-8), norm, norm), UsageError) << norm;
  for (const double norm : {0.0, 1e-130, 1e130}) EXPECT_NO_THROW(StoppingTest(params(1e-8), norm, norm)) << norm;
}

TEST(Stopping, Converged) {
  EXPECT_EQ(run(params(1e-2), 1, {1, 0.1, 0.01}), Status::converged);
  EXPECT_EQ(run(params(1e-8, 0.5), 1, {1, 0.4}), Status::converged);
  EXPECT_EQ(run(params(1e-8), 1, {0}), Status::converged);
  EXPECT_EQ(run(params(1e-8), 0, {0}), Status::converged);
  EXPECT_EQ(run(params(1e-2), 1e6, {1}), Status::converged) << "the guess is good enough already";
}

TEST(Stopping, ReferenceNormOfTheInitialResidual) {
  StoppingParams p = params(1e-2);
  p.reference_norm = ReferenceNorm::initial;
  StoppingTest test(p, 1e6, 1);
  EXPECT_FALSE(test.done(0, 1));
  EXPECT_FALSE(test.done(1, 0.02));
  EXPECT_TRUE(test.done(2, 0.009));
  EXPECT_EQ(test.report().reference_norm, ReferenceNorm::initial);
  EXPECT_EQ(test.report().reference_norm_value, 1);
}

TEST(Stopping, TheErrorConvergesAsWell) {
  StoppingTest test(params(1e-2), 1, 1);
  int asked = 0;
  std::optional<double> error = 1.5;
  test.set_error([&] { return ++asked, error; });
  EXPECT_FALSE(test.done(0, 1));
  EXPECT_EQ(asked, 0) << "not before the norm has converged";
  EXPECT_FALSE(test.done(1, 1e-3));
  error = 0.9;
  EXPECT_TRUE(test.done(2, 5e-4)) << "a hundred times rtol";
  EXPECT_EQ(asked, 2);
  EXPECT_EQ(test.status(), Status::converged);
  EXPECT_EQ(test.report().estimated_error, 0.9);
}

TEST(Stopping, AnErrorThatIsAskedForIsHadAndOneThatIsNotKnownDecidesNothing) {
  StoppingParams p = params(1e-2, 1e-2);
  p.error_tol = 1e-5;
  for (const double known : {1e-4, 1e-6, -1.0}) {
    StoppingTest test(p, 1, 1);
    test.set_error([&]() -> std::optional<double> { return known > 0 ? std::optional(known) : std::nullopt; });
    EXPECT_EQ(test.done(0, 1e-3), known < 1e-5);
  }
  p.error_tol = -1;
  EXPECT_THROW(p.validate(), UsageError);
}

TEST(Stopping, WhatGivesUpHasConvergedWhereEveryRowHas) {
  for (const Status end : {Status::round_off_limit, Status::stagnated, Status::breakdown})
    for (const double row : {1e-3, 0.5})
      for (const double error : {2.5, 25.0}) {
        StoppingTest test(params(1e-2, 0, 5), 1, 1);
        test.set_error([error]() -> std::optional<double> { return error; });
        test.set_worst_row([row] { return row; });
        EXPECT_FALSE(test.done(0, 1));
        test.end(end, "");
        EXPECT_EQ(test.status(), end) << "the norm has not converged";
        EXPECT_FALSE(test.done(1, 1e-3));
        test.end(end, "");
        EXPECT_EQ(test.status(), row < 1e-2 && error < 10 ? Status::converged : end);
        EXPECT_TRUE(test.done(5, 1e-3));
        EXPECT_EQ(test.status(), Status::max_iterations);
        EXPECT_NE(test.report().reason.find(error < 10 ? "2.5" : "25"), std::string::npos) << test.report().reason;
      }
}

TEST(Stopping, AnErrorInTheSecondDigitIsNoRounding) {
  for (const double error : {1e-3, 0.3, std::nan("")}) {
    StoppingTest test(params(1e-8), 1, 1);
    (void)test.done(0, 1);
    test.end_at_rounding(error);
    EXPECT_EQ(test.status(), error < 1e-2 ? Status::round_off_limit : Status::stagnated) << error;
  }
}

TEST(Stopping, AnAbsoluteToleranceIsOfTheNormAlone) {
  StoppingTest test(params(0, 1e-2), 1, 1);
  test.set_error([]() -> std::optional<double> { return 0.5; });
  EXPECT_TRUE(test.done(0, 1e-2));
}

TEST(Stopping, AZeroRightHandSideIsMeasuredByTheInitialResidual) {
  StoppingTest test(params(1e-2), 0, 1);
  test.set_error([]() -> std::optional<double> { return 2; });
  EXPECT_FALSE(test.done(0, 1));
  EXPECT_TRUE(test.done(1, 1e-2)) << "the solution is zero, and what is left of x is no part of it";
  EXPECT_EQ(run(params(1e-2), 0, {1, 0.1, 0.01}), Status::converged);
}

TEST(Stopping, MaxIterations) {
  EXPECT_EQ(run(params(1e-8, 0, 2), 1, {1, 0.5, 0.25}), Status::max_iterations);
  EXPECT_EQ(run(params(1e-8, 0, 0), 1, {1}), Status::max_iterations);
}

TEST(Stopping, Diverged) {
  EXPECT_EQ(run(params(1e-8), 1, {1, 10, 1e3, 1e6}), Status::diverged);
  EXPECT_EQ(run(params(1e-8), 1, {1, 10, INFINITY}), Status::diverged);
  EXPECT_EQ(run(params(1e-8), 1, {1, std::nan("")}), Status::diverged);
}

TEST(Stopping, NonFinite) {
  EXPECT_EQ(run(params(1e-8), std::nan(""), {std::nan("")}), Status::non_finite);
  EXPECT_EQ(run(params(1e-8), HUGE_VAL, {HUGE_VAL}), Status::non_finite);
  EXPECT_EQ(run(params(1e-8), 1, {std::nan("")}), Status::non_finite) << "a guess that is not finite";
  EXPECT_EQ(run(params(1e-8, 1e300), HUGE_VAL, {1}), Status::non_finite) << "whatever the tolerance";
}

TEST(Stopping, Stagnated) {
  std::vector<double> residuals{1, 0.1, 1e-3};
  for (int k = 0; k < 60; ++k) residuals.push_back(1e-3 * (1 + 0.1 * (k % 3)));
  EXPECT_EQ(run(params(1e-8), 1, residuals), Status::stagnated);
}

TEST(Stopping, SlowConvergenceIsNotStagnation) {
  std::vector<double> residuals;
  for (double r = 1; r > 5e-4; r *= 0.97) residuals.push_back(r);
  EXPECT_EQ(run(params(1e-3, 0, 10000), 1, residuals), Status::converged);
}

TEST(Stopping, GrowthIsNotStagnation) {
  std::vector<double> residuals;
  for (double r = 1; r < 1e7; r *= 1.5) residuals.push_back(r);
  EXPECT_EQ(run(params(1e-8), 1, residuals), Status::diverged);
}

TEST(Stopping, SlowIsAResidualThatFallsMuchLessThanBefore) {
  const auto slow = [](const std::vector<double>& residuals) {
    StoppingTest test(params(1e-30), 1, residuals.front());
    for (std::size_t k = 0; k < residuals.size(); ++k) (void)test.done(static_cast<int>(k), residuals[k]);
    return test.slow();
  };
  EXPECT_FALSE(slow({1, 0.1, 0.01}));
  EXPECT_TRUE(slow({1, 0.8, 0.64}));
  EXPECT_TRUE(slow({1, 0.1, 0.05}));
  EXPECT_TRUE(slow({1, 0.39, 0.38})) << "whatever it fell before";
}

TEST(Stopping, RoundingWillDoNearATolerance) {
  StoppingParams p = params(1e-8);
  const auto will_do = [&p](int iteration, double residual) {
    return StoppingTest(p, 1, 1).rounding_will_do(iteration, residual);
  };
  EXPECT_FALSE(will_do(8, 2e-8)) << "the tolerance was asked for";
  p.rounding_will_do = true;
  EXPECT_TRUE(will_do(8, 2e-8));
  EXPECT_FALSE(will_do(8, 1e-6));
  EXPECT_FALSE(will_do(7, 2e-8)) << "what takes few iterations need not ask";
}

TEST(Stopping, TheMonitorSeesEveryResidual) {
  std::vector<std::pair<int, double>> seen;
  StoppingTest test(params(0.05), 1, 1,
                    [&](int iteration, double residual) { seen.emplace_back(iteration, residual); });
  EXPECT_FALSE(test.done(0, 1));
  EXPECT_FALSE(test.done(1, 0.1));
  EXPECT_TRUE(test.done(2, 0.01));
  EXPECT_EQ(seen, (std::vector<std::pair<int, double>>{{0, 1}, {1, 0.1}, {2, 0.01}}));
}

/// What single precision ended with, and what the true residual makes of it.
TEST(SinglePrecision, OnlyAnIterationThatWasDoneIsAtRounding) {
  const auto judged = [](Status own, double true_residual) {
    SolveReport report;
    report.status = own;
    report.reference_norm_value = 1;
    StoppingParams stop;
    stop.rtol = 1e-6;
    judge_single_precision(report, stop, 1, true_residual, "use mixed precision");
    return report.status;
  };
  EXPECT_EQ(judged(Status::converged, 1e-7), Status::converged);
  EXPECT_EQ(judged(Status::converged, 1e-5), Status::round_off_limit);
  EXPECT_EQ(judged(Status::round_off_limit, 1e-5), Status::round_off_limit);
  EXPECT_EQ(judged(Status::stagnated, 0.3), Status::stagnated);
  EXPECT_EQ(judged(Status::max_iterations, 0.3), Status::max_iterations);
  EXPECT_EQ(judged(Status::diverged, 1e9), Status::diverged);
}

}  // namespace
