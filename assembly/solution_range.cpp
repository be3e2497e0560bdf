#include <stratum/assembly/solution_range.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

#include <stratum/assembly/expressions/gpu_integrals.hpp>
#include <stratum/assembly/near_boundary.hpp>
#include <stratum/assembly/points.hpp>
#include <stratum/core/errors.hpp>

namespace stratum {

namespace {

/// Numbers of nodes, the first of equal ones.
struct RowExtremes {
  std::size_t smallest = 0, largest = 0;
  std::size_t step_from = 0, step_to = 0;
};

}  // namespace

double SolutionRange::largest_step() const {
  return range() > 0 ? std::abs(step_to.value - step_from.value) / range() : 0;
}

namespace {

/// In rows of nodes; a step into the first of these from below belongs to others.
SolutionRange range_in(Context& ctx, const Geometry& mesh, NodeRows nodes, std::span<const double> given,
                       const BodyMap* bodies = nullptr) {
  const auto nx = static_cast<std::size_t>(mesh.logical().x().size()) + 1;
  const int last_row = mesh.logical().y().size();
  // Nodes of solids have no value: that of another node in their place leaves extremes and steps as they are.
  std::vector<double> filled;
  if (bodies != nullptr && bodies->has_solids()) {
    filled.assign(given.begin(), given.end());
    const auto numbers = std::find_if(filled.begin(), filled.end(), [](double value) { return !std::isnan(value); });
    const double some = numbers != filled.end() ? *numbers : 0;
    std::replace_if(
        filled.begin(), filled.end(), [](double value) { return std::isnan(value); }, some);
  }
  const std::span<const double> nodal = filled.empty() ? given : std::span<const double>(filled);
  // An edge through cells without an equation is no step.
  const auto is_edge = [&](std::size_t from, std::size_t to, int row) {
    if (bodies == nullptr || !bodies->has_solids()) return true;
    const int i = static_cast<int>(from % nx), j = nodes.first + row;
    const auto live = [&](int p, int q) {
      return p >= 0 && q >= 0 && p < bodies->nx && q < bodies->ny && bodies->cell_at(p, q) == BodyMap::live;
    };
    return to == from + 1 ? live(i, j - 1) || live(i, j) : live(i - 1, j - 1) || live(i, j - 1);
  };
  const auto step = [&](const RowExtremes& e) { return std::abs(nodal[e.step_to] - nodal[e.step_from]); };
  const auto merge = [&](RowExtremes& all, const RowExtremes& row) {
    if (nodal[row.smallest] < nodal[all.smallest]) all.smallest = row.smallest;
    if (nodal[row.largest] > nodal[all.largest]) all.largest = row.largest;
    if (step(row) > step(all)) {
      all.step_from = row.step_from;
      all.step_to = row.step_to;
    }
  };
  std::vector<RowExtremes> rows(static_cast<std::size_t>(nodes.count()));
  for_each_row(ctx, nodes.count(), [&](int row) {
    const auto j = static_cast<std::size_t>(row), first = j * nx;
    RowExtremes& own = rows[j] = {first, first, first, first};
    const bool inside = nodes.first + row > 0 && nodes.first + row < last_row;
    for (std::size_t k = first; k < first + nx; ++k) {
      merge(own, {k, k, k, inside && k > first && is_edge(k - 1, k, row) ? k - 1 : k});
      if (row > 0 && k > first && k + 1 < first + nx && is_edge(k - nx, k, row)) merge(own, {k, k, k - nx, k});
    }
  });
  RowExtremes all;
  for (const auto& row : rows) merge(all, row);

  const auto value_at = [&](std::size_t k) {
    const Point p = mesh.node(static_cast<int>(k % nx), nodes.first + static_cast<int>(k / nx));
    return NodalValue{nodal[k], p.x, p.y};
  };
  SolutionRange found{value_at(all.smallest),  value_at(all.largest), nodal[0], nodal[0],
                      value_at(all.step_from), value_at(all.step_to)};
  const double none = std::nan("");
  const auto [from, to] = std::minmax({all.step_from, all.step_to});
  const bool along_x = to == from + 1;
  const std::size_t next = along_x ? 1 : nx;
  const bool has_before = along_x ? from % nx > 0 : from >= nx;
  const bool has_behind = along_x ? to % nx + 1 < nx : to + nx < nodal.size();
  found.line = {has_before ? value_at(from - next) : NodalValue{none, none, none},
                value_at(from),
                value_at(to),
                has_behind ? value_at(to + next) : NodalValue{none, none, none},
                static_cast<int>(to % nx),
                nodes.first + static_cast<int>(to / nx),
                along_x};
  const auto visit = [&](std::size_t k) {
    found.smallest_on_boundary = std::min(found.smallest_on_boundary, nodal[k]);
    found.largest_on_boundary = std::max(found.largest_on_boundary, nodal[k]);
  };
  for (std::size_t j = 0; j < rows.size(); ++j) {
    visit(j * nx);
    visit(j * nx + nx - 1);
  }
  for (std::size_t i = 0; i < nx; ++i) {
    if (nodes.first == 0) visit(i);
    if (nodes.last == last_row) visit((rows.size() - 1) * nx + i);
  }
  return found;
}

/// Of all subdomains, the first of equal ones.
SolutionRange merged(const std::vector<SolutionRange>& subdomains) {
  SolutionRange all = subdomains.front();
  const auto step = [](const SolutionRange& range) { return std::abs(range.step_to.value - range.step_from.value); };
  for (const SolutionRange& subdomain : subdomains) {
    if (subdomain.smallest.value < all.smallest.value) all.smallest = subdomain.smallest;
    if (subdomain.largest.value > all.largest.value) all.largest = subdomain.largest;
    all.smallest_on_boundary = std::min(all.smallest_on_boundary, subdomain.smallest_on_boundary);
    all.largest_on_boundary = std::max(all.largest_on_boundary, subdomain.largest_on_boundary);
    if (step(subdomain) > step(all)) {
      all.step_from = subdomain.step_from;
      all.step_to = subdomain.step_to;
      all.line = subdomain.line;
    }
  }
  return all;
}

}  // namespace

double change_of_flux(const Geometry& mesh, const SolutionRange& range, const CellCoefficients* cells) {
  if (range.largest_step() == 0) return 0;
  const auto& [before, first, second, behind, i, j, along_x] = range.line;
  const TensorMesh<2>& logical = mesh.logical();
  const int nx = logical.x().size(), ny = logical.y().size();
  // Of the edge that ends `back` edges before the second of the two.
  const auto flux = [&](const NodalValue& from, const NodalValue& to, int back) {
    const int place = (along_x ? i : j) - 1 - back;
    const double length = mesh.mapped() != nullptr ? std::hypot(to.x - from.x, to.y - from.y)
                          : along_x                ? logical.x().widths()[static_cast<std::size_t>(place)]
                                                   : logical.y().widths()[static_cast<std::size_t>(place)];
    double k = 0;
    int beside = 0;
    for (const int side : {-1, 0}) {
      const int cell_i = along_x ? place : i + side, cell_j = along_x ? j + side : place;
      if (cell_i < 0 || cell_j < 0 || cell_i >= nx || cell_j >= ny) continue;
      k += cells == nullptr ? 1 : along_x ? cells->kxx(cell_i, cell_j) : cells->kyy(cell_i, cell_j);
      ++beside;
    }
    return k / beside * (to.value - from.value) / length;
  };
  const double own = flux(first, second, 0);
  double change = -1;
  if (!std::isnan(before.value)) change = std::abs(own - flux(before, first, 1));
  if (!std::isnan(behind.value)) change = std::max(change, std::abs(own - flux(second, behind, -1)));
  return change < 0 ? HUGE_VAL : change / std::abs(own);
}

SolutionRange solution_range(Context& ctx, const Geometry& mesh, std::span<const double> nodal) {
  expects_nodal(mesh, nodal);
  return range_in(ctx, mesh, {0, mesh.logical().y().size()}, nodal);
}

SolutionRange solution_range(Context& ctx, const Geometry& mesh, const PoissonProblem& problem,
                             const GridFunction<const double>& u) {
  const auto map = bodies_on(ctx, mesh, problem);
  auto found = ctx.on_gpu() && mesh.mapped() == nullptr && !map
                   ? range_on_gpu(ctx, mesh.logical(), u, boundary_values_of_nodes(mesh, problem))
                   : std::nullopt;
  if (!found) {
    const SolutionRange own = range_in(ctx, mesh, node_rows(mesh.logical(), layout_of(mesh.logical(), u)),
                                       nodal_solution(ctx, mesh, problem, u), map.get());
    return u.is_part() ? merged(ctx.communicator()->gather_on_host(own)) : own;
  }
  const NearBoundary values(ctx, mesh, problem, u);
  found->smallest_on_boundary = found->largest_on_boundary = values(0, 0);
  const auto visit = [&](int i, int j) {
    found->smallest_on_boundary = std::min(found->smallest_on_boundary, values(i, j));
    found->largest_on_boundary = std::max(found->largest_on_boundary, values(i, j));
  };
  for (const int j : {0, values.last_y()})
    for (int i = 0; i <= values.last_x(); ++i) visit(i, j);
  for (const int i : {0, values.last_x()})
    for (int j = 0; j <= values.last_y(); ++j) visit(i, j);
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
