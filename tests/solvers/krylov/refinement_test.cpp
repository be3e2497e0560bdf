#include <stratum/solvers/krylov/refinement.hpp>
#include <stratum/solvers/mixed/mixed_refinement.hpp>

#include <cmath>

#include <stratum/mesh/named_meshes.hpp>

#include "support/backends.hpp"
#include "support/preconditioners.hpp"

namespace {

using namespace stratum;
using test::Values;

/// -Laplace on A1, level 4, with an exact inverse at hand.
class RefinementTest : public test::OnEveryBackend {
 protected:
  void SetUp() override {
    OnEveryBackend::SetUp();
    if (IsSkipped()) return;
    a_ = assemble_laplace<double>(ctx(), make_mesh(mesh_family("A1"), 4), StorageFormat::tensor);
    test::Random random(121);
    b_ = test::random_vector<double>(ctx(), random, a_.shape());
    x_ = Field<double>(ctx(), a_.shape());
  }
  /// Refinement whose error falls by 1 - theta in every iteration.
  SolveReport solve(double theta, const StoppingParams& stop) {
    test::ScaledInverse<double> m(ctx(), a_, theta);
    return Refinement<double>(ctx(), a_.shape()).solve(ctx(), a_, m, b_.cview(), x_.view(), stop);
  }
  double true_residual() {
    Field<double> r(ctx(), a_.shape());
    a_.residual(ctx(), b_.cview(), x_.cview(), r.view());
    return norm2(ctx(), r.cview());
  }

