// deal.II's FE_Nedelec<3>(0) gives the same curl-curl matrix and, of the same potential, the same right-hand side.

#include <deal.II/base/quadrature_lib.h>
#include <deal.II/dofs/dof_handler.h>
#include <deal.II/fe/fe_nedelec.h>
#include <deal.II/fe/fe_values.h>
#include <deal.II/grid/grid_generator.h>
#include <deal.II/grid/tria.h>
#include <deal.II/lac/full_matrix.h>

#include <array>
#include <cmath>
#include <map>
#include <vector>

#include <gtest/gtest.h>

#include <stratum/magnetics/edge_elements.hpp>

#include "support/random.hpp"

namespace {

using namespace stratum;

int nearest(const std::vector<double>& planes, double s) {
  std::size_t best = 0;
  for (std::size_t i = 0; i < planes.size(); ++i)
    if (std::abs(planes[i] - s) < std::abs(planes[best] - s)) best = i;
  return static_cast<int>(best);
}

TEST(DealIIEdgeElements, AssemblesTheSameMatrixAndLoad) {
  test::Random random(99);
  Context ctx(Backend::cpu, 2);
  for (int repeat = 0; repeat < 3; ++repeat) {
    std::array<std::vector<double>, 3> planes;
    std::vector<std::vector<double>> widths(3);
    dealii::Point<3> begin, end;
    for (unsigned int d = 0; d < 3; ++d) {
      planes[d] = {random.uniform(-1, 1)};
      for (unsigned int i = 0; i < 3 + d + static_cast<unsigned int>(repeat); ++i) {
        widths[d].push_back(random.uniform(0.01, 1));
        planes[d].push_back(planes[d].back() + widths[d].back());
      }
      begin[d] = planes[d].front();
      end[d] = planes[d].back();
    }
    const EdgeElements elements(BoxGrid(planes), EdgeElement::hexahedron);
    const BoxGrid& grid = elements.grid();
    std::vector<double> nu;
    for (int i = 0; i < elements.elements(); ++i) nu.push_back(random.uniform(0.001, 1));
    const VectorField t = [](const Point3& p) -> Point3 {
      return {p[1] * p[2] + p[0], p[0] * p[0] - p[2], 3 * p[0] - p[1] + p[2]};
    };

    dealii::Triangulation<3> triangulation;
    dealii::GridGenerator::subdivided_hyper_rectangle(triangulation, widths, begin, end);
    const dealii::FE_Nedelec<3> element(0);
    dealii::DoFHandler<3> dofs(triangulation);
    dofs.distribute_dofs(element);
    const dealii::QGauss<3> quadrature(3);
    dealii::FEValues<3> values(element, quadrature,
                               dealii::update_values | dealii::update_gradients | dealii::update_quadrature_points |
                                   dealii::update_JxW_values);
    const dealii::FEValuesExtractors::Vector all(0);
    std::vector<dealii::types::global_dof_index> local_dofs(element.n_dofs_per_cell());
    std::map<std::pair<int, int>, double> matrix;
    std::vector<double> load(static_cast<std::size_t>(elements.unknowns()));
    for (const auto& cell : dofs.active_cell_iterators()) {
      values.reinit(cell);
      const dealii::Point<3> centre = cell->center();
      Index3 box{};
      for (unsigned int d = 0; d < 3; ++d)
        while (grid.plane(static_cast<int>(d), box[d] + 1) < centre[d]) ++box[d];
      const double nu_here = nu[static_cast<std::size_t>(grid.number(box))];
      // Which of our edges each of its lines is, and whether it points the other way.
      std::vector<int> unknown(12);
      std::vector<double> sign(12);
      for (unsigned int line = 0; line < 12; ++line) {
        std::array<Index3, 2> node{};
        for (unsigned int v = 0; v < 2; ++v)
          for (unsigned int d = 0; d < 3; ++d) node[v][d] = nearest(planes[d], cell->line(line)->vertex(v)[d]);
        int along = 0;
        for (std::size_t d = 0; d < 3; ++d) along |= node[0][d] != node[1][d] ? 1 << d : 0;
        const bool reversed = node[1] < node[0];
        unknown[line] = elements.unknown(along, reversed ? node[1] : node[0]);
        sign[line] = reversed ? -1 : 1;
      }
      for (unsigned int i = 0; i < 12; ++i) {
        if (unknown[i] < 0) continue;
        for (unsigned int q = 0; q < quadrature.size(); ++q) {
          const auto& p = values.quadrature_point(q);
          const Point3 source = t({p[0], p[1], p[2]});
          const auto curl = values[all].curl(i, q);
          load[static_cast<std::size_t>(unknown[i])] +=
              sign[i] * (source[0] * curl[0] + source[1] * curl[1] + source[2] * curl[2]) * values.JxW(q);
          for (unsigned int j = 0; j < 12; ++j)
            if (unknown[j] >= 0)
              matrix[{unknown[i], unknown[j]}] +=
                  sign[i] * sign[j] * nu_here * (curl * values[all].curl(j, q)) * values.JxW(q);
        }
      }
    }
    const auto a = elements.curl_curl(ctx, nu);
    double largest = 0;
    for (const auto& [place, value] : matrix) largest = std::max(largest, std::abs(value));
    for (const auto& [place, value] : matrix)
      ASSERT_NEAR(a.at(place.first, place.second), value, 1e-13 * largest) << place.first << ", " << place.second;
    EXPECT_EQ(a.entries(), static_cast<std::int64_t>(matrix.size()));
    // Two Gauss points integrate this potential's products exactly, too.
    const auto b = elements.load(ctx, t, 1);
    for (std::size_t i = 0; i < b.size(); ++i) ASSERT_NEAR(b[i], load[i], 1e-12) << i;
  }
}

}  // namespace
