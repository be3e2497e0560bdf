// Matrices on boxes: what is detected and refused, and solutions against dense ones in long double.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include <stratum/multigrid/box_iteration.hpp>
#include <stratum/multigrid/structured/box_matrix_solver.hpp>

#include "reference/elimination.hpp"
#include "support/box_matrices.hpp"
#include "support/box_problems.hpp"
#include "support/heavy.hpp"

namespace {

using namespace stratum;
using test::BoxProblem;
using test::DenseMatrix;
using test::Random;
using test::refusal;
using test::residual;
using testing::HasSubstr;
using Values = std::vector<double>;

SparseRows sparse(const DenseMatrix& a) {
  std::vector<SparseEntry> entries;
  const int n = static_cast<int>(a.rows());
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j)
      if (const auto v = static_cast<double>(a(i, j)); v != 0) entries.push_back({i, j, v});
  return sparse_rows(n, n, entries);
}

/// Seven points: conductances of faces between cells of random or given sizes, x fastest; `held`: sides are Dirichlet's.
struct SevenPoints {
  std::array<int, 3> n;
  std::array<Values, 3> h;
  std::function<double(int, int, int)> k = [](int, int, int) { return 1.0; };
  std::array<bool, 3> held{true, true, true}, periodic{};
  bool by_volumes = false;  // rows divided by them

  explicit SevenPoints(const std::array<int, 3>& size) : n(size) {
    for (std::size_t d = 0; d < 3; ++d) h[d].assign(static_cast<std::size_t>(n[d]), 1.0 / n[d]);
  }
  [[nodiscard]] int number(const std::array<int, 3>& p) const { return (p[2] * n[1] + p[1]) * n[0] + p[0]; }
  [[nodiscard]] SparseRows rows() const {
    std::vector<SparseEntry> entries;
    const auto add = [&](int row, int column, double v) { entries.push_back({row, column, v}); };
    for (int z = 0; z < n[2]; ++z)
      for (int y = 0; y < n[1]; ++y)
        for (int x = 0; x < n[0]; ++x) {
          const std::array<int, 3> here{x, y, z};
          const auto width = [&](const std::array<int, 3>& p, std::size_t d) {
            return h[d][static_cast<std::size_t>(p[d])];
          };
          const double volume = width(here, 0) * width(here, 1) * width(here, 2), by = by_volumes ? volume : 1;
          for (std::size_t d = 0; d < 3; ++d)
            for (int side = -1; side <= 1; side += 2) {
              auto there = here;
              there[d] += side;
              const double area = volume / width(here, d), half = width(here, d) / (2 * k(x, y, z));
              if (periodic[d]) there[d] = (there[d] + n[d]) % n[d];
              if (there[d] < 0 || there[d] >= n[d]) {
                if (held[d]) add(number(here), number(here), area / half / by);
                continue;
              }
              const double c = area / (half + width(there, d) / (2 * k(there[0], there[1], there[2])));
              add(number(here), number(here), c / by);
              add(number(here), number(there), -c / by);
            }
        }
    return sparse_rows(n[0] * n[1] * n[2], n[0] * n[1] * n[2], entries);
  }
};

/// The same matrix with unknown k called to[k].
SparseRows renumbered(const SparseRows& a, const std::vector<int>& to) {
  std::vector<SparseEntry> entries;
  for (int i = 0; i < a.rows; ++i)
    for (int e = a.start[i]; e < a.start[i + 1]; ++e) entries.push_back({to[i], to[a.column[e]], a.value[e]});
  return sparse_rows(a.rows, a.rows, entries);
}

struct Solved {
  SolveReport report;
  Values x;
};
Solved solve(Context& ctx, const SparseRows& a, const std::array<int, 3>& n, const Values& b,
             const BoxMatrixParams& params = {}) {
  BoxMatrixSolver solver(ctx, a, n, params);
  Solved s{{}, Values(b.size(), 0.0)};
  s.report = solver.solve(ctx, b, s.x);
  return s;
}

