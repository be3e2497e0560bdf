// stratum/dealii_box.hpp: a tutorial's program in three dimensions, subdivided by step sizes, and what is refused.

// Before deal.II, whose macro Assert it could not bear.
#include <gmock/gmock.h>

#include <deal.II/base/quadrature_lib.h>
#include <deal.II/dofs/dof_renumbering.h>
#include <deal.II/dofs/dof_tools.h>
#include <deal.II/fe/fe_values.h>
#include <deal.II/fe/mapping_q1.h>
#include <deal.II/grid/grid_generator.h>
#include <deal.II/grid/tria.h>
#include <deal.II/lac/affine_constraints.h>
#include <deal.II/lac/dynamic_sparsity_pattern.h>
#include <deal.II/lac/solver_cg.h>
#include <deal.II/lac/solver_gmres.h>
#include <deal.II/lac/sparse_direct.h>
#include <deal.II/lac/sparse_matrix.h>
#include <deal.II/lac/vector.h>
#include <deal.II/numerics/vector_tools.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include <stratum/dealii_box.hpp>

#include "support/backends.hpp"

namespace {

using stratum::DealiiBoxPreconditioner;
using Host = dealii::Vector<double>;
using Point = dealii::Point<3>;
using Steps = std::vector<std::vector<double>>;

/// -div(a grad u) + w grad u = 1 on FE_Q(1); u = 0 on boundaries 0 .. `held` - 1 of left, right, bottom, top, front, back.
struct Problem {
  dealii::FE_Q<3> fe;
  dealii::DoFHandler<3> dofs;
  dealii::AffineConstraints<double> constraints;
  dealii::SparsityPattern pattern;
  dealii::SparseMatrix<double> matrix;
  Host rhs;

