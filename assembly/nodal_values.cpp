// Functions and solutions at the nodes of a mesh (poisson_problem.hpp).

#include <cmath>
#include <utility>
#include <vector>

#include <stratum/assembly/host_loads.hpp>
#include <stratum/assembly/points.hpp>
#include <stratum/assembly/problem_boundary.hpp>
#include <stratum/core/field/blas.hpp>

namespace stratum {

using detail::for_each_dirichlet_value;
using detail::HostGrid;

std::vector<double> at_nodes(Context& ctx, const Geometry& mesh, const ScalarFunction& function) {
  return at_nodes(ctx, mesh, function, {0, mesh.logical().y().size()});
}

std::vector<double> at_nodes(Context& ctx, const Geometry& mesh, const ScalarFunction& function, NodeRows rows) {
  HostGrid values(mesh.logical().x().size() + 1, rows.count(), rows.first);
  for_each_row(
      ctx, values.ny,
      [&](int row, const ScalarFunction& own) {
        const int j = rows.first + row;
        for (int i = 0; i < values.nx; ++i) values(i, j) = own(mesh.node(i, j));
      },
      function);
  return std::move(values.values);
}

MappedMesh mapped(Context& ctx, const TensorMesh<2>& mesh, const ScalarFunction& x, const ScalarFunction& y) {
  return {mesh, at_nodes(ctx, mesh, x), at_nodes(ctx, mesh, y)};
}

std::vector<double> nodal_solution(Context& ctx, const Geometry& geometry, const PoissonProblem& problem,
                                   const GridFunction<const double>& u) {
  const TensorMesh<2>& mesh = geometry.logical();
  const int first_row = first_row_of(ctx, "the solution", mesh, u);
  FieldView<const double> rows = u.view;
  const bool above = u.layout.above;
  if (u.is_part()) exchange(ctx, layout_of(mesh, u), u.view);
  if (above) ++rows.ny;
  HostGrid unknowns(rows.nx, rows.ny, first_row);
  copy_to_host(ctx, rows, unknowns.values.data());
  const NodeRows nodes = node_rows(mesh, layout_of(mesh, u));
  HostGrid values(mesh.x().size() + 1, nodes.count(), nodes.first);
  for (int j = values.first; j < values.end(); ++j) {
    int row = unknown_at(mesh.y(), j);
    if (above && j == nodes.last) row = first_row + u.view.ny;  // of the subdomain above, which may be the first
    for (int i = 0; i < values.nx && row >= 0; ++i)
      if (const int column = unknown_at(mesh.x(), i); column >= 0) values(i, j) = unknowns(column, row);
  }
  if (const auto map = bodies_on(ctx, geometry, problem); map && map->has_solids()) {
    const double none = std::nan("");
    for (int j = values.first; j < values.end(); ++j)
      for (int i = 0; i < values.nx; ++i)
        if (const auto node = map->node_at(i, j); node != BodyMap::unknown)
          values(i, j) = node == BodyMap::given ? map->value_at(i, j) : none;
  }
  for_each_dirichlet_value(geometry, problem, [&](int i, int j, double value) {
    const auto put = [&](int p, int q) {
      if (values.has(q)) values(p, q) = value;
    };
    put(i, j);
    if (mesh.x().is_periodic() && i == 0) put(mesh.x().size(), j);
    if (mesh.y().is_periodic() && j == 0) put(i, mesh.y().size());
  });
  return std::move(values.values);
}

}  // namespace stratum