TEST(BoxMatrixSolver, SolvesSevenPoints) {
  for (const Backend backend : test::available_backends()) {
    Context ctx = test::context_on(backend);
    Random random(31);
    SevenPoints p({20, 17, 15});
    p.k = [](int x, int y, int z) { return (x / 3 + y / 3 + z / 3) % 2 == 0 ? 1.0 : 1e4; };
    const SparseRows a = p.rows();
    const Values b = random.values(a.rows);
    for (const bool in_float : {true, false}) {
      BoxMatrixParams params;
      params.float_cycles = in_float;
      const Solved s = solve(ctx, a, p.n, b, params);
      EXPECT_EQ(s.report.status, Status::converged) << s.report.reason;
      EXPECT_LE(s.report.iterations, 22);
      EXPECT_LE(residual(a, b, s.x), 1.01e-8);
    }
  }
}

// Beside Dirichlet sides the entries towards a side of the second level have the sign of the strong direction's.
TEST(BoxMatrixSolver, SolvesWhereOneDirectionIsStrong) {
  for (const Backend backend : test::available_backends()) {
    Context ctx = test::context_on(backend);
    Random random(37);
    for (const double lengths : {0.32, 0.1, 1e-3}) {
      SevenPoints p({20, 21, 20});
      for (double& h : p.h[2]) h *= lengths;
      const SparseRows a = p.rows();
      BoxMatrixParams cubes;  // the same by a K that is as strong in z
      for (std::size_t d = 0; d < 3; ++d) cubes.widths[d].assign(static_cast<std::size_t>(p.n[d]) + 1, 0.05);
      for (const BoxMatrixParams& params : {BoxMatrixParams(), cubes}) {
        const Solved s = solve(ctx, a, p.n, random.values(a.rows), params);
        EXPECT_EQ(s.report.status, Status::converged) << s.report.reason;
        EXPECT_LE(s.report.iterations, 9) << lengths;
      }
    }
  }
}

TEST(BoxMatrixSolver, SeesStretchedWidths) {
  Context ctx(Backend::cpu, 1);
  Random random(32);
  SevenPoints p({16, 16, 24});
  p.h[2] = test::Widths::geometric(24, 1e-5);
  const SparseRows a = p.rows();
  BoxMatrixSolver solver(ctx, a, p.n);
  const auto& found = solver.findings();
  EXPECT_THAT(found.levels.front(), HasSubstr("lines along z"));
  // Widths between centres, by those between the next ones.
  for (int k = 3; k < 20; ++k) {
    const double expected = (p.h[2][k] + p.h[2][k + 1]) / (p.h[2][k - 1] + p.h[2][k]);
    EXPECT_NEAR(found.widths[2][k + 1] / found.widths[2][k] / expected, 1, 1e-6) << k;
  }
  const Values b = random.values(a.rows);
  const Solved s = solve(ctx, a, p.n, b);
  EXPECT_EQ(s.report.status, Status::converged) << s.report.reason;
  EXPECT_LE(s.report.iterations, 13);
}

TEST(BoxMatrixSolver, FindsTheNumbering) {
  Context ctx(Backend::cpu, 1);
  Random random(33);
  const SevenPoints p({7, 6, 5});
  const SparseRows a = p.rows();
  std::vector<int> z_first, shuffled(a.rows), numbering(a.rows);
  for (int z = 0; z < 5; ++z)
    for (int y = 0; y < 6; ++y)
      for (int x = 0; x < 7; ++x) z_first.push_back((x * 6 + y) * 5 + z);
  BoxMatrixSolver solver(ctx, renumbered(a, z_first), p.n);
  EXPECT_EQ(solver.findings().order, (std::array{2, 1, 0}));
  std::iota(shuffled.begin(), shuffled.end(), 0);
  std::shuffle(shuffled.begin(), shuffled.end(), std::mt19937(3));
  for (int k = 0; k < a.rows; ++k) numbering[shuffled[k]] = k;
  const SparseRows mixed = renumbered(a, shuffled);
  EXPECT_THAT(refusal(mixed, p.n), HasSubstr("no neighbours"));
  BoxMatrixParams params;
  params.numbering = numbering;
  const Values b = random.values(a.rows);
  const Solved s = solve(ctx, mixed, p.n, b, params);
  EXPECT_LE(residual(mixed, b, s.x), 1.01e-8);
  params.numbering[3] = params.numbering[4];
  EXPECT_THAT(refusal(mixed, p.n, params), HasSubstr("two unknowns"));
}

