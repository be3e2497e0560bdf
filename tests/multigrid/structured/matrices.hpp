#pragma once

// Matrices for tests of MatrixSolver: rows as people have them, five-point differences, and a fixture that solves them.

#include <cmath>
#include <cstddef>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include <stratum/multigrid/structured/matrix_solver.hpp>

#include "support/backends.hpp"

namespace test::matrices {

using namespace stratum;

struct Matrix {
  int nx = 0, ny = 0;
  std::vector<int> start{0}, column;
  std::vector<double> value;

  [[nodiscard]] int rows() const { return nx * ny; }
};

/// Five-point differences of -div(k grad u) + c u on cells hx x hy, what reaches across a side either kept on the diagonal
/// (Dirichlet) or left out (Neumann).
struct FivePoint {
  int nx = 12, ny = 10;
  double hx = 1, hy = 1, reaction = 0;
  bool west = true, east = true, south = true, north = true;  // Dirichlet's
  bool periodic_x = false, periodic_y = false, y_first = false;
  double jump = 1;

  [[nodiscard]] double k(int i, int j) const { return i > nx / 3 && i < nx / 2 && j > ny / 4 ? jump : 1; }
  [[nodiscard]] int number(int i, int j) const { return y_first ? i * ny + j : j * nx + i; }
  [[nodiscard]] Matrix matrix() const {
    std::vector<std::map<int, double>> rows(static_cast<std::size_t>(nx) * static_cast<std::size_t>(ny));
    for (int j = 0; j < ny; ++j)
      for (int i = 0; i < nx; ++i) {
        auto& row = rows[static_cast<std::size_t>(number(i, j))];
        row[number(i, j)] += reaction;
        for (const auto& [dx, dy] : {std::pair{-1, 0}, {1, 0}, {0, -1}, {0, 1}}) {
          int p = i + dx, q = j + dy;
          if (periodic_x) p = (p + nx) % nx;
          if (periodic_y) q = (q + ny) % ny;
          const bool inside = p >= 0 && p < nx && q >= 0 && q < ny;
          const bool dirichlet = dx < 0 ? west : dx > 0 ? east : dy < 0 ? south : north;
          if (!inside && !dirichlet) continue;
          const double there = inside ? k(p, q) : k(i, j);
          const double link = 2 / (1 / k(i, j) + 1 / there) * (dx != 0 ? hy / hx : hx / hy);
          row[number(i, j)] += link;
          if (inside) row[number(p, q)] -= link;
        }
      }
    Matrix a{nx, ny, {0}, {}, {}};
    for (const auto& row : rows) {
      for (const auto& [m, v] : row) {
        a.column.push_back(m);
        a.value.push_back(v);
      }
      a.start.push_back(static_cast<int>(a.column.size()));
    }
    return a;
  }
};

/// Rows of these unknowns hold nothing but this.
inline void fix(Matrix& a, const std::vector<int>& unknowns, double diagonal) {
  for (const int k : unknowns)
    for (int e = a.start[static_cast<std::size_t>(k)]; e < a.start[static_cast<std::size_t>(k) + 1]; ++e)
      a.value[static_cast<std::size_t>(e)] = a.column[static_cast<std::size_t>(e)] == k ? diagonal : 0;
}

inline std::vector<double> product(const Matrix& a, const std::vector<double>& x) {
  std::vector<double> y(x.size(), 0.0);
  for (std::size_t k = 0; k < y.size(); ++k)
    for (auto e = static_cast<std::size_t>(a.start[k]); e < static_cast<std::size_t>(a.start[k + 1]); ++e)
      y[k] += a.value[e] * x[static_cast<std::size_t>(a.column[e])];
  return y;
}

template <class Call>
inline void expect_usage_error(const Call& call, const char* why) {
  EXPECT_THAT(call, testing::ThrowsMessage<UsageError>(testing::HasSubstr(why)));
}

/// ||b - A x|| / ||b||
inline double relative_residual(const Matrix& a, const std::vector<double>& b, const std::vector<double>& x) {
  std::vector<double> r = product(a, x);
  for (std::size_t k = 0; k < r.size(); ++k) r[k] = b[k] - r[k];
  return reference::norm(r) / reference::norm(b);
}

inline std::vector<double> random_numbers(int n, unsigned seed = 7) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<double> x(static_cast<std::size_t>(n));
  for (auto& v : x) v = uniform(generator);
  return x;
}

class SolvesMatrices : public OnEveryBackend {
 protected:
  MatrixSolver from_csr(const Matrix& a, const MatrixSolverParams& params = {}) {
    return MatrixSolver::from_csr(ctx(), a.start, a.column, a.value, a.nx, a.ny, params);
  }
  /// Solves with a random right-hand side; the residual is the matrix's own.
  void expect_solved(MatrixSolver& solver, const Matrix& a, std::vector<double> b, int most_iterations) {
    std::vector<double> x(b.size(), 0.0);
    const SolveReport report = solver(ctx(), b, x);
    EXPECT_EQ(report.status, Status::converged) << report.reason;
    EXPECT_LE(report.iterations, most_iterations);
    EXPECT_LE(relative_residual(a, b, x), 1.1e-8);
  }
  void expect_solved(const Matrix& a, int most_iterations, const MatrixSolverParams& params = {}) {
    MatrixSolver solver = from_csr(a, params);
    expect_solved(solver, a, random_numbers(a.rows()), most_iterations);
  }
  void expect_refused(const Matrix& a, const char* why, const MatrixSolverParams& params = {}) {
    expect_usage_error([&] { (void)from_csr(a, params); }, why);
  }
};

}  // namespace test::matrices
