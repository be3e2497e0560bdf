#include <stratum/solvers/dense_inverse.hpp>

#include <gmock/gmock.h>

#include "support/backends.hpp"

namespace {

using namespace stratum;
using test::Values;

template <class S>
class DenseInverseTest : public test::OnEverySetting<S> {};
TYPED_TEST_SUITE(DenseInverseTest, test::EverySetting);

TYPED_TEST(DenseInverseTest, AgreesWithEliminationInEveryForm) {
  using T = typename TypeParam::Number;
  auto& ctx = this->ctx();
  test::Random random(131);
  for (const auto& [nx, ny] : {std::pair{1, 1}, {1, 7}, {9, 2}, {8, 8}, {64, 1}})
    for (const auto form : test::every_form) {
      SCOPED_TRACE(testing::Message() << nx << " x " << ny << ", " << to_string(form));
      const auto [oracle, a] = test::random_operator<double>(ctx, random, nx, ny, form);
      DenseInverse<T> inverse(ctx, a);
      const auto b = test::random_vector<T>(ctx, random, a.shape());
      Vector<T> x(ctx, a.shape());
      const auto before = ctx.memory()->allocations.load();
      inverse.apply(ctx, b.cview(), x.view());
      inverse.factor(ctx, a);
      EXPECT_EQ(ctx.memory()->allocations, before);
      EXPECT_LT(reference::relative_difference(test::to_host(ctx, x), reference::solve(oracle, test::to_host(ctx, b))),
                test::tolerance<T>);
    }
}

// Periodic both ways: constants are in the null space. The result has no mean, and neither does what it was made from.
TYPED_TEST(DenseInverseTest, ASingularOperatorIsSolvedWithoutAMean) {
  using T = typename TypeParam::Number;
  auto& ctx = this->ctx();
  const Line line = Line({0.1, 0.3, 0.25, 0.35}).with_ends(LineEnd::periodic, LineEnd::periodic);
  const auto a = assemble_laplace<double>(ctx, {line, line}, OperatorForm::tensor);
  DenseInverse<T> inverse(ctx, a, true);
  test::Random random(132);
  const auto b = test::random_vector<T>(ctx, random, a.shape());
  Vector<T> x(ctx, a.shape());
  inverse.apply(ctx, b.cview(), x.view());
  const Values given = test::to_host(ctx, b), found = test::to_host(ctx, x);
  double mean = 0, sum = 0;
  for (const double value : given) mean += value / static_cast<double>(given.size());
  for (const double value : found) sum += value;
  EXPECT_NEAR(sum, 0, 100 * test::tolerance<T>);
  Vector<double> wide(ctx, a.shape()), ax(ctx, a.shape());
  copy<T, double>(ctx, x.cview(), wide.view());
  a.apply(ctx, wide.cview(), ax.view());
  const Values image = test::to_host(ctx, ax);
  for (std::size_t k = 0; k < image.size(); ++k) EXPECT_NEAR(image[k], given[k] - mean, 20 * test::tolerance<T>);
}

TEST(DenseInverseErrors, SingularAndLargeOperatorsAreRefused) {
  Context ctx(Backend::cpu, 1);
  const Line line = Line({0.1, 0.3, 0.25, 0.35}).with_ends(LineEnd::periodic, LineEnd::periodic);
  const auto singular = assemble_laplace<double>(ctx, {line, line}, OperatorForm::tensor);
  EXPECT_THROW(DenseInverse<double>(ctx, singular), BreakdownError);
  EXPECT_THROW(DenseInverse<double>(ctx, GridOperator<double>(TensorOperator<double>(ctx, test::unknowns(13, 5)))),
               UsageError)
      << "65 unknowns";
}

}  // namespace
