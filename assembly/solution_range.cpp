#include <stratum/assembly/solution_range.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

#include <stratum/assembly/gpu_integrals.hpp>
#include <stratum/assembly/near_sides.hpp>
#include <stratum/assembly/points.hpp>
#include <stratum/core/errors.hpp>
#include <stratum/mesh/strips.hpp>

namespace stratum {

namespace {

/// Numbers of nodes, the first of equal ones.
struct RowExtremes {
  std::size_t smallest = 0, largest = 0;
  std::size_t step_from = 0, step_to = 0;
};

/// On these rows of nodes.
SolutionRange range_of(Context& ctx, const Geometry& mesh, std::span<const double> nodal, const NodeRows& of) {
  const auto nx = static_cast<std::size_t>(mesh.logical().x().size()) + 1, ny = static_cast<std::size_t>(of.count());
  const int last = mesh.logical().y().size();
  const auto step = [&](const RowExtremes& e) { return std::abs(nodal[e.step_to] - nodal[e.step_from]); };
  const auto merge = [&](RowExtremes& all, const RowExtremes& row) {
    if (nodal[row.smallest] < nodal[all.smallest]) all.smallest = row.smallest;
    if (nodal[row.largest] > nodal[all.largest]) all.largest = row.largest;
    if (step(row) > step(all)) {
      all.step_from = row.step_from;
      all.step_to = row.step_to;
    }
  };
  std::vector<RowExtremes> rows(ny);
  for_each_row(ctx, static_cast<int>(ny), [&](int row) {
    const auto j = static_cast<std::size_t>(row), first = j * nx;
    RowExtremes& own = rows[j] = {first, first, first, first};
    const bool inside = of.first + row > 0 && of.first + row < last;
    for (std::size_t k = first; k < first + nx; ++k) {
      merge(own, {k, k, k, inside && k > first ? k - 1 : k});
      if (row > 0 && k > first && k + 1 < first + nx) merge(own, {k, k, k - nx, k});
    }
  });
  RowExtremes all;
  for (const auto& row : rows) merge(all, row);

  const auto value_at = [&](std::size_t k) {
    const Point p = mesh.node(static_cast<int>(k % nx), of.first + static_cast<int>(k / nx));
    return NodalValue{nodal[k], p.x, p.y};
  };
  SolutionRange found{value_at(all.smallest),  value_at(all.largest), nodal[0], nodal[0],
                      value_at(all.step_from), value_at(all.step_to)};
  const auto visit = [&](std::size_t k) {
    found.smallest_on_boundary = std::min(found.smallest_on_boundary, nodal[k]);
    found.largest_on_boundary = std::max(found.largest_on_boundary, nodal[k]);
  };
  for (std::size_t i = 0; i < nx; ++i) {
    if (of.has(0)) visit(i);
    if (of.has(last)) visit((ny - 1) * nx + i);
  }
  for (std::size_t j = 0; j < ny; ++j) {
    visit(j * nx);
    visit(j * nx + nx - 1);
  }
  return found;
}

void join(const SolutionRange& from, SolutionRange& to) {
  const auto step = [](const SolutionRange& r) { return std::abs(r.step_to.value - r.step_from.value); };
  if (from.smallest.value < to.smallest.value) to.smallest = from.smallest;
  if (from.largest.value > to.largest.value) to.largest = from.largest;
  to.smallest_on_boundary = std::min(to.smallest_on_boundary, from.smallest_on_boundary);
  to.largest_on_boundary = std::max(to.largest_on_boundary, from.largest_on_boundary);
  if (step(from) <= step(to)) return;
  to.step_from = from.step_from;
  to.step_to = from.step_to;
}

}  // namespace

double SolutionRange::largest_step() const {
  return range() > 0 ? std::abs(step_to.value - step_from.value) / range() : 0;
}

SolutionRange solution_range(Context& ctx, const Geometry& mesh, std::span<const double> nodal) {
  expects_nodal(mesh, nodal);
  return range_of(ctx, mesh, nodal, {0, mesh.logical().y().size()});
}

SolutionRange solution_range(Context& ctx, const Geometry& mesh, const PoissonProblem& problem,
                             GridView<const double> u) {
  auto found = ctx.on_gpu() && mesh.mapped() == nullptr && ctx.pieces() == 1
                   ? range_on_gpu(ctx, mesh.logical(), u, side_values(mesh, problem))
                   : std::nullopt;
  if (!found) {
    const auto nodal = nodal_solution(ctx, mesh, problem, u);
    return of_all_pieces(ctx, range_of(ctx, mesh, nodal, node_rows(mesh.logical(), u.shape())), join);
  }
  const NearSides values(ctx, mesh.logical(), problem, u);
  found->smallest_on_boundary = found->largest_on_boundary = values(0, 0);
  const auto visit = [&](int i, int j) {
    found->smallest_on_boundary = std::min(found->smallest_on_boundary, values(i, j));
    found->largest_on_boundary = std::max(found->largest_on_boundary, values(i, j));
  };
  for (int i = 0; i <= values.last_x(); ++i) {
    visit(i, 0);
    visit(i, values.last_y());
  }
  for (int j = 0; j <= values.last_y(); ++j) {
    visit(0, j);
    visit(values.last_x(), j);
  }
  return *found;
}

double smallest_width(const Geometry& mesh) {
  if (mesh.mapped() == nullptr) return mesh.logical().smallest_width();
  double smallest = HUGE_VAL;
  for (int j = 0; j < mesh.logical().y().size(); ++j)
    for (int i = 0; i < mesh.logical().x().size(); ++i) {
      const Quadrilateral cell = mesh.mapped()->cell(i, j);
      for (const auto& [first, second] :
           {std::pair{cell.at(0, 0.5), cell.at(1, 0.5)}, {cell.at(0.5, 0), cell.at(0.5, 1)}})
        smallest = std::min(smallest, std::hypot(second.x - first.x, second.y - first.y));
    }
  return smallest;
}

}  // namespace stratum