TEST(BoxMatrixSolver, TakesFixedScaledAndPeriodicRows) {
  for (const Backend backend : test::available_backends()) {
    Context ctx = test::context_on(backend);
    Random random(34);
    SevenPoints p({12, 10, 9});
    p.periodic = {true, false, false};
    p.h[1] = random.widths(10, 1.5);
    p.h[2] = random.widths(9, 1.5);
    p.by_volumes = true;
    SparseRows a = p.rows();
    // Identity rows of another size, some inside, whose columns stay.
    std::vector<SparseEntry> entries;
    for (int i = 0; i < a.rows; ++i) {
      const bool fixed = i % 37 == 5 || i < 12;
      if (fixed) entries.push_back({i, i, 3.0});
      for (int e = a.start[i]; e < a.start[i + 1] && !fixed; ++e) entries.push_back({i, a.column[e], a.value[e]});
    }
    a = sparse_rows(a.rows, a.rows, entries);
    BoxMatrixSolver solver(ctx, a, p.n);
    const auto& found = solver.findings();
    EXPECT_TRUE(found.scaled);
    EXPECT_FALSE(found.symmetric);
    EXPECT_FALSE(found.singular);
    EXPECT_EQ(found.periodic, (std::array{true, false, false}));
    EXPECT_GT(found.fixed, 12);
    const Values b = random.values(a.rows);
    Values x(b.size());
    const SolveReport report = solver.solve(ctx, b, x);
    EXPECT_EQ(report.status, Status::converged) << report.reason;
    EXPECT_LE(residual(a, b, x), 1.01e-8);
    for (int i = 0; i < 12; ++i) EXPECT_EQ(x[i], b[i] / 3);
  }
}

