// Inclusions of high K, their vectors, and what conjugate gradients around a cycle make of them.

#include <cmath>
#include <random>

#include <stratum/core/operators/csr_matrix.hpp>
#include <stratum/mesh/named_meshes.hpp>
#include <stratum/multigrid/inclusions.hpp>
#include <stratum/multigrid/poisson_solver.hpp>

#include <gmock/gmock.h>

#include "support/backends.hpp"
#include "support/boundaries.hpp"
#include "support/subdomains.hpp"

namespace {

using namespace stratum;
using enum BoundaryType;
using test::Values;
using testing::ElementsAre;
using testing::HasSubstr;

TensorMesh<2> square(int cells, BoundaryType end) {
  const Axis line =
      Axis(std::vector<double>(static_cast<std::size_t>(cells), 1.0 / cells), 1).with_boundaries(end, end);
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
  const Axis x(std::vector<double>(5, 1.0)), y(std::vector<double>(4, 1.0));
  const auto dirichlet_boundaries = inclusions({x, y}, k);
  EXPECT_THAT(dirichlet_boundaries.grounded, ElementsAre(0, 1));
  EXPECT_EQ(dirichlet_boundaries.floating(), 1);
  EXPECT_THAT(dirichlet_boundaries.of_unknown, ElementsAre(0, 0, 0, 0,  //
                                                           0, 0, 0, 0,  //
                                                           1, 0, 0, -1));
  const auto walls = inclusions({x.with_boundaries(neumann, neumann), y.with_boundaries(neumann, neumann)}, k);
  EXPECT_EQ(walls.floating(), 2);
  const auto cells = inclusions(GridLayout<2>{5, 4, 0, 0}, k.xx);
  EXPECT_EQ(cells.floating(), 4) << "cells that share a corner have no link";
  EXPECT_EQ(inclusions(GridLayout<2>{5, 4, 0, 0}, Values(20, 3.0)).floating(), 0);
}

class DeflatedTest : public test::OnEveryBackend {};

TEST_P(DeflatedTest, VectorsAreOneInsideZeroInOthersAndSmoothAround) {
  const auto mesh = square(32, neumann);
  CellCoefficients k{32, 32, std::vector<double>(1024, 1.0), {}, {}, {}};
  for (int j = 0; j < 4; ++j)
    for (const int at : {(8 + j) * 32 + 8, (20 + j) * 32 + 22}) std::fill_n(k.xx.begin() + at, 4, 1e5);
  const Conductances conductances(ctx(), mesh, k);
  const auto hierarchy = Hierarchy<double>::galerkin(ctx(), assemble_diffusion(ctx(), mesh, k), mesh, {true, true},
                                                     Interpolation::by_conductances(conductances));
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
  for (const auto end : {dirichlet, neumann})
    for (const auto precision : {Precision::full, Precision::mixed})
      for (const double contrast : {1e4, 1e6}) {
        SCOPED_TRACE(testing::Message() << to_string(end) << ", " << contrast << ", " << int(precision));
        const auto mesh = square(n, end);
        PoissonSolverParams params;
        params.multigrid.sweeps = 2;
        params.method = Method::cg;
        params.precision = precision;
        params.coefficients = std::make_shared<CellCoefficients>(discs(n, contrast));
        params.deflate.by = DeflateBy::automatic;
        params.stop.rtol = 1e-10;
        PoissonSolver solver(ctx(), mesh, params);
        EXPECT_THAT(solver.deflation(), HasSubstr(end == neumann ? "25 inclusions, x in two parts" : "20 inclusions"));
        Values load(static_cast<std::size_t>(mesh.unknowns().nodes()), 1.0 / (n * n));
        if (end == neumann)
          for (std::size_t k = 0; k < load.size(); ++k)
            load[k] *= k < load.size() / 2 ? 1 : k == load.size() / 2 ? 0 : -1;
        const auto b = test::to_device<double>(ctx(), mesh.unknowns(), load);
        Field<double> x(ctx(), mesh.unknowns());
        const auto report = solver.solve(ctx(), b.cview(), x.view());
        EXPECT_TRUE(report.status == Status::round_off_limit || report.status == Status::converged) << report.reason;
        EXPECT_LE(report.iterations, precision == Precision::full ? 13 : 15);
        Field<double> r(ctx(), x.shape());
        solver.fine_operator().residual(ctx(), b.cview(), x.cview(), r.view());
        EXPECT_NEAR(norm2(ctx(), r.cview()) / report.residual, 1, 0.01) << "the residual is that of the x returned";
        EXPECT_LE(report.residual, 3e-9 * contrast / 1e4 * report.reference_norm_value);
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

// No Dirichlet boundary and next to no reaction: the constant is as slow a mode as inclusions are, and what the reaction adds
// to a row of an inclusion is far below the rounding of its entries.
TEST_P(DeflatedTest, TheConstantIsOneMoreVectorOfWhatIsNearlySingular) {
  constexpr int n = 64;
  const auto mesh = square(n, neumann);
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
      Field<double> x(ctx(), mesh.unknowns());
      const auto report = solver.solve(ctx(), b.cview(), x.view());
      EXPECT_TRUE(report.status == Status::round_off_limit || report.status == Status::converged) << report.reason;
      EXPECT_LE(report.iterations, 16);
      // Its mean: what flows in leaves by the reaction.
      double mean = 0;
      for (const double value : test::to_host(ctx(), x)) mean += value / (65 * 65);
      EXPECT_NEAR(mean, 1e3 * 65 * 65 / (n * n), 0.01);
    }
}

// --- on subdomains -----------------------------------------------------------------------------------------------------------

/// Of vectors on the whole grid these nodes.
DeflationVectors part_of(const DeflationVectors& all, int first, int nodes) {
  DeflationVectors own;
  own.z.rows = all.z.rows;
  own.z.columns = nodes;
  for (std::size_t d = 0; d < static_cast<std::size_t>(all.count()); ++d) {
    for (auto k = static_cast<std::size_t>(all.z.start[d]); k < static_cast<std::size_t>(all.z.start[d + 1]); ++k) {
      if (all.z.column[k] < first || all.z.column[k] >= first + nodes) continue;
      own.z.column.push_back(all.z.column[k] - first);
      own.z.value.push_back(all.z.value[k]);
    }
    own.z.start.push_back(static_cast<int>(own.z.value.size()));
  }
  if (!all.core.empty()) own.core.assign(all.core.begin() + first, all.core.begin() + first + nodes);
  own.covers = all.covers;
  return own;
}

/// The last is zero but in the uppermost row.
DeflationVectors own_vectors(test::Random& random, const GridLayout<2>& shape) {
  DeflationVectors v;
  v.z.columns = static_cast<int>(shape.nodes());
  for (v.z.rows = 0; v.z.rows < 5; ++v.z.rows) {
    for (int k = v.z.rows < 4 ? 0 : v.z.columns - shape.nx; k < v.z.columns; ++k)
      if (random.uniform(0, 1) < 0.4 || k == v.z.columns - 1) {
        v.z.column.push_back(k);
        v.z.value.push_back(random.uniform(-1, 1));
      }
    v.z.start.push_back(static_cast<int>(v.z.column.size()));
  }
  return v;
}

double difference(const Values& x, const Values& y) {
  double most = 0, largest = 0;
  for (std::size_t k = 0; k < y.size(); ++k) {
    largest = std::max(largest, std::abs(y[k]));
    if (!(std::abs(x[k] - y[k]) <= most)) most = std::abs(x[k] - y[k]);
  }
  return most / largest;
}

TEST_P(DeflatedTest, ProductsSeeNoCut) {
  test::Random random(77);
  for (const test::Ends& ends : {test::Ends{dirichlet, dirichlet, dirichlet, neumann},
                                 {neumann, neumann, periodic, periodic},
                                 {periodic, periodic, dirichlet, dirichlet}}) {
    const TensorMesh<2> mesh = test::with_boundaries({Axis(random.widths(13, 1)), Axis(random.widths(18, 1))}, ends);
    const GridLayout<2> whole = mesh.unknowns();
    OperatorTerms terms;
    terms.reaction = 0.5;
    auto with_holes = square_blocks(whole, 4);
    for (int& d : with_holes)
      if (d % 5 == 2) d = -1;
    for (const auto& vectors : {vectors_of_domains(square_blocks(whole, 3)), vectors_of_domains(stripes(whole, 4)),
                                vectors_of_domains(with_holes), own_vectors(random, whole)}) {
      const Values x = random.values(static_cast<std::size_t>(whole.nodes())),
                   c = random.values(static_cast<std::size_t>(vectors.count()));
      std::vector<Values> coarse;
      const auto products = [&](int count) {
        coarse.assign(static_cast<std::size_t>(count), {});
        return test::on_subdomains(GetParam(), count, [&](Context& on) {
          const GridLayout<2> shape = PartitionLevels(on, mesh_hierarchy(mesh), 1).finest();
          const auto a = assemble_operator<double>(on, mesh, StorageFormat::tensor, terms, shape);
          const Deflation deflation(
              on, count > 1 ? subdomain_rows(on, a) : sparse_rows(on, a), shape,
              part_of(vectors, (shape.origin_y - whole.origin_y) * whole.nx, static_cast<int>(shape.nodes())));
          auto u = test::poisoned_rows<double>(on, shape, whole, x);
          const auto given = vector_from_host(on, c);
          Field<double> d(on, vectors.count()), e(on, vectors.count());
          Values& all = coarse[static_cast<std::size_t>(count > 1 ? on.communicator()->rank() : 0)];
          const auto take = [&](const Field<double>& v) {
            const Values numbers = test::to_host(on, v);
            all.insert(all.end(), numbers.begin(), numbers.end());
          };
          deflation.restrict_to(on, u.cview(), d.view());
          take(d);
          deflation.subtract_products(on, u.cview(), d.view());
          take(d);
          deflation.solve(on, given.cview(), e.view());
          take(e);
          deflation.add_image(on, -2, given.cview(), u.view());
          deflation.add(on, given.cview(), u.view());
          EXPECT_EQ(deflation.has_cores(), !vectors.core.empty());
          EXPECT_EQ(deflation.covers(), vectors.covers);
          if (deflation.has_cores()) deflation.move_means(on, u.view(), e.view());
          take(e);
          return test::to_host(on, u);
        });
      };
      const auto one = products(1);
      const Values coarse_of_one = coarse[0];
      for (const int count : {2, 3, 5}) {
        SCOPED_TRACE(testing::Message() << count << " subdomains, " << vectors.count() << " vectors, "
                                        << to_string(ends.bottom));
        const auto several = products(count);
        ASSERT_THAT(several.errors, testing::Each(""));
        EXPECT_LT(difference(several.values, one.values), 1e-12);
        EXPECT_LT(difference(coarse[0], coarse_of_one), 1e-11);
        EXPECT_THAT(coarse, testing::Each(coarse[0])) << "the same bits on all subdomains";
      }
    }
  }
}

// One inclusion beside the ends of y, one across the cut of two subdomains, one on a single subdomain.
TEST_P(DeflatedTest, VectorsOfInclusionsSeeNoCut) {
  for (const BoundaryType end : {neumann, periodic}) {
    const TensorMesh<2> mesh{square(32, neumann).x(), square(32, end).y()};
    const GridLayout<2> whole = mesh.unknowns();
    CellCoefficients k{32, 32, std::vector<double>(1024, 1.0), {}, {}, {}};
    for (int j = 0; j < 4; ++j)
      for (const int at : {j * 32 + 8, (14 + j) * 32 + 22, (24 + j) * 32 + 3}) std::fill_n(k.xx.begin() + at, 4, 1e5);
    const auto found = inclusions(mesh, k);
    ASSERT_EQ(found.floating(), 3);
    for (const int cut : {1, 2}) {
      const auto vectors = [&](int count) {
        return test::on_subdomains(GetParam(), count, [&](Context& on) {
          const GridLayout<2> shape = PartitionLevels(on, mesh_hierarchy(mesh), cut).finest();
          const CellFields fields(on, mesh, k, 0);
          const Conductances conductances(on, mesh, fields);
          const auto hierarchy =
              Hierarchy<double>::galerkin(on, assemble_diffusion(on, mesh, k, fields, {}, shape), mesh, {true, true},
                                          Interpolation::by_conductances(conductances), cut);
          const auto own = inclusion_vectors(on, hierarchy, found);
          own.z.validate();
          Values numbers;  // of every node its core and the vectors' there
          const SparseRows by_nodes = transposed(own.z);
          for (int n = 0; n < by_nodes.rows; ++n) {
            numbers.push_back(own.core[static_cast<std::size_t>(n)]);
            for (int d = 0; d < own.count(); ++d) numbers.push_back(by_nodes.at(n, d));
          }
          return numbers;
        });
      };
      const auto one = vectors(1);
      ASSERT_EQ(one.values.size(), static_cast<std::size_t>(4 * whole.nodes()));
      for (const int count : {2, 3}) {
        SCOPED_TRACE(testing::Message() << count << " subdomains, " << cut << " levels cut, " << to_string(end));
        const auto several = vectors(count);
        ASSERT_THAT(several.errors, testing::Each(""));
        ASSERT_EQ(several.values.size(), one.values.size());
        EXPECT_LT(difference(several.values, one.values), 1e-12);
      }
    }
  }
}

TEST_P(DeflatedTest, ConjugateGradientsSeeNoCut) {
  constexpr int n = 64;
  struct Case {
    BoundaryType x, y;
    double reaction;
  };
  for (const auto& [end_x, end_y, reaction] :
       {Case{dirichlet, dirichlet, 0}, {neumann, neumann, 0}, {neumann, periodic, 1e-3}}) {
    const TensorMesh<2> mesh{square(n, end_x).x(), square(n, end_y).y()};
    auto k = discs(n, 1e5);
    if (reaction > 0) k.c.assign(k.xx.size(), reaction);
    // Without a mean.
    Values load(static_cast<std::size_t>(mesh.unknowns().nodes()), 1.0 / (n * n));
    for (std::size_t i = 0; i < load.size(); ++i)
      load[i] *= i < load.size() / 2 ? 1 : i == load.size() / 2 && load.size() % 2 == 1 ? 0 : -1;
    PoissonSolverParams params;
    params.multigrid.distributed_levels = 2;
    params.method = Method::cg;
    params.precision = Precision::full;
    params.coefficients = std::make_shared<CellCoefficients>(k);
    params.stop.rtol = 1e-7;
    for (const DeflateParams& deflate :
         {DeflateParams{DeflateBy::automatic}, {DeflateBy::inclusions}, {DeflateBy::blocks, 5}, {DeflateBy::ritz, 6}}) {
      params.deflate = deflate;
      struct Solved {
        std::string deflation;
        SolveReport report;
      };
      std::vector<Solved> solved;
      const auto solve = [&](int count) {
        solved.assign(static_cast<std::size_t>(count), {});
        return test::on_subdomains(GetParam(), count, [&](Context& on) {
          PoissonSolver solver(on, mesh, params);
          const GridLayout<2> shape = solver.fine_operator().shape();
          const auto b = test::poisoned_rows<double>(on, shape, mesh.unknowns(), load);
          Field<double> x(on, shape);
          test::poison(on, x);
          const auto rank = static_cast<std::size_t>(count > 1 ? on.communicator()->rank() : 0);
          solved[rank] = {solver.deflation(), solver.solve(on, b.cview(), x.view())};
          return test::to_host(on, x);
        });
      };
      const auto one = solve(1);
      ASSERT_THAT(one.errors, testing::Each(""));
      const Solved of_one = solved[0];
      EXPECT_THAT(of_one.deflation, HasSubstr("by "));
      for (const int count : {2, 3}) {
        SCOPED_TRACE(testing::Message() << count << " subdomains, " << of_one.deflation << ", " << to_string(end_x)
                                        << " " << to_string(end_y));
        const auto several = solve(count);
        ASSERT_THAT(several.errors, testing::Each(""));
        for (const auto& [deflation, report] : solved) {
          EXPECT_EQ(deflation, of_one.deflation);
          EXPECT_EQ(report.status, of_one.report.status) << report.reason;
          EXPECT_EQ(report.iterations, of_one.report.iterations);
          EXPECT_EQ(report.history, solved[0].report.history);
        }
        EXPECT_LT(difference(several.values, one.values), 1e-6);
      }
    }
  }
}

TEST_P(DeflatedTest, SubdomainsRefuseTogether) {
  const auto mesh = square(16, dirichlet);
  const auto errors = [&](const auto& vectors_of) {
    return test::on_subdomains(GetParam(), 2,
                               [&](Context& on) {
                                 const GridLayout<2> shape = PartitionLevels(on, mesh_hierarchy(mesh), 1).finest();
                                 const auto a = assemble_operator<double>(on, mesh, StorageFormat::tensor, {}, shape);
                                 (void)Deflation(on, subdomain_rows(on, a), shape,
                                                 vectors_of(shape, on.communicator()->rank()));
                                 return Values{};
                               })
        .errors;
  };
  const auto blocks = [&](const GridLayout<2>& shape, int count) {
    return vectors_of_domains(square_blocks(mesh.unknowns(), 2, shape), count);
  };
  EXPECT_THAT(errors([&](const GridLayout<2>& shape, int /*rank*/) { return blocks(shape, 4); }), testing::Each(""));
  EXPECT_THAT(errors([&](const GridLayout<2>& shape, int rank) {
                auto vectors = blocks(shape, 4);
                if (rank == 1) vectors.core.pop_back();
                return vectors;
              }),
              testing::Each(HasSubstr("rank 1: ")));
  EXPECT_THAT(errors([&](const GridLayout<2>& shape, int rank) { return blocks(shape, 4 + rank); }),
              testing::Each(HasSubstr("number of deflation vectors: rank 0 has '4', rank 1 has '5'")));
  EXPECT_THAT(errors([&](const GridLayout<2>& shape, int /*rank*/) { return blocks(shape, 5); }),
              testing::Each(HasSubstr("deflation vector 4 is zero")));
}

// Bit for bit those of one subdomain: cut in two, around an end, grounded on one subdomain only.
TEST_P(DeflatedTest, InclusionsOfAMatrixSeeNoCut) {
  for (const auto& [end_x, end_y] : {std::pair{dirichlet, dirichlet}, {neumann, periodic}, {periodic, neumann}}) {
    const TensorMesh<2> mesh{square(64, end_x).x(), square(64, end_y).y()};
    const GridLayout<2> whole = mesh.unknowns();
    auto k = discs(64, 1e6);
    for (int j = 20; j < 50; ++j) k.xx[static_cast<std::size_t>(j * 64 + (j < 40 ? 0 : j - 40))] = 1e6;
    const auto numbers = [&](int count) {
      return test::on_subdomains(GetParam(), count, [&](Context& on) {
        const GridLayout<2> shape = PartitionLevels(on, mesh_hierarchy(mesh), 1).finest();
        const CellFields fields(on, mesh, k, 0);
        const auto a = assemble_diffusion(on, mesh, k, fields, {}, shape);
        const Inclusions found = count > 1 ? inclusions(*on.communicator(), subdomain_rows(on, a), shape, whole)
                                           : inclusions(sparse_rows(on, a));
        Values all(found.of_unknown.begin(), found.of_unknown.end());
        all.insert(all.end(), found.grounded.begin(), found.grounded.end());
        return all;
      });
    };
    const Values one = numbers(1).values;
    const auto unknowns = static_cast<std::size_t>(whole.nodes());
    ASSERT_GT(one.size(), unknowns + 10);
    for (const int count : {2, 3, 8}) {
      SCOPED_TRACE(testing::Message() << count << " subdomains, " << to_string(end_x) << " " << to_string(end_y));
      const auto several = numbers(count);
      ASSERT_THAT(several.errors, testing::Each(""));
      ASSERT_EQ(several.values.size(), one.size() * static_cast<std::size_t>(count));
      for (std::size_t n = 0; n < several.values.size(); ++n)
        ASSERT_EQ(several.values[n], one[n % one.size()]) << "number " << n % one.size();
    }
  }
}

INSTANTIATE_ON_EVERY_BACKEND(DeflatedTest);

}  // namespace
