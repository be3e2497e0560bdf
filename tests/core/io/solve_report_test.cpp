#include <stratum/core/io/solve_report.hpp>

#include <gtest/gtest.h>

#include <stratum/core/errors.hpp>

namespace {

using namespace stratum;

TEST(SolveReport, ExitCodesTellTheStatusesApart) {
  EXPECT_EQ(exit_code(Status::converged), 0);
  EXPECT_EQ(exit_code(Status::max_iterations), 2);
  EXPECT_EQ(exit_code(Status::stagnated), 2);
  EXPECT_EQ(exit_code(Status::round_off_limit), 2);
  EXPECT_EQ(exit_code(Status::round_off_limit, false), 0);
  EXPECT_EQ(exit_code(Status::diverged), 3);
  EXPECT_EQ(exit_code(Status::breakdown), 3);
  EXPECT_EQ(exit_code(Status::non_finite), 3);
}

TEST(SolveReport, RelativeResidualAndRate) {
  SolveReport report;
  report.reference_norm_value = 4;
  report.residual = 1;
  report.history = {4, 2, 1};
  EXPECT_EQ(report.relative_residual(), 0.25);
  EXPECT_DOUBLE_EQ(report.convergence_rate(), 0.5);
}

TEST(SolveReport, NothingToSolveIsNotANumberlessReport) {
  SolveReport report;
  EXPECT_EQ(report.relative_residual(), 0);
  report.history = {0};
  EXPECT_EQ(report.convergence_rate(), 0);
}

TEST(Errors, MessagesNameTheValue) {
  try {
    expects(false, "steps must be at least ", 1, ", not ", -3);
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(), "steps must be at least 1, not -3");
  }
  EXPECT_NO_THROW(expects(true, "fine"));
}

}  // namespace
