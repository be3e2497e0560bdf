// Matrices that are hard as they stand: nonsymmetric, with rows of other scales, half cells, penalties, or islands of strong
// coupling.

#include <stratum/multigrid/structured/matrix_solver.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>

#include <gmock/gmock.h>

#include "matrices.hpp"

namespace {

using namespace stratum;
using namespace test::matrices;
using reference::norm;
using testing::HasSubstr;

class HardMatrixTest : public SolvesMatrices {};

INSTANTIATE_ON_EVERY_BACKEND(HardMatrixTest);

TEST_P(HardMatrixTest, NonsymmetricMatrices) {
  Matrix a = FivePoint{.nx = 63, .ny = 40}.matrix();
  for (std::size_t k = 0; k + 1 < a.start.size(); ++k)  // transport along x, upwind
    for (auto e = static_cast<std::size_t>(a.start[k]); e < static_cast<std::size_t>(a.start[k + 1]); ++e) {
      if (a.column[e] == static_cast<int>(k)) a.value[e] += 0.5;
      if (a.column[e] == static_cast<int>(k) - 1) a.value[e] -= 0.5;
    }
  const MatrixSolver solver = from_csr(a);
  EXPECT_FALSE(solver.rows().symmetric);
  EXPECT_EQ(solver.solver().params().method, Method::gmres);
  expect_solved(a, 12);
}

/// Five-point finite differences of -Laplace u + v u_x (upwind) between Dirichlet boundaries on cells of these widths: rows
/// divided by the volumes around their nodes.
Matrix differences(const std::vector<double>& hx, const std::vector<double>& hy, double v = 0) {
  Matrix a{static_cast<int>(hx.size()) - 1, static_cast<int>(hy.size()) - 1, {0}, {}, {}};
  for (std::size_t j = 0; j + 1 < hy.size(); ++j)
    for (std::size_t i = 0; i + 1 < hx.size(); ++i) {
      const double x = (hx[i] + hx[i + 1]) / 2, y = (hy[j] + hy[j + 1]) / 2;
      const double west = 1 / (hx[i] * x) + v / hx[i], east = 1 / (hx[i + 1] * x);
      const double south = 1 / (hy[j] * y), north = 1 / (hy[j + 1] * y);
      const int k = static_cast<int>(j) * a.nx + static_cast<int>(i);
      const auto add = [&a](bool there, int m, double value) {
        if (!there) return;
        a.column.push_back(m);
        a.value.push_back(value);
      };
      add(j > 0, k - a.nx, -south);
      add(i > 0, k - 1, -west);
      add(true, k, west + east + south + north);
      add(i + 2 < hx.size(), k + 1, -east);
      add(j + 2 < hy.size(), k + a.nx, -north);
      a.start.push_back(static_cast<int>(a.column.size()));
    }
  return a;
}

/// n cells in 0 .. 1, half of them within `layer` of the end.
std::vector<double> with_layer(int n, double layer) {
  std::vector<double> h(static_cast<std::size_t>(n), 2 * (1 - layer) / n);
  std::fill(h.begin() + n / 2, h.end(), 2 * layer / n);
  return h;
}

// Galerkin products of rows as they stand would take 100 iterations and more: they add up rows of volumes 10^4 apart.
TEST_P(HardMatrixTest, RowsDividedByVolumesThatJumpAreScaled) {
  const std::vector<double> even = with_layer(64, 0.5), layer = with_layer(64, 1e-4);
  expect_solved(differences(layer, even), 12);
  expect_solved(differences(even, layer), 12);
  expect_solved(differences(layer, layer), 12);
  const Matrix transported = differences(layer, layer, 1e3), plain = differences(even, even, 10);
  expect_solved(transported, 12);
  MatrixSolverParams some;
  some.solver.multigrid.sweeps = 4;  // a GPU's default is fewer
  for (const auto method : {Method::multigrid, Method::bicgstab}) {
    some.solver.method = method;
    expect_solved(transported, 30, some);
  }
  some = {};
  some.solver.precision = Precision::full;
  expect_solved(transported, 12, some);

  // Scales come and go with the numbers.
  MatrixSolver solver = from_csr(plain);
  for (const Matrix& now : {transported, plain, transported}) {
    solver.update_csr(ctx(), now.start, now.column, now.value);
    expect_solved(solver, now, random_numbers(now.rows()), 12);
  }
  EXPECT_FALSE(solver.is_symmetric());
  const std::vector<double> exact(static_cast<std::size_t>(transported.rows()), 1.0);
  std::vector<double> z(exact.size());
  solver.apply(ctx(), product(transported, exact), z);
  for (std::size_t k = 0; k < z.size(); ++k) z[k] -= exact[k];
  EXPECT_LT(norm(z), 0.3 * norm(exact));
}

TEST_P(HardMatrixTest, RowsDividedByACoefficientAreScaled) {
  Matrix a = FivePoint{.nx = 63, .ny = 50}.matrix();
  for (int k = 0; k < a.rows(); ++k)
    for (int e = a.start[static_cast<std::size_t>(k)]; e < a.start[static_cast<std::size_t>(k) + 1]; ++e)
      a.value[static_cast<std::size_t>(e)] *= (k % 63 / 8 + k / 63 / 8) % 2 == 0 ? 1 : 1e4;
  expect_solved(a, 10);
}

/// Half cells at Neumann or Robin boundaries: -Laplace u by rows that all sum to zero, and not symmetric.
Matrix half_cells(int nx, int ny) {
  Matrix a{nx, ny, {0}, {}, {}};
  for (int j = 0; j < ny; ++j)
    for (int i = 0; i < nx; ++i) {
      a.column.push_back(j * nx + i);
      a.value.push_back(4);
      for (const auto& [dx, dy] : {std::pair{-1, 0}, {1, 0}, {0, -1}, {0, 1}}) {
        const int p = i + dx, q = j + dy;
        if (p < 0 || p >= nx || q < 0 || q >= ny) continue;
        const bool mirrored = dx != 0 ? (i == 0 || i == nx - 1) : (j == 0 || j == ny - 1);
        a.column.push_back(q * nx + p);
        a.value.push_back(mirrored ? -2 : -1);
      }
      a.start.push_back(static_cast<int>(a.column.size()));
    }
  return a;
}

TEST_P(HardMatrixTest, SingularMatricesWithHalfCells) {
  const Matrix a = half_cells(33, 40);
  MatrixSolver solver = from_csr(a);
  EXPECT_TRUE(solver.solver().params().multigrid.singular);
  std::vector<double> exact = random_numbers(a.rows());
  const double mean = std::accumulate(exact.begin(), exact.end(), 0.0) / a.rows();
  for (double& v : exact) v -= mean;
  std::vector<double> b = product(a, exact), x = random_numbers(a.rows(), 3);
  ASSERT_EQ(solver(ctx(), b, x).status, Status::converged);
  for (std::size_t k = 0; k < x.size(); ++k) ASSERT_NEAR(x[k], exact[k], 1e-6) << k;

  for (double& v : b) v += 1;
  expect_usage_error([&] { (void)solver(ctx(), b, x); }, "its rows scaled as makes the matrix symmetric");
  MatrixSolver projecting = from_csr(a, {.project = true});
  ASSERT_EQ(projecting(ctx(), b, x).status, Status::converged);
  for (std::size_t k = 0; k < x.size(); ++k) ASSERT_NEAR(x[k], exact[k], 1e-6) << k;
}

// The norm of the right-hand side is that of the penalties: 1e-8 of it says nothing about other rows.
TEST_P(HardMatrixTest, PenaltiesHideNoRows) {
  const FivePoint neumann{.nx = 33, .ny = 40, .west = false, .east = false, .south = false, .north = false};
  for (const double penalty : {1e4, 1e8, 1e12, 1e17, 1e30}) {
    Matrix a = neumann.matrix();
    std::vector<double> exact;
    int penalised = 0;
    for (int k = 0; k < a.rows(); ++k) {
      const int i = k % a.nx, j = k / a.nx;
      exact.push_back(std::sin(0.1 * i + 0.05 * j));
      if (i > 0 && i < a.nx - 1 && j > 0 && j < a.ny - 1) continue;
      ++penalised;
      for (int e = a.start[static_cast<std::size_t>(k)]; e < a.start[static_cast<std::size_t>(k) + 1]; ++e)
        if (a.column[static_cast<std::size_t>(e)] == k) a.value[static_cast<std::size_t>(e)] += penalty;
    }
    MatrixSolver solver = from_csr(a);
    EXPECT_EQ(solver.rows().fixed_in_all, penalty > 1e16 ? penalised : 0);
    const std::vector<double> b = product(a, exact);
    std::vector<double> x(b.size(), 0.0);
    EXPECT_EQ(solver(ctx(), b, x).status, Status::converged) << penalty;
    for (std::size_t k = 0; k < x.size(); ++k) ASSERT_NEAR(x[k], exact[k], 2e-6) << penalty << ", " << k;
  }
  // One node that is held.
  Matrix a = neumann.matrix();
  const int middle = 20 * a.nx + 16;
  for (int e = a.start[middle]; e < a.start[middle + 1]; ++e)
    if (a.column[static_cast<std::size_t>(e)] == middle) a.value[static_cast<std::size_t>(e)] += 1e30;
  MatrixSolver solver = from_csr(a);
  EXPECT_EQ(solver.rows().fixed, std::vector<int>{middle});
  const std::vector<double> exact = random_numbers(a.rows()), b = product(a, exact);
  std::vector<double> x(b.size(), 0.0);
  EXPECT_EQ(solver(ctx(), b, x).status, Status::converged);
  for (std::size_t k = 0; k < x.size(); ++k) ASSERT_NEAR(x[k], exact[k], 1e-5) << k;
}

TEST_P(HardMatrixTest, AConstantBetweenNaturalSidesIsFoundAtOnce) {
  const Matrix a =
      FivePoint{.nx = 33, .ny = 40, .reaction = 0.01, .west = false, .east = false, .south = false, .north = false}
          .matrix();
  const std::vector<double> b(static_cast<std::size_t>(a.rows()), 1.0);
  std::vector<double> x(b.size(), 0.0);
  MatrixSolver solver = from_csr(a);
  const SolveReport report = solver(ctx(), b, x);
  EXPECT_EQ(report.status, Status::converged) << report.reason;
  EXPECT_LE(report.iterations, 1);
  for (const double v : x) ASSERT_NEAR(v, 100, 1e-8);
}

/// Islands of k = 10^6 in a sea of 1.
Matrix islands(int n, double inside) {
  Matrix a{n, n, {0}, {}, {}};
  const auto k = [=](int i, int j) { return i % 32 > 10 && i % 32 < 25 && j % 32 > 8 && j % 32 < 20 ? inside : 1.0; };
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < n; ++i) {
      double diagonal = 0;
      for (const auto& [dx, dy] : {std::pair{-1, 0}, {1, 0}, {0, -1}, {0, 1}}) {
        const double link = 2 / (1 / k(i, j) + 1 / k(i + dx, j + dy));
        diagonal += link;
        if (i + dx < 0 || i + dx >= n || j + dy < 0 || j + dy >= n) continue;
        a.column.push_back((j + dy) * n + i + dx);
        a.value.push_back(-link);
      }
      a.column.push_back(j * n + i);
      a.value.push_back(diagonal);
      a.start.push_back(static_cast<int>(a.column.size()));
    }
  return a;
}

