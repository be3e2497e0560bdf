// A_ik between unknowns i and Dirichlet nodes k (poisson_problem.hpp), cell by cell: what a cell's matrix says of differences along
// a boundary stays one of differences. In long thin cells the two entries are so large beside what flows along the cells that
// the round-off of their products with a common value of both nodes would be more than all of it.

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include <stratum/assembly/cell_element.hpp>
#include <stratum/assembly/gauss_rules.hpp>
#include <stratum/assembly/points.hpp>
#include <stratum/assembly/problem_boundary.hpp>

namespace stratum {

namespace {

using detail::all_boundaries;
using detail::alpha_at;
using detail::BoundaryOf;
using detail::CellElement;
using detail::EntryParts;
using detail::for_each_dirichlet_node;
using detail::for_each_outer_cell;

/// f(n, other, i, j, value) for the entries between unknowns (i, j) and Dirichlet nodes, n and `other` in the order of
/// for_each_dirichlet_node. element(p, q): of that cell.
template <class Element, class F>
void for_each_dirichlet_entry(const Geometry& mesh, const PoissonProblem& problem, const Element& element, const F& f) {
  const Axis &x = mesh.logical().x(), &y = mesh.logical().y();
  std::unordered_map<std::int64_t, std::size_t> number_of;
  const auto key = [&](int i, int j) { return std::int64_t{j} * (x.size() + 1) + i; };
  for_each_dirichlet_node(mesh.logical(), problem.boundaries, [&](int i, int j, const BoundaryCondition& /*boundary*/) {
    number_of.emplace(key(i, j), number_of.size());
  });
  const auto node_of = [](const Axis& line, int k) { return line.is_periodic() ? k % line.size() : k; };
  const auto of_corner = [&](const CellElement& matrix, int p, int q, int ax, int ay) {
    const int i = node_of(x, p + ax), j = node_of(y, q + ay), column = unknown_at(x, i), row = unknown_at(y, j);
    if (column < 0 || row < 0) return;
    const auto number = [&](int bx, int by) {
      const auto found = number_of.find(key(node_of(x, p + bx), node_of(y, q + by)));
      return found == number_of.end() ? DirichletEntry::none : found->second;
    };
    const int other_x = 1 - ax, other_y = 1 - ay;
    const std::size_t beside = number(other_x, ay), above = number(ax, other_y), across = number(other_x, other_y);
    const EntryParts to_beside = matrix.entry(ax, ay, other_x, ay), to_above = matrix.entry(ax, ay, ax, other_y),
                     to_across = matrix.entry(ax, ay, other_x, other_y);
    const auto add = [&](std::size_t n, std::size_t other, double value) {
      if (n == DirichletEntry::none) std::swap(n, other), value = -value;
      if (n != DirichletEntry::none && value != 0) f(n, other, column, row, value);
    };
    add(beside, DirichletEntry::none, to_beside.along_x + to_beside.rest);
    add(above, DirichletEntry::none, to_above.along_y + to_above.rest);
    add(across, DirichletEntry::none, to_across.rest);
    add(above, across, to_above.along_x);  // which is that of `across` with the other sign
    add(beside, across, to_beside.along_y);
  };
  for_each_outer_cell(x.size(), y.size(), [&](int p, int q) {
    const CellElement matrix = element(p, q);
    for (const int ay : {0, 1})
      for (const int ax : {0, 1}) of_corner(matrix, p, q, ax, ay);
  });
}

/// The same for what alpha adds: along a Robin boundary it couples the first and the last unknown to the Dirichlet nodes at its
/// corners.
template <class F>
void for_each_dirichlet_alpha(const Geometry& mesh, const PoissonProblem& problem, const F& f) {
  for (const BoundaryOf& boundary : all_boundaries(problem.boundaries)) {
    if (!has_alpha(boundary.condition.kind)) continue;
    const auto [direction, last] = boundary.place;
    const Axis &along = mesh.along(boundary.place), &across = mesh.across(boundary.place);
    const int line = last ? across.unknowns() - 1 : 0;
    for (const bool end : {false, true}) {
      if ((end ? along.last_boundary() : along.first_boundary()) != BoundaryType::dirichlet || along.unknowns() == 0)
        continue;
      const int interval = end ? along.size() - 1 : 0;
      double coupling = 0;
      for (const auto& [t, weight] : gauss4)
        coupling += weight * mesh.measure_on_side(boundary.place, interval, t) * t * (1 - t) *
                    alpha_at(mesh, boundary, interval, t);
      const int corner = end ? along.size() : 0, other = last ? across.size() : 0;
      const bool row = direction == Direction::x;
      const int unknown = end ? along.unknowns() - 1 : 0;
      // The number of the node at (corner, other).
      std::size_t n = 0, found = 0;
      for_each_dirichlet_node(mesh.logical(), problem.boundaries,
                              [&](int i, int j, const BoundaryCondition& /*boundary*/) {
                                if (i == (row ? corner : other) && j == (row ? other : corner)) found = n;
                                ++n;
                              });
      f(found, row ? unknown : line, row ? line : unknown, coupling);
    }
  }
}

}  // namespace

std::vector<DirichletEntry> dirichlet_entries(const Geometry& mesh, const PoissonProblem& problem,
                                              const CellCoefficients* cells, double reaction) {
  std::vector<DirichletEntry> entries;
  const auto add = [&](std::size_t n, std::size_t other, int i, int j, double value) {
    entries.push_back({n, other, i, j, value});
  };
  for_each_dirichlet_entry(
      mesh, problem,
      [&](int i, int j) {
        return CellElement(
            mesh, i, j,
            cells ? CellMaterial{cells->kxx(i, j), cells->kxy(i, j), cells->kyy(i, j), cells->reaction(i, j) + reaction}
                  : CellMaterial{.c = reaction});
      },
      add);
  for_each_dirichlet_alpha(
      mesh, problem, [&](std::size_t n, int i, int j, double value) { add(n, DirichletEntry::none, i, j, value); });
  return entries;
}

std::vector<DirichletEntry> dirichlet_mass_entries(const TensorMesh<2>& mesh, const PoissonProblem& problem,
                                                   double capacity) {
  std::vector<DirichletEntry> entries;
  for_each_dirichlet_entry(
      mesh, problem, [&](int i, int j) { return CellElement(mesh, i, j, {.xx = 0, .yy = 0, .c = capacity}); },
      [&](std::size_t n, std::size_t other, int i, int j, double value) {
        entries.push_back({n, other, i, j, value});
      });
  return entries;
}

}  // namespace stratum
