#include <stratum/solvers/mixed/reliable_cg.hpp>

#include <cmath>

#include <stratum/solvers/krylov/cg.hpp>

#include "support/stretched_laplace.hpp"

namespace {

using namespace stratum;
using test::Counting;

TEST(ResidualReplacement, IsDueBelowDeltaTimesTheLargestSinceTheLatest) {
  ResidualReplacement updates({.delta = 0.1}, 2);
  EXPECT_FALSE(updates.due(0.5));
  EXPECT_FALSE(updates.due(0.2));
  EXPECT_TRUE(updates.due(0.19));
  EXPECT_FALSE(updates.due(5)) << "residuals of conjugate gradients grow on the way";
  EXPECT_TRUE(updates.due(0.4)) << "the largest has grown with them";
  updates.replaced(0.3);
  EXPECT_FALSE(updates.due(0.1));
  EXPECT_TRUE(updates.due(0.02));
}

TEST(ResidualReplacement, RefusesWhatIsNoReduction) {
  for (const double delta : {0.0, 1.0, -0.1, 2.0, std::nan("")})
    EXPECT_THROW(ResidualReplacement({.delta = delta}, 1), UsageError);
}

TEST(ResidualReplacement, TheDirectionsFactorIsByTheTrueResidualUnlessThatHasJumped) {
  EXPECT_DOUBLE_EQ(update_beta(UpdateBeta::by_true, 4, 1, 100), 25);
  EXPECT_DOUBLE_EQ(update_beta(UpdateBeta::by_recursive, 4, 1, 100), 0.25);
  EXPECT_DOUBLE_EQ(update_beta(UpdateBeta::guarded, 4, 1, 100), 0.25);
  EXPECT_DOUBLE_EQ(update_beta(UpdateBeta::guarded, 4, 1, 2), 0.5);
}

TEST(ResidualReplacement, GivesUpWhereTheTruthNoLongerFollows) {
  ResidualReplacement updates({.delta = 0.01, .gain = 0.5, .patience = 2, .first_delta = 0.1}, 1);
  EXPECT_TRUE(updates.due(0.09)) << "the first one comes early";
  updates.replaced(0.09);
  EXPECT_FALSE(updates.due(0.002));
  EXPECT_TRUE(updates.due(0.0008));
  updates.replaced(0.05);
  EXPECT_TRUE(updates.follows());
  updates.replaced(0.06, true);  // for another reason
  updates.replaced(0.04);
  EXPECT_TRUE(updates.follows());
  updates.replaced(0.03);
  EXPECT_FALSE(updates.follows());
  EXPECT_EQ(updates.reason(), "no better true residual than 0.03 at the last 2 updates");
  EXPECT_EQ(updates.count(), 5);
}

class ReliableCgTest : public test::StretchedLaplace {};
INSTANTIATE_ON_EVERY_BACKEND(ReliableCgTest);

TEST_P(ReliableCgTest, TakesHardlyMoreIterationsThanDoubleAndHasTheTrueResidual) {
  const auto a = laplace<double>();
  const auto f = laplace<float>();
  const auto b = rhs(a.shape());
  Field<double> in_double(ctx(), a.shape());
  const int alone = ConjugateGradients<double>(ctx(), a.shape())
                        .solve(ctx(), a, nullptr, b.cview(), in_double.view(), to(1e-11))
                        .iterations;
  for (const bool solution_in_double : {false, true}) {
    const Counting<double> outer(a);
    const Counting<float> inner(f);
    ReliableCg solver(ctx(), a.shape(), {.solution_in_double = solution_in_double});
    Field<double> x(ctx(), a.shape());
    const auto report = solver.solve(ctx(), outer, inner, b.cview(), x.view(), to(1e-11));
    EXPECT_EQ(report.status, Status::converged) << report.reason;
    EXPECT_DOUBLE_EQ(report.residual, true_residual(a, b, x));
    EXPECT_LE(report.residual, 1e-11 * norm2(ctx(), b.cview()));
    EXPECT_LE(report.iterations, 1.05 * alone);
    EXPECT_EQ(inner.products, report.iterations);
    EXPECT_EQ(outer.products, solver.updates() + 1);
    EXPECT_GE(solver.updates(), 10) << "one for every factor of ten";
    EXPECT_LE(solver.updates(), 14);
    EXPECT_EQ(report.history.size(), static_cast<std::size_t>(report.iterations) + 1);
  }
}

TEST_P(ReliableCgTest, StartsFromTheGivenXAndForgetsTheSolveBefore) {
  const auto a = laplace<double>();
  const auto f = laplace<float>();
  const auto b = rhs(a.shape());
  ReliableCg solver(ctx(), a.shape());
  Field<double> x(ctx(), a.shape());
  const auto first = solver.solve(ctx(), a, f, b.cview(), x.view(), to(1e-10));
  const auto again = solver.solve(ctx(), a, f, b.cview(), x.view(), to(1e-10));
  EXPECT_EQ(again.status, Status::converged);
  EXPECT_EQ(again.iterations, 0);
  Field<double> fresh(ctx(), a.shape());
  const auto second = solver.solve(ctx(), a, f, b.cview(), fresh.view(), to(1e-10));
  EXPECT_EQ(second.history, first.history);
}

TEST_P(ReliableCgTest, RightHandSidesOfAnySizeTakeTheSameSteps) {
  const auto a = laplace<double>();
  const auto f = laplace<float>();
  const auto b = rhs(a.shape());
  int iterations = 0;
  for (const double scale : {1.0, 0x1p-300, 0x1p300}) {
    Field<double> scaled(ctx(), a.shape()), x(ctx(), a.shape());
    copy_scaled<double, double>(ctx(), scale, b.cview(), scaled.view());
    const auto report = ReliableCg(ctx(), a.shape()).solve(ctx(), a, f, scaled.cview(), x.view(), to(1e-10));
    EXPECT_EQ(report.status, Status::converged);
    if (iterations == 0) iterations = report.iterations;
    EXPECT_EQ(report.iterations, iterations);
  }
}

TEST_P(ReliableCgTest, WithoutTheDirectionItTakesLonger) {
  const auto a = laplace<double>();
  const auto f = laplace<float>();
  const auto b = rhs(a.shape());
  Field<double> x(ctx(), a.shape()), y(ctx(), a.shape());
  const auto carried = ReliableCg(ctx(), a.shape()).solve(ctx(), a, f, b.cview(), x.view(), to(1e-10));
  const auto restarted =
      ReliableCg(ctx(), a.shape(), {.carry_direction = false}).solve(ctx(), a, f, b.cview(), y.view(), to(1e-10));
  EXPECT_EQ(restarted.status, Status::converged);
  EXPECT_GT(restarted.iterations, 1.1 * carried.iterations);
}

TEST_P(ReliableCgTest, PartsThatAreLeftOutFailAndSaySo) {
  const auto a = laplace<double>();
  const auto f = laplace<float>();
  const auto b = rhs(a.shape());
  const double norm = norm2(ctx(), b.cview());
  Field<double> x(ctx(), a.shape()), y(ctx(), a.shape());
  const auto not_replaced =
      ReliableCg(ctx(), a.shape(), {.replace_residual = false}).solve(ctx(), a, f, b.cview(), x.view(), to(1e-11));
  EXPECT_EQ(not_replaced.status, Status::breakdown) << not_replaced.reason;
  EXPECT_DOUBLE_EQ(not_replaced.residual, true_residual(a, b, x));
  EXPECT_GT(not_replaced.residual, 1e-9 * norm);
  const auto not_reset =
      ReliableCg(ctx(), a.shape(), {.reset_solution = false}).solve(ctx(), a, f, b.cview(), y.view(), to(1e-11));
  EXPECT_EQ(not_reset.status, Status::stagnated) << not_reset.reason;
  EXPECT_DOUBLE_EQ(not_reset.residual, true_residual(a, b, y));
  EXPECT_GT(not_reset.residual, 1e-9 * norm);
}

TEST_P(ReliableCgTest, BreaksDownWhereTheInnerOperatorIsIndefinite) {
  const auto a = laplace<double>();
  const auto b = rhs(a.shape());
  const auto f = laplace<float>();
  class Negative final : public LinearOperator<float> {
   public:
    explicit Negative(const LinearOperator<float>& a) : a_(a) {}
    [[nodiscard]] GridLayout<2> shape() const override { return a_.shape(); }
    void apply(Context& ctx, FieldView<const float> x, FieldView<float> y) const override {
      a_.apply(ctx, x, y);
      axpy<float, float>(ctx, -1e3, x, y);
    }
    void residual(Context& /*ctx*/, FieldView<const float> /*b*/, FieldView<const float> /*x*/,
                  FieldView<float> /*r*/) const override {}

   private:
    const LinearOperator<float>& a_;
  } const negative(f);
  Field<double> x(ctx(), a.shape());
  const auto report = ReliableCg(ctx(), a.shape()).solve(ctx(), a, negative, b.cview(), x.view());
  EXPECT_EQ(report.status, Status::breakdown);
}

TEST_P(ReliableCgTest, RefusesShapesThatDiffer) {
  const auto a = laplace<double>();
  const auto f = laplace<float>();
  Field<double> x(ctx(), a.shape());
  ReliableCg solver(ctx(), GridLayout<2>::flat(5));
  EXPECT_THROW(solver.solve(ctx(), a, f, x.cview(), x.view()), UsageError);
  EXPECT_THROW(ReliableCg(ctx(), a.shape(), {.delta = 1}), UsageError);
}

}  // namespace
