#include <stratum/solvers/krylov/cg.hpp>

#include <cmath>

#include <stratum/mesh/named_meshes.hpp>

#include "support/backends.hpp"
#include "support/preconditioners.hpp"

namespace {

using namespace stratum;
using test::Values;

class CgTest : public test::OnEveryBackend {
 protected:
  SolveReport solve(const LinearOperator<double>& a, Preconditioner<double>* m, const Field<double>& b,
                    Field<double>& x, const StoppingParams& stop = {}) {
    return ConjugateGradients<double>(ctx(), a.shape()).solve(ctx(), a, m, b.cview(), x.view(), stop);
  }
  Field<double> random_vector(const GridLayout<2>& shape) { return test::random_vector<double>(ctx(), random_, shape); }
  test::Random random_{131};
};
INSTANTIATE_ON_EVERY_BACKEND(CgTest);

TEST_P(CgTest, AgreesWithElimination) {
  for (const auto& [nx, ny] : test::small_shapes) {
    SCOPED_TRACE(testing::Message() << nx << " x " << ny);
    const auto [oracle, a] = test::random_operator<double>(ctx(), random_, nx, ny, StorageFormat::symmetric);
    const auto b = random_vector(a.shape());
    auto x = random_vector(a.shape());
    StoppingParams stop;
    stop.rtol = 1e-12;
    stop.max_iterations = 1000;
    const auto report = solve(a, nullptr, b, x, stop);
    EXPECT_EQ(report.status, Status::converged);
    EXPECT_LT(
        reference::relative_difference(test::to_host(ctx(), x), reference::solve(oracle, test::to_host(ctx(), b))),
        1e-8);
    EXPECT_EQ(report.history.size(), static_cast<std::size_t>(report.iterations) + 1);
  }
}

TEST_P(CgTest, TheReportedResidualIsTheTrueOne) {
  const auto a = assemble_laplace<double>(ctx(), make_mesh(mesh_family("A1"), 5), StorageFormat::tensor);
  const auto b = random_vector(a.shape());
  Field<double> x(ctx(), a.shape()), r(ctx(), a.shape());
  StoppingParams stop;
  stop.max_iterations = 1000;
  const auto report = solve(a, nullptr, b, x, stop);
  EXPECT_EQ(report.status, Status::converged);
  a.residual(ctx(), b.cview(), x.cview(), r.view());
  EXPECT_DOUBLE_EQ(report.residual, norm2(ctx(), r.cview()));
  EXPECT_LE(report.residual, 1e-8 * norm2(ctx(), b.cview()));
}

TEST_P(CgTest, AnExactPreconditionerNeedsOneIteration) {
  const auto [oracle, a] = test::random_operator<double>(ctx(), random_, 17, 13, StorageFormat::tensor);
  test::ScaledInverse<double> m(ctx(), a, 3);
  const auto b = random_vector(a.shape());
  Field<double> x(ctx(), a.shape());
  const auto report = solve(a, &m, b, x);
  EXPECT_EQ(report.status, Status::converged);
  EXPECT_EQ(report.iterations, 1);
  EXPECT_EQ(report.inner_iterations, 1);
}

TEST_P(CgTest, RefusesWhatIsNotConstantAndSymmetric) {
  const auto [oracle, a] = test::random_operator<double>(ctx(), random_, 5, 5, StorageFormat::tensor);
  const auto b = random_vector(a.shape());
  for (const auto& [constant, symmetric] : {std::pair{true, false}, {false, true}, {false, false}}) {
    test::ScaledInverse<double> m(ctx(), a, 1, constant, symmetric);
    Field<double> x(ctx(), a.shape());
    EXPECT_THROW(solve(a, &m, b, x), UsageError);
    EXPECT_EQ(norm_max(ctx(), x.cview()), 0);
  }
}

TEST_P(CgTest, BreaksDownOnAnIndefiniteOperator) {
  const auto [oracle, a] = test::random_operator<double>(ctx(), random_, 9, 9, StorageFormat::symmetric);
  const auto b = random_vector(a.shape());
  for (const double shift : {5.0, 1e3}) {
    const test::Shifted<double> indefinite(a, shift);
    Field<double> x(ctx(), a.shape());
    const auto report = solve(indefinite, nullptr, b, x);
    EXPECT_EQ(report.status, Status::breakdown) << shift;
    EXPECT_FALSE(report.reason.empty());
    EXPECT_TRUE(std::isfinite(norm2(ctx(), x.cview())));
  }
}

TEST_P(CgTest, BreaksDownOnANegativePreconditioner) {
  const auto [oracle, a] = test::random_operator<double>(ctx(), random_, 9, 9, StorageFormat::symmetric);
  const auto b = random_vector(a.shape());
  test::ScaledIdentity<double> m(-1);
  Field<double> x(ctx(), a.shape());
  EXPECT_EQ(solve(a, &m, b, x).status, Status::breakdown);
}

TEST_P(CgTest, StatusesOfSpecialInput) {
  const auto [oracle, a] = test::random_operator<double>(ctx(), random_, 17, 13, StorageFormat::tensor);
  auto b = random_vector(a.shape());
  Field<double> x(ctx(), a.shape()), zero(ctx(), a.shape());

  auto report = solve(a, nullptr, zero, x);
  EXPECT_EQ(report.status, Status::converged) << "zero right-hand side";
  EXPECT_EQ(report.iterations, 0);

  StoppingParams stop;
  stop.max_iterations = 2;
  report = solve(a, nullptr, b, x, stop);
  EXPECT_EQ(report.status, Status::max_iterations);
  EXPECT_EQ(report.iterations, 2);

  stop.max_iterations = 10000;
  report = solve(a, nullptr, b, x, stop);
  ASSERT_EQ(report.status, Status::converged);
  report = solve(a, nullptr, b, x, stop);
  EXPECT_EQ(report.status, Status::converged) << "exact initial guess";
  EXPECT_EQ(report.iterations, 0);

  stop.rtol = 1e-19;
  report = solve(a, nullptr, b, x, stop);
  EXPECT_EQ(report.status, Status::round_off_limit) << report.reason;
  EXPECT_LT(report.iterations, 200);

  Values values(221, 1.0);
  values[100] = std::nan("");
  b = test::to_device<double>(ctx(), a.shape(), values);
  set(ctx(), 0.0, x.view());
  report = solve(a, nullptr, b, x);
  EXPECT_EQ(report.status, Status::non_finite);
  EXPECT_EQ(report.iterations, 0);
}

TEST_P(CgTest, WorksInFloat) {
  const auto [oracle, a] = test::random_operator<float>(ctx(), random_, 17, 13, StorageFormat::symmetric);
  const auto b = test::random_vector<float>(ctx(), random_, a.shape());
  Field<float> x(ctx(), a.shape());
  StoppingParams stop;
  stop.rtol = 1e-5;
  const auto report = ConjugateGradients<float>(ctx(), a.shape()).solve(ctx(), a, nullptr, b.cview(), x.view(), stop);
  EXPECT_EQ(report.status, Status::converged);
  EXPECT_LT(reference::relative_difference(test::to_host(ctx(), x), reference::solve(oracle, test::to_host(ctx(), b))),
            1e-2);
}

}  // namespace
