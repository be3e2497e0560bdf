#include "vtk_cells.hpp"

#include <cstddef>

#include <stratum/assembly/bodies.hpp>

namespace stratum::apps::poisson {

NamedFields cell_fields(Context& ctx, const ProblemMesh& mesh, const PoissonProblem& problem, const NodeRows& rows) {
  NamedFields fields;
  fields.emplace_back("aspect_ratio", mesh.mapped() ? cell_aspect_ratios(*mesh.mapped(), rows)
                                                    : cell_aspect_ratios(mesh.logical(), rows));
  const auto row = static_cast<std::ptrdiff_t>(mesh.logical().x().size());
  const auto add = [&](const char* name, const std::vector<double>& all) {
    if (!all.empty())
      fields.emplace_back(name, std::vector(all.begin() + rows.first * row, all.begin() + rows.last * row));
  };
  if (const auto k = cell_coefficients(ctx, mesh, problem)) {
    add(k->is_scalar() ? "kappa" : "kxx", k->xx);
    add("kxy", k->xy);
    if (!k->is_scalar()) add("kyy", k->yy.empty() ? k->xx : k->yy);
    add("reaction", k->c);
  }
  if (const auto map = bodies_on(ctx, mesh, problem)) {
    std::vector<double> numbers(map->cell.size());  // from 1 on
    for (std::size_t body = 0; body < map->cells.size(); ++body)
      for (const std::size_t cell : map->cells[body]) numbers[cell] = static_cast<double>(body + 1);
    add("body", numbers);
  }
  return fields;
}

std::vector<VtkField> as_vtk(const NamedFields& fields) {
  std::vector<VtkField> of_cells;
  for (const auto& [name, values] : fields) of_cells.push_back({name, values});
  return of_cells;
}

}  // namespace stratum::apps::poisson
