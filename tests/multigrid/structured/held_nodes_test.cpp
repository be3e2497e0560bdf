// Iterations where nodes of a matrix are held, or are solids beside what flows, and what its boundaries are taken for.

#include <array>
#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include <stratum/core/operators/sparse_rows.hpp>
#include <stratum/multigrid/structured/matrix_solver.hpp>

#include <gtest/gtest.h>

#include "support/subdomains.hpp"

namespace {

using namespace stratum;
using test::Values;

std::size_t at(std::int64_t k) { return static_cast<std::size_t>(k); }

/// Iterations for noise, and that b - A x is as small as asked for.
SolveReport solved(const SparseRows& a, int nx, int ny) {
  Context ctx(Backend::cpu, 1);
  auto solver = MatrixSolver::from_csr(ctx, a.start, a.column, a.value, nx, ny);
  std::mt19937 random(2);
  Values b(at(a.rows)), x(b.size(), 0.0);
  double sum = 0;
  for (auto& v : b) sum += v = static_cast<double>(random()) / 4294967296.0;
  for (auto& v : b) v -= sum / static_cast<double>(b.size());
  const SolveReport report = solver(ctx, b, x);
  EXPECT_EQ(report.status, Status::converged) << report.reason;
  return report;
}

/// Five points on n x n nodes between Neumann boundaries, and what is added to diagonals.
SparseRows five_points(
    int n, const std::function<double(int, int)>& added,
    const std::function<bool(int, int)>& solid = [](int, int) { return false; }) {
  std::vector<SparseEntry> entries;
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < n; ++i) {
      const int k = j * n + i;
      if (solid(i, j)) {
        entries.push_back({k, k, 1.0});
        continue;
      }
      double diagonal = added(i, j);
      for (const auto& [p, q] : {std::pair{i - 1, j}, {i + 1, j}, {i, j - 1}, {i, j + 1}}) {
        if (p < 0 || q < 0 || p == n || q == n || solid(p, q)) continue;
        entries.push_back({k, q * n + p, -1.0});
        ++diagonal;
      }
      entries.push_back({k, k, diagonal});
    }
  return sparse_rows(n * n, n * n, std::move(entries));
}

TEST(HeldNodes, TakeNoMoreIterationsThanWithout) {
  constexpr int n = 128;
  struct Held {
    const char* name;
    std::function<bool(int, int)> is;
  };
  const Held held[] = {{"a corner", [](int i, int j) { return i == 0 && j == 0; }},
                       {"all corners", [](int i, int j) { return i % (n - 1) == 0 && j % (n - 1) == 0; }},
                       {"one on a boundary", [](int i, int j) { return i == n / 3 && j == n - 1; }},
                       {"one beside it", [](int i, int j) { return i == n / 3 && j == n - 2; }},
                       {"one inside", [](int i, int j) { return i == n / 2 && j == n / 3; }},
                       {"some inside", [](int i, int j) { return i % 32 == 9 && j % 32 == 20; }},
                       {"a third of a boundary", [](int i, int j) { return i < n / 3 && j == 0; }},
                       {"a boundary", [](int i, int) { return i == n - 1; }}};
  for (const bool dirichlet : {false, true})
    for (const auto& [name, is] : held)
      for (const double by : {400., 1e10, 1e12}) {
        SCOPED_TRACE(testing::Message() << name << " by " << by << (dirichlet ? ", a Dirichlet boundary" : ""));
        const auto a =
            five_points(n, [&, is = is](int i, int j) { return (is(i, j) ? by : 0) + (dirichlet && i == 0 ? 2 : 0); });
        // Sixteen points that coarse levels do not resolve are as many slow modes.
        EXPECT_LE(solved(a, n, n).iterations, std::string(name) == "some inside" ? 18 : 11);
      }
}

