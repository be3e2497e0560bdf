// deal.II assembles the same matrices from its own FE_Q(1), mapping and quadrature; entries agree to rounding.

#include <deal.II/base/quadrature_lib.h>
#include <deal.II/base/utilities.h>
#include <deal.II/dofs/dof_handler.h>
#include <deal.II/fe/fe_q.h>
#include <deal.II/fe/fe_values.h>
#include <deal.II/grid/grid_generator.h>
#include <deal.II/grid/tria.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include <stratum/mesh/named_meshes.hpp>

#include "support/backends.hpp"

namespace {

using namespace stratum;
using test::Values;

/// Index of the node at coordinate s, which is one of `nodes` to rounding.
int nearest(const std::vector<double>& nodes, double s) {
  const auto above = std::lower_bound(nodes.begin(), nodes.end(), s);
  if (above == nodes.begin()) return 0;
  if (above == nodes.end()) return static_cast<int>(nodes.size()) - 1;
  const bool lower = s - *(above - 1) < *above - s;
  return static_cast<int>(above - nodes.begin()) - (lower ? 1 : 0);
}

/// The matrix of deal.II on the interior nodes of the mesh, as a stencil.
reference::Stencil dealii_laplace(const TensorMesh& mesh) {
  dealii::Triangulation<2> triangulation;
  const std::vector<std::vector<double>> widths{mesh.x().widths(), mesh.y().widths()};
  dealii::GridGenerator::subdivided_hyper_rectangle(triangulation, widths, dealii::Point<2>(0, 0),
                                                    dealii::Point<2>(mesh.x().length(), mesh.y().length()));
  const dealii::FE_Q<2> element(1);
  dealii::DoFHandler<2> dofs(triangulation);
  dofs.distribute_dofs(element);
  const dealii::QGauss<2> quadrature(3);  // two points a direction are exact; a third must change nothing
  dealii::FEValues<2> values(element, quadrature, dealii::update_gradients | dealii::update_JxW_values);

  reference::Stencil a(mesh.unknowns().nx, mesh.unknowns().ny);
  for (const auto& cell : dofs.active_cell_iterators()) {
    values.reinit(cell);
    for (const unsigned int p : values.dof_indices()) {
      const int i = nearest(mesh.x().from_begin(), cell->vertex(p)[0]) - 1;
      const int j = nearest(mesh.y().from_begin(), cell->vertex(p)[1]) - 1;
      if (!a.inside(i, j)) continue;
      for (const unsigned int q : values.dof_indices()) {
        const int dx = static_cast<int>(q % 2) - static_cast<int>(p % 2),
                  dy = static_cast<int>(q / 2) - static_cast<int>(p / 2);
        if (!a.inside(i + dx, j + dy)) continue;
        double entry = 0;
        for (const unsigned int point : values.quadrature_point_indices())
          entry += values.shape_grad(p, point) * values.shape_grad(q, point) * values.JxW(point);
        a.at(dx, dy, i, j) += entry;
      }
    }
  }
  return a;
}

/// Entry by entry: applies A to ones at every third node, so that no two entries of a row meet.
reference::Stencil entries(Context& ctx, const GridOperator<double>& a) {
  const auto shape = a.shape();
  reference::Stencil found(shape.nx, shape.ny);
  for (int sy = 0; sy < 3; ++sy)
    for (int sx = 0; sx < 3; ++sx) {
      Values probe(found.size(), 0.0);
      for (int j = sy; j < shape.ny; j += 3)
        for (int i = sx; i < shape.nx; i += 3) probe[found.index(i, j)] = 1;
      const auto x = test::to_device<double>(ctx, shape, probe);
      Vector<double> y(ctx, shape);
      a.apply(ctx, x.cview(), y.view());
      const Values image = test::to_host(ctx, y);
      for (int j = 0; j < shape.ny; ++j)
        for (int i = 0; i < shape.nx; ++i)
          for (int dy = -1; dy <= 1; ++dy)
            for (int dx = -1; dx <= 1; ++dx)
              if (found.inside(i + dx, j + dy) && (i + dx) % 3 == sx && (j + dy) % 3 == sy)
                found.at(dx, dy, i, j) = image[found.index(i, j)];
    }
  return found;
}

class DealII : public test::OnEveryBackend {};
INSTANTIATE_ON_EVERY_BACKEND(DealII);

TEST_P(DealII, AssemblesTheSameMatrices) {
  for (const char* name : {"U1", "U2", "U3", "A1", "A2"})
    for (int level = 1; level <= 6; ++level) {
      const auto mesh = make_mesh(mesh_family(name), level);
      const auto expected = dealii_laplace(mesh);
      for (const auto form : test::every_form) {
        const auto found = entries(ctx(), assemble_laplace<double>(ctx(), mesh, form));
        double largest = 0;
        for (std::size_t k = 0; k < found.size(); ++k) {
          ASSERT_GT(expected.band[4][k], 0);
          for (std::size_t band = 0; band < 9; ++band)
            largest = std::max(largest, std::abs(found.band[band][k] - expected.band[band][k]) / expected.band[4][k]);
        }
        EXPECT_LT(largest, 1e-13) << name << " level " << level << ", " << to_string(form);
      }
    }
}

}  // namespace
