#include "output.hpp"

#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include <stratum/assembly/picture.hpp>
#include <stratum/magnetics/magnetic_field.hpp>
#include <stratum/mesh/vtk/vtu.hpp>

namespace stratum::apps::magnetics {

void write_fields(const std::string& path, const Problem& problem, const SolvedField& solution,
                  const Settings& settings) {
  const auto& elements = problem.elements;
  const BoxGrid& grid = elements.grid();
  VtkCells cells;
  cells.corners_per_cell = static_cast<int>(elements.reference().front().corners.size());
  for (int node = 0; node < grid.nodes(); ++node) {
    const int nx = grid.cells(0) + 1, ny = grid.cells(1) + 1;
    cells.points.push_back({grid.plane(0, node % nx), grid.plane(1, node / nx % ny), grid.plane(2, node / nx / ny)});
  }
  std::vector<double> b, h, size, j, material;
  for (int e = 0; e < elements.elements(); ++e) {
    const auto& reference = elements.reference(e);
    const Index3 box = grid.place(elements.box_of(e));
    Point3 middle{};
    for (const int c : reference.corners) {
      const Index3 corner{c & 1, c >> 1 & 1, c >> 2};
      cells.corners.push_back(grid.node_number({box[0] + corner[0], box[1] + corner[1], box[2] + corner[2]}));
      for (std::size_t d = 0; d < 3; ++d) middle[d] += static_cast<double>(corner[d]) / cells.corners_per_cell;
    }
    const Point3 field = flux_density(elements, solution.a, e, middle);
    const Point3 current = team20::current_density(settings.ampere_turns, grid.point(box, middle));
    const auto kind = problem.materials[static_cast<std::size_t>(elements.box_of(e))];
    for (std::size_t d = 0; d < 3; ++d) {
      b.push_back(field[d]);
      h.push_back(field[d] * solution.nu[static_cast<std::size_t>(e)] / vacuum_permeability);
      j.push_back(current[d]);
    }
    size.push_back(std::hypot(field[0], field[1], field[2]));
    material.push_back(kind == team20::Material::yoke             ? 1
                       : kind == team20::Material::pole           ? 2
                       : team20::in_coil(grid.point(box, middle)) ? 3
                                                                  : 0);
  }
  write_vtu(path, cells, {{"|B|", size}, {"material", material}, {"B", b}, {"H", h}, {"J", j}});
}

void draw(const std::string& path, const Problem& problem, const SolvedField& field) {
  const BoxGrid& grid = problem.elements.grid();
  constexpr Point3 end{63.5e-3, 0, 150e-3};
  const auto planes = [&](int d) {
    std::vector<double> p;
    for (const double at : grid.planes(d))
      if (at > -1e-9 && at < end[static_cast<std::size_t>(d)] + 1e-9) p.push_back(at);
    return p;
  };
  const auto line = [](const std::vector<double>& p) {
    std::vector<double> widths;
    for (std::size_t i = 0; i + 1 < p.size(); ++i) widths.push_back(p[i + 1] - p[i]);
    return Axis(std::move(widths));
  };
  const auto x = planes(0), z = planes(2);
  std::vector<double> size;
  for (const double height : z)
    for (const double along : x) {
      const Point3 b = flux_density_at(problem.elements, field.a, {along, 0, height});
      size.push_back(std::hypot(b[0], b[1], b[2]));
    }
  write_png(path, TensorMesh<2>(line(x), line(z)), size, "|B| in tesla, y = 0");
}

}  // namespace stratum::apps::magnetics
