#include <stratum/solvers/preconditioners/incomplete_poisson.hpp>

#include <cmath>

#include <gmock/gmock.h>

#include <stratum/core/operators/csr_matrix.hpp>
#include <stratum/solvers/preconditioner.hpp>
#include <stratum/solvers/solver.hpp>

#include "support/sparse.hpp"

namespace {

using namespace stratum;
using test::Dense;
using test::five_points;
using test::Values;
using testing::HasSubstr;
constexpr auto scaled = IncompletePoissonForm::scaled, printed = IncompletePoissonForm::printed;

/// K K^T, dense, by its definition; what lies off the pattern of A is dropped.
Dense by_definition(const SparseRows& rows, IncompletePoissonForm form) {
  const Dense a = test::dense(rows);
  Dense k(a.n), m(a.n);
  for (std::size_t i = 0; i < a.n; ++i)
    for (std::size_t j = 0; j <= i; ++j) {
      const double of_row = form == scaled ? a(i, i) : std::sqrt(a(j, j));
      k(i, j) = i == j ? (form == scaled ? 1 / std::sqrt(a(i, i)) : 1) : -a(i, j) / (of_row * std::sqrt(a(j, j)));
    }
  for (std::size_t i = 0; i < a.n; ++i)
    for (std::size_t j = 0; j < a.n; ++j)
      if (a(i, j) != 0)
        for (std::size_t s = 0; s < a.n; ++s) m(i, j) += k(i, s) * k(j, s);
  return m;
}

Values product(const Dense& m, const Values& r) {
  Values z(m.n);
  for (std::size_t i = 0; i < m.n; ++i)
    for (std::size_t j = 0; j < m.n; ++j) z[i] += m(i, j) * r[j];
  return z;
}

template <class T>
class IncompletePoissonTest : public test::OnEverySetting<T> {
 protected:
  [[nodiscard]] Values applied(const SparseRows& a, const GridLayout<2>& shape, IncompletePoissonForm form,
                               const Values& r) {
    IncompletePoisson<T> m(this->ctx(), shape, a, form);
    Field<T> z(this->ctx(), shape);
    m.apply(this->ctx(), test::to_device<T>(this->ctx(), shape, r).cview(), z.view());
    EXPECT_TRUE(test::halo_is_zero(this->ctx(), z));
    return test::to_host(this->ctx(), z);
  }
};

TEST_ON_EVERY_SETTING(IncompletePoissonTest, IsTheProductOnThePatternOfTheMatrix) {
  test::Random random(41);
  for (const auto form : {scaled, printed}) {
    for (const int n : {1, 2, 10, 60}) {
      const auto a = test::random_m_matrix(random, n, 3);
      const auto r = random.values(static_cast<std::size_t>(n));
      EXPECT_LT(
          reference::relative_difference(this->applied(a, test::flat(n), form, r), product(by_definition(a, form), r)),
          test::tolerance<T>);
    }
    // Nine points, on the vectors of a grid and on flat ones.
    for (const auto& [nx, ny] : test::small_shapes) {
      Context host;
      const auto stencil = random.stencil(nx, ny, true);
      const auto a = sparse_rows(host, test::symmetric_operator<double>(host, stencil));
      const auto r = random.values(static_cast<std::size_t>(a.rows));
      const auto expected = product(by_definition(a, form), r);
      for (const auto& shape : {test::unknowns(nx, ny), test::flat(a.rows)})
        EXPECT_LT(reference::relative_difference(this->applied(a, shape, form, r), expected), test::tolerance<T>);
    }
  }
}

TEST_ON_EVERY_SETTING(IncompletePoissonTest, AsPrintedForThePoissonMatrix) {
  // Gupta 2010, equation (76): 0.25, 0.25, 1.125, 0.25, 0.25; the scaled form is a quarter of it.
  const auto a = five_points(5, 5);
  Values unit(25);
  unit[12] = 1;
  Values expected(25);
  expected[12] = 1.125;
  for (const std::size_t i : {7, 11, 13, 17}) expected[i] = 0.25;
  for (const auto& shape : {test::unknowns(5, 5), test::flat(25)}) {
    EXPECT_EQ(this->applied(a, shape, printed, unit), expected);
    auto quarter = this->applied(a, shape, scaled, unit);
    for (double& value : quarter) value *= 4;
    EXPECT_LT(reference::relative_difference(quarter, expected), test::tolerance<T>);
  }
}

TEST_ON_EVERY_SETTING(IncompletePoissonTest, TheDiagonalOfTheMatrixScalesTheScaledForm) {
  // Of F A F, F diagonal, it is F^-1 M^-1 F^-1, as an inverse should be.
  test::Random random(42);
  auto a = five_points(9, 7);
  const auto r = random.values(63), f = random.values(63, 0.1, 10);
  const auto before = this->applied(a, test::flat(63), scaled, r);
  Values expected(63), fr(63);
  for (std::size_t i = 0; i < 63; ++i) {
    for (auto k = static_cast<std::size_t>(a.start[i]); k < static_cast<std::size_t>(a.start[i + 1]); ++k)
      a.value[k] *= f[i] * f[static_cast<std::size_t>(a.column[k])];
    fr[i] = f[i] * r[i];
    expected[i] = before[i] / f[i];
  }
  EXPECT_LT(reference::relative_difference(this->applied(a, test::flat(63), scaled, fr), expected), test::tolerance<T>);
}

TEST(IncompletePoissonMatrix, IsPositiveDefiniteOnFivePointsWithNeumannSides) {
  // Links that vary by six orders of magnitude, rows that add up to zero: x^T M^-1 x > 0 by elimination.
  test::Random random(43);
  constexpr int nx = 9, ny = 7;
  std::vector<SparseEntry> entries;
  const auto link = [&](int i, int j) {
    const double k = std::pow(10, random.uniform(-6, 0));
    for (const auto& e : {SparseEntry{i, i, k}, {j, j, k}, {i, j, -k}, {j, i, -k}}) entries.push_back(e);
  };
  for (int j = 0; j < ny; ++j)
    for (int i = 0; i < nx; ++i) {
      if (i + 1 < nx) link(j * nx + i, j * nx + i + 1);
      if (j + 1 < ny) link(j * nx + i, j * nx + nx + i);
    }
  const auto inverse = incomplete_poisson(sparse_rows(nx * ny, nx * ny, entries), scaled);
  EXPECT_TRUE(inverse.is_symmetric(0));
  Dense m = test::dense(inverse);
  for (std::size_t k = 0; k < m.n; ++k) {
    EXPECT_GT(m(k, k), 0) << "pivot " << k;
    for (std::size_t i = k + 1; i < m.n; ++i)
      for (std::size_t j = m.n; j-- > k;) m(i, j) -= m(i, k) / m(k, k) * m(k, j);
  }
}

TEST(IncompletePoissonErrors, WhatDoesNotFitIsRefused) {
  Context ctx;
  auto a = sparse_rows(3, 3, {{0, 0, 1}, {1, 1, -2}, {2, 2, 1}, {0, 2, -1}, {2, 0, -1}});
  a.first_row = 1;
  EXPECT_THAT(test::error_text<BreakdownError>([&] { (void)IncompletePoisson<double>(ctx, a); }),
              testing::AllOf(HasSubstr("row 2"), HasSubstr("-2")));
  a.value[2] = 2;
  EXPECT_NO_THROW((void)IncompletePoisson<double>(ctx, a));
  EXPECT_THAT(test::error_text<UsageError>([&] {
                (void)IncompletePoisson<double>(ctx, GridLayout<2>{3, 1}, a);
              }),
              HasSubstr("(1, 3)"));
  EXPECT_THAT(test::error_text<UsageError>([&] {
                (void)IncompletePoisson<double>(ctx, GridLayout<2>{2, 1}, a);
              }),
              HasSubstr("3 rows"));
}

// The Poisson matrix, b = A x with x uniform in (0, 1), to 1e-6 of ||b||: counts of an independent implementation.
TEST(PoissonCounts, OfConjugateGradientsWithEveryPreconditioner) {
  Context ctx;
  constexpr int n = 128;
  const auto rows = five_points(n, n);
  const CsrMatrix<double> a(ctx, rows);
  std::mt19937 engine(12345);
  std::uniform_real_distribution<double> uniform(0, 1);
  Values solution(n * n);
  for (double& x : solution) x = uniform(engine);
  const auto exact = test::to_device<double>(ctx, a.shape(), solution);
  Field<double> b(ctx, a.shape());
  a.apply(ctx, exact.cview(), b.view());
  const auto registry = builtin_preconditioners();
  StoppingParams stop;
  stop.rtol = 1e-6;
  stop.max_iterations = 1000;
  const auto cg = make_solver<double>(ctx, "cg", a.shape());
  for (const auto& [name, count] : {std::pair{"jacobi", 232}, {"incomplete-poisson", 124}, {"block-ic", 117}})
    for (const auto form : {scaled, printed}) {
      const auto m = registry.make<double>(ctx, name, a.shape(), {rows, {.blocks = n / 2}, form});
      Field<double> x(ctx, a.shape());
      const auto report = cg->solve(ctx, a, *m, b.cview(), x.view(), stop);
      EXPECT_EQ(report.status, Status::converged) << report.reason;
      EXPECT_NEAR(report.iterations, count, 3) << name;
    }
}

}  // namespace
