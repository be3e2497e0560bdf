#include <stratum/solvers/deflation/deflated_cg.hpp>

#include <cmath>
#include <random>

#include <stratum/core/operators/csr_matrix.hpp>
#include <stratum/solvers/krylov/cg.hpp>
#include <stratum/solvers/preconditioners/incomplete_cholesky.hpp>
#include <stratum/solvers/preconditioners/jacobi.hpp>
#include <stratum/two_phase/five_point.hpp>

#include <gmock/gmock.h>

#include "support/sparse.hpp"

namespace {

using namespace stratum;
using test::Values;

/// A five-point system on both sides of the bus.
struct System {
  GridOperator<double> a;
  SparseRows rows;
  GridLayout<2> shape;
  Field<double> b, x;
  System(Context& ctx, const FivePointLinks& links)
      : a(five_point_operator(ctx, links)), shape(a.shape()), b(ctx, shape), x(ctx, shape) {
    Context host(Backend::cpu, 1);
    rows = sparse_rows(host, five_point_operator(host, links));
    std::mt19937 generator(12345);
    Values values(static_cast<std::size_t>(shape.nodes()));
    if (links.walls) {
      std::normal_distribution<double> normal(0, 1);
      double mean = 0;
      for (double& value : values) mean += value = normal(generator);
      for (double& value : values) value -= mean / static_cast<double>(values.size());
      copy_from_host(ctx, values.data(), b.view());
    } else {
      std::uniform_real_distribution<double> uniform(0, 1);
      for (double& value : values) value = uniform(generator);
      copy_from_host(ctx, values.data(), x.view());
      a.apply(ctx, x.cview(), b.view());
    }
  }
};

class DeflatedCgTest : public test::OnEveryBackend {
 protected:
  /// Iterations to this, checked on the returned x.
  int iterations(System& s, Preconditioner<double>& m, DeflatedCg& solver, double rtol) {
    set(ctx(), 0.0, s.x.view());
    StoppingParams stop;
    stop.rtol = rtol;
    stop.max_iterations = 500;
    const auto report = solver.solve(ctx(), s.a, m, s.b.cview(), s.x.view(), stop);
    EXPECT_EQ(report.status, Status::converged) << report.reason;
    Field<double> r(ctx(), s.shape);
    s.a.residual(ctx(), s.b.cview(), s.x.cview(), r.view());
    EXPECT_LE(norm2(ctx(), r.cview()), 1.001 * rtol * norm2(ctx(), s.b.cview()));
    return report.iterations;
  }
  int deflated(System& s, Preconditioner<double>& m, const std::vector<int>& domain, double rtol, bool singular) {
    const Deflation deflation(ctx(), s.rows, s.shape, vectors_of_domains(domain));
    DeflatedCgParams params;
    if (singular) params.diagonal = s.rows.diagonal();
    DeflatedCg solver(ctx(), deflation, params);
    return iterations(s, m, solver, rtol);
  }
};

TEST_P(DeflatedCgTest, FivePointsTakeAsFewIterationsAsTheyDid) {
  System s(ctx(), poisson_links(128, 128));
  JacobiPreconditioner<double> diagonal(ctx(), s.shape, s.rows.diagonal());
  IncompleteCholesky<double> blocks(ctx(), s.shape, s.rows, {256, 0});
  DeflatedCg none(ctx(), s.shape, {});
  EXPECT_NEAR(iterations(s, diagonal, none, 1e-6), 232, 3);
  EXPECT_NEAR(deflated(s, diagonal, stripes(s.shape, 512), 1e-6, false), 112, 3);
  EXPECT_NEAR(deflated(s, diagonal, square_blocks(s.shape, 8), 1e-6, false), 70, 3);
  EXPECT_NEAR(deflated(s, diagonal, square_blocks(s.shape, 32), 1e-6, false), 23, 3);
  EXPECT_NEAR(deflated(s, blocks, square_blocks(s.shape, 8), 1e-6, false), 38, 3);
  EXPECT_NEAR(deflated(s, blocks, square_blocks(s.shape, 32), 1e-6, false), 17, 3);
}

TEST_P(DeflatedCgTest, TwoPhasesConvergeAtEveryContrast) {
  const std::tuple<double, int, int> expected[] = {{10, 21, 34}, {1e3, 22, 35}, {1e6, 22, 39}};
  for (const auto& [contrast, to_6, to_10] : expected) {
    SCOPED_TRACE(contrast);
    System s(ctx(), layered_links(128, contrast));
    IncompleteCholesky<double> blocks(ctx(), s.shape, s.rows, {256, 0});
    EXPECT_NEAR(deflated(s, blocks, square_blocks(s.shape, 32), 1e-6, true), to_6, 3);
    EXPECT_NEAR(deflated(s, blocks, square_blocks(s.shape, 32), 1e-10, true), to_10, 3);
  }
}

TEST_P(DeflatedCgTest, WithoutVectorsItIsConjugateGradients) {
  System s(ctx(), poisson_links(30, 20));
  JacobiPreconditioner<double> m(ctx(), s.shape, s.rows.diagonal());
  DeflatedCg none(ctx(), s.shape, {});
  ConjugateGradients<double> plain(ctx(), s.shape);
  Field<double> x(ctx(), s.shape);
  set(ctx(), 0.0, s.x.view());
  StoppingParams stop;
  stop.rtol = 1e-9;
  const auto one = none.solve(ctx(), s.a, m, s.b.cview(), s.x.view(), stop);
  const auto other = plain.solve(ctx(), s.a, m, s.b.cview(), x.view(), stop);
  EXPECT_EQ(one.iterations, other.iterations);
  EXPECT_EQ(test::to_host(ctx(), s.x), test::to_host(ctx(), x));
}

TEST_P(DeflatedCgTest, GoesOnFromAGivenX) {
  System s(ctx(), layered_links(32, 100));
  JacobiPreconditioner<double> m(ctx(), s.shape, s.rows.diagonal());
  const Deflation deflation(ctx(), s.rows, s.shape, vectors_of_domains(square_blocks(s.shape, 4)));
  for (const bool two_parts : {false, true}) {
    DeflatedCg solver(ctx(), deflation, {.two_parts = two_parts, .diagonal = s.rows.diagonal()});
    set(ctx(), 0.0, s.x.view());
    StoppingParams stop;
    stop.rtol = 1e-5;
    (void)solver.solve(ctx(), s.a, m, s.b.cview(), s.x.view(), stop);
    const auto again = solver.solve(ctx(), s.a, m, s.b.cview(), s.x.view(), stop);
    EXPECT_EQ(again.iterations, 0) << two_parts;
  }
}

TEST_P(DeflatedCgTest, RitzVectorsOfOneSolveShortenTheNext) {
  System s(ctx(), layered_links(48, 1e3));
  IncompleteCholesky<double> m(ctx(), s.shape, s.rows, {96, 0});
  DeflatedCg first(ctx(), s.shape, {.keep = 150, .diagonal = s.rows.diagonal()});
  const int before = iterations(s, m, first, 1e-8);
  const Deflation deflation(ctx(), s.rows, s.shape, first.ritz(ctx(), 10));
  EXPECT_EQ(deflation.count(), 10);
  DeflatedCg second(ctx(), deflation, {.diagonal = s.rows.diagonal()});
  EXPECT_LE(iterations(s, m, second, 1e-8), 0.6 * before);
}

/// 3 x 3 light bubbles.
FivePointLinks bubbles(int n, double contrast, std::vector<char>& light) {
  std::vector<Disc> discs;
  for (int k = 0; k < 9; ++k) discs.push_back({(k % 3 + 0.5) / 3, (k / 3 + 0.5) / 3, 0.1});
  const auto density = densities_of_discs(n, n, discs, 1 / contrast, 1);
  light.clear();
  for (const double d : density) light.push_back(d < 1 ? 1 : 0);
  return flow_links(n, n, density);
}

// What a start has in the vectors goes to their part, where the contrast does not amplify its rounding.
TEST_P(DeflatedCgTest, AStartDoesNotCostDigitsInTwoParts) {
  std::vector<char> light;
  System s(ctx(), bubbles(48, 1e6, light));
  IncompleteCholesky<double> m(ctx(), s.shape, s.rows, {96, 0});
  const Deflation deflation(ctx(), s.rows, s.shape, vectors_of_domains(connected_parts(s.shape, light, false)));
  DeflatedCg solver(ctx(), deflation, {.two_parts = true, .beyond_one_array = true, .diagonal = s.rows.diagonal()});
  StoppingParams stop;
  stop.rtol = 1e-10;
  stop.max_iterations = 1000;
  for (const double start : {0.0, 1e3}) {
    Values x;
    for (std::size_t k = 0; k < light.size(); ++k)
      x.push_back(light[k] * start * std::sin(static_cast<double>(k / 768)));
    copy_from_host(ctx(), x.data(), s.x.view());
    (void)solver.solve(ctx(), s.a, m, s.b.cview(), s.x.view(), stop);
    EXPECT_LE(solver.residual_of_parts(), 1e-10 * norm2(ctx(), s.b.cview())) << start;
  }
}

// Blocks that cut bubbles hold them by differences of numbers that round.
TEST_P(DeflatedCgTest, WhatRestsAtRoundingIsNoBreakdown) {
  std::vector<char> light;
  System s(ctx(), bubbles(64, 1e6, light));
  IncompleteCholesky<double> m(ctx(), s.shape, s.rows, {128, 0});
  const Deflation deflation(ctx(), s.rows, s.shape,
                            vectors_of_domains(split_domains(square_blocks(s.shape, 8), {light.begin(), light.end()})));
  DeflatedCg solver(ctx(), deflation, {.two_parts = true, .beyond_one_array = true, .diagonal = s.rows.diagonal()});
  StoppingParams stop;
  stop.rtol = 1e-11;
  stop.max_iterations = 2000;
  stop.patience = 100;
  set(ctx(), 0.0, s.x.view());
  const auto report = solver.solve(ctx(), s.a, m, s.b.cview(), s.x.view(), stop);
  EXPECT_EQ(report.status, Status::round_off_limit) << report.reason;
  EXPECT_LE(solver.residual_of_parts(), report.residual);
  EXPECT_LE(solver.residual_of_parts(), 1e-8 * norm2(ctx(), s.b.cview()));
}

TEST_P(DeflatedCgTest, RitzVectorsAreTheSameInTwoParts) {
  std::vector<char> light;
  System s(ctx(), bubbles(24, 100, light));
  IncompleteCholesky<double> m(ctx(), s.shape, s.rows, {48, 0});
  const Deflation deflation(ctx(), s.rows, s.shape, vectors_of_domains(connected_parts(s.shape, light, false)));
  std::vector<Values> found;
  for (const bool two_parts : {false, true}) {
    DeflatedCg solver(ctx(), deflation, {.two_parts = two_parts, .keep = 40, .diagonal = s.rows.diagonal()});
    (void)iterations(s, m, solver, 1e-8);
    const auto z = solver.ritz(ctx(), 1).z;
    Values values(static_cast<std::size_t>(s.shape.nodes()));
    for (std::size_t k = 0; k < z.value.size(); ++k) values[std::size_t(z.column[k])] = z.value[k];
    const double sign = values[0] < 0 ? -1 : 1;
    for (double& value : values) value *= sign;
    found.push_back(values);
  }
  double largest = 0;
  for (const double value : found[0]) largest = std::max(largest, std::abs(value));
  // Up to a constant, which A does not see.
  for (std::size_t k = 0; k < found[0].size(); ++k)
    EXPECT_NEAR(found[0][k] - found[0][0], found[1][k] - found[1][0], 1e-5 * largest) << k;
}

// Both parts may look solved where A Z is that of another matrix; their sum shows it.
TEST_P(DeflatedCgTest, VectorsOfAnotherMatrixAreNoSuccess) {
  System s(ctx(), layered_links(32, 1e4)), other(ctx(), layered_links(32, 10));
  IncompleteCholesky<double> m(ctx(), s.shape, s.rows, {64, 0});
  const Deflation deflation(ctx(), other.rows, s.shape, vectors_of_domains(square_blocks(s.shape, 4)));
  for (const bool beyond : {false, true}) {
    DeflatedCg solver(ctx(), deflation, {.two_parts = true, .beyond_one_array = beyond, .diagonal = s.rows.diagonal()});
    set(ctx(), 0.0, s.x.view());
    StoppingParams stop;
    stop.rtol = 1e-6;
    stop.max_iterations = 300;
    const auto report = solver.solve(ctx(), s.a, m, s.b.cview(), s.x.view(), stop);
    EXPECT_TRUE(report.status != Status::converged && report.status != Status::round_off_limit) << report.reason;
  }
}

TEST_P(DeflatedCgTest, SaysWhatItCannotDo) {
  System s(ctx(), poisson_links(8, 8));
  EXPECT_THROW(DeflatedCg(ctx(), s.shape, {.two_parts = true}), UsageError);
  EXPECT_THROW(DeflatedCg(ctx(), s.shape, {.keep = -1}), UsageError);
  EXPECT_THROW(DeflatedCg(ctx(), s.shape, {.diagonal = {1, 2}}), UsageError);
  DeflatedCg none(ctx(), s.shape, {});
  EXPECT_THROW((void)none.ritz(ctx(), 3), UsageError);
}

INSTANTIATE_ON_EVERY_BACKEND(DeflatedCgTest);

}  // namespace