TEST_P(HardMatrixTest, IsolatedPartsThatAreStronglyCoupledAreDeflated) {
  const Matrix a = islands(127, 1e6);
  MatrixSolverParams with;
  with.solver.multigrid.exact_below = 0;  // with an exact level a cycle of a GPU sees by itself what is isolated there
  MatrixSolver solver = from_csr(a, with);
  EXPECT_EQ(solver.solver().deflation(), "by 16 inclusions, x in two parts");
  expect_solved(solver, a, random_numbers(a.rows()), 14);
  EXPECT_EQ(solver.solver().params().interpolation, InterpolationKind::matrix);
  MatrixSolverParams without = with;
  without.solver.deflate.by = DeflateBy::none;
  const std::vector<double> b = random_numbers(a.rows());
  const auto iterations = [&](MatrixSolver some) {
    std::vector<double> x(b.size(), 0.0);
    return some(ctx(), b, x).iterations;
  };
  EXPECT_LT(iterations(solver), iterations(from_csr(a, without)));

  // Other numbers, other vectors, or none.
  const Matrix even = islands(127, 1);
  solver.update_csr(ctx(), even.start, even.column, even.value);
  EXPECT_THAT(solver.solver().deflation(), HasSubstr("none: K jumps by 1"));
  EXPECT_EQ(solver.solver().params().interpolation, InterpolationKind::bilinear);
  expect_solved(solver, even, b, 7);
  solver.update_csr(ctx(), a.start, a.column, a.value);
  EXPECT_EQ(solver.solver().params().interpolation, InterpolationKind::matrix);
  expect_solved(solver, a, b, 14);
}

}  // namespace
