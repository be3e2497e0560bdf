// gcr, gmres and bicgstab where they differ from each other: matrices that make one of them break down, restarts, bases that
// are nearly dependent.

#include <cmath>

#include <stratum/solvers/krylov/krylov.hpp>

#include "support/backends.hpp"
#include "support/preconditioners.hpp"

namespace {

using namespace stratum;
using reference::Dense;
using test::Values;

class NonsymmetricTest : public test::OnEveryBackend {
 protected:
  SolveReport solve(std::string_view name, const Dense& a, const Values& b, int restart = 30) {
    const test::DenseOperator<double> op(a);
    const auto rhs = test::to_device<double>(ctx(), op.shape(), b);
    Field<double> x(ctx(), op.shape());
    StoppingParams stop;
    stop.rtol = 1e-10;
    stop.max_iterations = 200;
    SolveReport report =
        make_solver<double>(ctx(), name, op.shape(), {restart})->solve(ctx(), op, nullptr, rhs.cview(), x.view(), stop);
    x_ = test::to_host(ctx(), x);
    return report;
  }
  Dense random_matrix(std::size_t n, double diagonal) {
    Dense a(n);
    a.entries = random_.values(n * n);
    for (std::size_t i = 0; i < n; ++i) a(i, i) += diagonal;
    return a;
  }
  test::Random random_{601};
  Values x_;
};
INSTANTIATE_ON_EVERY_BACKEND(NonsymmetricTest);

TEST_P(NonsymmetricTest, ASkewMatrixStopsGcrAndBicgstabAndNotGmres) {
  Dense a(8);
  for (std::size_t i = 0; i + 1 < a.n; ++i) {
    a(i, i + 1) = 1.0 + static_cast<double>(i);
    a(i + 1, i) = -a(i, i + 1);
  }
  const Values b = random_.values(8);
  EXPECT_EQ(solve("gcr", a, b).status, Status::breakdown);
  EXPECT_EQ(solve("bicgstab", a, b).status, Status::breakdown);
  const auto report = solve("gmres", a, b);
  EXPECT_EQ(report.status, Status::converged) << report.reason;
  EXPECT_LE(report.iterations, 8);
  EXPECT_LT(reference::relative_difference(x_, reference::solve(a, b)), 1e-8);
}

TEST_P(NonsymmetricTest, GmresOfACyclicShiftWaitsForTheLastStep) {
  Dense a(12);
  for (std::size_t i = 0; i < a.n; ++i) a(i, (i + 1) % a.n) = 1;
  Values b(12, 0.0);
  b[0] = 1;
  // No direction but the last gains anything; a restart before it never does.
  auto report = solve("gmres", a, b, 12);
  EXPECT_EQ(report.status, Status::converged) << report.reason;
  EXPECT_EQ(report.iterations, 12);
  report = solve("gmres", a, b, 5);
  EXPECT_EQ(report.status, Status::max_iterations);
  EXPECT_DOUBLE_EQ(report.residual, 1);
}

TEST_P(NonsymmetricTest, ASingularMatrixIsABreakdownOrASolution) {
  Dense a = random_matrix(10, 12);
  for (std::size_t i = 0; i < a.n; ++i) a(i, 9) = 0;  // the last unknown does not matter
  for (const char* name : {"gcr", "gmres", "bicgstab"}) {
    // In the range: a solution exists and is found. Beyond it: no false claim.
    Values b = multiply(a, random_.values(10));
    auto report = solve(name, a, b);
    EXPECT_EQ(report.status, Status::converged) << name << ": " << report.reason;
    for (std::size_t j = 0; j < a.n; ++j) a(9, j) = 0;
    b[9] = 1;
    report = solve(name, a, b);
    EXPECT_TRUE(report.status == Status::breakdown || report.status == Status::stagnated) << name << report.reason;
    EXPECT_GE(report.residual, 1 - 1e-12) << name;
    for (std::size_t j = 0; j + 1 < a.n; ++j) a(9, j) = j == 0 ? 3.0 : 0.5;
  }
}

TEST_P(NonsymmetricTest, RestartsCostIterationsAndStillConverge) {
  const Dense a = random_matrix(40, 14);
  const Values b = random_.values(40);
  const Values expected = reference::solve(a, b);
  for (const char* name : {"gcr", "gmres"}) {
    int before = 0;
    for (const int restart : {40, 6, 2}) {
      const auto report = solve(name, a, b, restart);
      EXPECT_EQ(report.status, Status::converged) << name << restart << report.reason;
      EXPECT_LT(reference::relative_difference(x_, expected), 1e-8);
      EXPECT_GE(report.iterations, before);
      before = report.iterations;
    }
  }
}

TEST_P(NonsymmetricTest, ResidualsOfGcrAndGmresAgreeAndFall) {
  const Dense a = random_matrix(30, 10);
  const Values b = random_.values(30);
  const auto gcr = solve("gcr", a, b), gmres = solve("gmres", a, b);
  ASSERT_EQ(gcr.status, Status::converged);
  ASSERT_EQ(gcr.iterations, gmres.iterations);
  for (std::size_t k = 1; k < gcr.history.size(); ++k) {
    EXPECT_LE(gcr.history[k], gcr.history[k - 1] * (1 + 1e-12));
    EXPECT_NEAR(gmres.history[k] / gcr.history[k], 1, 1e-4) << k;
  }
}

/// The columns of Laeuchli's matrix are parallel but for one small entry each: one pass of Gram-Schmidt leaves them as good as
/// parallel to each other.
TEST_P(NonsymmetricTest, TheBasisStaysOrthogonal) {
  constexpr int n = 20, count = 8;
  Basis<double> basis(ctx(), GridLayout<2>::flat(n), count);
  std::vector<double> h;
  for (int k = 0; k < count; ++k) {
    Values column(n, 0.0);
    column[0] = 1;
    column[static_cast<std::size_t>(k) + 1] = 1e-9;
    const auto w = test::to_device<double>(ctx(), GridLayout<2>::flat(n), column);
    copy<double, double>(ctx(), w.cview(), basis[k]);
    const double norm = basis.orthogonalise(ctx(), k, basis[k], h);
    ASSERT_GT(norm, 0);
    ASSERT_EQ(h.size(), static_cast<std::size_t>(k));
    copy_scaled<double, double>(ctx(), 1 / norm, basis[k], basis[k]);
  }
  for (int k = 0; k < count; ++k)
    for (int l = 0; l < count; ++l)
      EXPECT_NEAR((dot<double>(ctx(), basis[k], basis[l])), k == l ? 1 : 0, 1e-12) << k << l;
  // What lies in the span leaves nothing.
  Field<double> w(ctx(), GridLayout<2>::flat(n));
  axpys<double>(ctx(), {1, -2, 3}, basis.first(3), w.view());
  EXPECT_EQ(basis.orthogonalise(ctx(), count, w.view(), h), 0);
  EXPECT_NEAR(h[1], -2, 1e-12);
}

}  // namespace
