#include <stratum/solvers/jacobi_sweeps.hpp>

#include <cmath>

#include <gmock/gmock.h>

#include <stratum/core/operators/band_matrix.hpp>
#include <stratum/solvers/mixed/precision_cast.hpp>
#include <stratum/solvers/solver.hpp>

#include "support/sparse.hpp"

namespace {

using namespace stratum;
using test::Values;

// --- the published counts ---------------------------------------------------------------------------------------------------

/// S. Ikuno, S. Deki, N. Fujita, Numerical Investigations of Variable Preconditioned GCR with Mixed Precision on GPU, 2010,
/// Table 2: Jacobi sweeps in all and the index of the last outer iteration, for inner tolerances of 1e-3 and 1e-1. The same in
/// double and with sweeps in float.
struct Counts {
  double gamma;
  int sweeps_1e3, outer_1e3, sweeps_1e1, outer_1e1;
};
constexpr Counts table2[] = {{0.2, 57, 3, 36, 6}, {0.4, 79, 3, 48, 6}, {0.6, 127, 3, 78, 6}, {0.8, 279, 3, 204, 7}};

class ToeplitzStudyTest : public test::OnEveryBackend {
 protected:
  template <class T>
  SolveReport solve(double gamma, double tolerance) {
    constexpr int n = 2048;
    const auto rows = toeplitz_rows(n, gamma);
    const BandMatrix<double> a(ctx(), rows);
    const BandMatrix<T> off_diagonal(ctx(), without_diagonal(rows));
    JacobiPreconditioner<T> diagonal(ctx(), rows);
    JacobiSweeps<T> sweeps(ctx(), off_diagonal, diagonal, {tolerance, 100000, SweepTest::increment});
    PrecisionCast<double, T> m(ctx(), a.shape(), sweeps);
    const auto one = test::to_device<double>(ctx(), test::flat(n), Values(n, 1.0));
    Field<double> b(ctx(), n), x(ctx(), n);
    a.apply(ctx(), one.cview(), b.view());
    StoppingParams stop;
    stop.rtol = 1e-12;
    stop.reference_norm = ReferenceNorm::initial;
    const auto report =
        make_solver<double>(ctx(), "gcr", a.shape(), {50})->solve(ctx(), a, m, b.cview(), x.view(), stop);
    EXPECT_EQ(report.status, Status::converged) << report.reason;
    for (const double value : test::to_host(ctx(), x)) EXPECT_NEAR(value, 1, 1e-10);
    return report;
  }
};
INSTANTIATE_ON_EVERY_BACKEND(ToeplitzStudyTest);

TEST_P(ToeplitzStudyTest, CountsAreThePublishedOnes) {
  for (const auto& row : table2) {
    SCOPED_TRACE(row.gamma);
    for (const auto& report : {solve<double>(row.gamma, 1e-3), solve<float>(row.gamma, 1e-3)}) {
      EXPECT_EQ(report.inner_iterations, row.sweeps_1e3);
      EXPECT_EQ(report.iterations - 1, row.outer_1e3);
    }
    for (const auto& report : {solve<double>(row.gamma, 1e-1), solve<float>(row.gamma, 1e-1)}) {
      EXPECT_EQ(report.inner_iterations, row.sweeps_1e1);
      EXPECT_EQ(report.iterations - 1, row.outer_1e1);
    }
  }
}

// --- the sweeps -------------------------------------------------------------------------------------------------------------

template <class T>
class JacobiSweepsTest : public test::OnEverySetting<T> {};

TEST_ON_EVERY_SETTING(JacobiSweepsTest, AreThoseOfTheFormula) {
  test::Random random(41);
  constexpr int n = 30;
  const auto rows = test::random_m_matrix(random, n, 2);
  const auto a = test::dense(rows);
  const auto r = random.values(n);
  const CsrMatrix<T> off_diagonal(this->ctx(), without_diagonal(rows));
  JacobiPreconditioner<T> diagonal(this->ctx(), rows);
  for (const auto sweep_test : {SweepTest::increment, SweepTest::residual})
    for (const double tolerance : {0.3, 0.03}) {
      SCOPED_TRACE(testing::Message() << to_string(sweep_test) << " " << tolerance);
      Values z(n), next(n);
      for (std::size_t i = 0; i < n; ++i) z[i] = r[i] / a(i, i);
      int sweeps = 0;
      for (bool done = false; !done;) {
        double increment = 0, size = 0;
        for (std::size_t i = 0; i < n; ++i) {
          double sum = r[i];
          for (std::size_t j = 0; j < n; ++j) sum -= j == i ? 0 : a(i, j) * z[j];
          next[i] = sum / a(i, i);
          increment = std::max(increment, std::abs(next[i] - z[i]));
          size = std::max(size, std::abs(next[i]));
        }
        z = next;
        ++sweeps;
        auto residual = multiply(a, z);
        for (std::size_t i = 0; i < n; ++i) residual[i] = r[i] - residual[i];
        done = sweep_test == SweepTest::increment ? increment < tolerance * size
                                                  : reference::norm(residual) < tolerance * reference::norm(r);
      }
      JacobiSweeps<T> m(this->ctx(), off_diagonal, diagonal, {tolerance, 1000, sweep_test});
      EXPECT_FALSE(m.is_constant());
      EXPECT_FALSE(m.is_symmetric());
      Field<T> dz(this->ctx(), n);
      m.apply(this->ctx(), test::to_device<T>(this->ctx(), test::flat(n), r).cview(), dz.view());
      EXPECT_EQ(m.iterations(), sweeps);
      EXPECT_LT(reference::relative_difference(test::to_host(this->ctx(), dz), z), test::tolerance<T>);
    }
}

TEST_ON_EVERY_SETTING(JacobiSweepsTest, StopAtTheLimitAndOnZero) {
  const auto rows = toeplitz_rows(64, 1);
  const BandMatrix<T> off_diagonal(this->ctx(), without_diagonal(rows));
  JacobiPreconditioner<T> diagonal(this->ctx(), rows);
  JacobiSweeps<T> m(this->ctx(), off_diagonal, diagonal, {1e-6, 5, SweepTest::residual});
  Field<T> z(this->ctx(), 64);
  m.apply(this->ctx(), test::to_device<T>(this->ctx(), test::flat(64), Values(64, 1.0)).cview(), z.view());
  EXPECT_EQ(m.iterations(), 5);
  m.apply(this->ctx(), Field<T>(this->ctx(), 64).cview(), z.view());
  EXPECT_EQ(norm_max(this->ctx(), z.cview()), 0);
  EXPECT_EQ(m.iterations(), 1);
}

TEST_ON_EVERY_SETTING(JacobiSweepsTest, HandBackTheResidualWhereTheyOverflow) {
  // A spectral radius of 1e6.
  const auto rows = sparse_rows(2, 2, {{0, 0, 1}, {0, 1, 1e6}, {1, 0, 1e6}, {1, 1, 1}});
  const CsrMatrix<T> off_diagonal(this->ctx(), without_diagonal(rows));
  JacobiPreconditioner<T> diagonal(this->ctx(), rows);
  for (const auto sweep_test : {SweepTest::increment, SweepTest::residual}) {
    JacobiSweeps<T> m(this->ctx(), off_diagonal, diagonal, {1e-6, 100000, sweep_test});
    Field<T> z(this->ctx(), 2);
    m.apply(this->ctx(), test::to_device<T>(this->ctx(), test::flat(2), {1, 0.5}).cview(), z.view());
    EXPECT_EQ(test::to_host(this->ctx(), z), (Values{1, 0.5}));
  }
}

TEST(JacobiSweepsErrors, BadParametersAreRefused) {
  EXPECT_THROW((JacobiSweepsParams{0, 10, SweepTest::increment}.validate()), UsageError);
  EXPECT_THROW((JacobiSweepsParams{0.1, 0, SweepTest::increment}.validate()), UsageError);
  EXPECT_THROW((JacobiSweepsParams{std::nan(""), 10, SweepTest::increment}.validate()), UsageError);
}

}  // namespace
