#include <stratum/solvers/preconditioners/incomplete_cholesky.hpp>

#include <cmath>

#include <gmock/gmock.h>

#include <stratum/solvers/krylov/cg.hpp>
#include <stratum/solvers/preconditioners/jacobi.hpp>

#include "support/sparse.hpp"

namespace {

using namespace stratum;
using test::Dense;
using test::five_points;
using test::Values;
using testing::HasSubstr;

/// IC(0) as in the textbooks (Saad, Iterative Methods for Sparse Linear Systems, 10.3): elimination that drops everything off
/// the pattern. M = (I + L) D (I + L)^T, dense.
Dense incomplete_factor_product(const SparseRows& rows, std::size_t block_size) {
  Dense u = test::dense(rows);
  const auto n = u.n;
  Values pattern(n * n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      if (block_size > 0 && i / block_size != j / block_size) u(i, j) = 0;
      pattern[i * n + j] = u(i, j) != 0 ? 1 : 0;
    }
  Dense l(n);
  for (std::size_t k = 0; k < n; ++k) {
    l(k, k) = 1;
    for (std::size_t i = k + 1; i < n; ++i) {
      if (pattern[i * n + k] == 0) continue;
      l(i, k) = u(i, k) / u(k, k);
      for (std::size_t j = k; j < n; ++j)
        if (pattern[i * n + j] != 0) u(i, j) -= l(i, k) * u(k, j);
      u(i, k) = 0;
    }
  }
  Dense m(n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j)
      for (std::size_t k = 0; k < n; ++k) m(i, j) += l(i, k) * u(k, j);
  return m;
}

template <class T>
class IncompleteCholeskyTest : public test::OnEverySetting<T> {};

TEST_ON_EVERY_SETTING(IncompleteCholeskyTest, SolvesWithTheProductOfItsFactors) {
  test::Random random(31);
  for (const int n : {1, 2, 10, 60})
    for (const int block_size : {0, 1, 7, 20, 1000}) {
      SCOPED_TRACE(testing::Message() << n << " rows, blocks of " << block_size);
      const auto rows = test::random_m_matrix(random, n, 3);
      IncompleteCholesky<T> m(this->ctx(), rows, {block_size, 0});
      EXPECT_TRUE(m.is_constant());
      EXPECT_TRUE(m.is_symmetric());
      EXPECT_EQ(m.blocks(), block_size == 0 ? 1 : (n + block_size - 1) / block_size);
      const auto r = random.values(static_cast<std::size_t>(n));
      auto z = test::random_vector<T>(this->ctx(), random, test::flat(n));
      const auto dr = test::to_device<T>(this->ctx(), test::flat(n), r);
      // Twice and once more: a graph is recorded and replayed on a GPU.
      for (int k = 0; k < 3; ++k) m.apply(this->ctx(), dr.cview(), z.view());
      const auto expected = solve(incomplete_factor_product(rows, static_cast<std::size_t>(block_size)), r);
      constexpr double bound = std::is_same_v<T, float> ? 2e-4 : 1e-11;
      EXPECT_LT(reference::relative_difference(test::to_host(this->ctx(), z), expected), bound);
      EXPECT_TRUE(test::halo_is_zero(this->ctx(), z));
    }
}

TEST_ON_EVERY_SETTING(IncompleteCholeskyTest, IsExactWithoutFill) {
  // Tridiagonal: nothing is dropped, and n levels follow each other.
  std::vector<SparseEntry> entries;
  for (int i = 0; i < 50; ++i) {
    entries.push_back({i, i, 2.1});
    if (i > 0) entries.push_back({i, i - 1, -1});
    if (i < 49) entries.push_back({i, i + 1, -1});
  }
  const auto rows = sparse_rows(50, 50, entries);
  IncompleteCholesky<T> m(this->ctx(), rows);
  EXPECT_EQ(m.levels(), 50);
  test::Random random(32);
  const auto r = random.values(50);
  Field<T> z(this->ctx(), 50);
  m.apply(this->ctx(), test::to_device<T>(this->ctx(), test::flat(50), r).cview(), z.view());
  EXPECT_LT(reference::relative_difference(test::to_host(this->ctx(), z), solve(test::dense(rows), r)),
            test::tolerance<T>);
}

/// M^-1 r on the backend of the test against that in double on the CPU, which the tests above compare with elimination.
template <class T>
void expect_same_as_on_the_host(Context& ctx, const SparseRows& rows, const GridLayout<2>& shape,
                                const IncompleteCholeskyParams& params, const Values& r) {
  Context host;
  Field<double> expected(host, shape);
  IncompleteCholesky<double>(host, shape, rows, params)
      .apply(host, test::to_device<double>(host, shape, r).cview(), expected.view());
  IncompleteCholesky<T> m(ctx, shape, rows, params);
  const auto on_device = test::to_device<T>(ctx, shape, r);
  Field<T> z(ctx, shape);
  for (int k = 0; k < 3; ++k) m.apply(ctx, on_device.cview(), z.view());
  EXPECT_LT(reference::relative_difference(test::to_host(ctx, z), test::to_host(host, expected)), test::tolerance<T>);
  EXPECT_TRUE(test::halo_is_zero(ctx, z));
}

TEST_ON_EVERY_SETTING(IncompleteCholeskyTest, BlocksOfEverySizeOnAGrid) {
  test::Random random(36);
  // Rows of the grid and parts of them, a grid wider than a thread block, one block beyond shared memory in float too.
  for (const auto& [nx, ny] : {std::pair{70, 40}, {1500, 3}, {260, 250}}) {
    const auto rows = five_points(nx, ny);
    const auto r = random.values(static_cast<std::size_t>(rows.rows));
    for (const IncompleteCholeskyParams& params : {IncompleteCholeskyParams{},
                                                   {.block_size = 2 * nx},
                                                   {.block_size = 1024},
                                                   {.block_size = 333},
                                                   {.blocks = 7}}) {
      SCOPED_TRACE(testing::Message() << nx << " x " << ny << ", blocks of " << params.block_size << " or "
                                      << params.blocks << " of them");
      expect_same_as_on_the_host<T>(this->ctx(), rows, test::unknowns(nx, ny), params, r);
    }
  }
}

TEST_ON_EVERY_SETTING(IncompleteCholeskyTest, ChainsAndWideLevels) {
  test::Random random(37);
  constexpr int n = 5000;
  // All rows wait for the row before; the second half waits for two rows of the first, row by row or both at once.
  std::vector<SparseEntry> chain, wide, both;
  const auto couple = [](std::vector<SparseEntry>& entries, int i, int j) {
    entries.push_back({i, j, -1});
    entries.push_back({j, i, -1});
  };
  for (int i = 0; i < n; ++i) {
    for (auto* entries : {&chain, &wide, &both}) entries->push_back({i, i, 5});
    if (i > 0) couple(chain, i, i - 1);
    if (i > n / 2)
      for (auto* entries : {&wide, &both})
        for (const int j : {i - n / 2, 7 * i % (n / 2)})
          if (j != i - n / 2 || entries == &wide || j % 3 != 0) couple(*entries, i, j);
    if (i > n / 2 && i % 5 != 0) couple(both, i, i - 1);
  }
  const auto r = random.values(n);
  for (const auto& entries : {chain, wide, both})
    for (const int block_size : {0, n / 2, 1300, 64})
      expect_same_as_on_the_host<T>(this->ctx(), sparse_rows(n, n, entries), test::flat(n), {block_size, 0}, r);
}

TEST_ON_EVERY_SETTING(IncompleteCholeskyTest, LongProductsOfLargeFactorsDoNoHarm) {
  // In the first half l = 3 and d = 1; 3^1000 is in the range of nothing.
  constexpr int n = 2000;
  std::vector<SparseEntry> entries;
  for (int i = 0; i < n; ++i) {
    entries.push_back({i, i, i == 0 || i >= n / 2 ? 1.0 : 10.0});
    if (i == 0 || i >= n / 2) continue;
    entries.push_back({i, i - 1, 3});
    entries.push_back({i - 1, i, 3});
  }
  IncompleteCholesky<T> m(this->ctx(), sparse_rows(n, n, entries));
  Values r(n);
  for (std::size_t i = n / 2; i < n; ++i) r[i] = static_cast<double>(i);
  Field<T> z(this->ctx(), n);
  m.apply(this->ctx(), test::to_device<T>(this->ctx(), test::flat(n), r).cview(), z.view());
  EXPECT_EQ(test::to_host(this->ctx(), z), r);
}

TEST_ON_EVERY_SETTING(IncompleteCholeskyTest, TheNumberOfBlocksInsteadOfTheirSize) {
  const auto rows = five_points(12, 12);
  test::Random random(38);
  const auto r = test::random_vector<T>(this->ctx(), random, test::flat(144));
  IncompleteCholesky<T> by_size(this->ctx(), rows, {.block_size = 24}), by_number(this->ctx(), rows, {.blocks = 6});
  Field<T> z(this->ctx(), 144), same(this->ctx(), 144);
  by_size.apply(this->ctx(), r.cview(), z.view());
  by_number.apply(this->ctx(), r.cview(), same.view());
  EXPECT_EQ(test::to_host(this->ctx(), z), test::to_host(this->ctx(), same));
  // As many as asked for where they cannot be of one size: 20 blocks of 8 rows would be 18.
  EXPECT_EQ(IncompleteCholesky<T>(this->ctx(), rows, {.blocks = 20}).blocks(), 20);
  EXPECT_EQ(IncompleteCholesky<T>(this->ctx(), rows, {.blocks = 144}).levels(), 1);
}

TEST_ON_EVERY_SETTING(IncompleteCholeskyTest, TakesVectorsOfAGrid) {
  const auto rows = five_points(9, 6);
  const auto grid = test::unknowns(9, 6);
  IncompleteCholesky<T> flat(this->ctx(), rows, {18, 0}), m(this->ctx(), grid, rows, {18, 0});
  test::Random random(33);
  const auto r = random.values(54);
  Field<T> z_flat(this->ctx(), 54), z(this->ctx(), grid);
  flat.apply(this->ctx(), test::to_device<T>(this->ctx(), test::flat(54), r).cview(), z_flat.view());
  m.apply(this->ctx(), test::to_device<T>(this->ctx(), grid, r).cview(), z.view());
  EXPECT_EQ(test::to_host(this->ctx(), z), test::to_host(this->ctx(), z_flat));
  EXPECT_TRUE(test::halo_is_zero(this->ctx(), z));
}

TEST_ON_EVERY_SETTING(IncompleteCholeskyTest, FewerBlocksNeedFewerIterations) {
  constexpr int n = 64;
  const auto rows = five_points(n, n);
  const CsrMatrix<T> a(this->ctx(), rows);
  test::Random random(34);
  const auto b = test::random_vector<T>(this->ctx(), random, test::flat(n * n));
  StoppingParams stop;
  stop.rtol = std::is_same_v<T, float> ? 1e-4 : 1e-8;
  stop.max_iterations = 1000;
  const auto iterations = [&](Preconditioner<T>& m) {
    Field<T> x(this->ctx(), n * n);
    const auto report =
        ConjugateGradients<T>(this->ctx(), a.shape()).solve(this->ctx(), a, &m, b.cview(), x.view(), stop);
    EXPECT_EQ(report.status, Status::converged) << report.reason;
    return report.iterations;
  };
  JacobiPreconditioner<T> jacobi(this->ctx(), rows);
  IncompleteCholesky<T> small(this->ctx(), rows, {2 * n, 0}), large(this->ctx(), rows, {16 * n, 0}),
      one(this->ctx(), rows);
  const int with_jacobi = iterations(jacobi), with_small = iterations(small), with_large = iterations(large),
            with_one = iterations(one);
  EXPECT_LT(with_small, 0.8 * with_jacobi);
  EXPECT_LT(with_large, with_small);
  EXPECT_LE(with_one, with_large);
  EXPECT_LT(with_one, 0.4 * with_jacobi);
}

TEST_ON_EVERY_SETTING(IncompleteCholeskyTest, AllocatesNothingInApply) {
  IncompleteCholesky<T> m(this->ctx(), five_points(9, 9));
  const Field<T> r(this->ctx(), 81);
  Field<T> z(this->ctx(), 81);
  const auto allocations = this->ctx().memory()->allocations.load();
  m.apply(this->ctx(), r.cview(), z.view());
  EXPECT_EQ(this->ctx().memory()->allocations.load(), allocations);
}

// Positive definite, and IC(0) meets a negative pivot all the same (Kershaw 1978).
SparseRows kershaw() {
  return sparse_rows(4, 4,
                     {{0, 0, 3},
                      {0, 1, -2},
                      {0, 3, 2},
                      {1, 0, -2},
                      {1, 1, 3},
                      {1, 2, -2},
                      {2, 1, -2},
                      {2, 2, 3},
                      {2, 3, -2},
                      {3, 0, 2},
                      {3, 2, -2},
                      {3, 3, 3}});
}

TEST(IncompleteCholeskyErrors, BreakdownNamesTheRowAndAShiftHelps) {
  Context ctx;
  const auto error = test::error_text<BreakdownError>([&] { (void)IncompleteCholesky<double>(ctx, kershaw()); });
  EXPECT_THAT(error, HasSubstr("row 3"));
  EXPECT_THAT(error, HasSubstr("shift"));
  EXPECT_NO_THROW((void)IncompleteCholesky<double>(ctx, kershaw(), {0, 1.0}));
  // So do blocks that leave out what hurts.
  EXPECT_NO_THROW((void)IncompleteCholesky<double>(ctx, kershaw(), {2, 0}));
}

TEST(IncompleteCholeskyErrors, WhatDoesNotFitIsRefused) {
  Context ctx;
  EXPECT_THAT(test::error_text<UsageError>([&] {
                (void)IncompleteCholesky<double>(ctx, sparse_rows(2, 2, {{0, 0, 1}, {1, 1, 1}, {0, 1, 1}}));
              }),
              HasSubstr("symmetric"));
  EXPECT_THAT(test::error_text<BreakdownError>([&] {
                (void)IncompleteCholesky<double>(ctx, sparse_rows(2, 2, {{0, 0, 1}}));
              }),
              HasSubstr("row 1"));
  EXPECT_THROW((void)IncompleteCholesky<double>(ctx, kershaw(), {-1, 0}), UsageError);
  EXPECT_THROW((void)IncompleteCholesky<double>(ctx, kershaw(), {0, -1}), UsageError);
  EXPECT_THROW((void)IncompleteCholesky<double>(ctx, GridLayout<2>{3, 2}, kershaw()), UsageError);
  EXPECT_THAT(test::error_text<UsageError>([&] { (void)IncompleteCholesky<double>(ctx, kershaw(), {.blocks = 5}); }),
              testing::AllOf(HasSubstr("4 rows"), HasSubstr("5")));
  EXPECT_THROW((void)IncompleteCholesky<double>(ctx, kershaw(), {.blocks = -1}), UsageError);
  EXPECT_THROW((void)IncompleteCholesky<double>(ctx, kershaw(), {.block_size = 2, .blocks = 2}), UsageError);
}

template <class T>
class JacobiPreconditionerTest : public test::OnEverySetting<T> {};

TEST_ON_EVERY_SETTING(JacobiPreconditionerTest, DividesByTheDiagonal) {
  test::Random random(35);
  for (const auto& shape : {test::unknowns(7, 5), test::flat(35)}) {
    const auto d = random.values(35, 1, 2), r = random.values(35);
    JacobiPreconditioner<T> m(this->ctx(), shape, d);
    Field<T> z(this->ctx(), shape);
    m.apply(this->ctx(), test::to_device<T>(this->ctx(), shape, r).cview(), z.view());
    const auto host = test::to_host(this->ctx(), z);
    for (std::size_t i = 0; i < 35; ++i) EXPECT_NEAR(host[i], r[i] / d[i], test::tolerance<T>);
    EXPECT_TRUE(test::halo_is_zero(this->ctx(), z));
  }
}

TEST(JacobiPreconditionerErrors, ADiagonalWithoutReciprocalIsNamed) {
  Context ctx;
  EXPECT_THAT(test::error_text<BreakdownError>([&] {
                (void)JacobiPreconditioner<double>(ctx, sparse_rows(2, 2, {{0, 0, 1}, {1, 0, 1}}));
              }),
              HasSubstr("row 1"));
  EXPECT_THROW((void)JacobiPreconditioner<float>(ctx, test::flat(1), {1e-60}), BreakdownError);
  EXPECT_THROW((void)JacobiPreconditioner<double>(ctx, test::flat(2), {1}), UsageError);
}

}  // namespace
