// deal.II assembles the same matrices on deformed cells from its own mapping, elements and 2 x 2 Gauss points; entries agree to
// rounding.

#include <deal.II/base/quadrature_lib.h>
#include <deal.II/dofs/dof_handler.h>
#include <deal.II/fe/fe_q.h>
#include <deal.II/fe/fe_values.h>
#include <deal.II/grid/tria.h>
#include <deal.II/lac/full_matrix.h>

#include <array>
#include <cmath>
#include <vector>

#include <stratum/assembly/mapped_operators.hpp>
#include <stratum/assembly/poisson_problem.hpp>
#include <stratum/mesh/graded.hpp>

#include "support/backends.hpp"

namespace {

using namespace stratum;

/// -div(K grad u) + c u, with n.K grad u + alpha u on Robin boundaries, on the nodes of the mesh that are unknowns.
reference::Stencil dealii_matrix(const MappedMesh& mesh, const CellCoefficients& k, const PoissonProblem& problem) {
  const int nx = mesh.logical().x().size(), ny = mesh.logical().y().size();
  const auto number = [nx](int i, int j) { return static_cast<unsigned int>(j * (nx + 1) + i); };
  std::vector<dealii::Point<2>> vertices;
  for (std::size_t n = 0; n < mesh.x().size(); ++n) vertices.emplace_back(mesh.x()[n], mesh.y()[n]);
  std::vector<dealii::CellData<2>> cells;
  for (int j = 0; j < ny; ++j)
    for (int i = 0; i < nx; ++i) {
      auto& cell = cells.emplace_back();
      cell.vertices = {number(i, j), number(i + 1, j), number(i, j + 1), number(i + 1, j + 1)};
    }
  dealii::Triangulation<2> triangulation;
  triangulation.create_triangulation(vertices, cells, dealii::SubCellData());
  const dealii::FE_Q<2> element(1);
  dealii::DoFHandler<2> dofs(triangulation);
  dofs.distribute_dofs(element);
  dealii::FEValues<2> values(element, dealii::QGauss<2>(2),
                             dealii::update_values | dealii::update_gradients | dealii::update_JxW_values);
  dealii::FEFaceValues<2> face_values(element, dealii::QGauss<1>(4),
                                      dealii::update_values | dealii::update_quadrature_points |
                                          dealii::update_JxW_values);
  const BoundaryConditions& s = problem.boundaries;
  const std::array<const BoundaryCondition*, 4> boundaries{&s.left, &s.right, &s.bottom, &s.top};  // by deal.II's faces

  const TensorMesh<2>& logical = mesh.logical();
  reference::Stencil a(logical.unknowns().nx, logical.unknowns().ny);
  for (const auto& cell : dofs.active_cell_iterators()) {
    const int column = cell->index() % nx, row = cell->index() / nx;
    values.reinit(cell);
    const dealii::Tensor<2, 2> tensor(
        {{k.kxx(column, row), k.kxy(column, row)}, {k.kxy(column, row), k.kyy(column, row)}});
    dealii::FullMatrix<double> local(4, 4);
    for (const unsigned int p : values.dof_indices())
      for (const unsigned int q : values.dof_indices())
        for (const unsigned int point : values.quadrature_point_indices())
          local(p, q) += (values.shape_grad(p, point) * (tensor * values.shape_grad(q, point)) +
                          (k.reaction(column, row) + problem.reaction) * values.shape_value(p, point) *
                              values.shape_value(q, point)) *
                         values.JxW(point);
    for (const unsigned int f : cell->face_indices()) {
      if (!cell->face(f)->at_boundary() || boundaries[f]->kind != BoundaryConditionType::robin) continue;
      face_values.reinit(cell, f);
      for (const unsigned int point : face_values.quadrature_point_indices()) {
        const auto& at = face_values.quadrature_point(point);
        const double weight = boundaries[f]->alpha({.x = at[0], .y = at[1]}) * face_values.JxW(point);
        for (const unsigned int p : face_values.dof_indices())
          for (const unsigned int q : face_values.dof_indices())
            local(p, q) += weight * face_values.shape_value(p, point) * face_values.shape_value(q, point);
      }
    }
    for (const unsigned int p : values.dof_indices()) {
      const auto place = [](unsigned int corner) {
        return std::pair(static_cast<int>(corner % 2), static_cast<int>(corner / 2));
      };
      const auto [px, py] = place(p);
      EXPECT_EQ(cell->vertex_index(p), number(column + px, row + py));
      const int i = column + px - logical.x().first_unknown(), j = row + py - logical.y().first_unknown();
      for (const unsigned int q : values.dof_indices()) {
        const auto [qx, qy] = place(q);
        if (a.inside(i, j) && a.inside(i + qx - px, j + qy - py)) a.at(qx - px, qy - py, i, j) += local(p, q);
      }
    }
  }
  return a;
}

class DealIIOnDeformedCells : public test::OnEveryBackend {};
INSTANTIATE_ON_EVERY_BACKEND(DealIIOnDeformedCells);

TEST_P(DealIIOnDeformedCells, AssemblesTheSameMatrices) {
  test::Random random(2102);
  const auto random_coefficients = [&](const TensorMesh<2>& mesh, int kind) {
    CellCoefficients k = on_cells(ctx(), mesh, {}, {});
    const auto numbers = [&](double least, double most) {
      std::vector<double> all(k.xx.size());
      for (double& value : all) value = random.uniform(least, most);
      return all;
    };
    if (kind > 0) k.xx = numbers(1, 100);
    if (kind > 1) k.yy = numbers(1, 100);
    if (kind > 2) k.xy = numbers(-0.9, 0.9);
    if (kind > 2) k.c = numbers(0, 10);
    return k;
  };
  for (const int kind : {0, 1, 2, 3})
    for (int code = 0; code < 81; ++code) {
      PoissonProblem problem;
      int rest = code;
      for (BoundaryCondition* side :
           {&problem.boundaries.left, &problem.boundaries.right, &problem.boundaries.bottom, &problem.boundaries.top}) {
        side->kind = rest % 3 == 0   ? BoundaryConditionType::dirichlet
                     : rest % 3 == 1 ? BoundaryConditionType::neumann
                                     : BoundaryConditionType::robin;
        if (rest % 3 == 2)
          side->alpha = [code](const Point& p) { return 1 + (code % 2) * (p.x * p.x + std::sin(5 * p.y)); };
        rest /= 3;
      }
      problem.reaction = code % 4;
      const TensorMesh<2> plain{uniform(1, 2 + code % 7), uniform(1, 2 + code % 5)};
      // Part of a ring, its nodes moved by up to 0.15 of a cell.
      std::vector<double> x, y;
      for (int j = 0; j <= plain.y().size(); ++j)
        for (int i = 0; i <= plain.x().size(); ++i) {
          const double t = (i + random.uniform(-0.15, 0.15)) / plain.x().size(),
                       s = (j + random.uniform(-0.15, 0.15)) / plain.y().size();
          x.push_back((5 + s) * std::sin(t / 4));
          y.push_back((5 + s) * std::cos(t / 4));
        }
      const MappedMesh mesh(with_boundaries(plain, problem.boundaries), x, y);
      const CellCoefficients k = random_coefficients(plain, kind);
      const auto terms = operator_terms(mesh, problem);
      const auto found =
          test::entries(ctx(), assemble_diffusion(ctx(), mesh, MappedCells(ctx(), mesh, &k, terms.reaction), terms));
      ASSERT_LT(test::largest_difference(found, dealii_matrix(mesh, k, problem)), 1e-12)
          << "kind " << kind << ", boundaries " << code;
    }
}

}  // namespace
