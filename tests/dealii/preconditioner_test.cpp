// stratum/dealii.hpp: numbering, what the preconditioner computes, and what it refuses.

// Before deal.II, whose macro Assert it could not bear.
#include <gmock/gmock.h>

#include <deal.II/base/quadrature_lib.h>
#include <deal.II/dofs/dof_renumbering.h>
#include <deal.II/fe/fe_values.h>
#include <deal.II/grid/grid_generator.h>
#include <deal.II/grid/grid_tools.h>
#include <deal.II/grid/tria.h>
#include <deal.II/lac/affine_constraints.h>
#include <deal.II/lac/dynamic_sparsity_pattern.h>
#include <deal.II/lac/la_parallel_vector.h>
#include <deal.II/lac/solver_cg.h>
#include <deal.II/lac/sparse_matrix.h>
#include <deal.II/lac/vector.h>
#include <deal.II/numerics/matrix_tools.h>
#include <deal.II/numerics/vector_tools.h>

#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <stratum/dealii.hpp>

#include "support/backends.hpp"

namespace {

using stratum::DealiiPreconditioner;
using Grid = dealii::Triangulation<2>;
using Host = dealii::Vector<double>;
using Distributed = dealii::LinearAlgebra::distributed::Vector<double>;

/// -Laplace u + velocity grad u on FE_Q(1), zero on sides with the given id, on any mesh.
struct Problem {
  dealii::FE_Q<2> fe{1};
  dealii::DoFHandler<2> dofs;
  dealii::AffineConstraints<double> constraints;
  dealii::SparsityPattern pattern;
  dealii::SparseMatrix<double> matrix;
  Host rhs;

