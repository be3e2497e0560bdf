// Singular matrices that somebody wrote to a file, or whose grid falls into parts: what is detected, what is refused, and
// solutions against b - A x of the matrix as it was meant.

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include <stratum/core/operators/sparse_rows.hpp>
#include <stratum/multigrid/structured/matrix_solver.hpp>

#include <gmock/gmock.h>

#include "support/subdomains.hpp"

namespace {

using namespace stratum;
using test::Values;
using testing::HasSubstr;

std::size_t at(std::int64_t k) { return static_cast<std::size_t>(k); }

/// -div(k grad u) on nx x ny nodes between Neumann boundaries: links of the two directions with weights of (i, j) and the next
/// node.
struct Links {
  int nx, ny;
  std::function<double(int, int)> x, y;
  bool around_x = false;
  double corners = 0;  // the same share of both on the diagonals, as nine points have
  std::function<double(int, int)> diagonal = [](int, int) { return 0.0; };
  std::function<bool(int, int)> fixed = [](int, int) { return false; };

  [[nodiscard]] SparseRows rows() const {
    std::vector<SparseEntry> entries;
    const auto link = [&](int i, int j, int p, int q, double w) {
      const int k = j * nx + i, m = q * nx + p;
      if (w == 0 || fixed(i, j) || fixed(p, q)) return;
      for (const auto& [r, c, v] : {SparseEntry{k, m, -w}, {m, k, -w}, {k, k, w}, {m, m, w}})
        entries.push_back({r, c, v});
    };
    for (int j = 0; j < ny; ++j)
      for (int i = 0; i < nx; ++i) {
        if (i + 1 < nx || around_x) link(i, j, (i + 1) % nx, j, x(i, j));
        if (j + 1 < ny) link(i, j, i, j + 1, y(i, j));
        if (corners > 0 && i + 1 < nx && j + 1 < ny) {
          const double w = corners * std::min(x(i, j), y(i, j));
          link(i, j, i + 1, j + 1, w);
          link(i + 1, j, i, j + 1, w);
        }
        if (fixed(i, j))
          entries.push_back({j * nx + i, j * nx + i, 1.0});
        else if (diagonal(i, j) != 0)
          entries.push_back({j * nx + i, j * nx + i, diagonal(i, j)});
      }
    return sparse_rows(nx * ny, nx * ny, std::move(entries));
  }
};

double one(int /*i*/, int /*j*/) { return 1; }

/// Cells that grow by r from node to node.
Links graded(int nx, int ny, double r) {
  const auto h = [r](int i) { return std::pow(r, i); };
  return {nx, ny, [h](int i, int j) { return 2 * h(j) / (h(i) + h(i + 1)); },
          [h](int i, int j) { return 2 * h(i) / (h(j) + h(j + 1)); }};
}
/// Conductivities of 1 and 1000 by cells, harmonic means between them.
Links jumping(int nx, int ny, unsigned seed) {
  std::vector<double> k(at(nx) * at(ny));
  std::mt19937 random(seed);
  for (auto& v : k) v = random() % 3 == 0 ? 1000.0 : 1.0 + static_cast<double>(random()) / 4294967296.0;
  const auto mean = [](double a, double b) { return 2 * a * b / (a + b); };
  return {nx, ny, [=](int i, int j) { return mean(k[at(j * nx + i)], k[at(j * nx + (i + 1) % nx)]); },
          [=](int i, int j) { return mean(k[at(j * nx + i)], k[at((j + 1) * nx + i)]); }};
}

SparseRows written(SparseRows a, const char* format) {
  for (double& v : a.value) {
    char text[64];
    (void)std::snprintf(text, sizeof text, format, v);
    v = std::strtod(text, nullptr);
  }
  return a;
}

Values product(const SparseRows& a, const Values& x) {
  Values y(x.size());
  for (std::size_t k = 0; k < x.size(); ++k)
    for (int e = a.start[k]; e < a.start[k + 1]; ++e) y[k] += a.value[at(e)] * x[at(a.column[at(e)])];
  return y;
}
double residual(const SparseRows& a, const Values& b, const Values& x) {
  Values r = product(a, x);
  double square = 0, of_b = 0;
  for (std::size_t k = 0; k < r.size(); ++k) {
    square += (r[k] - b[k]) * (r[k] - b[k]);
    of_b += b[k] * b[k];
  }
  return std::sqrt(square / of_b);
}
Values random_numbers(std::size_t n) {
  std::mt19937 random(5);
  Values b(n);
  for (auto& v : b) v = static_cast<double>(random()) / 4294967296.0 - 0.5;
  return b;
}
void subtract_mean(Values& b) {
  const double mean = std::accumulate(b.begin(), b.end(), 0.0) / static_cast<double>(b.size());
  for (auto& v : b) v -= mean;
}

MatrixSolver solver_of(Context& ctx, const SparseRows& a, int nx, int ny, const MatrixSolverParams& params = {}) {
  return MatrixSolver::from_csr(ctx, a.start, a.column, a.value, nx, ny, params);
}

/// Of A as written; `meant` is the one before.
void expect_solved(const SparseRows& a, const SparseRows& meant, int nx, int ny, double close, int most = 14,
                   const MatrixSolverParams& params = {}) {
  Context ctx(Backend::cpu, 1);
  auto solver = solver_of(ctx, a, nx, ny, params);
  EXPECT_TRUE(solver.solver().params().multigrid.singular);
  Values b = random_numbers(at(a.rows)), x(b.size(), 0.0);
  subtract_mean(b);
  const SolveReport report = solver(ctx, b, x);
  EXPECT_EQ(report.status, Status::converged) << report.reason;
  EXPECT_LE(report.iterations, most);
  EXPECT_LE(residual(meant, b, x), close);
}

TEST(SingularMatrices, AreRecognisedByTheDigitsOfTheirFile) {
  for (const char* const format : {"%.8e", "%.9e", "%.11e", "%.13e", "%.14e", "%.10f", "%.17g"})
    for (unsigned seed = 0; seed < 5; ++seed) {
      SCOPED_TRACE(testing::Message() << format << ", " << seed);
      const int nx = 4 + 7 * static_cast<int>(seed), ny = 5 + 4 * static_cast<int>(seed);
      Links nine = graded(nx, ny, 1.05);
      nine.corners = 0.3;
      Links around = jumping(nx, ny, 40 + seed);
      around.around_x = true;
      const double third = 1.0 / 3;
      for (const Links& links : {graded(nx, ny, seed < 2 ? 1.3 : 1.1), jumping(nx, ny, seed), nine, around,
                                 Links{nx, ny, [=](int, int) { return third; }, [=](int, int) { return 7 * third; }}}) {
        const SparseRows meant = links.rows(), a = written(meant, format);
        expect_solved(a, meant, nx, ny, 1e-6);
        Context ctx(Backend::cpu, 1);
        EXPECT_TRUE(solver_of(ctx, a, nx, ny).rows().singular);
      }
    }
}

TEST(SingularMatrices, WhatWasMadeOfSumsIsSaid) {
  Context ctx(Backend::cpu, 1);
  const SparseRows meant = graded(20, 20, 1.1).rows(), a = written(meant, "%.9e");
  auto solver = solver_of(ctx, a, 20, 20);
  EXPECT_THAT(solver.rows().parts.note(), HasSubstr("as entries of 10 digits may: it is taken for singular"));
  Values b = random_numbers(400), x(400, 0.0);
  EXPECT_THAT([&] { (void)solver(ctx, b, x); }, testing::ThrowsMessage<UsageError>(HasSubstr("there is no solution")));
  subtract_mean(b);
  EXPECT_THAT(solver(ctx, b, x).choice, HasSubstr("it is taken for singular"));
  EXPECT_EQ(solver_of(ctx, meant, 20, 20).rows().parts.note(), "");
}

TEST(SingularMatrices, ThroughFloatOrScaledAfterwards) {
  Context ctx(Backend::cpu, 1);
  for (const Links& links : {graded(20, 30, 1.1), jumping(20, 30, 3)}) {
    const SparseRows meant = links.rows();
    SparseRows a = meant;
    for (double& v : a.value) v = static_cast<double>(static_cast<float>(v));
    expect_solved(a, meant, 20, 30, 1e-4);
    SparseRows scaled = written(meant, "%.10e"), as_meant = meant;
    for (double& v : scaled.value) v *= 0.017;
    for (double& v : as_meant.value) v *= 0.017;
    expect_solved(scaled, as_meant, 20, 30, 1e-6);
  }
}

TEST(SingularMatrices, ATinyReactionThatIsThereStays) {
  Context ctx(Backend::cpu, 1);
  const auto expect_regular = [&](const SparseRows& a, int nx, int ny) {
    EXPECT_FALSE(solver_of(ctx, a, nx, ny).rows().parts.any());
  };
  const Links laplacian{30, 20, one, one};
  for (const double c : {1e-13, 1e-11, 1e-9, 1e-7}) {
    SCOPED_TRACE(c);
    for (Links links : {laplacian, graded(30, 20, 1.1), jumping(30, 20, 1)}) {
      links.diagonal = [c, links](int i, int j) {
        return c * (links.x(i, j) + (j + 1 < links.ny ? links.y(i, j) : 0));
      };
      expect_regular(links.rows(), 30, 20);
      if (c > 5e-13) expect_regular(written(links.rows(), "%.13e"), 30, 20);
    }
    // In one node alone.
    Links held = graded(30, 20, 1.1);
    held.diagonal = [c](int i, int j) { return i == 7 && j == 3 ? 100 * c : 0.0; };
    expect_regular(held.rows(), 30, 20);
  }
  // What was written with 14 digits, of a matrix whose couplings have few.
  Links reaction = laplacian;
  reaction.diagonal = [](int, int) { return 1e-13; };
  expect_regular(written(reaction.rows(), "%.13e"), 30, 20);
  // And of one whose couplings have all of them.
  reaction = jumping(30, 20, 1);
  reaction.diagonal = [](int, int) { return 1e-11; };
  expect_regular(written(reaction.rows(), "%.13e"), 30, 20);
}

TEST(SingularMatrices, NegativeSumsAreRoundingOrAnotherEquation) {
  Context ctx(Backend::cpu, 1);
  Links links = jumping(13, 5, 2);
  links.diagonal = [&](int i, int j) { return i == 3 ? -2e-14 * links.x(i, j) : 0.0; };
  const SparseRows a = links.rows();
  EXPECT_TRUE(solver_of(ctx, a, 13, 5).rows().singular);
  expect_solved(a, jumping(13, 5, 2).rows(), 13, 5, 1e-7);
  // Helmholtz's.
  Links waves{30, 20, one, one};
  waves.diagonal = [](int, int) { return -1e-7; };
  EXPECT_FALSE(solver_of(ctx, waves.rows(), 30, 20).rows().parts.any());
}

TEST(SingularMatrices, AClaimHelpsWhereDigitsDoNotShow) {
  // Errors of equal numbers are equal: all of one sign, and scaling hides the digits.
  const double third = 1.0 / 3;
  const SparseRows meant = Links{24, 24, [=](int, int) { return third; }, [=](int, int) { return third; }}.rows();
  SparseRows a = written(meant, "%.8e");
  for (std::size_t k = 0; k < a.value.size(); ++k) a.value[k] *= 0.7;
  Context ctx(Backend::cpu, 1);
  EXPECT_FALSE(solver_of(ctx, a, 24, 24).rows().singular);
  SparseRows as_meant = meant;
  for (double& v : as_meant.value) v *= 0.7;
  expect_solved(a, as_meant, 24, 24, 1e-6, 14, {.singular = true});
}

TEST(SingularMatrices, ThinCellsWhoseSumsFloatLosesAreLeftToDouble) {
  // 54 and 21 iterations in float, 100 with other right-hand sides.
  for (const auto& [r, both] : {std::pair{1.2, false}, {1.15, true}}) {
    SCOPED_TRACE(r);
    constexpr int n = 100;
    const double sum = (std::pow(r, n) - 1) / (r - 1);
    const auto h = [=, r = r](int i) { return std::pow(r, i) / sum; };
    const auto hy = [=, both = both](int j) { return both ? h(j) : 1.0 / n; };
    const Links links{n, n, [=](int i, int j) { return 2 * hy(j) / (h(i) + h(i + 1)); },
                      [=](int i, int j) { return 2 * h(i) / (hy(j) + hy(j + 1)); }};
    const SparseRows a = links.rows();
    Context ctx(Backend::cpu, 1);
    auto solver = solver_of(ctx, a, n, n);
    EXPECT_EQ(solver.solver().params().precision, Precision::full);
    Values b = random_numbers(at(a.rows)), x(b.size(), 0.0);
    subtract_mean(b);
    const SolveReport report = solver(ctx, b, x);
    EXPECT_TRUE(report.status == Status::converged || report.status == Status::round_off_limit) << report.reason;
    EXPECT_LE(report.iterations, 12);
    EXPECT_THAT(report.choice, HasSubstr("cycles in double"));
  }
  Context ctx(Backend::cpu, 1);
  EXPECT_EQ(solver_of(ctx, graded(64, 64, 1.1).rows(), 64, 64).solver().params().precision, Precision::mixed);
}

// --- parts --------------------------------------------------------------------------------------------------------------

constexpr int wide = 40, high = 30;

/// Rooms: the first two are singular, the third is held at its right end.
struct Rooms {
  Links links{wide, high, one, one};
  std::vector<int> room;
  explicit Rooms(bool walls) {
    const auto of = [](int i, int j) { return i < 15 ? 0 : j < 12 ? 1 : 2; };
    links.x = [=](int i, int j) { return of(i, j) == of(i + 1, j) ? 1.0 : 0.0; };
    links.y = [=](int i, int j) { return of(i, j) == of(i, j + 1) ? 4.0 : 0.0; };
    links.diagonal = [=](int i, int j) { return of(i, j) == 2 && i + 1 == wide ? 2.0 : 0.0; };
    if (walls)
      links.fixed = [](int i, int j) {
        return i == 14 || (i > 14 && (j == 11 || j == 12)) || (i > 4 && i < 9 && j > 8 && j < 22);
      };
    for (int j = 0; j < high; ++j)
      for (int i = 0; i < wide; ++i) room.push_back(links.fixed(i, j) ? -1 : of(i, j));
  }
  void balance(Values& b) const {
    for (int p = 0; p < 2; ++p) {
      double sum = 0, nodes = 0;
      for (std::size_t k = 0; k < b.size(); ++k)
        if (room[k] == p) {
          sum += b[k];
          ++nodes;
        }
      for (std::size_t k = 0; k < b.size(); ++k) b[k] -= room[k] == p ? sum / nodes : 0;
    }
  }
  [[nodiscard]] double sum(const Values& x, int p) const {
    double sum = 0;
    for (std::size_t k = 0; k < x.size(); ++k) sum += room[k] == p ? x[k] : 0;
    return sum;
  }
};

TEST(SingularMatrices, EveryPartIsSolvedByItself) {
  for (const bool walls : {false, true}) {
    SCOPED_TRACE(walls ? "between identity rows" : "beside each other");
    const Rooms rooms(walls);
    const SparseRows a = rooms.links.rows();
    Context ctx(Backend::cpu, 1);
    auto solver = solver_of(ctx, a, wide, high);
    ASSERT_EQ(solver.rows().parts.parts.size(), 2U);
    EXPECT_FALSE(solver.rows().singular);
    Values b = random_numbers(at(a.rows)), x(b.size(), 3.0);
    rooms.balance(b);
    const SolveReport report = solver(ctx, b, x);
    EXPECT_EQ(report.status, Status::converged) << report.reason;
    EXPECT_LE(report.iterations, 14);
    EXPECT_LE(residual(a, b, x), 1.1e-8);
    EXPECT_NEAR(rooms.sum(x, 0), 0, 1e-8);
    EXPECT_NEAR(rooms.sum(x, 1), 0, 1e-8);

    // Twice the values: found again.
    SparseRows twice = a;
    for (double& v : twice.value) v *= 2;
    if (!walls) {
      solver.update_csr(ctx, twice.start, twice.column, twice.value);
      Values half(b.size(), 0.0);
      EXPECT_EQ(solver(ctx, b, half).status, Status::converged);
      EXPECT_NEAR(half[5], x[5] / 2, 1e-6);
    }

    b[at(5 * wide + 20)] += 0.25;  // in the second
    EXPECT_THAT([&] { (void)solver(ctx, b, x); },
                testing::ThrowsMessage<UsageError>(
                    testing::AllOf(HasSubstr("unknown 15 is connected to"), HasSubstr("sums to 0.25"))));
    MatrixSolverParams project;
    project.project = true;
    auto projecting = solver_of(ctx, a, wide, high, project);
    EXPECT_EQ(projecting(ctx, b, x).status, Status::converged);
    rooms.balance(b);
    EXPECT_LE(residual(a, b, x), 1.1e-8);
  }
}

TEST(SingularMatrices, ASingularPartBesideIdentityRowsIsTested) {
  Links links{8, 8, one, one};
  links.fixed = [](int i, int j) { return (i == 3 || i == 4) && (j == 3 || j == 4); };
  const SparseRows a = links.rows();
  Context ctx(Backend::cpu, 1);
  auto solver = solver_of(ctx, a, 8, 8);
  Values b(64, 1.0), x(64, 0.0);
  EXPECT_THAT([&] { (void)solver(ctx, b, x); },
              testing::ThrowsMessage<UsageError>(HasSubstr("the 60 unknowns that unknown 0 is connected to")));
  for (int k = 0; k < 64; ++k) b[at(k)] = k % 8 < 4 ? 1 : -1;
  EXPECT_EQ(solver(ctx, b, x).status, Status::converged);
  EXPECT_LE(residual(a, b, x), 1.1e-8);
  EXPECT_EQ(x[3 * 8 + 3], 1);
}

TEST(SingularMatrices, TheSameOnSeveralSubdomains) {
  for (const bool text : {false, true})
    for (const bool walls : {false, true}) {
      const Rooms rooms(walls);
      const SparseRows a = text ? written(graded(wide, high, 1.1).rows(), "%.9e") : rooms.links.rows();
      Context ctx(Backend::cpu, 1);
      auto alone = solver_of(ctx, a, wide, high);
      Values b = random_numbers(at(a.rows)), x(b.size(), 0.0);
      text ? subtract_mean(b) : rooms.balance(b);
      const SolveReport report = alone(ctx, b, x);
      ASSERT_EQ(report.status, Status::converged);
      for (const int count : {2, 3}) {
        SCOPED_TRACE(testing::Message() << count << " subdomains, text " << text << ", walls " << walls);
        const auto result = test::on_subdomains(Backend::cpu, count, [&](Context& own) {
          const int rank = own.communicator()->rank(), first = high * rank / count * wide,
                    end = high * (rank + 1) / count * wide;
          std::vector<int> start{0}, column;
          Values value;
          for (int k = first; k < end; ++k) {
            for (int e = a.start[at(k)]; e < a.start[at(k) + 1]; ++e) {
              column.push_back(a.column[at(e)]);
              value.push_back(a.value[at(e)]);
            }
            start.push_back(static_cast<int>(value.size()));
          }
          auto solver = MatrixSolver::from_csr(own, start, column, value, wide, high);
          EXPECT_EQ(solver.rows().parts.parts.size(), alone.rows().parts.parts.size());
          EXPECT_EQ(solver.rows().parts.digits, alone.rows().parts.digits);
          EXPECT_EQ(solver.rows().singular, alone.rows().singular);
          const Values mine(b.begin() + first, b.begin() + end);
          Values here(mine.size(), 0.0);
          const SolveReport found = solver.solve(own, mine, here);
          EXPECT_EQ(found.status, Status::converged) << found.reason;
          EXPECT_NEAR(found.iterations, report.iterations, 1);
          return here;
        });
        for (const auto& error : result.errors) ASSERT_EQ(error, "");
        EXPECT_LE(residual(a, b, result.values), 5e-8);
      }
    }
}

}  // namespace