  GridOperator<double> a_;
  Field<double> b_, x_;
};
INSTANTIATE_ON_EVERY_BACKEND(RefinementTest);

TEST_P(RefinementTest, Converges) {
  const auto report = solve(0.92, {});
  EXPECT_EQ(report.status, Status::converged);
  EXPECT_EQ(report.iterations, 8);
  EXPECT_EQ(report.inner_iterations, 8);
  ASSERT_EQ(report.history.size(), 9U);
  EXPECT_NEAR(report.convergence_rate(), 0.08, 1e-3);
  EXPECT_EQ(report.reference_norm, ReferenceNorm::rhs);
  EXPECT_DOUBLE_EQ(report.reference_norm_value, norm2(ctx(), b_.cview()));
  EXPECT_DOUBLE_EQ(report.residual, true_residual());
  EXPECT_LE(report.relative_residual(), 1e-8);
}

TEST_P(RefinementTest, EndsAtRounding) {
  StoppingParams stop;
  stop.rtol = 1e-18;
  const auto report = solve(0.9, stop);
  EXPECT_EQ(report.status, Status::round_off_limit);
  EXPECT_NE(report.reason.find("rounding"), std::string::npos) << report.reason;
  EXPECT_LT(report.iterations, 25);
  EXPECT_LT(report.relative_residual(), 1e-12);
  EXPECT_NEAR(report.residual / true_residual(), 1, 1e-6);
}

TEST_P(RefinementTest, StagnatesAboveRoundingWithoutCallingItRounding) {
  const auto report = solve(1e-9, {});
  EXPECT_EQ(report.status, Status::stagnated);
  EXPECT_EQ(report.reason.find("rounding"), std::string::npos) << report.reason;
  EXPECT_NEAR(report.relative_residual(), 1, 1e-6);
}

TEST_P(RefinementTest, Diverges) {
  const auto report = solve(-1, {});  // the error doubles
  EXPECT_EQ(report.status, Status::diverged);
  EXPECT_LE(report.iterations, 20);
}

TEST_P(RefinementTest, DivergesToInfinity) {
  const auto report = solve(-1e300, {});
  EXPECT_EQ(report.status, Status::diverged);
}

TEST_P(RefinementTest, StopsAtMaxIterations) {
  StoppingParams stop;
  stop.max_iterations = 3;
  const auto report = solve(0.5, stop);
  EXPECT_EQ(report.status, Status::max_iterations);
  EXPECT_EQ(report.iterations, 3);
  EXPECT_EQ(report.history.size(), 4U);
  EXPECT_NEAR(report.relative_residual(), 0.125, 1e-6);
}

TEST_P(RefinementTest, NonFiniteRightHandSide) {
  for (const double bad : {std::nan(""), HUGE_VAL}) {
    Values values(225, 1.0);
    values[17] = bad;
    b_ = test::to_device<double>(ctx(), a_.shape(), values);
    const auto report = solve(0.9, {});
    EXPECT_EQ(report.status, Status::non_finite);
    EXPECT_EQ(report.iterations, 0);
    EXPECT_FALSE(report.reason.empty());
  }
}

TEST_P(RefinementTest, ZeroRightHandSide) {
  set(ctx(), 0.0, b_.view());
  auto report = solve(0.9, {});
  EXPECT_EQ(report.status, Status::converged);
  EXPECT_EQ(report.iterations, 0);
  EXPECT_EQ(report.relative_residual(), 0);
  EXPECT_EQ(norm_max(ctx(), x_.cview()), 0);
  // From a guess that is not zero the solution is still zero.
  set(ctx(), 1.0, x_.view());
  report = solve(0.9, {});
  EXPECT_EQ(report.status, Status::converged);
  EXPECT_LT(norm_max(ctx(), x_.cview()), 1e-6);
}

TEST_P(RefinementTest, ExactInitialGuess) {
  test::ScaledInverse<double> m(ctx(), a_, 1);
  m.apply(ctx(), b_.cview(), x_.view());
  const auto report = solve(0.9, {});
  EXPECT_EQ(report.status, Status::converged);
  EXPECT_EQ(report.iterations, 0);
}

TEST_P(RefinementTest, ReferenceNormOfTheInitialResidual) {
  StoppingParams stop;
  solve(0.9, stop);  // to 1e-8 of ||b||
  const double initial = true_residual();
  stop.reference_norm = ReferenceNorm::initial;
  stop.rtol = 1e-3;
  const auto report = solve(0.9, stop);
  EXPECT_EQ(report.status, Status::converged);
  EXPECT_EQ(report.reference_norm, ReferenceNorm::initial);
  EXPECT_NEAR(report.reference_norm_value / initial, 1, 1e-12);
  EXPECT_NEAR(report.iterations, 3, 1);
}

TEST_P(RefinementTest, AbsoluteTolerance) {
  StoppingParams stop;
  stop.rtol = 0;
  stop.atol = 0.011 * norm2(ctx(), b_.cview());
  const auto report = solve(0.9, stop);
  EXPECT_EQ(report.status, Status::converged);
  EXPECT_EQ(report.iterations, 2);
}

TEST_P(RefinementTest, AGuessIsUsed) {
  solve(0.9, {});
  const auto again = solve(0.9, {});
  EXPECT_EQ(again.iterations, 0);
  EXPECT_EQ(again.status, Status::converged);
}

TEST_P(RefinementTest, TheMonitorSeesEveryIteration) {
  test::ScaledInverse<double> m(ctx(), a_, 0.9);
  std::vector<double> seen;
  const auto report = Refinement<double>(ctx(), a_.shape())
                          .solve(ctx(), a_, m, b_.cview(), x_.view(), {}, [&](int iteration, double residual) {
                            EXPECT_EQ(iteration, static_cast<int>(seen.size()));
                            seen.push_back(residual);
                          });
  EXPECT_EQ(seen, report.history);
}

TEST_P(RefinementTest, BadTolerancesAreRefused) {
  StoppingParams stop;
  stop.rtol = -1;
  EXPECT_THROW(solve(0.9, stop), UsageError);
}

TEST_P(RefinementTest, TheUpdatedResidualAgreesInExactArithmetic) {
  test::ScaledInverse<double> m(ctx(), a_, 0.92);
  const auto updated =
      Refinement<double>(ctx(), a_.shape(), ResidualUpdate::updated).solve(ctx(), a_, m, b_.cview(), x_.view(), {});
  EXPECT_EQ(updated.status, Status::converged);
  EXPECT_EQ(updated.iterations, 8);
  EXPECT_LT(true_residual(), 1.01e-8 * norm2(ctx(), b_.cview()));
}

TEST_P(RefinementTest, InnerIterationsByCyclesAndByDigits) {
  const auto m = std::make_shared<test::ScaledInverse<double>>(ctx(), a_, 0.9);  // a digit an iteration
  Field<double> z(ctx(), a_.shape()), r(ctx(), a_.shape());
  const auto reduction = [&](const InnerStop& stop, int expected) {
    InnerIteration<double> inner(ctx(), a_, m, stop);
    set(ctx(), std::nan(""), z.view());
    inner.apply(ctx(), b_.cview(), z.view());
    EXPECT_EQ(inner.iterations(), expected);
    a_.residual(ctx(), b_.cview(), z.cview(), r.view());
    return norm2(ctx(), r.cview()) / norm2(ctx(), b_.cview());
  };
  InnerStop stop;
  EXPECT_NEAR(reduction(stop, 1), 1e-1, 1e-6);
  stop.cycles = 3;
  EXPECT_NEAR(reduction(stop, 3), 1e-3, 1e-6);
  InnerIteration<double> by_cycles(ctx(), a_, m, stop);
  EXPECT_TRUE(by_cycles.is_constant());
  EXPECT_TRUE(by_cycles.is_symmetric());
  stop = {};
  stop.rtol = 1e-2;
  // Rounding decides whether the second cycle is enough.
  InnerIteration<double> by_digits(ctx(), a_, m, stop);
  EXPECT_FALSE(by_digits.is_constant());
  EXPECT_FALSE(by_digits.is_symmetric());
  by_digits.apply(ctx(), b_.cview(), z.view());
  EXPECT_GE(by_digits.iterations(), 2);
  EXPECT_LE(by_digits.iterations(), 3);
  stop.rtol = 1e-9;
  stop.max_cycles = 4;
  EXPECT_NEAR(reduction(stop, 4), 1e-4, 1e-6);
  for (const InnerStop bad : {InnerStop{0, 0, 32}, InnerStop{1, -1, 32}, InnerStop{1, 3, 0}})
    EXPECT_THROW(InnerIteration<double>(ctx(), a_, m, bad), UsageError);
}

TEST_P(RefinementTest, InnerIterationsThatGainNothingHandBack) {
  const auto m = std::make_shared<test::ScaledInverse<double>>(ctx(), a_, 2.5);  // the error grows by half
  InnerStop stop;
  stop.rtol = 1e-3;
  InnerIteration<double> inner(ctx(), a_, m, stop);
  Field<double> z(ctx(), a_.shape());
  inner.apply(ctx(), b_.cview(), z.view());
  EXPECT_LT(inner.iterations(), 5);
}

TEST_P(RefinementTest, MixedPrecisionIsAsAccurateAsDouble) {
  const auto narrowed = convert<float>(ctx(), a_);
  test::ScaledInverse<float> m(ctx(), narrowed, 0.92);
  MixedRefinement refinement(ctx(), a_);
  (void)norm2(ctx(), b_.cview());  // the Context's scratch
  // Sizes that float cannot hold.
  for (const double size : {1.0, 1e-120, 1e120}) {
    SCOPED_TRACE(size);
    Field<double> b(ctx(), a_.shape());
    copy_scaled<double, double>(ctx(), size, b_.cview(), b.view());
    set(ctx(), 0.0, x_.view());
    StoppingParams stop;
    stop.rtol = 1e-11;
    const auto before = ctx().memory()->allocations.load();
    const auto report = refinement.solve(ctx(), a_, m, b.cview(), x_.view(), stop);
    EXPECT_EQ(ctx().memory()->allocations, before);
    EXPECT_EQ(report.status, Status::converged) << report.reason;
    EXPECT_LE(report.iterations, 12);
    Field<double> r(ctx(), a_.shape());
    a_.residual(ctx(), b.cview(), x_.cview(), r.view());
    EXPECT_NEAR(report.residual / size, norm2(ctx(), r.cview()) / size, 1e-6 * norm2(ctx(), r.cview()) / size);
  }
}

// On a GPU x and another vector take turns: the answer is in x whatever the number of steps.
TEST_P(RefinementTest, MixedPrecisionEndsInTheGivenVector) {
  const auto narrowed = convert<float>(ctx(), a_);
  test::ScaledInverse<float> m(ctx(), narrowed, 0.92);
  MixedRefinement refinement(ctx(), a_);
  double last = 0;
  for (int steps = 0; steps <= 5; ++steps) {
    SCOPED_TRACE(steps);
    set(ctx(), 0.0, x_.view());
    StoppingParams stop;
    stop.rtol = 1e-30;
    stop.max_iterations = steps;
    const auto report = refinement.solve(ctx(), a_, m, b_.cview(), x_.view(), stop);
    EXPECT_EQ(report.iterations, steps);
    Field<double> r(ctx(), a_.shape());
    a_.residual(ctx(), b_.cview(), x_.cview(), r.view());
    const double residual = norm2(ctx(), r.cview());
    EXPECT_NEAR(report.residual, residual, 1e-6 * residual);
    if (steps > 0) {
      EXPECT_LT(residual, 0.2 * last);
    }
    last = residual;
  }
  // By ||b|| that is known.
  set(ctx(), 0.0, x_.view());
  StoppingParams stop;
  stop.rtol = 1e-6;
  const double rhs_norm = norm2(ctx(), b_.cview());
  const auto report = refinement.solve(ctx(), a_, m, b_.cview(), x_.view(), stop, {}, rhs_norm);
  EXPECT_EQ(report.status, Status::converged);
  EXPECT_EQ(report.reference_norm_value, rhs_norm);
}

TEST_P(RefinementTest, MixedPrecisionSeesATinyResidualOfAZeroRightHandSide) {
  const auto narrowed = convert<float>(ctx(), a_);
  test::ScaledInverse<float> m(ctx(), narrowed, 0.92);
  set(ctx(), 0.0, b_.view());
  set(ctx(), 1e-100, x_.view());
  const auto report = MixedRefinement(ctx(), a_).solve(ctx(), a_, m, b_.cview(), x_.view(), {});
  EXPECT_GT(report.initial_residual, 0);
  EXPECT_EQ(report.status, Status::converged) << report.reason;
  EXPECT_GT(report.iterations, 4);
}

}  // namespace
