// Multigrid in a box for K by cells: gate, interpolation, Galerkin matrices and smoothers against dense ones, and iterations
// that the method is known to take.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "reference/elimination.hpp"
#include "support/box_maps.hpp"
#include "support/box_problems.hpp"
#include "support/heavy.hpp"

namespace {

using namespace stratum;
using test::BoxProblem;
using test::CellK;
using test::dense;
using test::DenseMatrix;
using test::expect_step;
using test::Random;
using test::random_level;

BoxMatrix<double> matrix_of(Context& ctx, const BoxProblem& p) {
  return BoxCells<double>(ctx, p.coefficients(), p.scalar());
}

TEST(BoxTransfer, GalerkinMatricesAreProducts) {
  for (const Backend backend : test::available_backends()) {
    Context ctx = test::context_on(backend);
    Random random(11);
    for (int number = 0; number < 24; ++number) {
      const BoxProblem problem = test::random_box(random, number);
      SCOPED_TRACE(testing::Message() << number << ": " << problem.ends[0] << ' ' << problem.ends[1] << ' '
                                      << problem.ends[2]);
      BoxMatrix<double> a = matrix_of(ctx, problem);
      BoxConductances g;
      const BoxTransfer<double> transfer(ctx, random_level(random, problem), a, g);
      const DenseMatrix fine = dense(ctx, a), p = dense(ctx, transfer);
      const DenseMatrix coarse = dense(ctx, BoxMatrix<double>(transfer.coarsen(ctx, a)));
      double worst = 0, worst_restriction = 0;
      for (std::size_t i = 0; i < coarse.rows(); ++i)
        for (std::size_t j = 0; j < coarse.rows(); ++j) {
          long double sum = 0, size = 0;
          for (std::size_t r = 0; r < fine.rows(); ++r) {
            if (p(r, i) == 0) continue;
            for (std::size_t s = 0; s < fine.rows(); ++s) {
              const long double term = p(r, i) * fine(r, s) * p(s, j);
              sum += term;
              size += std::abs(term);
            }
          }
          // What rounding leaves is of the size of the row.
          size += std::abs(coarse(i, i));
          worst = std::max(worst, static_cast<double>(std::abs(sum - coarse(i, j)) / size));
        }
      EXPECT_LT(worst, 2e-14);
      const auto r = random.values(fine.rows());
      Field<double, 3> b(ctx, transfer.coarse().layout(0));
      transfer.restrict_to(ctx, test::box_field<double>(ctx, a.shape(), r, 0).cview(), b.view());
      const auto restricted = test::numbers_of<double>(ctx, b.cview());
      for (std::size_t i = 0; i < coarse.rows(); ++i) {
        long double sum = 0;
        for (std::size_t s = 0; s < fine.rows(); ++s) sum += p(s, i) * r[s];
        worst_restriction = std::max(worst_restriction, std::abs(static_cast<double>(sum) - restricted[i]));
      }
      EXPECT_LT(worst_restriction, 1e-13);
    }
  }
}

TEST(BoxTransfer, InterpolatesTrilinearlyWhereKIsConstant) {
  Context ctx = test::context_on(Backend::cpu);
  Random random(12);
  BoxProblem problem;
  for (auto& widths : problem.widths) widths = random.widths(6, 1.5);
  problem.ends = {"NN", "NN", "NN"};
  GatedLevel level{problem.gate_axes(), {}, {}};
  for (auto& dropped : level.dropped) dropped = {false, true, false, true, false, true, false};
  level.dropped[1] = {false, false, true, false, false, true, false};
  const BoxTransfer<double> transfer(ctx, level, matrix_of(ctx, problem), {});
  // x y z at coarse nodes, and what comes of it at fine ones.
  std::array<std::vector<double>, 3> at, coarse_at;
  for (std::size_t d = 0; d < 3; ++d) {
    at[d] = {0};
    for (const double h : problem.widths[d]) at[d].push_back(at[d].back() + h);
    for (std::size_t i = 0; i < at[d].size(); ++i)
      if (!level.dropped[d][i]) coarse_at[d].push_back(at[d][i]);
  }
  const auto product = [](const auto& of) {
    std::vector<double> values;
    for (const double z : of[2])
      for (const double y : of[1])
        for (const double x : of[0]) values.push_back((1 + x) * (2 - y) * (3 + z));
    return values;
  };
  Field<double, 3> x(ctx, transfer.view().fine.layout(1));
  transfer.prolong(ctx, test::box_field<double>(ctx, transfer.coarse(), product(coarse_at)).cview(), x.view());
  const auto found = test::numbers_of<double>(ctx, x.cview()), expected = product(at);
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-14 * std::abs(expected[i]));
}

