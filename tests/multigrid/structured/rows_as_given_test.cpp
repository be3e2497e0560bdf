// Matrices whose diagonal is negative, and those that are one triangle of a symmetric one.

#include <algorithm>
#include <vector>

#include <gmock/gmock.h>

#include <stratum/core/io/matrix_market.hpp>
#include <stratum/multigrid/structured/matrix_solver.hpp>

#include "support/subdomains.hpp"

namespace {

using namespace stratum;
using test::Values;
using testing::HasSubstr;
using testing::ThrowsMessage;

enum class Part : std::uint8_t { both, lower, upper };

/// -sign Laplace u + transport on n x n nodes; the first node's row is an identity row where `fixed`.
SparseRows matrix(int n, double sign, Part part = Part::both, bool fixed = false, double transport = 0) {
  std::vector<SparseEntry> entries;
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < n; ++i) {
      const int row = j * n + i;
      const auto add = [&](int column, double value) {
        if (part == Part::lower && column > row) return;
        if (part == Part::upper && column < row) return;
        entries.push_back({row, column, sign * value});
      };
      add(row, 4 + transport);
      if (fixed && row == 0) continue;
      if (i > 0) add(row - 1, -1 - transport);
      if (i + 1 < n) add(row + 1, -1);
      if (j > 0) add(row - n, -1);
      if (j + 1 < n) add(row + n, -1);
    }
  return sparse_rows(n * n, n * n, std::move(entries));
}

Values product(const SparseRows& a, const Values& x) {
  Values y(x.size(), 0.0);
  for (std::size_t i = 0; i < x.size(); ++i)
    for (auto k = static_cast<std::size_t>(a.start[i]); k < static_cast<std::size_t>(a.start[i + 1]); ++k)
      y[i] += a.value[k] * x[static_cast<std::size_t>(a.column[k])];
  return y;
}

TEST(NegativeMatrix, IsSolvedAsItsNegative) {
  constexpr int n = 31;
  test::Random random(3);
  for (const Backend backend : test::available_backends())
    for (const bool fixed : {false, true})
      for (const double transport : {0.0, 0.5}) {
        SCOPED_TRACE(testing::Message() << test::backend_name(backend) << (fixed ? ", identity row" : "")
                                        << (transport > 0 ? ", transport" : ""));
        Context ctx = test::context_on(backend);
        const SparseRows a = matrix(n, -1, Part::both, fixed, transport);
        MatrixSolverParams params;
        params.solver.stop.rtol = 1e-11;
        MatrixSolver solver(ctx, a, n, n, params);
        EXPECT_TRUE(solver.rows().negative);
        const Values expected = random.values(n * n);
        const Values b = product(a, expected);
        Values x(b.size(), 0.0), z(b.size(), 0.0);
        const SolveReport report = solver.solve(ctx, b, x);
        EXPECT_EQ(exit_code(report.status, false), 0) << report.reason;
        EXPECT_THAT(report.choice, HasSubstr("-A x = -b is solved"));
        EXPECT_LT(test::relative_difference(x, expected), 1e-8);
        // A cycle is one of A: what it does brings x nearer.
        solver.apply(ctx, b, z);
        EXPECT_LT(test::relative_difference(z, expected), 0.5);
        // Other values, negative too, and then not.
        SparseRows twice = a;
        for (double& value : twice.value) value *= 2;
        solver.update_csr(ctx, twice.start, twice.column, twice.value);
        (void)solver.solve(ctx, product(twice, expected), x);
        EXPECT_LT(test::relative_difference(x, expected), 1e-8);
        for (double& value : twice.value) value = -value;
        EXPECT_THAT([&] { solver.update_csr(ctx, twice.start, twice.column, twice.value); },
                    ThrowsMessage<UsageError>(HasSubstr("make another solver")));
      }
}

TEST(NegativeMatrix, OfVectorsOnTheGridAndOfBands) {
  constexpr int n = 15;
  Context ctx = test::context_on(Backend::cpu);
  test::Random random(5);
  Values bands(9 * n * n, 0.0);
  for (int k = 0; k < n * n; ++k) {
    bands[static_cast<std::size_t>(4 * n * n + k)] = -4;
    for (const auto& [band, inside] : {std::pair{3, k % n > 0}, {5, k % n + 1 < n}, {1, k >= n}, {7, k + n < n * n}})
      if (inside) bands[static_cast<std::size_t>(band * n * n + k)] = 1;
  }
  MatrixSolver solver = MatrixSolver::from_bands(ctx, bands, n, n);
  const Values expected = random.values(n * n), b = product(matrix(n, -1), expected);
  Field<double> on_grid(ctx, solver.rows().a.shape()), x(ctx, on_grid.shape());
  copy_from_host(ctx, b.data(), on_grid.view());
  const SolveReport report = solver.solve(ctx, on_grid.cview(), x.view());
  EXPECT_THAT(report.choice, HasSubstr("-A x = -b"));
  Values found(b.size());
  copy_to_host(ctx, x.cview(), found.data());
  EXPECT_LT(test::relative_difference(found, expected), 1e-6);
  solver.apply(ctx, on_grid.cview(), x.view());
  copy_to_host(ctx, x.cview(), found.data());
  EXPECT_LT(test::relative_difference(found, expected), 0.5);
}

TEST(NegativeMatrix, IsNoUpdateOfAPositiveOne) {
  constexpr int n = 7;
  Context ctx = test::context_on(Backend::cpu);
  MatrixSolver solver(ctx, matrix(n, 1), n, n);
  const SparseRows negative = matrix(n, -1);
  EXPECT_THAT(
      [&] { solver.update_csr(ctx, negative.start, negative.column, negative.value); },
      ThrowsMessage<UsageError>(HasSubstr("was positive, and is negative throughout now: make another solver")));
}