  explicit Problem(Grid& grid, bool shuffled = true, int degree = 1)
      : fe(static_cast<unsigned int>(degree)), dofs(grid) {
    dofs.distribute_dofs(fe);
    if (shuffled) dealii::DoFRenumbering::random(dofs);
    dealii::DoFTools::make_hanging_node_constraints(dofs, constraints);
    dealii::VectorTools::interpolate_boundary_values(dofs, 0, dealii::Functions::ZeroFunction<2>(), constraints);
  }
  void assemble(const dealii::Tensor<1, 2>& velocity = {}, double factor = 1) {
    constraints.close();
    dealii::DynamicSparsityPattern dsp(dofs.n_dofs());
    dealii::DoFTools::make_sparsity_pattern(dofs, dsp, constraints, true);
    pattern.copy_from(dsp);
    matrix.reinit(pattern);
    rhs.reinit(dofs.n_dofs());
    add(velocity, factor);
  }
  void add(const dealii::Tensor<1, 2>& velocity, double factor) {
    const unsigned int n = fe.n_dofs_per_cell();
    dealii::FEValues<2> values(fe, dealii::QGauss<2>(2),
                               dealii::update_values | dealii::update_gradients | dealii::update_JxW_values);
    dealii::FullMatrix<double> local(n, n);
    Host local_rhs(n);
    std::vector<dealii::types::global_dof_index> indices(n);
    for (const auto& cell : dofs.active_cell_iterators()) {
      values.reinit(cell);
      local = 0;
      local_rhs = 0;
      for (const unsigned int q : values.quadrature_point_indices())
        for (unsigned int i = 0; i < n; ++i) {
          for (unsigned int j = 0; j < n; ++j)
            local(i, j) += factor *
                           (values.shape_grad(i, q) * values.shape_grad(j, q) +
                            values.shape_value(i, q) * (velocity * values.shape_grad(j, q))) *
                           values.JxW(q);
          local_rhs(i) += values.shape_value(i, q) * values.JxW(q);
        }
      cell->get_dof_indices(indices);
      constraints.distribute_local_to_global(local, local_rhs, indices, matrix, rhs);
    }
  }
};

Grid& graded(Grid& grid, unsigned int refinements = 2) {
  const std::vector<std::vector<double>> widths{{0.5, 0.3, 0.1, 0.06, 0.03, 0.01}, {0.2, 0.2, 0.3, 0.3}};
  dealii::GridGenerator::subdivided_hyper_rectangle(grid, widths, dealii::Point<2>(-3, 7), dealii::Point<2>(-2, 8));
  grid.refine_global(refinements);
  return grid;
}

Host random_vector(std::size_t n, std::uint32_t seed) {
  const auto values = test::Random(seed).values(n);
  Host v(static_cast<unsigned int>(n));
  std::copy(values.begin(), values.end(), v.begin());
  return v;
}

unsigned int cg_iterations(Problem& problem, const DealiiPreconditioner& m) {
  dealii::SolverControl control(50, 1e-9 * problem.rhs.l2_norm());
  Host x(problem.rhs.size());
  dealii::SolverCG<Host>(control).solve(problem.matrix, x, problem.rhs, m);
  return control.last_step();
}

std::string refusal(const std::function<void()>& f) {
  try {
    f();
  } catch (const stratum::UsageError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(DealiiPreconditioner, SolvesHoweverUnknownsAreNumbered) {
  Grid grid;
  graded(grid);
  for (const bool shuffled : {false, true})
    for (const bool single_precision : {false, true}) {
      Problem problem(grid, shuffled);
      problem.assemble();
      DealiiPreconditioner m;
      DealiiPreconditioner::AdditionalData data;
      data.single_precision = single_precision;
      m.initialize(problem.matrix, problem.dofs, data);
      EXPECT_LE(cg_iterations(problem, m), 7U);
    }
}

TEST(DealiiPreconditioner, IsTheCycleOfTheAssembledHierarchy) {
  Grid grid;
  graded(grid);
  Problem problem(grid);
  problem.assemble();
  DealiiPreconditioner m;
  m.initialize(problem.matrix, problem.dofs);
  const Host r = random_vector(problem.dofs.n_dofs(), 5);
  Host z(r.size());
  m.vmult(z, r);

  // The same mesh made of widths; refinement halves them twice.
  const auto refined = [](const std::vector<double>& coarse) {
    std::vector<double> widths;
    for (const double w : coarse) widths.insert(widths.end(), 4, w / 4);
    return stratum::Intervals(widths);
  };
  const stratum::TensorMesh mesh(refined({0.5, 0.3, 0.1, 0.06, 0.03, 0.01}), refined({0.2, 0.2, 0.3, 0.3}));
  stratum::Context ctx;
  stratum::MultigridParams params;
  params.symmetric = true;
  stratum::Multigrid<double> cycle(ctx, mesh_hierarchy(mesh), stratum::OperatorForm::nine_band, params);
  const auto shape = mesh.unknowns();
  const stratum::detail::DealiiNumbering numbering(problem.dofs);
  ASSERT_EQ(numbering.unknowns(), shape);
  test::Values from(static_cast<std::size_t>(shape.nodes()));
  std::vector<dealii::Point<2>> points(problem.dofs.n_dofs());
  dealii::DoFTools::map_dofs_to_support_points(dealii::MappingQ1<2>(), problem.dofs, points);
  for (std::size_t k = 0; k < from.size(); ++k) {
    const auto dof = numbering.interior[k];
    EXPECT_NEAR(points[dof][0] + 3, mesh.x().from_begin()[k % static_cast<std::size_t>(shape.nx) + 1], 1e-14);
    EXPECT_NEAR(points[dof][1] - 7, mesh.y().from_begin()[k / static_cast<std::size_t>(shape.nx) + 1], 1e-14);
    from[k] = r[dof];
  }
  const auto b = test::to_device<double>(ctx, shape, from);
  stratum::Vector<double> x(ctx, shape);
  cycle.apply(ctx, b.cview(), x.view());
  const auto expected = test::to_host(ctx, x);
  test::Values found(from.size());
  for (std::size_t k = 0; k < found.size(); ++k) found[k] = z[numbering.interior[k]];
  EXPECT_LT(reference::relative_difference(found, expected), 1e-10);
  for (const auto dof : numbering.on_a_side) EXPECT_DOUBLE_EQ(z[dof], r[dof] / problem.matrix(dof, dof));
}

TEST(DealiiPreconditioner, TakesDistributedVectors) {
  Grid grid;
  graded(grid);
  Problem problem(grid);
  problem.assemble();
  DealiiPreconditioner m;
  m.initialize(problem.matrix, problem.dofs);
  const Host r = random_vector(problem.dofs.n_dofs(), 6);
  Host z(r.size());
  Distributed dr(r.size()), dz(r.size());
  std::copy(r.begin(), r.end(), dr.begin());
  m.vmult(z, r);
  m.vmult(dz, dr);
  EXPECT_TRUE(std::equal(z.begin(), z.end(), dz.begin()));
  dz = 0;
  m.Tvmult(dz, dr);
  EXPECT_TRUE(std::equal(z.begin(), z.end(), dz.begin())) << "the matrix is symmetric";
}

TEST(DealiiPreconditioner, TvmultIsTheTransposeOfVmult) {
  Grid grid;
  graded(grid);
  Problem problem(grid);
  dealii::Tensor<1, 2> velocity;
  velocity[0] = 7;
  velocity[1] = -4;
  problem.assemble(velocity);
  DealiiPreconditioner m;
  m.initialize(problem.matrix, problem.dofs);
  const Host r = random_vector(problem.dofs.n_dofs(), 7), s = random_vector(problem.dofs.n_dofs(), 8);
  Host mr(r.size()), mts(r.size()), ms(r.size());
  const auto compare = [&] {
    m.vmult(mr, r);
    m.Tvmult(mts, s);
    EXPECT_NEAR(mr * s, r * mts, 1e-11 * mr.l2_norm() * s.l2_norm());
    m.vmult(ms, s);
    ms -= mts;
    EXPECT_GT(ms.l2_norm(), 1e-3 * mts.l2_norm()) << "the matrix is as good as symmetric";
  };
  compare();
  problem.matrix = 0;
  problem.add(2 * velocity, 3);
  m.update(problem.matrix);
  compare();
  // It still approximates the inverse.
  Host residual(r.size());
  problem.matrix.residual(residual, mr, r);
  EXPECT_LT(residual.l2_norm(), 0.2 * r.l2_norm());
}

TEST(DealiiPreconditioner, UpdateTakesOtherEntries) {
  Grid grid;
  graded(grid);
  Problem problem(grid);
  problem.assemble();
  DealiiPreconditioner updated, fresh;
  updated.initialize(problem.matrix, problem.dofs);
  problem.matrix *= 3;
  updated.update(problem.matrix);
  fresh.initialize(problem.matrix, problem.dofs);
  const Host r = random_vector(problem.dofs.n_dofs(), 9);
  Host z(r.size()), expected(r.size());
  updated.vmult(z, r);
  fresh.vmult(expected, r);
  EXPECT_TRUE(std::equal(z.begin(), z.end(), expected.begin()));
  dealii::Tensor<1, 2> velocity;
  velocity[0] = 7;
  problem.add(velocity, 1);
  EXPECT_THAT(refusal([&] { updated.update(problem.matrix); }), testing::HasSubstr("symmetric"));
}

TEST(DealiiPreconditioner, ConstrainedUnknownsAreInverted) {
  Grid grid;
  graded(grid);
  Problem problem(grid);
  // An obstacle: a few unknowns inside are given.
  const stratum::detail::DealiiNumbering numbering(problem.dofs);
  for (const std::size_t k : {40U, 41U, 42U, 77U}) problem.constraints.add_line(numbering.interior[k]);
  problem.assemble();
  DealiiPreconditioner m;
  m.initialize(problem.matrix, problem.dofs);
  EXPECT_LE(cg_iterations(problem, m), 12U);
  const Host r = random_vector(problem.dofs.n_dofs(), 10);
  Host z(r.size());
  m.vmult(z, r);
  for (const std::size_t k : {40U, 41U, 42U, 77U}) {
    const auto dof = numbering.interior[k];
    EXPECT_NEAR(z[dof], r[dof] / problem.matrix(dof, dof), 1e-12 * std::abs(z[dof]));
  }
}

// MatrixTools can leave the columns of constrained unknowns as they are.
TEST(DealiiPreconditioner, ColumnsOfConstrainedUnknownsDoNotMatter) {
  Grid grid;
  graded(grid);
  Problem problem(grid);
  std::map<dealii::types::global_dof_index, double> values;
  dealii::VectorTools::interpolate_boundary_values(problem.dofs, 0, dealii::Functions::ConstantFunction<2>(2.0),
                                                   values);
  problem.constraints.clear();
  problem.assemble();
  Host x(problem.rhs.size());
  dealii::MatrixTools::apply_boundary_values(values, problem.matrix, x, problem.rhs, false);
  DealiiPreconditioner m;
  m.initialize(problem.matrix, problem.dofs);
  const Host r = random_vector(problem.dofs.n_dofs(), 11);
  Host z(r.size());
  m.vmult(z, r);
  const stratum::detail::DealiiNumbering numbering(problem.dofs);
  for (const auto dof : numbering.on_a_side) EXPECT_DOUBLE_EQ(z[dof] * problem.matrix(dof, dof), r[dof]);
}

TEST(DealiiPreconditionerErrors, OtherMeshesAndElementsAreRefused) {
  const auto on = [](const std::function<void(Grid&)>& make, int degree = 1) {
    return refusal([&] {
      Grid grid;
      make(grid);
      Problem problem(grid, true, degree);
      problem.assemble();
      DealiiPreconditioner().initialize(problem.matrix, problem.dofs);
    });
  };
  EXPECT_EQ(on([](Grid& g) { graded(g); }), "accepted");
  EXPECT_THAT(on([](Grid& g) { graded(g); }, 2), testing::HasSubstr("the element is FE_Q<2>(2)"));
  EXPECT_THAT(on([](Grid& g) { dealii::GridGenerator::hyper_ball(g), g.refine_global(2); }),
              testing::HasSubstr("this is no tensor-product mesh"));
  EXPECT_THAT(on([](Grid& g) { dealii::GridGenerator::hyper_L(g), g.refine_global(2); }),
              testing::HasSubstr("this is no tensor-product mesh"));
  EXPECT_THAT(on([](Grid& g) { graded(g), dealii::GridTools::distort_random(0.1, g, true); }),
              testing::HasSubstr("this is no tensor-product mesh"));
  EXPECT_THAT(on([](Grid& g) {
                graded(g, 1);
                g.begin_active()->set_refine_flag();
                g.execute_coarsening_and_refinement();
              }),
              testing::HasSubstr("not one on every crossing"));
  EXPECT_THAT(on([](Grid& g) { dealii::GridGenerator::hyper_cube(g); }), testing::HasSubstr("no unknown inside"));
  // Lines that rounding would merge.
  EXPECT_THAT(on([](Grid& g) {
                dealii::GridGenerator::subdivided_hyper_rectangle(
                    g, std::vector<std::vector<double>>{{0.5, 0.5 - 1e-15, 1e-15}, {0.5, 0.5}}, dealii::Point<2>(0, 0),
                    dealii::Point<2>(1, 1));
              }),
              testing::HasSubstr("closer than rounding"));
}

TEST(DealiiPreconditionerErrors, UnconstrainedSidesAreRefused) {
  Grid grid;
  graded(grid);
  for (const auto& cell : grid.active_cell_iterators())
    for (const auto& face : cell->face_iterators())
      if (face->at_boundary() && face->center()[0] > -2 - 1e-9) face->set_boundary_id(1);
  Problem problem(grid);
  problem.assemble();
  EXPECT_THAT(
      refusal([&] { DealiiPreconditioner().initialize(problem.matrix, problem.dofs); }),
      testing::AllOf(testing::HasSubstr("is on a side of the domain and couples"), testing::HasSubstr("Dirichlet")));
}

TEST(DealiiPreconditionerErrors, MisuseIsRefused) {
  Grid grid;
  graded(grid);
  Problem problem(grid);
  problem.assemble();
  DealiiPreconditioner m;
  Host r(problem.rhs.size()), z(problem.rhs.size()), short_one(3);
  EXPECT_THAT(refusal([&] { m.vmult(z, r); }), testing::HasSubstr("call initialize first"));
  m.initialize(problem.matrix, problem.dofs);
  EXPECT_THAT(refusal([&] { m.vmult(short_one, r); }), testing::HasSubstr("the vectors hold 425 and 3"));
  dealii::SparsityPattern pattern(3, 3, 1);
  pattern.compress();
  const dealii::SparseMatrix<double> small(pattern);
  EXPECT_THAT(refusal([&] { DealiiPreconditioner().initialize(small, problem.dofs); }), testing::HasSubstr("is 3 x 3"));
  const dealii::DoFHandler<2> empty(grid);
  EXPECT_THAT(refusal([&] { m.initialize(problem.matrix, empty); }), testing::HasSubstr("distribute_dofs"));
  m.clear();
  EXPECT_THAT(refusal([&] { m.Tvmult(z, r); }), testing::HasSubstr("call initialize first"));
}

}  // namespace
