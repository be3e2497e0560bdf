// What rows have towards identity rows is carried to the right-hand side, wherever these lie, and rows are scaled to symmetry
// on one rank as on several.

#include <cmath>
#include <vector>

#include <stratum/core/operators/row_scales.hpp>
#include <stratum/core/operators/sparse_rows.hpp>
#include <stratum/multigrid/structured/matrix_solver.hpp>

#include <gtest/gtest.h>

namespace {

using namespace stratum;

constexpr int nx = 12, ny = 10;

int node(int i, int j) { return j * nx + i; }

/// Five points between Dirichlet boundaries; the nodes of the column at the right are identity rows times `diagonal`.
std::vector<SparseEntry> entries(double diagonal) {
  std::vector<SparseEntry> all;
  for (int j = 0; j < ny; ++j)
    for (int i = 0; i < nx; ++i) {
      const int k = node(i, j);
      if (i + 1 == nx) {
        all.push_back({k, k, diagonal});
        continue;
      }
      all.push_back({k, k, 4});
      if (i > 0) all.push_back({k, node(i - 1, j), -1});
      all.push_back({k, node(i + 1, j), -1});
      if (j > 0) all.push_back({k, node(i, j - 1), -1});
      if (j + 1 < ny) all.push_back({k, node(i, j + 1), -1});
    }
  return all;
}

std::vector<double> product(const SparseRows& a, const std::vector<double>& x) {
  std::vector<double> b(x.size());
  for (std::size_t k = 0; k < b.size(); ++k)
    for (auto e = a.start[k]; e < a.start[k + 1]; ++e)
      b[k] += a.value[static_cast<std::size_t>(e)] * x[static_cast<std::size_t>(a.column[static_cast<std::size_t>(e)])];
  return b;
}

void expect_solved(const SparseRows& a, const MatrixSolverParams& params = {}) {
  Context ctx(Backend::cpu, 1);
  MatrixSolver solver(ctx, a, nx, ny, params);
  EXPECT_FALSE(solver.rows().periodic_x);
  EXPECT_FALSE(solver.rows().periodic_y);
  EXPECT_EQ(solver.rows().fixed_in_all, ny);
  EXPECT_EQ(solver.rows().left_nx, nx - 1);
  std::vector<double> exact(nx * ny);
  for (std::size_t k = 0; k < exact.size(); ++k) exact[k] = 1 + std::sin(3.0 * static_cast<double>(k));
  const auto solves = [&](const SparseRows& of) {
    std::vector<double> x(exact.size(), 0.0);
    EXPECT_EQ(solver.solve(ctx, product(of, exact), x).status, Status::converged);
    for (std::size_t k = 0; k < x.size(); ++k) ASSERT_NEAR(x[k], exact[k], 1e-6) << k;
  };
  solves(a);
  SparseRows other = a;
  for (double& v : other.value) v *= 3;
  solver.update_csr(ctx, other.start, other.column, other.value);
  solves(other);
}

TEST(IdentityRows, MayLieAnywhere) {
  auto all = entries(7);
  all.push_back({node(0, 3), node(nx - 1, 3), -0.5});  // around the grid, which is not periodic
  all.push_back({node(4, 4), node(nx - 1, 8), 0.25});  // far away
  all.push_back({node(4, 4), node(nx - 1, 1), -2});
  all.push_back({node(nx - 2, 0), node(nx - 1, 9), 1});
  const SparseRows a = sparse_rows(nx * ny, nx * ny, std::move(all));
  expect_solved(a);
  // The same with the unknowns in an order of their own.
  std::vector<SparseEntry> turned;
  const auto place = [](int k) { return (k * 7 + 5) % (nx * ny); };
  for (int k = 0; k < nx * ny; ++k)
    for (auto e = a.start[static_cast<std::size_t>(k)]; e < a.start[static_cast<std::size_t>(k) + 1]; ++e)
      turned.push_back({place(k), place(a.column[static_cast<std::size_t>(e)]), a.value[static_cast<std::size_t>(e)]});
  MatrixSolverParams params;
  params.numbering.resize(nx * ny);
  for (int k = 0; k < nx * ny; ++k) params.numbering[static_cast<std::size_t>(place(k))] = k;
  expect_solved(sparse_rows(nx * ny, nx * ny, std::move(turned)), params);
}

/// What a penalty hides of its row is no fault, wherever it lies.
TEST(IdentityRows, OfPenaltiesMayHoldAnything) {
  auto all = entries(1e30);
  all.push_back({node(nx - 1, 2), node(3, 8), -1});
  all.push_back({node(nx - 1, 2), node(0, 2), -1});
  Context ctx(Backend::cpu, 1);
  const SparseRows a = sparse_rows(nx * ny, nx * ny, std::move(all));
  const GridRows rows(ctx, RowArrays<int>{a.start, a.column, a.value}, nx, ny);
  EXPECT_FALSE(rows.periodic_x);
  EXPECT_EQ(rows.fixed_in_all, ny);
}

TEST(IdentityRows, AnEntryTowardsAFreeUnknownFarAwayIsRefused) {
  auto all = entries(7);
  all.push_back({node(4, 4), node(8, 8), -1});
  Context ctx(Backend::cpu, 1);
  const SparseRows a = sparse_rows(nx * ny, nx * ny, std::move(all));
  EXPECT_THROW(GridRows(ctx, RowArrays<int>{a.start, a.column, a.value}, nx, ny), UsageError);
}

TEST(ScaledRowsOfOneRank, AreSymmetricAfterUpdatesToo) {
  auto all = entries(7);
  const auto volume = [](int k) { return 1.0 + k * 7 % 10; };
  for (SparseEntry& entry : all) entry.value *= volume(entry.row);
  const SparseRows a = sparse_rows(nx * ny, nx * ny, std::move(all));
  SparseRows scaled = a;
  const std::vector<double> d = scale_to_symmetry(scaled);
  ASSERT_FALSE(d.empty());
  Context ctx(Backend::cpu, 1);
  GridRows rows(ctx, RowArrays<int>{a.start, a.column, a.value}, nx, ny, {}, {}, {.scale_to_symmetry = true});
  EXPECT_TRUE(rows.symmetric);
  EXPECT_EQ(rows.a.format(), StorageFormat::symmetric);
  const auto expect_scales = [&] {
    ASSERT_EQ(rows.scales.size(), d.size());
    for (int k = 0; k < nx * ny; ++k) {
      if (k % nx + 1 == nx) continue;
      EXPECT_NEAR(rows.scales[static_cast<std::size_t>(k)], d[static_cast<std::size_t>(k)], 1e-12);
    }
  };
  expect_scales();
  SparseRows other = a;
  for (double& v : other.value) v *= 2;
  rows.update(ctx, RowArrays<int>{other.start, other.column, other.value});
  expect_scales();
}

}  // namespace