TEST(NegativeMatrix, OfBothSignsIsRefused) {
  Context ctx = test::context_on(Backend::cpu);
  SparseRows a = matrix(7, -1);
  a.value[0] = 4;  // the first diagonal
  EXPECT_THAT([&] { MatrixSolver(ctx, a, 7, 7); },
              ThrowsMessage<UsageError>(HasSubstr("all must be positive, or all negative")));
}

TEST(OneTriangle, IsAskedAboutAndFilledInOrTaken) {
  constexpr int n = 15;
  Context ctx = test::context_on(Backend::cpu);
  test::Random random(9);
  const Values expected = random.values(n * n), b = product(matrix(n, 1), expected);
  for (const Part part : {Part::lower, Part::upper})
    for (const double sign : {1.0, -1.0}) {
      const SparseRows half = matrix(n, sign, part);
      EXPECT_THAT([&] { MatrixSolver(ctx, half, n, n); },
                  ThrowsMessage<UsageError>(testing::AllOf(
                      HasSubstr(part == Part::lower ? "its lower triangle alone" : "its upper triangle alone"),
                      HasSubstr("`triangle` = symmetric fills in"))));
      MatrixSolverParams params;
      params.solver.stop.rtol = 1e-10;
      params.triangle = Triangle::symmetric;
      MatrixSolver filled(ctx, half, n, n, params);
      EXPECT_TRUE(filled.rows().symmetric);
      Values x(b.size(), 0.0), right(b);
      for (double& value : right) value *= sign;
      (void)filled.solve(ctx, right, x);
      EXPECT_LT(test::relative_difference(x, expected), 1e-7);
      filled.update_csr(ctx, half.start, half.column, half.value);
      x.assign(x.size(), 0);
      (void)filled.solve(ctx, right, x);
      EXPECT_LT(test::relative_difference(x, expected), 1e-7);
      params.triangle = Triangle::general;
      MatrixSolver general(ctx, half, n, n, params);
      x.assign(x.size(), 0);
      (void)general.solve(ctx, product(half, expected), x);
      EXPECT_LT(test::relative_difference(x, expected), 1e-6);
    }
}

TEST(OneTriangle, OfAnOperatorOnTheGrid) {
  constexpr int n = 15;
  Context ctx = test::context_on(Backend::cpu);
  MatrixSolverParams params;
  params.triangle = Triangle::general;
  const GridOperator<double> half = MatrixSolver(ctx, matrix(n, 1, Part::lower), n, n, params).rows().a;
  EXPECT_FALSE(MatrixSolver(ctx, half, params).rows().symmetric);
  params.triangle = Triangle::symmetric;
  EXPECT_TRUE(MatrixSolver(ctx, half, params).rows().symmetric);
  params.triangle = Triangle::ask;
  EXPECT_THAT([&] { MatrixSolver(ctx, half, params); }, ThrowsMessage<UsageError>(HasSubstr("lower triangle alone")));
}

/// Upwind differences have one triangle, and are nobody's half.
TEST(OneTriangle, OfTransportIsTakenAsItIs) {
  Context ctx = test::context_on(Backend::cpu);
  constexpr int n = 8;
  std::vector<SparseEntry> entries;
  for (int k = 0; k < n * n; ++k) {
    entries.push_back({k, k, 2});
    if (k % n > 0) entries.push_back({k, k - 1, -1});
    if (k >= n) entries.push_back({k, k - n, -1});
  }
  EXPECT_NO_THROW(MatrixSolver(ctx, sparse_rows(n * n, n * n, entries), n, n));
}

TEST(OneTriangle, AndNegativeMatricesOnSubdomains) {
  constexpr int n = 32;
  const Values expected = test::Random(11).values(n * n);
  const auto part_of = [&](const SparseRows& a, int rank, int count) {
    const int first = n * n * rank / count, end = n * n * (rank + 1) / count;
    SparseRows own;
    own.first_row = first;
    own.rows = end - first;
    own.columns = n * n;
    own.start.clear();
    for (int i = first; i <= end; ++i)
      own.start.push_back(a.start[static_cast<std::size_t>(i)] - a.start[static_cast<std::size_t>(first)]);
    own.column.assign(a.column.begin() + a.start[static_cast<std::size_t>(first)],
                      a.column.begin() + a.start[static_cast<std::size_t>(end)]);
    own.value.assign(a.value.begin() + a.start[static_cast<std::size_t>(first)],
                     a.value.begin() + a.start[static_cast<std::size_t>(end)]);
    return own;
  };
  const auto solve = [&](const SparseRows& a, int count) {
    return test::on_subdomains(Backend::cpu, count, [&](Context& ctx) {
      const int rank = ctx.communicator()->rank();
      const SparseRows own = part_of(a, rank, count);
      MatrixSolverParams params;
      params.solver.stop.rtol = 1e-10;
      MatrixSolver solver(ctx, own, n, n, params);
      const Values b = product(a, expected);
      const Values mine(b.begin() + own.first_row, b.begin() + own.first_row + own.rows);
      Values x(mine.size(), 0.0);
      EXPECT_THAT(solver.solve(ctx, mine, x).choice, HasSubstr("-A x = -b"));
      return x;
    });
  };
  const auto found = solve(matrix(n, -1), 3);
  EXPECT_THAT(found.errors, testing::Each(""));
  EXPECT_LT(test::relative_difference(found.values, expected), 1e-7);
  EXPECT_THAT(solve(matrix(n, 1, Part::lower), 2).errors, testing::Each(HasSubstr("lower triangle alone")));
}

}  // namespace