TEST(BoxSmoothers, AreBlockGaussSeidel) {
  for (const Backend backend : test::available_backends()) {
    Context ctx = test::context_on(backend);
    Random random(13);
    for (int number = 0; number < 16; ++number) {
      const BoxProblem problem = test::random_box(random, number);
      SCOPED_TRACE(testing::Message() << number << ": " << problem.ends[0] << ' ' << problem.ends[1] << ' '
                                      << problem.ends[2]);
      const BoxMatrix<double> cells = matrix_of(ctx, problem);
      const DenseMatrix a = test::assembled(problem);
      const auto b = random.values(a.rows()), x = random.values(a.rows());
      for (const BoxMatrix<double>& matrix : {cells, BoxMatrix<double>(bands_of(ctx, cells))})
        for (int axis = -1; axis < 3; ++axis) {
          expect_step<double>(ctx, matrix, a, axis, number % 2 == 0, b, x, 1e-10);
          expect_step<float>(ctx, matrix, a, axis, number % 2 == 0, b, x, 2e-2);
        }
    }
  }
}

/// Of x lines longer than the tiles of a GPU, and of lines side by side.
TEST(BoxSmoothers, TakeLongLines) {
  for (const Backend backend : test::available_backends()) {
    Context ctx = test::context_on(backend);
    Random random(14);
    for (const char* const ends : {"DD", "NN", "PP"})
      for (int axis = 0; axis < 3; ++axis) {
        BoxProblem problem;
        for (int d = 0; d < 3; ++d)
          problem.widths[static_cast<std::size_t>(d)] = random.widths(d == axis ? 75 : d == (axis + 1) % 3 ? 3 : 4, 1);
        problem.ends[static_cast<std::size_t>(axis)] = ends;
        problem.ends[static_cast<std::size_t>((axis + 2) % 3)] = "ND";
        const BoxMatrix<double> a = matrix_of(ctx, problem);
        const DenseMatrix of_a = test::assembled(problem);
        const auto b = random.values(of_a.rows()), x = random.values(of_a.rows());
        expect_step<double>(ctx, a, of_a, axis, false, b, x, 1e-10);
      }
  }
}

/// Side by side more lines than go in step on a CPU, by one thread and by more threads than there are planes.
TEST(BoxSmoothers, TakeManyLines) {
  Random random(15);
  for (const int threads : {1, 3}) {
    Context ctx(Backend::cpu, threads);
    for (const char* const ends : {"DD", "PP"})
      for (int axis = 0; axis < 3; ++axis) {
        const int across = axis == 0 ? 1 : 0;
        BoxProblem problem;
        for (int d = 0; d < 3; ++d)
          problem.widths[static_cast<std::size_t>(d)] = random.widths(d == across ? 135 : 3, 1);
        problem.ends[static_cast<std::size_t>(across)] = ends;
        const BoxMatrix<double> a = matrix_of(ctx, problem);
        const DenseMatrix of_a = test::assembled(problem);
        const auto b = random.values(of_a.rows()), x = random.values(of_a.rows());
        expect_step<double>(ctx, a, of_a, axis, threads > 1, b, x, 1e-10);
      }
  }
}