// As ex45 of PETSc has them, on some sides.
TEST(BoxMatrixSolver, LeavesOutLayersOfFixedRows) {
  for (const Backend backend : test::available_backends()) {
    Context ctx = test::context_on(backend);
    Random random(38);
    SevenPoints p({19, 17, 18});
    p.h[2] = test::Widths::geometric(18, 1e-3);
    const SparseRows a = p.rows();
    for (const bool all : {true, false}) {
      std::vector<SparseEntry> entries;
      std::vector<int> numbering;
      for (int i = 0; i < a.rows; ++i) {
        const int x = i % 19, y = i / 19 % 17, z = i / 19 / 17;
        const bool fixed = x == 0 || z == 17 || z == 16 || (all && (x == 18 || y == 0 || y == 16 || z == 0));
        if (fixed) entries.push_back({i, i, 2.0});
        for (int e = a.start[i]; e < a.start[i + 1] && !fixed; ++e) entries.push_back({i, a.column[e], a.value[e]});
      }
      const SparseRows kept = sparse_rows(a.rows, a.rows, entries);
      const Values b = random.values(a.rows);
      for (const bool given : {false, true}) {
        BoxMatrixParams params;
        if (given) {
          for (std::size_t d = 0; d < 3; ++d)
            for (std::size_t i = 0; i + 1 < p.h[d].size(); ++i)
              params.widths[d].push_back((p.h[d][i] + p.h[d][i + 1]) / 2);
          params.widths[0].insert(params.widths[0].begin(), p.h[0][0]);
          params.widths[0].push_back(p.h[0][18]);
        }
        BoxMatrixSolver solver(ctx, kept, p.n, params);
        EXPECT_THAT(solver.findings().levels.front(), HasSubstr(all ? "17 x 15 x 15 " : "18 x 17 x 16 "));
        Values x(b.size());
        const SolveReport report = solver.solve(ctx, b, x);
        EXPECT_EQ(report.status, Status::converged) << report.reason;
        EXPECT_LE(report.iterations, 13);
        EXPECT_LE(residual(kept, b, x), 1.01e-8);
        for (int i = 0; i < a.rows; i += 19) EXPECT_EQ(x[i], b[i] / 2);
        solver.apply(ctx, b, x);
        EXPECT_EQ(x[0], b[0] / 2);
        const std::vector<double>& widths = solver.findings().widths[2];
        EXPECT_NEAR(widths[5] / widths[4], (p.h[2][5] + p.h[2][6]) / (p.h[2][4] + p.h[2][5]), 0.2);
      }
    }
    // Nothing but fixed rows.
    std::vector<SparseEntry> entries;
    for (int i = 0; i < 60; ++i) entries.push_back({i, i, 4.0});
    const Values b = random.values(60);
    const Solved s = solve(ctx, sparse_rows(60, 60, entries), {5, 4, 3}, b);
    EXPECT_EQ(s.report.status, Status::converged);
    for (int i = 0; i < 60; ++i) EXPECT_EQ(s.x[i], b[i] / 4);
  }
}

TEST(BoxMatrixSolver, TakesSingularMatrices) {
  for (const Backend backend : test::available_backends()) {
    Context ctx = test::context_on(backend);
    Random random(35);
    for (const bool by_volumes : {false, true}) {
      SevenPoints p({10, 9, 8});
      p.held = {false, false, false};
      p.h[2] = random.widths(8, 1);
      p.by_volumes = by_volumes;
      const SparseRows a = p.rows();
      BoxMatrixSolver solver(ctx, a, p.n);
      EXPECT_TRUE(solver.findings().singular);
      Values b = random.values(a.rows), x(b.size());
      EXPECT_THROW((void)solver.solve(ctx, b, x), UsageError);
      double sum = 0, weights = 0;
      for (int i = 0; i < a.rows; ++i) {
        const double w = by_volumes ? p.h[2][i / 90] : 1;
        sum += w * b[i];
        weights += w;
      }
      for (double& v : b) v -= sum / weights;
      const SolveReport report = solver.solve(ctx, b, x);
      EXPECT_EQ(report.status, Status::converged) << report.reason;
      EXPECT_LE(residual(a, b, x), 1.01e-8);
      EXPECT_NEAR(std::accumulate(x.begin(), x.end(), 0.0), 0, 1e-9 * static_cast<double>(x.size()));
    }
  }
}

TEST(BoxMatrixSolver, MeasuresResidualsWithoutTheMean) {
  for (const Backend backend : test::available_backends()) {
    Context ctx = test::context_on(backend);
    SevenPoints p({8, 8, 8});
    p.held = {false, false, false};
    const SparseRows a = p.rows();
    BoxMatrixParams params;
    params.project = true;
    Values b = Random(36).values(a.rows);
    const double mean = std::accumulate(b.begin(), b.end(), 0.0) / static_cast<double>(b.size());
    for (double& v : b) v -= mean;
    Values shifted = b;
    for (double& v : shifted) v += 1e6;
    for (const double start : {0.0, 3.0}) {
      Values x(b.size(), start);
      BoxMatrixSolver solver(ctx, a, p.n, params);
      const SolveReport report = solver.solve(ctx, shifted, x);
      EXPECT_EQ(report.status, Status::converged) << report.reason;
      EXPECT_LE(residual(a, b, x), 2e-8);
      EXPECT_LE(report.residual, 1e-8 * std::sqrt(static_cast<double>(b.size())));
    }
  }
}

