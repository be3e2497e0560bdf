#include <stratum/solvers/deflation/deflated_cg.hpp>

#include <cmath>
#include <random>

#include <stratum/assembly/five_point.hpp>
#include <stratum/core/operators/csr_matrix.hpp>
#include <stratum/solvers/iterative/cg.hpp>
#include <stratum/solvers/preconditioners/incomplete_cholesky.hpp>
#include <stratum/solvers/preconditioners/jacobi.hpp>

#include <gmock/gmock.h>

#include "support/sparse.hpp"

namespace {

using namespace stratum;
using test::Values;

/// A five-point system on both sides of the bus.
struct System {
  GridOperator<double> a;
  SparseRows rows;
  GridShape shape;
  Vector<double> b, x;
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
    Vector<double> r(ctx(), s.shape);
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

TEST_P(DeflatedCgTest, PoissonCountsAreThoseOfTheRecipe) {
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
  Vector<double> x(ctx(), s.shape);
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