TEST(Gate, DropsThinNodesFromTheThinEndOn) {
  GatedAxis uniform{std::vector<double>(64, 1.0 / 64)};
  const std::array<GatedAxis, 3> cube{uniform, uniform, uniform};
  const auto levels = gated_levels(cube);
  ASSERT_EQ(levels.size(), 5U);  // 63, 31, 15, 7, 3 unknowns... the last has at most 300
  for (std::size_t l = 0; l + 1 < levels.size(); ++l) EXPECT_EQ(levels[l].lines, (std::array{false, false, false}));
  EXPECT_LE(levels.back().unknowns(), 300);
  // Thin in z: lines along z, and all directions coarsen.
  std::array<GatedAxis, 3> layer = cube;
  layer[2].widths = test::Widths::geometric(64, 1e-6);
  const auto of_layer = gated_levels(layer);
  EXPECT_EQ(of_layer[0].lines, (std::array{false, false, true}));
  // Flat boxes 1 : 100 : 100 coarsen along the two thin directions alone at first.
  std::array<GatedAxis, 3> columns = cube;
  columns[1].widths = columns[2].widths = std::vector<double>(64, 0.01 / 64);
  const auto of_columns = gated_levels(columns);
  EXPECT_EQ(std::count(of_columns[0].dropped[0].begin(), of_columns[0].dropped[0].end(), true), 0);
  EXPECT_EQ(std::count(of_columns[0].dropped[1].begin(), of_columns[0].dropped[1].end(), true), 32);
  EXPECT_EQ(of_columns[0].lines, (std::array{false, false, false}));
}

/// Never two neighbours, ends stay, and every level has fewer nodes.
TEST(Gate, KeepsItsRulesOnAnyWidths) {
  Random random(15);
  for (int number = 0; number < 60; ++number) {
    std::array<GatedAxis, 3> axes;
    for (auto& axis : axes) {
      const int kind = static_cast<int>(random.uniform(0, 3.99));
      axis.widths = random.widths(3 + static_cast<int>(random.uniform(0, 40)), random.uniform(0, 8));
      axis.first = kind == 1 || kind == 2;
      axis.last = kind == 2;
      axis.periodic = kind == 3;
    }
    GateParams params;
    params.coarsest_unknowns = 8;
    const auto levels = gated_levels(axes, params);
    for (std::size_t l = 0; l + 1 < levels.size(); ++l) {
      EXPECT_LT(levels[l + 1].unknowns(), levels[l].unknowns());
      for (std::size_t d = 0; d < 3; ++d) {
        const auto& dropped = levels[l].dropped[d];
        const GatedAxis& axis = levels[l].axes[d];
        ASSERT_EQ(static_cast<int>(dropped.size()), axis.unknowns());
        EXPECT_EQ(levels[l + 1].axes[d].unknowns(), axis.unknowns() - std::count(dropped.begin(), dropped.end(), true));
        for (std::size_t i = 1; i < dropped.size(); ++i) EXPECT_FALSE(dropped[i - 1] && dropped[i]);
        EXPECT_FALSE((axis.first || axis.periodic) && dropped.front());
        EXPECT_FALSE(axis.last && dropped.back());
        EXPECT_GE(levels[l + 1].axes[d].unknowns(), axis.periodic ? 3 : 1);
      }
    }
  }
}

/// One thread: grids are small, and threads that wait for each other are slow where others compute.
Context counting_context(Backend backend) { return Context(backend, backend == Backend::cpu ? 1 : 0); }

struct Count {
  const char* widths;
  int iterations;  // of 32^3 intervals
  int of_64;       // 0: not known
};

void expect_count(Context& ctx, const BoxProblem& p, int expected, int slack = 1) {
  const test::BoxRun run = test::solve_box(ctx, p);
  EXPECT_LE(run.report.iterations, expected + slack);
  EXPECT_EQ(run.report.status, Status::converged) << run.report.reason;
}