TEST(BoxMatrixSolver, KnowsNumbersThatAreNotFinite) {
  Context ctx(Backend::cpu, 1);
  SevenPoints plain({6, 5, 4}), scaled = plain, singular = plain;
  scaled.h[2] = Random(37).widths(4, 1);
  scaled.by_volumes = true;
  singular.held = {false, false, false};
  for (const SevenPoints& p : {plain, scaled, singular}) {
    const SparseRows a = p.rows();
    Values b(120, 0.0);
    b[0] = std::nan("");
    const Solved s = solve(ctx, a, p.n, b);
    EXPECT_EQ(s.report.status, Status::non_finite) << s.report.reason;
    EXPECT_EQ(s.report.reason, "the right-hand side is not finite");
    BoxMatrixSolver solver(ctx, a, p.n);
    b[0] = 0;
    Values x(120, 0.0);
    x[7] = std::numeric_limits<double>::infinity();
    const SolveReport report = solver.solve(ctx, b, x);
    EXPECT_EQ(report.status, Status::non_finite) << report.reason;
    EXPECT_EQ(report.reason, "the initial residual is not finite");
  }
}

TEST(BoxMatrixSolver, SaysWhyInTheNumbersOfTheRightHandSide) {
  Context ctx(Backend::cpu, 1);
  SevenPoints p({6, 5, 4});
  SparseRows a = p.rows();
  for (double& v : a.value) v *= 1000;
  const Values b(120, 1.0);
  BoxMatrixParams params;
  params.stop.max_iterations = 1;
  const SolveReport one = solve(ctx, a, p.n, b, params).report;
  EXPECT_EQ(one.status, Status::max_iterations);
  EXPECT_THAT(one.reason, HasSubstr(message("the residual is ", one.residual, ", above the tolerance ")));
  const SolveReport done = solve(ctx, a, p.n, b).report;
  EXPECT_EQ(done.status, Status::converged);
  EXPECT_EQ(done.reason, message("the residual ", done.residual, " is at most ", 1e-8 * std::sqrt(120.0)));
}

TEST(BoxMatrixSolver, RefusesWhatItIsNotFor) {
  SevenPoints p({6, 5, 4});
  const SparseRows a = p.rows();
  const auto changed = [&](int row, int column, double value) {
    std::vector<SparseEntry> entries{{row, column, value}};
    for (int i = 0; i < a.rows; ++i)
      for (int e = a.start[i]; e < a.start[i + 1]; ++e) entries.push_back({i, a.column[e], a.value[e]});
    return sparse_rows(a.rows, a.rows, entries);
  };
  EXPECT_EQ(refusal(a, p.n), "");
  EXPECT_THAT(refusal(a, {6, 5, 5}), HasSubstr("120 x 120"));
  EXPECT_THAT(refusal(changed(40, 100, -1), p.n), HasSubstr("no neighbours"));
  EXPECT_THAT(refusal(changed(40, 40, -1e5), p.n), HasSubstr("row 40"));
  EXPECT_THAT(refusal(changed(40, 40, std::nan("")), p.n), HasSubstr("(40, 40)"));
  BoxMatrixParams params;
  params.singular = true;
  EXPECT_THAT(refusal(a, p.n, params), HasSubstr("said to be singular"));
  params = {};
  params.symmetric = false;
  EXPECT_THAT(refusal(a, p.n, params), HasSubstr("said to be unsymmetric"));
  params = {};
  params.widths[1] = {1, 2};
  EXPECT_THAT(refusal(a, p.n, params), HasSubstr("widths in y"));
  // Two boxes side by side, nothing between them, of which one floats.
  p.held = {false, false, false};
  std::vector<SparseEntry> entries;
  const SparseRows floating = p.rows();
  for (int i = 0; i < floating.rows; ++i)
    for (int e = floating.start[i]; e < floating.start[i + 1]; ++e) {
      const int j = floating.column[e];
      if (i == j || (i / 60 == j / 60)) entries.push_back({i, j, floating.value[e]});
      if (i != j && i / 60 != j / 60) entries.push_back({i, i, floating.value[e]});
    }
  entries.push_back({0, 0, 1.0});
  EXPECT_THAT(refusal(sparse_rows(floating.rows, floating.rows, entries), p.n), HasSubstr("up to a constant"));
}

