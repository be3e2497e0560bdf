// Matrices whose solution is of other sizes in other parts, or held by a node that a norm of b knows nothing beside: right in
// every connected part by itself, beside direct solutions.

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <utility>
#include <vector>

#include <stratum/core/operators/sparse_rows.hpp>
#include <stratum/multigrid/structured/matrix_solver.hpp>

#include <gtest/gtest.h>

#include "support/direct.hpp"

namespace {

using namespace stratum;
using test::Values;

constexpr int nx = 15, ny = 10;

struct Problem {
  SparseRows a;
  Values b;
};

/// Five points between Neumann walls, conductances of 3 x 3 nodes alike, none from column wall - 1 to column wall. `penalty`
/// holds node `held` at 0.7, and every node loses `sink` times its value.
Problem make(const std::vector<double>& conductance, int wall, int held, double penalty, double sink) {
  std::vector<SparseEntry> entries;
  const auto own = [&](int i, int j) {
    return conductance[static_cast<std::size_t>(i / 3 + j / 3) % conductance.size()];
  };
  std::mt19937 random(5);
  Problem p;
  for (int j = 0; j < ny; ++j)
    for (int i = 0; i < nx; ++i) {
      const int k = j * nx + i;
      double diagonal = sink + (k == held ? penalty : 0);
      for (const auto& [q, r] : {std::pair{i - 1, j}, {i + 1, j}, {i, j - 1}, {i, j + 1}}) {
        const bool across = (q < wall) != (i < wall);
        if (q < 0 || r < 0 || q == nx || r == ny || across) continue;
        const double weight = 2 / (1 / own(i, j) + 1 / own(q, r));
        entries.push_back({k, r * nx + q, -weight});
        diagonal += weight;
      }
      entries.push_back({k, k, diagonal});
      p.b.push_back(k == held ? 0.7 * penalty : 2 * static_cast<double>(random()) / 4294967296.0 - 1);
    }
  p.a = sparse_rows(nx * ny, nx * ny, std::move(entries));
  return p;
}

/// Errors are small beside x on both sides of the wall.
void expect_right(const Problem& p, const Values& x, int wall) {
  const Values right = test::direct_solution(p.a, p.b);
  double error[2] = {}, size[2] = {};
  for (std::size_t k = 0; k < x.size(); ++k) {
    const int side = static_cast<int>(k % nx) < wall ? 0 : 1;
    error[side] = std::max(error[side], std::abs(x[k] - right[k]));
    size[side] = std::max(size[side], std::abs(right[k]));
  }
  constexpr double allowed = 1e-5;  // 1e-6 is estimated, to one digit
  EXPECT_LE(error[0], allowed * size[0]);
  EXPECT_LE(error[1], allowed * size[1]);
}

/// Rows times powers of two from 2^-most to 2^most, so that nothing is rounded: x is the same.
Problem in_own_units(Problem p, int most) {
  std::mt19937 random(11);
  for (std::size_t k = 0; k < p.b.size(); ++k) {
    const int power = static_cast<int>(random() % static_cast<unsigned>(2 * most + 1)) - most;
    p.b[k] = std::ldexp(p.b[k], power);
    for (auto e = static_cast<std::size_t>(p.a.start[k]); e < static_cast<std::size_t>(p.a.start[k + 1]); ++e)
      p.a.value[e] = std::ldexp(p.a.value[e], power);
  }
  return p;
}

void expect_right_in_every_way(const Problem& p, const Problem& expected, int wall) {
  for (const auto precision : {Precision::mixed, Precision::full}) {
    SCOPED_TRACE(precision == Precision::mixed ? "mixed" : "full");
    Context ctx(Backend::cpu, 1);
    MatrixSolverParams params;
    params.solver.precision = precision;
    auto solver = MatrixSolver::from_csr(ctx, p.a.start, p.a.column, p.a.value, nx, ny, params);
    Values x(p.b.size(), 0.0);
    const SolveReport report = solver(ctx, p.b, x);
    ASSERT_EQ(exit_code(report.status, false), 0) << report.reason;
    expect_right(expected, x, wall);
    const SolveReport again = solver(ctx, p.b, x);
    ASSERT_EQ(exit_code(again.status, false), 0) << "from the solution: " << again.reason;
    expect_right(expected, x, wall);
  }
}
void expect_right_in_every_way(const Problem& p, int wall) { expect_right_in_every_way(p, p, wall); }

// The residual fell below 1e-8 ||b|| in one to three iterations, with errors of 1e-3 to 0.15: x in two parts had no estimate.
TEST(Rooms, OneNodeHeldByAPenaltyWhereConductancesJump) {
  for (const double penalty : {1e7, 1e10, 1e12})
    for (const auto& conductance : {std::vector{0.02, 36.}, {3e-4, 1e3, 2.}, {1e-4, 1e4}}) {
      SCOPED_TRACE(testing::Message() << penalty << ", from " << conductance[0]);
      expect_right_in_every_way(make(conductance, nx, 5 * nx + 7, penalty, 0), nx);
    }
}

// 1e-6 of the larger solution was 0.3 % of the other, and the constant of the room that only a sink holds was no part of what
// the cycle sees.
TEST(Rooms, SolutionsOfOtherSizesBesideEachOther) {
  for (const double sink : {1e-7, 1e-5, 1e-2})
    for (const double penalty : {1e4, 1e9})
      for (const auto& conductance : {std::vector{1.}, {0.02, 36.}, {3e-4, 1e3, 2.}}) {
        SCOPED_TRACE(testing::Message() << "sink " << sink << ", penalty " << penalty << ", from " << conductance[0]);
        expect_right_in_every_way(make(conductance, 11, 3 * nx + 5, penalty, sink), 11);
      }
}

// Parts of a matrix that is not symmetric were not known: 1e-3 of the smaller solution was missing, in silence.
TEST(Rooms, RowsInUnitsOfTheirOwn) {
  for (const int most : {2, 26})
    for (const double sink : {1.75e-7, 1e-5, 1e-2})
      for (const double penalty : {1e4, 1e9})
        for (const auto& conductance : {std::vector{1.}, {0.02, 36.}, {3e-4, 1e3, 2.}}) {
          SCOPED_TRACE(testing::Message()
                       << "2^" << most << ", sink " << sink << ", penalty " << penalty << ", from " << conductance[0]);
          const Problem p = make(conductance, 11, 3 * nx + 5, penalty, sink);
          expect_right_in_every_way(in_own_units(p, most), p, 11);
        }
}

// The residual that is claimed is that of the rows as they were given.
TEST(Rooms, RowsInUnitsOfTheirOwnKeepTheirResidual) {
  const Problem p = in_own_units(make({0.02, 36.}, 11, 3 * nx + 5, 1e4, 1e-2), 20);
  Context ctx(Backend::cpu, 1);
  auto solver = MatrixSolver::from_csr(ctx, p.a.start, p.a.column, p.a.value, nx, ny);
  Values x(p.b.size(), 0.0);
  const SolveReport report = solver(ctx, p.b, x);
  ASSERT_EQ(report.status, Status::converged) << report.reason;
  double of_r = 0, of_b = 0;
  for (std::size_t k = 0; k < x.size(); ++k) {
    double r = p.b[k];
    for (auto e = static_cast<std::size_t>(p.a.start[k]); e < static_cast<std::size_t>(p.a.start[k + 1]); ++e)
      r -= p.a.value[e] * x[static_cast<std::size_t>(p.a.column[e])];
    of_r += r * r;
    of_b += p.b[k] * p.b[k];
  }
  EXPECT_NEAR(report.residual, std::sqrt(of_r), 0.1 * report.residual);
  EXPECT_NEAR(report.reference_norm_value, std::sqrt(of_b), 1e-12 * std::sqrt(of_b));
  EXPECT_LE(report.residual, 1e-8 * report.reference_norm_value);
  EXPECT_EQ(report.history.front(), report.initial_residual);
  EXPECT_EQ(report.history.back(), report.residual);
}

// A room that nothing holds, beside one that a penalty holds: known up to a constant, where its b sums to zero.
TEST(Rooms, SingularOneAmongScaledRows) {
  constexpr int wall = 11;
  Problem p = make({0.02, 36.}, wall, 3 * nx + 5, 1e4, 0);
  double sum = 0;
  for (int j = 0; j < ny; ++j)
    for (int i = wall; i < nx; ++i) sum += p.b[static_cast<std::size_t>(j * nx + i)];
  Problem balanced = p;
  for (int j = 0; j < ny; ++j)
    for (int i = wall; i < nx; ++i) balanced.b[static_cast<std::size_t>(j * nx + i)] -= sum / (ny * (nx - wall));
  const auto solution = [&](const Problem& of, const Values& b) {
    Context ctx(Backend::cpu, 1);
    auto solver = MatrixSolver::from_csr(ctx, of.a.start, of.a.column, of.a.value, nx, ny);
    Values x(b.size(), 0.0);
    const SolveReport report = solver(ctx, b, x);
    EXPECT_EQ(exit_code(report.status, false), 0) << report.reason;
    EXPECT_EQ(solver.rows().parts.parts.size(), 1U);
    return x;
  };
  const Values expected = solution(balanced, balanced.b);
  const double largest = *std::max_element(expected.begin(), expected.end());
  for (const int most : {2, 26}) {
    SCOPED_TRACE(most);
    const Problem scaled = in_own_units(balanced, most);
    const Values x = solution(scaled, scaled.b);
    for (std::size_t k = 0; k < x.size(); ++k) EXPECT_NEAR(x[k], expected[k], 1e-5 * largest);
    EXPECT_THROW((void)solution(scaled, in_own_units(p, most).b), UsageError);
  }
}

}  // namespace
