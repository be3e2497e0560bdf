// Matrices on boxes that are not symmetric, or negative, or solved by other methods, from other starts.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include <stratum/multigrid/structured/box_matrix_solver.hpp>

#include "support/backends.hpp"
#include "support/box_matrices.hpp"
#include "support/random.hpp"

namespace {

using namespace stratum;
using test::Random;
using test::refusal;
using test::residual;
using testing::HasSubstr;
using testing::Not;
using Values = std::vector<double>;
using Size = std::array<int, 3>;

/// -Laplace u + w grad u upwind, on cells of size 1, u = 0 or without flux around. w is v at most and turns: of a constant one
/// there are scales that make the matrix symmetric.
SparseRows convection(const Size& n, double v, bool held = true, double by = 1, bool central = false) {
  std::vector<SparseEntry> entries;
  const auto number = [&](const Size& p) { return (p[2] * n[1] + p[1]) * n[0] + p[0]; };
  for (int k = 0; k < n[0] * n[1] * n[2]; ++k) {
    const Size here{k % n[0], k / n[0] % n[1], k / n[0] / n[1]};
    for (std::size_t d = 0; d < 3; ++d)
      for (const int side : {-1, 1}) {
        Size there = here;
        there[d] += side;
        const bool inside = there[d] >= 0 && there[d] < n[d];
        if (!inside && !held) continue;
        const std::size_t across = (d + 1) % 3;
        const double w = v * (2 * (here[across] + 0.5) / n[across] - 1);
        const double a = 1 + (central ? -side * w / 2 : std::max(0.0, -side * w));
        entries.push_back({k, k, by * a});
        if (inside) entries.push_back({k, number(there), -by * a});
      }
  }
  const int all = n[0] * n[1] * n[2];
  return sparse_rows(all, all, entries);
}

TEST(BoxKrylov, SolvesConvection) {
  for (const Backend backend : test::available_backends()) {
    Context ctx = test::context_on(backend);
    Random random(41);
    const Size n{14, 13, 12};
    for (const double v : {0.05, 1.0, 20.0})
      for (const auto method : {std::optional<Method>{}, std::optional(Method::bicgstab)})
        for (const bool in_float : {true, false}) {
          const SparseRows a = convection(n, v);
          BoxMatrixParams params;
          params.float_cycles = in_float;
          params.method = method;
          BoxMatrixSolver solver(ctx, a, n, params);
          EXPECT_FALSE(solver.findings().symmetric || solver.findings().scaled);
          EXPECT_EQ(solver.findings().method, method.value_or(Method::gmres));
          EXPECT_THAT(solver.findings().choice, HasSubstr("the matrix is not symmetric"));
          const Values b = random.values(a.rows);
          Values x(b.size());
          const SolveReport report = solver.solve(ctx, b, x);
          EXPECT_EQ(report.status, Status::converged) << report.reason;
          EXPECT_LE(residual(a, b, x), 1.01e-8);
          EXPECT_LE(report.iterations, v < 1 ? 9 : v < 2 ? 10 : 6) << v;
        }
  }
}

/// Q1 elements of -eps Laplace u + w grad u, upwind along each direction, in 27 points; central ones in 7, whose couplings have
/// both signs.
TEST(BoxKrylov, SolvesConvectionOfAnyStrength) {
  Context ctx(Backend::cpu, 1);
  Random random(45);
  const int m = 15;
  for (const double eps : {1.0, 1e-2, 1e-5}) {
    std::vector<SparseEntry> entries;
    const double h = 1.0 / (m + 1);
    const std::array<double, 3> wind{1, 0.7, 0.4};
    const auto stiffness = [&](int o) { return (o == 0 ? 2 : -1) / h; };
    const auto mass = [&](int o) { return (o == 0 ? 4 : 1) * h / 6; };
    const auto upwind = [&](int o) { return o == 0 ? 1.0 : o < 0 ? -1.0 : 0.0; };
    for (int row = 0; row < m * m * m; ++row)
      for (int n = 0; n < 27; ++n) {
        const Size o{n % 3 - 1, n / 3 % 3 - 1, n / 9 - 1}, at{row % m, row / m % m, row / m / m};
        double a = 0;
        bool inside = true;
        for (std::size_t d = 0; d < 3; ++d) {
          inside = inside && at[d] + o[d] >= 0 && at[d] + o[d] < m;
          const double others = mass(o[(d + 1) % 3]) * mass(o[(d + 2) % 3]);
          a += (eps * stiffness(o[d]) + wind[d] * upwind(o[d])) * others;
        }
        if (inside) entries.push_back({row, row + (o[2] * m + o[1]) * m + o[0], a});
      }
    const SparseRows a = sparse_rows(m * m * m, m * m * m, entries);
    BoxMatrixSolver solver(ctx, a, {m, m, m});
    const Values b = random.values(a.rows);
    Values x(b.size());
    const SolveReport report = solver.solve(ctx, b, x);
    EXPECT_EQ(report.status, Status::converged) << report.reason;
    EXPECT_LE(residual(a, b, x), 1.01e-8);
    EXPECT_LE(report.iterations, eps == 1 ? 8 : 6) << eps;
  }
  for (const double v : {3.0, 8.0}) {
    const Size n{12, 12, 12};
    const SparseRows a = convection(n, v, true, 1, true);
    BoxMatrixSolver solver(ctx, a, n);
    const Values b = random.values(a.rows);
    Values x(b.size());
    const SolveReport report = solver.solve(ctx, b, x);
    EXPECT_EQ(report.status, Status::converged) << report.reason;
    EXPECT_LE(residual(a, b, x), 1.01e-8);
    EXPECT_LE(report.iterations, v < 4 ? 6 : 50) << v;
  }
}

TEST(BoxKrylov, TakesEveryMethodAndStart) {
  for (const Backend backend : test::available_backends()) {
    Context ctx = test::context_on(backend);
    Random random(42);
    const Size n{12, 9, 10};
    const SparseRows a = convection(n, 0);
    const Values b = random.values(a.rows);
    for (const auto& [method, name] : names_of<Method>) {
      SCOPED_TRACE(name);
      BoxMatrixParams params;
      params.method = method;
      BoxMatrixSolver solver(ctx, a, n, params);
      Values x = random.values(a.rows), steps;
      const Values start = x;
      const SolveReport report = solver.solve(ctx, b, x, [&](int, double r) { steps.push_back(r); });
      EXPECT_EQ(report.status, Status::converged) << report.reason;
      EXPECT_LE(residual(a, b, x), 1e-8 * (1 + 1e-6));
      EXPECT_EQ(steps.size(), static_cast<std::size_t>(report.iterations) + 1);
      EXPECT_NEAR(report.initial_residual, residual(a, b, start) * report.reference_norm_value,
                  1e-10 * report.initial_residual);
      EXPECT_EQ(solver.solve(ctx, b, x).iterations, 0);
    }
  }
}

TEST(BoxKrylov, TakesTheNegativeAndOneTriangle) {
  Context ctx(Backend::cpu, 1);
  Random random(43);
  const Size n{8, 7, 6};
  SparseRows a = convection(n, 0, true, -1);
  const Values b = random.values(a.rows);
  Values x(b.size()), z(b.size());
  BoxMatrixSolver solver(ctx, a, n);
  EXPECT_TRUE(solver.findings().negative && solver.findings().symmetric);
  EXPECT_EQ(solver.solve(ctx, b, x).status, Status::converged);
  EXPECT_LE(residual(a, b, x), 1.01e-8);
  solver.apply(ctx, b, z);
  EXPECT_LE(residual(a, b, z), 0.5);  // a cycle of A, not of -A
  std::vector<SparseEntry> lower;
  for (int i = 0; i < a.rows; ++i)
    for (int e = a.start[i]; e < a.start[i + 1] && a.column[e] <= i; ++e) lower.push_back({i, a.column[e], a.value[e]});
  const SparseRows half = sparse_rows(a.rows, a.rows, lower);
  EXPECT_THAT(refusal(half, n), HasSubstr("lower triangle alone"));
  BoxMatrixParams params;
  params.triangle = Triangle::symmetric;
  BoxMatrixSolver filled(ctx, half, n, params);
  Values y(b.size());
  EXPECT_EQ(filled.solve(ctx, b, y).status, Status::converged);
  EXPECT_EQ(x, y);
}

TEST(BoxKrylov, KnowsSingularMatricesThatAreNotSymmetric) {
  // Around a circle in x columns sum to zero, too.
  Context ctx(Backend::cpu, 1);
  Random random(44);
  const Size n{9, 5, 4};
  const auto around = [&](double v) {
    std::vector<SparseEntry> entries;
    for (int k = 0; k < 180; ++k) {
      const Size p{k % 9, k / 9 % 5, k / 45};
      const auto add = [&](int x, int y, int z, double a) {
        if (y < 0 || y > 4 || z < 0 || z > 3) return;
        entries.push_back({k, k, a});
        entries.push_back({k, (z * 5 + y) * 9 + (x + 9) % 9, -a});
      };
      add(p[0] - 1, p[1], p[2], 1 + v), add(p[0] + 1, p[1], p[2], 1);
      add(p[0], p[1] - 1, p[2], 1), add(p[0], p[1] + 1, p[2], 1);
      add(p[0], p[1], p[2] - 1, 1), add(p[0], p[1], p[2] + 1, 1);
    }
    return sparse_rows(180, 180, entries);
  };
  const SparseRows a = around(0.7);
  BoxMatrixSolver solver(ctx, a, n);
  EXPECT_TRUE(solver.findings().singular);
  Values b = random.values(a.rows), x(b.size());
  EXPECT_THROW((void)solver.solve(ctx, b, x), UsageError);
  const double mean = std::accumulate(b.begin(), b.end(), 0.0) / 180;
  for (double& v : b) v -= mean;
  EXPECT_EQ(solver.solve(ctx, b, x).status, Status::converged);
  EXPECT_LE(residual(a, b, x), 1.01e-8);
  EXPECT_NEAR(std::accumulate(x.begin(), x.end(), 0.0), 0, 1e-10);
  EXPECT_THAT(refusal(convection(n, 0.7, false), n), HasSubstr("nor do its columns sum to zero"));
}

/// Faces of cells of size 1 of -div(K grad u), u = 0 around; K is `contrast` in blocks of 3 x 3 x 3 cells, every second one of a
/// row, that touch at edges alone.
SparseRows checkerboard(const Size& n, double contrast) {
  const auto k_of = [&](const Size& p) { return (p[0] / 3 + p[1] / 3 + p[2] / 3) % 2 == 0 ? 1 : contrast; };
  std::vector<SparseEntry> entries;
  for (int row = 0; row < n[0] * n[1] * n[2]; ++row) {
    const Size here{row % n[0], row / n[0] % n[1], row / n[0] / n[1]};
    const std::array<int, 3> step{1, n[0], n[0] * n[1]};
    for (std::size_t d = 0; d < 3; ++d)
      for (const int side : {-1, 1}) {
        Size there = here;
        there[d] += side;
        const bool inside = there[d] >= 0 && there[d] < n[d];
        const double c = inside ? 2 / (1 / k_of(here) + 1 / k_of(there)) : 2 * k_of(here);
        entries.push_back({row, row, c});
        if (inside) entries.push_back({row, row + side * step[d], -c});
      }
  }
  return sparse_rows(n[0] * n[1] * n[2], n[0] * n[1] * n[2], entries);
}

TEST(BoxKrylov, DeflatesIsolatedPartsOfStrongCouplings) {
  for (const Backend backend : test::available_backends()) {
    Context ctx = test::context_on(backend);
    Random random(45);
    const Size n{24, 21, 23};
    for (const double contrast : {1e4, 1e6}) {
      const SparseRows a = checkerboard(n, contrast);
      const Values b = random.values(a.rows);
      Values x(b.size()), y(b.size());
      BoxMatrixSolver solver(ctx, a, n);
      EXPECT_THAT(solver.findings().choice, HasSubstr("parts of strong couplings are deflated"));
      const SolveReport report = solver.solve(ctx, b, x);
      EXPECT_EQ(report.status, Status::converged) << report.reason;
      EXPECT_LE(report.iterations, 14);
      EXPECT_LE(residual(a, b, x), 1.01e-8);
      BoxMatrixParams plain;
      plain.method = Method::cg;
      const SolveReport without = BoxMatrixSolver(ctx, a, n, plain).solve(ctx, b, y);
      EXPECT_GT(without.iterations, 2 * report.iterations);
    }
    EXPECT_THAT(BoxMatrixSolver(ctx, checkerboard(n, 100), n).findings().choice, Not(HasSubstr("deflated")));
  }
}

TEST(BoxKrylov, RefusesMethodsForSymmetricMatrices) {
  const Size n{6, 5, 4};
  BoxMatrixParams params;
  for (const Method method : {Method::cg, Method::fcg, Method::cr}) {
    params.method = method;
    EXPECT_THAT(refusal(convection(n, 1), n, params), HasSubstr("use gmres or bicgstab"));
  }
  params = {};
  params.symmetric = true;
  EXPECT_THAT(refusal(convection(n, 1), n, params), HasSubstr("said to be symmetric"));
}

TEST(BoxKrylov, ReadsRowsInAnyOrder) {
  const std::vector<std::int64_t> start{0, 2, 4}, column{1, 0, 1, 1};
  const std::vector<double> value{1, 2, 3, 4};
  const SparseRows a = rows_of_csr<std::int64_t>(start, column, value);
  EXPECT_EQ(a.column, (std::vector{0, 1, 1}));
  EXPECT_EQ(a.value, (Values{2, 1, 7}));
  const std::vector<std::int64_t> outside{1, 2, 0, 1};
  EXPECT_THROW((void)rows_of_csr<std::int64_t>(start, outside, value), UsageError);
}

}  // namespace
