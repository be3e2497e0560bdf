// deal.II assembles the same matrices from its own FE_Q(1), mapping and quadrature; entries agree to rounding.

#include <deal.II/base/quadrature_lib.h>
#include <deal.II/base/utilities.h>
#include <deal.II/dofs/dof_handler.h>
#include <deal.II/fe/fe_q.h>
#include <deal.II/fe/fe_values.h>
#include <deal.II/grid/grid_generator.h>
#include <deal.II/grid/tria.h>
#include <deal.II/lac/full_matrix.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include <stratum/mesh/named_meshes.hpp>

#include "support/backends.hpp"

namespace {

using namespace stratum;

/// Index of the node at coordinate s, which is one of `nodes` to rounding.
int nearest(const std::vector<double>& nodes, double s) {
  const auto above = std::lower_bound(nodes.begin(), nodes.end(), s);
  if (above == nodes.begin()) return 0;
  if (above == nodes.end()) return static_cast<int>(nodes.size()) - 1;
  const bool lower = s - *(above - 1) < *above - s;
  return static_cast<int>(above - nodes.begin()) - (lower ? 1 : 0);
}

/// Their places among the four corners of a cell.
int step(unsigned int p, unsigned int q, bool in_y) {
  const auto place = [in_y](unsigned int corner) { return static_cast<int>(in_y ? corner / 2 : corner % 2); };
  return place(q) - place(p);
}

/// -Laplace u + c u, with n.grad u + alpha u on Neumann or Robin boundaries, on the nodes of the mesh that are unknowns.
reference::Stencil dealii_matrix(const TensorMesh<2>& mesh, const OperatorTerms& terms) {
  dealii::Triangulation<2> triangulation;
  const std::vector<std::vector<double>> widths{mesh.x().widths(), mesh.y().widths()};
  dealii::GridGenerator::subdivided_hyper_rectangle(triangulation, widths, dealii::Point<2>(0, 0),
                                                    dealii::Point<2>(mesh.x().length(), mesh.y().length()));
  const dealii::FE_Q<2> element(1);
  dealii::DoFHandler<2> dofs(triangulation);
  dofs.distribute_dofs(element);
  const dealii::QGauss<2> quadrature(3);  // two points a direction are exact; a third must change nothing
  dealii::FEValues<2> values(element, quadrature,
                             dealii::update_values | dealii::update_gradients | dealii::update_JxW_values);
  const dealii::QGauss<1> on_boundary(4);  // the rule for an alpha that varies
  dealii::FEFaceValues<2> face_values(
      element, on_boundary, dealii::update_values | dealii::update_quadrature_points | dealii::update_JxW_values);
  const RobinCoefficient* const alphas[] = {&terms.left, &terms.right, &terms.bottom,
                                            &terms.top};  // by deal.II's faces

  reference::Stencil a(mesh.unknowns().nx, mesh.unknowns().ny);
  for (const auto& cell : dofs.active_cell_iterators()) {
    values.reinit(cell);
    dealii::FullMatrix<double> local(4, 4);
    for (const unsigned int p : values.dof_indices())
      for (const unsigned int q : values.dof_indices())
        for (const unsigned int point : values.quadrature_point_indices())
          local(p, q) += (values.shape_grad(p, point) * values.shape_grad(q, point) +
                          terms.reaction * values.shape_value(p, point) * values.shape_value(q, point)) *
                         values.JxW(point);
    for (const unsigned int f : cell->face_indices()) {
      const RobinCoefficient& alpha = *alphas[f];
      if (!cell->face(f)->at_boundary() || alpha.is_zero()) continue;
      face_values.reinit(cell, f);
      for (const unsigned int point : face_values.quadrature_point_indices()) {
        const double along = face_values.quadrature_point(point)[f < 2 ? 1 : 0];
        const double weight = (alpha.varying ? alpha.varying(along) : alpha.constant) * face_values.JxW(point);
        for (const unsigned int p : face_values.dof_indices())
          for (const unsigned int q : face_values.dof_indices())
            local(p, q) += weight * face_values.shape_value(p, point) * face_values.shape_value(q, point);
      }
    }
    for (const unsigned int p : values.dof_indices()) {
      const int i = nearest(mesh.x().from_begin(), cell->vertex(p)[0]) - mesh.x().first_unknown();
      const int j = nearest(mesh.y().from_begin(), cell->vertex(p)[1]) - mesh.y().first_unknown();
      for (const unsigned int q : values.dof_indices()) {
        const int dx = step(p, q, false), dy = step(p, q, true);
        if (a.inside(i, j) && a.inside(i + dx, j + dy)) a.at(dx, dy, i, j) += local(p, q);
      }
    }
  }
  return a;
}

class DealII : public test::OnEveryBackend {};
INSTANTIATE_ON_EVERY_BACKEND(DealII);

TEST_P(DealII, AssemblesTheSameMatrices) {
  for (const char* name : {"U1", "U2", "U3", "A1", "A2"})
    for (int level = 1; level <= 6; ++level) {
      const auto mesh = make_mesh(mesh_family(name), level);
      const auto expected = dealii_matrix(mesh, {});
      for (const auto format : test::every_storage_format) {
        const auto found = test::entries(ctx(), assemble_laplace<double>(ctx(), mesh, format));
        EXPECT_LT(test::largest_difference(found, expected), 1e-13)
            << name << " level " << level << ", " << to_string(format);
      }
    }
}

/// What a side may be: Dirichlet, Neumann, Robin with one alpha, Robin with an alpha that varies along it.
constexpr int boundary_condition_types = 4;

BoundaryType end_of(int kind) { return kind == 0 ? BoundaryType::dirichlet : BoundaryType::neumann; }

RobinCoefficient alpha_of(int kind, double size) {
  if (kind == 2) return {size, {}};
  if (kind == 3) return {0, [size](double s) { return size * (1 + s * s + std::sin(5 * s)); }};
  return {};
}

/// Every combination of four boundaries, on meshes whose widths differ by a factor of 1000.
TEST_P(DealII, AssemblesTheSameMatricesWithSidesOfEveryKind) {
  test::Random random(1101);
  const TensorMesh<2> meshes[] = {{Axis(random.widths(9, 3)), Axis(random.widths(6, 3)), "random"},
                                  {Axis(random.widths(2, 3)), Axis(random.widths(5, 3)), "small"},
                                  make_mesh(mesh_family("A1"), 3)};
  for (const auto& mesh : meshes)
    for (int code = 0; code < boundary_condition_types * boundary_condition_types * boundary_condition_types *
                                  boundary_condition_types;
         ++code) {
      const int left = code % 4, right = code / 4 % 4, bottom = code / 16 % 4, top = code / 64;
      const TensorMesh<2> boundaries(mesh.x().with_boundaries(end_of(left), end_of(right)),
                                     mesh.y().with_boundaries(end_of(bottom), end_of(top)), mesh.name());
      OperatorTerms terms{code % 3 == 0 ? 0 : random.uniform(0, 100), alpha_of(left, 0.3), alpha_of(right, 20),
                          alpha_of(bottom, 1000), alpha_of(top, 2)};
      const auto expected = dealii_matrix(boundaries, terms);
      for (const auto format : test::every_storage_format) {
        if (!traits(format).has_bands && terms.varies()) continue;
        const auto found = test::entries(ctx(), assemble_operator<double>(ctx(), boundaries, format, terms));
        ASSERT_LT(test::largest_difference(found, expected), 1e-12)
            << mesh.name() << ", boundaries " << left << right << bottom << top << ", c " << terms.reaction << ", "
            << to_string(format);
      }
    }
}

}  // namespace