  explicit Problem(
      dealii::Triangulation<3>& grid, unsigned int held = 6,
      const std::function<double(const Point&)>& a = [](const Point&) { return 1.0; }, double wind = 0,
      unsigned int degree = 1)
      : fe(degree), dofs(grid) {
    dofs.distribute_dofs(fe);
    dealii::DoFRenumbering::random(dofs);
    dealii::DoFTools::make_hanging_node_constraints(dofs, constraints);
    for (unsigned int side = 0; side < held; ++side)
      dealii::VectorTools::interpolate_boundary_values(dofs, side, dealii::Functions::ZeroFunction<3>(), constraints);
    constraints.close();
    dealii::DynamicSparsityPattern entries(dofs.n_dofs());
    dealii::DoFTools::make_sparsity_pattern(dofs, entries, constraints);
    pattern.copy_from(entries);
    matrix.reinit(pattern);
    rhs.reinit(dofs.n_dofs());
    const dealii::QGauss<3> quadrature(degree + 1);
    const dealii::MappingQ1<3> mapping;
    dealii::FEValues<3> values(mapping, fe, quadrature,
                               dealii::update_values | dealii::update_gradients | dealii::update_JxW_values |
                                   dealii::update_quadrature_points);
    const unsigned int n = fe.n_dofs_per_cell();
    dealii::FullMatrix<double> local(n, n);
    Host load(n);
    std::vector<dealii::types::global_dof_index> indices(n);
    for (const auto& cell : dofs.active_cell_iterators()) {
      values.reinit(cell);
      local = 0;
      load = 0;
      for (const unsigned int q : values.quadrature_point_indices()) {
        const double k = a(values.quadrature_point(q)), y = values.quadrature_point(q)[1];
        for (unsigned int i = 0; i < n; ++i) {
          for (unsigned int j = 0; j < n; ++j)
            local(i, j) += (k * values.shape_grad(i, q) * values.shape_grad(j, q) +
                            wind * (2 * y - 1) * values.shape_value(i, q) * values.shape_grad(j, q)[0]) *
                           values.JxW(q);
          load(i) += values.shape_value(i, q) * values.JxW(q);
        }
      }
      cell->get_dof_indices(indices);
      constraints.distribute_local_to_global(local, load, indices, matrix, rhs);
    }
  }
};

void box(dealii::Triangulation<3>& grid, const Steps& steps) {
  Point end;
  for (unsigned int d = 0; d < 3; ++d)
    for (const double h : steps[d]) end[d] += h;
  dealii::GridGenerator::subdivided_hyper_rectangle(grid, steps, Point(), end, true);
}
std::vector<double> equal(int n) { return std::vector<double>(static_cast<std::size_t>(n), 1.0 / n); }
std::vector<double> graded(int n, double least) {
  std::vector<double> h;
  for (int k = 0; k < n; ++k) h.push_back(std::pow(least, 1.0 - k / (n - 1.0)) / n);
  return h;
}

void expect_solved(const Problem& p, int most, bool symmetric = true,
                   const DealiiBoxPreconditioner::AdditionalData& data = {}) {
  DealiiBoxPreconditioner preconditioner;
  preconditioner.initialize(p.matrix, p.dofs, data);
  Host x(p.rhs.size()), exact(p.rhs);
  dealii::SolverControl control(100, 1e-9 * p.rhs.l2_norm());
  if (symmetric)
    dealii::SolverCG<Host>(control).solve(p.matrix, x, p.rhs, preconditioner);
  else
    dealii::SolverGMRES<Host>(control, dealii::SolverGMRES<Host>::AdditionalData(50, true))
        .solve(p.matrix, x, p.rhs, preconditioner);
  EXPECT_LE(control.last_step(), static_cast<unsigned int>(most));
  dealii::SparseDirectUMFPACK direct;
  direct.initialize(p.matrix);
  direct.solve(exact);
  x -= exact;
  EXPECT_LE(x.linfty_norm(), 1e-6 * exact.linfty_norm());
}

TEST(DealiiBoxPreconditioner, SolvesOnStretchedBoxes) {
  const Steps cubes{equal(16), equal(14), equal(15)}, thin{equal(16), graded(12, 1e-4), graded(12, 1e-6)};
  for (const Steps& steps : {cubes, thin}) {
    dealii::Triangulation<3> grid;
    box(grid, steps);
    expect_solved(Problem(grid), 13);
    expect_solved(Problem(grid, 1), 24);
    expect_solved(Problem(grid, 6, [](const Point& p) { return p[0] < 0.5 ? 1.0 : 1e4; }), 24);
  }
  dealii::Triangulation<3> grid;
  dealii::GridGenerator::hyper_cube(grid, 0, 1, true);
  grid.refine_global(4);
  for (const auto backend : test::available_backends()) {
    DealiiBoxPreconditioner::AdditionalData data;
    data.backend = backend;
    data.single_precision = true;
    expect_solved(Problem(grid), 13, true, data);
  }
  expect_solved(Problem(
                    grid, 6, [](const Point&) { return 1.0; }, 20),
                25, false);
}

TEST(DealiiBoxPreconditioner, RefusesWhatItIsNotFor) {
  const auto refusal = [](const Problem& p) {
    DealiiBoxPreconditioner preconditioner;
    try {
      preconditioner.initialize(p.matrix, p.dofs);
      return std::string();
    } catch (const stratum::UsageError& error) {
      return std::string(error.what());
    }
  };
  using testing::HasSubstr;
  dealii::Triangulation<3> grid;
  dealii::GridGenerator::hyper_cube(grid, 0, 1, true);
  grid.refine_global(2);
  EXPECT_EQ(refusal(Problem(grid)), "");
  EXPECT_THAT(refusal(Problem(
                  grid, 6, [](const Point&) { return 1.0; }, 0, 2)),
              HasSubstr("FE_Q<3>(1) is taken"));
  grid.begin_active()->set_refine_flag();
  grid.execute_coarsening_and_refinement();
  EXPECT_THAT(refusal(Problem(grid)), HasSubstr("no tensor-product mesh"));
  const DealiiBoxPreconditioner empty;
  Host v(3);
  EXPECT_THROW(empty.vmult(v, v), stratum::UsageError);
}

}  // namespace