void expect_counts(Context& ctx, int n) {
  const std::vector<Count> counts{{"uuu", 8, 8},   {"uug", 9, 10},  {"ugg", 8, 7}, {"ggg", 3, 3},
                                  {"uua", 10, 10}, {"uaa", 7, 8},   {"aaa", 5, 5}, {"uuc", 10, 11},
                                  {"ucc", 9, 10},  {"sss", 13, 13}, {"lll", 6, 6}};
  for (const Count& count : counts) {
    const int expected = n == 32 ? count.iterations : count.of_64;
    SCOPED_TRACE(count.widths);
    expect_count(ctx, BoxProblem::named(count.widths, {n, n, n}), expected);
  }
}

TEST(BoxMultigrid, TakesTheIterationsItIsKnownToTake) {
  for (const Backend backend : test::available_backends()) {
    Context ctx = counting_context(backend);
    expect_counts(ctx, 32);
  }
}
TEST(BoxMultigrid, TakesTheIterationsItIsKnownToTakeHeavy) {
  HEAVY_TEST();
  for (const Backend backend : test::available_backends()) {
    Context ctx = counting_context(backend);
    expect_counts(ctx, 64);
  }
}

TEST(BoxMultigrid, TakesNaturalAndPeriodicEnds) {
  for (const Backend backend : test::available_backends()) {
    Context ctx = counting_context(backend);
    struct Case {
      const char* widths;
      std::array<std::string, 3> ends;
      int iterations;
      std::array<int, 3> cells{32, 32, 32};
    };
    const std::vector<Case> cases{{"uug", {"DD", "DD", "ND"}, 9},
                                  {"ugg", {"DD", "ND", "ND"}, 10},
                                  {"ggg", {"ND", "ND", "ND"}, 5},
                                  {"aaa", {"ND", "ND", "ND"}, 5},
                                  {"uug", {"NN", "NN", "NN"}, 11},
                                  {"ugg", {"NN", "NN", "NN"}, 14},
                                  {"uuu", {"NN", "NN", "NN"}, 7},
                                  {"uuu", {"PP", "PP", "DD"}, 8},
                                  {"uuu", {"PP", "PP", "PP"}, 7, {33, 35, 32}},
                                  {"uug", {"PP", "PP", "DD"}, 10},
                                  {"uuu", {"DD", "DD", "DD"}, 10, {48, 20, 37}},
                                  {"ugg", {"DD", "DD", "DD"}, 7, {47, 35, 29}}};
    for (const Case& c : cases) {
      SCOPED_TRACE(testing::Message() << c.widths << ' ' << c.ends[0] << ' ' << c.ends[1] << ' ' << c.ends[2]);
      BoxProblem p = BoxProblem::named(c.widths, c.cells);
      p.ends = c.ends;
      expect_count(ctx, p, c.iterations);
    }
  }
}

using Counts = std::array<int, 7>;  // checkerboards of 7 and 8, spheres high and low, log-normal 1 and 2, channels

void expect_counts_of_k(Context& ctx, const char* widths, int n, const Counts& expected, int slack) {
  BoxProblem p = BoxProblem::named(widths, {n, n, n});
  const std::array<std::vector<double>, 7> k{CellK::checkerboard(p, 7, 1e4), CellK::checkerboard(p, 8, 1e4),
                                             CellK::spheres(p, 40, 1e3),     CellK::spheres(p, 40, 1e-3),
                                             CellK::lognormal(p, 1),         CellK::lognormal(p, 2),
                                             CellK::channels(p, 1e4)};
  for (std::size_t c = 0; c < k.size(); ++c) {
    if (expected[c] == 0) continue;
    SCOPED_TRACE(testing::Message() << widths << ", K " << c);
    p.k = k[c];
    expect_count(ctx, p, expected[c], slack);
  }
}

