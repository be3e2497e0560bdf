// Inclusions of high K, their vectors, and what conjugate gradients around a cycle make of them.

#include <cmath>
#include <random>

#include <stratum/mesh/named_meshes.hpp>
#include <stratum/multigrid/inclusions.hpp>
#include <stratum/multigrid/poisson_solver.hpp>

#include <gmock/gmock.h>

#include "support/backends.hpp"

namespace {

using namespace stratum;
using enum LineEnd;
using test::Values;
using testing::ElementsAre;
using testing::HasSubstr;

TensorMesh square(int cells, LineEnd end) {
  const Line line = Line(std::vector<double>(static_cast<std::size_t>(cells), 1.0 / cells), 1).with_ends(end, end);
  return {line, line};
}

/// 50 discs, high where it is 1.
CellCoefficients discs(int n, double contrast) {
  std::mt19937 generator(1);
  std::uniform_real_distribution<double> uniform(0, 1);
  CellCoefficients k{n, n, std::vector<double>(static_cast<std::size_t>(n * n), 1.0), {}, {}, {}};
  for (int d = 0; d < 50; ++d) {
    const double x = uniform(generator), y = uniform(generator), radius = 0.01 + 0.07 * uniform(generator);
    for (int j = 0; j < n; ++j)
      for (int i = 0; i < n; ++i)
        if (std::hypot((i + 0.5) / n - x, (j + 0.5) / n - y) < radius)
          k.xx[static_cast<std::size_t>(j * n + i)] = contrast;
  }
  return k;
}

TEST(InclusionsTest, AreConnectedByNodesAndGroundedByDirichletSides) {
  // Cells of 5 x 4: two that share a corner, one at the left side, one alone.
  CellCoefficients k{5,
                     4,
                     {1, 1, 1, 1, 1,  //
                      1, 9, 1, 9, 1,  //
                      1, 1, 9, 1, 1,  //
                      9, 1, 1, 1, 1},
                     {},
                     {},
                     {}};
  const Line x(std::vector<double>(5, 1.0)), y(std::vector<double>(4, 1.0));
  const auto dirichlet_sides = inclusions({x, y}, k);
  EXPECT_THAT(dirichlet_sides.grounded, ElementsAre(0, 1));
  EXPECT_EQ(dirichlet_sides.floating(), 1);
  EXPECT_THAT(dirichlet_sides.of_unknown, ElementsAre(0, 0, 0, 0,  //
                                                      0, 0, 0, 0,  //
                                                      1, 0, 0, -1));
  const auto walls = inclusions({x.with_ends(natural, natural), y.with_ends(natural, natural)}, k);
  EXPECT_EQ(walls.floating(), 2);
  const auto cells = inclusions(GridShape{5, 4, 0, 0}, k.xx);
  EXPECT_EQ(cells.floating(), 4) << "cells that share a corner have no link";
  EXPECT_EQ(inclusions(GridShape{5, 4, 0, 0}, Values(20, 3.0)).floating(), 0);
}

class DeflatedTest : public test::OnEveryBackend {};

TEST_P(DeflatedTest, VectorsAreOneInsideZeroInOthersAndSmoothAround) {
  const auto mesh = square(32, natural);
  CellCoefficients k{32, 32, std::vector<double>(1024, 1.0), {}, {}, {}};
  for (int j = 0; j < 4; ++j)
    for (const int at : {(8 + j) * 32 + 8, (20 + j) * 32 + 22}) std::fill_n(k.xx.begin() + at, 4, 1e5);
  const Conductances conductances(ctx(), mesh, k);
  const auto hierarchy = Hierarchy<double>::galerkin(ctx(), assemble_diffusion(ctx(), mesh, k), mesh, {true, true},
                                                     Interpolation::network(conductances));
  const auto found = inclusions(mesh, k);
  ASSERT_EQ(found.floating(), 2);
  const auto vectors = inclusion_vectors(ctx(), hierarchy, found);
  ASSERT_EQ(vectors.count(), 2);
  for (int d = 0; d < 2; ++d) {
    Values u(33 * 33, 0.0);
    for (int e = vectors.z.start[static_cast<std::size_t>(d)]; e < vectors.z.start[static_cast<std::size_t>(d) + 1];
         ++e)
      u[static_cast<std::size_t>(vectors.z.column[static_cast<std::size_t>(e)])] =
          vectors.z.value[static_cast<std::size_t>(e)];
    for (std::size_t n = 0; n < u.size(); ++n) {
      EXPECT_GE(u[n], 0);
      EXPECT_LE(u[n], 1 + 1e-12);
      if (found.of_unknown[n] >= 0) {
        EXPECT_EQ(u[n], found.of_unknown[n] == d ? 1 : 0);
        EXPECT_EQ(vectors.core[n], found.of_unknown[n]);
      }
    }
    // Beside it, where an indicator would be zero.
    const std::size_t beside = d == 0 ? 14 * 33 + 10 : 26 * 33 + 24;
    EXPECT_GT(u[beside], 0.2);
  }
}

TEST_P(DeflatedTest, InclusionsNoLongerSlowConjugateGradientsDown) {
  constexpr int n = 256;
  for (const auto end : {dirichlet, natural})
    for (const auto precision : {Precision::full, Precision::mixed})
      for (const double contrast : {1e4, 1e6}) {
        SCOPED_TRACE(testing::Message() << to_string(end) << ", " << contrast << ", " << int(precision));
        const auto mesh = square(n, end);
        PoissonSolverParams params;
        params.multigrid.steps = 2;
        params.method = Method::cg;
        params.precision = precision;
        params.coefficients = std::make_shared<CellCoefficients>(discs(n, contrast));
        params.deflate.by = DeflateBy::automatic;
        params.stop.rtol = 1e-10;
        PoissonSolver solver(ctx(), mesh, params);
        EXPECT_THAT(solver.deflation(), HasSubstr(end == natural ? "25 inclusions, x in two parts" : "20 inclusions"));
        Values load(static_cast<std::size_t>(mesh.unknowns().nodes()), 1.0 / (n * n));
        if (end == natural)
          for (std::size_t k = 0; k < load.size(); ++k)
            load[k] *= k < load.size() / 2 ? 1 : k == load.size() / 2 ? 0 : -1;
        const auto b = test::to_device<double>(ctx(), mesh.unknowns(), load);
        Vector<double> x(ctx(), mesh.unknowns());
        const auto report = solver.solve(ctx(), b.cview(), x.view());
        EXPECT_TRUE(report.status == Status::rounding || report.status == Status::converged) << report.reason;
        EXPECT_LE(report.iterations, precision == Precision::full ? 13 : 15);
        Vector<double> r(ctx(), x.shape());
        solver.fine_operator().residual(ctx(), b.cview(), x.cview(), r.view());
        EXPECT_NEAR(norm2(ctx(), r.cview()) / report.residual, 1, 0.01) << "the residual is that of the x returned";
        EXPECT_LE(report.residual, 3e-9 * contrast / 1e4 * report.baseline_norm);
      }
}

TEST_P(DeflatedTest, NothingIsDeflatedWithoutAReason) {
  PoissonSolverParams params;
  params.deflate.by = DeflateBy::automatic;
  params.coefficients = std::make_shared<CellCoefficients>(discs(32, 100));
  EXPECT_THAT(PoissonSolver(ctx(), square(32, dirichlet), params).deflation(), HasSubstr("none: K jumps by 100"));
  CellCoefficients layers{16, 16, std::vector<double>(256, 1.0), {}, {}, {}};
  std::fill_n(layers.xx.begin(), 128, 1e5);
  params.coefficients = std::make_shared<CellCoefficients>(layers);
  EXPECT_THAT(PoissonSolver(ctx(), square(16, dirichlet), params).deflation(),
              HasSubstr("no inclusion of high K is isolated"));
  params.coefficients.reset();
  EXPECT_THROW(PoissonSolver(ctx(), square(16, dirichlet), params), UsageError);
}

TEST_P(DeflatedTest, OtherCoefficientsAreForAnotherSolver) {
  const auto mesh = square(16, dirichlet);
  PoissonSolverParams params;
  params.coefficients = std::make_shared<CellCoefficients>(discs(16, 1e5));
  params.method = Method::cg;
  params.deflate = {DeflateBy::blocks, 2};
  PoissonSolver solver(ctx(), mesh, params);
  EXPECT_THROW(solver.update(ctx(), assemble_diffusion(ctx(), mesh, discs(16, 10))), UsageError);
}

// No Dirichlet side and next to no reaction: the constant is as slow a mode as inclusions are, and what the reaction adds to
// a row of an inclusion is far below the rounding of its entries.
TEST_P(DeflatedTest, TheConstantIsOneMoreVectorOfWhatIsNearlySingular) {
  constexpr int n = 64;
  const auto mesh = square(n, natural);
  const auto b = test::to_device<double>(ctx(), mesh.unknowns(), Values(65 * 65, 1.0 / (n * n)));
  for (const double contrast : {1.0, 1e6})
    for (const auto precision : {Precision::full, Precision::mixed}) {
      SCOPED_TRACE(testing::Message() << contrast << ", " << int(precision));
      PoissonSolverParams params;
      params.method = Method::cg;
      params.precision = precision;
      auto k = discs(n, contrast);
      k.c.assign(k.xx.size(), 1e-3);
      params.coefficients = std::make_shared<CellCoefficients>(k);
      params.deflate.by = DeflateBy::automatic;
      PoissonSolver solver(ctx(), mesh, params);
      EXPECT_THAT(solver.deflation(), HasSubstr("the constant"));
      Vector<double> x(ctx(), mesh.unknowns());
      const auto report = solver.solve(ctx(), b.cview(), x.view());
      EXPECT_TRUE(report.status == Status::rounding || report.status == Status::converged) << report.reason;
      EXPECT_LE(report.iterations, 16);
      // Its mean: what flows in leaves by the reaction.
      double mean = 0;
      for (const double value : test::to_host(ctx(), x)) mean += value / (65 * 65);
      EXPECT_NEAR(mean, 1e3 * 65 * 65 / (n * n), 0.01);
    }
}

INSTANTIATE_ON_EVERY_BACKEND(DeflatedTest);

}  // namespace