TEST(HeldNodes, SolidsAsIdentityRowsAreNoWalls) {
  // A nozzle, with Dirichlet values at its left end: 22, 31, 43 iterations at 64, 128, 256 where solids weighed as what is
  // beside them.
  for (const int n : {64, 128, 256}) {
    const auto solid = [n](int i, int j) {
      const double x = (i + .5) / n - .5, y = (j + .5) / n - .5;
      return std::abs(y) >= .08 + 1.6 * x * x;
    };
    EXPECT_LE(solved(five_points(
                         n, [](int i, int) { return i == 0 ? 2 : 0; }, solid),
                     n, n)
                  .iterations,
              10)
        << n;
  }
}

/// Bilinear elements on cells hx x hy between Neumann boundaries, columns from `first` on.
SparseRows bilinear(const Values& hx, const Values& hy, int first) {
  const auto line = [](const Values& h, bool stiffness) {
    const std::size_t n = h.size() + 1;
    std::vector<std::array<double, 2>> t(n);  // diagonal, and the entry behind it
    for (std::size_t k = 0; k < h.size(); ++k) {
      const double own = stiffness ? 1 / h[k] : h[k] / 3;
      t[k][0] += own;
      t[k + 1][0] += own;
      t[k][1] = stiffness ? -1 / h[k] : h[k] / 6;
    }
    return t;
  };
  const auto kx = line(hx, true), mx = line(hx, false), ky = line(hy, true), my = line(hy, false);
  const auto entry = [](const auto& t, int k, int d) {
    return d == 0 ? t[at(k)][0] : d > 0 ? t[at(k)][1] : t[at(k - 1)][1];
  };
  const int nx = static_cast<int>(hx.size()) + 1, ny = static_cast<int>(hy.size()) + 1, left = nx - first;
  std::vector<SparseEntry> entries;
  for (int j = 0; j < ny; ++j)
    for (int i = first; i < nx; ++i)
      for (int dy = -1; dy <= 1; ++dy)
        for (int dx = -1; dx <= 1; ++dx) {
          const int p = i + dx, q = j + dy;
          if (p < first || q < 0 || p == nx || q == ny) continue;
          entries.push_back({j * left + i - first, q * left + p - first,
                             entry(kx, i, dx) * entry(my, j, dy) + entry(mx, i, dx) * entry(ky, j, dy)});
        }
  return sparse_rows(left * ny, left * ny, std::move(entries));
}

TEST(HeldNodes, ACornerBesideAThinWallDoesNotMakeABoundary) {
  for (const int n : {64, 128}) {
    Values hx, hy(at(n), 2.0 / n);
    for (int k = 0; k < n; ++k) hx.push_back((std::pow(k + 1, 3) - std::pow(k, 3)) / std::pow(n, 3));
    const SparseRows a = bilinear(hx, hy, 1);
    GridRows found = [&] {
      Context ctx(Backend::cpu, 1);
      return GridRows(ctx, RowArrays<int>{a.start, a.column, a.value}, n, n + 1);
    }();
    EXPECT_EQ(found.west, BoundaryType::dirichlet);
    EXPECT_EQ(found.east, BoundaryType::neumann);
    EXPECT_EQ(found.south, BoundaryType::neumann);
    EXPECT_EQ(found.north, BoundaryType::neumann);
    EXPECT_LE(solved(a, n, n + 1).iterations, 8);
    // On subdomains the same.
    const auto result = test::on_subdomains(Backend::cpu, 3, [&](Context& ctx) {
      const int rank = ctx.communicator()->rank(), first = (n + 1) * rank / 3 * n, end = (n + 1) * (rank + 1) / 3 * n;
      std::vector<int> start{0}, column;
      Values value;
      for (int k = first; k < end; ++k) {
        for (int e = a.start[at(k)]; e < a.start[at(k) + 1]; ++e) {
          column.push_back(a.column[at(e)]);
          value.push_back(a.value[at(e)]);
        }
        start.push_back(static_cast<int>(value.size()));
      }
      const GridRows here(ctx, RowArrays<int>{start, column, value}, n, n + 1);
      EXPECT_EQ(here.west, BoundaryType::dirichlet);
      EXPECT_EQ(here.south, BoundaryType::neumann);
      EXPECT_EQ(here.north, BoundaryType::neumann);
      return Values{};
    });
    for (const auto& error : result.errors) ASSERT_EQ(error, "");
  }
}

}  // namespace