/// x of A x = b by elimination; of a singular A that without a mean.
std::vector<long double> dense_solution(DenseMatrix a, const Values& b, bool singular) {
  const std::size_t n = a.rows();
  if (singular)
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) a(i, j) += 1;
  return reference::eliminated(a.numbers(), {b.begin(), b.end()});
}

/// || x - y ||_A / || y ||_A
double energy_error(const DenseMatrix& a, const Values& x, const std::vector<long double>& y) {
  long double error = 0, size = 0;
  for (std::size_t i = 0; i < a.rows(); ++i)
    for (std::size_t j = 0; j < a.rows(); ++j) {
      error += (x[i] - y[i]) * a(i, j) * (x[j] - y[j]);
      size += y[i] * a(i, j) * y[j];
    }
  return static_cast<double>(std::sqrt(std::max(error, 0.0L) / size));
}

/// Widths over a decade and a half, K by cells over four, any ends, c: an assembly of its own by Gauss points.
void expect_random_problems(int first, int last) {
  Context ctx(Backend::cpu, 1);
  Random random(36 + static_cast<std::uint32_t>(first));
  for (int number = first; number < last; ++number) {
    const BoxProblem p = test::random_box(random, number);
    SCOPED_TRACE(testing::Message() << number << ": " << p.ends[0] << ' ' << p.ends[1] << ' ' << p.ends[2]);
    const DenseMatrix a = test::assembled(p);
    Values b = random.values(a.rows());
    if (p.singular()) {
      const double mean = std::accumulate(b.begin(), b.end(), 0.0) / static_cast<double>(b.size());
      for (double& v : b) v -= mean;
    }
    const auto expected = dense_solution(a, b, p.singular());
    const StoppingParams stop{.rtol = 1e-11, .max_iterations = 200, .rounding_will_do = true};
    const BoxMatrix<double> cells = BoxCells<double>(ctx, p.coefficients(), p.scalar());
    BoxMultigridParams params{.singular = p.singular()};
    params.gate.coarsest_unknowns = 20;
    for (const bool in_float : {false, true}) {
      BoxIteration iteration(ctx, cells, p.gate_axes(), params, in_float);
      copy_from_host<double>(ctx, b.data(), iteration.b.view());
      const SolveReport report = iteration.solve(ctx, stop, {});
      EXPECT_TRUE(report.status == Status::converged || report.status == Status::round_off_limit) << report.reason;
      Values x(b.size());
      copy_to_host<double>(ctx, iteration.x.cview(), x.data());
      EXPECT_LT(energy_error(a, x, expected), 1e-7) << in_float;
    }
    // The same matrix as somebody's.
    const auto& [nx, ny, nz] = cells.shape().n;
    BoxMatrixParams of_matrix;
    of_matrix.stop = stop;
    const Solved s = solve(ctx, sparse(a), {nx, ny, nz}, b, of_matrix);
    EXPECT_TRUE(s.report.status == Status::converged || s.report.status == Status::round_off_limit) << s.report.reason;
    EXPECT_LT(energy_error(a, s.x, expected), 1e-7);
  }
}

TEST(BoxMatrixSolver, SolvesRandomProblems) { expect_random_problems(0, 12); }
TEST(BoxMatrixSolver, SolvesRandomProblemsHeavy) {
  HEAVY_TEST();
  expect_random_problems(12, 200);
}

}  // namespace