TEST(BoxMultigrid, TakesKByCells) {
  for (const Backend backend : test::available_backends()) {
    Context ctx = counting_context(backend);
    expect_counts_of_k(ctx, "uuu", 32, {10, 11, 22, 8, 9, 14, 10}, 1);
    expect_counts_of_k(ctx, "uuh", 32, {12, 12, 20, 10, 11, 15, 11}, 1);
    expect_counts_of_k(ctx, "ugg", 32, {12, 11, 12, 10, 9, 11, 10}, 1);
    expect_counts_of_k(ctx, "ggg", 32, {6, 7, 7, 4, 5, 6, 4}, 1);
  }
}
TEST(BoxMultigrid, TakesKByCellsHeavy) {
  HEAVY_TEST();
  for (const Backend backend : test::available_backends()) {
    Context ctx = counting_context(backend);
    expect_counts_of_k(ctx, "uuu", 64, {11, 0, 23, 0, 10, 0, 0}, 1);
    expect_counts_of_k(ctx, "uuh", 64, {14, 0, 20, 0, 11, 0, 0}, 1);
    expect_counts_of_k(ctx, "ugg", 64, {15, 0, 18, 0, 9, 0, 0}, 1);
  }
}

TEST(BoxMultigrid, TakesReactions) {
  for (const Backend backend : test::available_backends()) {
    Context ctx = counting_context(backend);
    const std::vector<std::pair<double, int>> cases{{1e2, 7}, {1e4, 8}, {1e6, 14}, {1e8, 14}};
    for (const auto& [c, iterations] : cases) {
      SCOPED_TRACE(c);
      BoxProblem p = BoxProblem::named("uuu", {32, 32, 32});
      p.reaction = c;
      expect_count(ctx, p, iterations);
    }
  }
}

/// In float a cycle is as good where the solution is determined at Dirichlet ends.
TEST(BoxMultigrid, IsAsGoodInFloat) {
  for (const Backend backend : test::available_backends()) {
    Context ctx = counting_context(backend);
    for (const auto& [widths, iterations] :
         std::vector<std::pair<const char*, int>>{{"uuu", 8}, {"uug", 9}, {"ugg", 8}}) {
      SCOPED_TRACE(widths);
      const test::BoxRun run = test::solve_box<float>(ctx, BoxProblem::named(widths, {32, 32, 32}));
      EXPECT_LE(run.report.iterations, iterations + 1);
      EXPECT_EQ(run.report.status, Status::converged) << run.report.reason;
    }
  }
}

/// (M r, s) = (r, M s), and M r is the solution where one level is all.
TEST(BoxMultigrid, IsSymmetric) {
  for (const Backend backend : test::available_backends()) {
    Context ctx = test::context_on(backend);
    Random random(16);
    for (int number = 0; number < 8; ++number) {
      BoxProblem p = test::random_box(random, number);
      SCOPED_TRACE(testing::Message() << number << ": " << p.ends[0] << ' ' << p.ends[1] << ' ' << p.ends[2]);
      const BoxMatrix<double> a = matrix_of(ctx, p);
      BoxMultigridParams params{.singular = p.singular()};
      params.gate.coarsest_unknowns = number % 2 == 0 ? 20 : 1000;
      BoxMultigrid<double> cycle(ctx, a, p.gate_axes(), params);
      const GridLayout<2> rows = rows_of(a.shape());
      Field<double> r(ctx, rows), s(ctx, rows), mr(ctx, rows), ms(ctx, rows);
      copy_from_host<double>(ctx, random.values(a.shape().n.nodes()).data(), r.view());
      copy_from_host<double>(ctx, random.values(a.shape().n.nodes()).data(), s.view());
      cycle.apply(ctx, r.cview(), mr.view());
      cycle.apply(ctx, s.cview(), ms.view());
      const double one = dot<double>(ctx, mr.cview(), s.cview()), other = dot<double>(ctx, r.cview(), ms.cview());
      const double size = std::sqrt(dot<double>(ctx, mr.cview(), r.cview()) * dot<double>(ctx, ms.cview(), s.cview()));
      // Without a mean in r and s a singular problem's cycle is symmetric, too.
      EXPECT_NEAR(one, other, (p.singular() ? 1 : 1e-11) * size);
      if (cycle.gate().size() > 1 || p.singular()) continue;
      BoxLinearOperator<double>(ctx, a).residual(ctx, r.cview(), mr.cview(), s.view());
      EXPECT_LT(norm2<double>(ctx, s.cview()), 1e-8 * norm2<double>(ctx, r.cview()));
    }
  }
}

}  // namespace
