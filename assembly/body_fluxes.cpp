#include <stratum/assembly/body_fluxes.hpp>

#include <algorithm>
#include <cmath>

#include <stratum/assembly/cellwise_solution.hpp>

namespace stratum {

namespace {

using detail::BoundaryOf;
using detail::CellwiseSolution;
using detail::CornerValues;
using detail::given_flux_of;
using detail::load_of;
using detail::nodal_values_of;

/// A body's cells and nodes on the mesh.
struct MarkedBody {
  const BodyMap& map;
  std::vector<char> cells, nodes;

  MarkedBody(const Geometry& mesh, const BodyMap& of, std::size_t body) : map(of), cells(of.cell.size(), 0) {
    const Axis &x = mesh.logical().x(), &y = mesh.logical().y();
    nodes.assign(of.node.size(), 0);
    const bool holds = of.kinds[body] == BodyKind::value;
    const auto mark = [&](int i, int j) {
      // Of a node that another body holds, or a boundary, the flux is not this body's.
      const bool is_given = of.node_at(i, j) == BodyMap::given;
      if (is_given == holds && unknown_at(x, i) >= 0 && unknown_at(y, j) >= 0) nodes[of.node_number(i, j)] = 1;
    };
    for (const std::size_t c : of.cells[body]) {
      cells[c] = 1;
      const int i = static_cast<int>(c % static_cast<std::size_t>(of.nx)),
                j = static_cast<int>(c / static_cast<std::size_t>(of.nx));
      for (const int p : {i, i + 1})
        for (const int q : {j, j + 1}) {
          mark(p, q);
          if (x.is_periodic() && p % of.nx == 0) mark(of.nx - p, q);
          if (y.is_periodic() && q % of.ny == 0) mark(p, of.ny - q);
          if (x.is_periodic() && y.is_periodic() && p % of.nx == 0 && q % of.ny == 0) mark(of.nx - p, of.ny - q);
        }
    }
  }
  [[nodiscard]] bool has_node(int i, int j) const { return nodes[map.node_number(i, j)] != 0; }
  [[nodiscard]] bool has_cell(int i, int j) const {
    return cells[static_cast<std::size_t>(j) * static_cast<std::size_t>(map.nx) + static_cast<std::size_t>(i)] != 0;
  }
  /// Outside, with an equation, and touching it.
  [[nodiscard]] bool touches(int i, int j) const {
    return map.cell_at(i, j) == BodyMap::live && !has_cell(i, j) &&
           (has_node(i, j) || has_node(i + 1, j) || has_node(i, j + 1) || has_node(i + 1, j + 1));
  }
};

/// Integrals of phi n.K grad u by the data of Neumann and Robin boundaries, over the intervals of cells outside the body in
/// these rows, phi those of its nodes.
double given_beside(const Geometry& mesh, const PoissonProblem& problem, const CellwiseSolution& u,
                    const MarkedBody& body, NodeRows rows) {
  double sum = 0;
  for (const BoundaryOf& boundary : detail::all_boundaries(problem.boundaries)) {
    if (boundary_type(boundary.condition.kind) != BoundaryType::neumann) continue;
    const bool row = boundary.place.along == Direction::x;
    const int across = boundary.place.last ? (row ? u.ny() : u.nx()) - 1 : 0,
              line = boundary.place.last ? (row ? u.ny() : u.nx()) : 0;
    for (int k = 0; k < mesh.along(boundary.place).size(); ++k) {
      const int i = row ? k : across, j = row ? across : k;
      if (j < rows.first || j >= rows.last || !body.touches(i, j)) continue;
      const bool first = row ? body.has_node(k, line) : body.has_node(line, k),
                 second = row ? body.has_node(k + 1, line) : body.has_node(line, k + 1);
      if (first || second) {
        const auto flux = given_flux_of(mesh, boundary, u, k);
        sum += (first ? flux.first : 0) + (second ? flux.second : 0);
      }
    }
  }
  return sum;
}

}  // namespace

std::vector<BodyFlux> body_fluxes(Context& ctx, const Geometry& mesh, const PoissonProblem& given,
                                  const GridFunction<const double>& of_u, const CellCoefficients* cells) {
  const auto map = bodies_on(ctx, mesh, given);
  if (!map) return {};
  const PoissonProblem problem = in_live_cells(given, map);
  const auto own = cells == nullptr ? cell_coefficients(ctx, mesh, given) : std::nullopt;
  const NodeRows rows = node_rows(mesh.logical(), layout_of(mesh.logical(), of_u));
  const auto nodal = nodal_solution(ctx, mesh, given, of_u);
  const CellwiseSolution u(mesh, problem, nodal_values_of(nodal, mesh, rows.first), own ? &*own : cells);
  const ScalarFunction f = rhs_function(problem);
  enum : std::size_t { area, flux, integral, surface_sum, surface_nodes, count };
  std::vector<double> sums(count * map->kinds.size(), 0.0);
  std::vector<char> counted(map->node.size(), 0);  // of held nodes
  for (std::size_t b = 0; b < map->kinds.size(); ++b) {
    MarkedBody body(mesh, *map, b);
    if (map->kinds[b] == BodyKind::value)
      for (std::size_t n = 0; n < counted.size(); ++n) {
        if (counted[n] != 0) body.nodes[n] = 0;
        if (body.nodes[n] != 0) counted[n] = 1;
      }
    double* const own_sums = &sums[count * b];
    for (const std::size_t c : map->cells[b]) {
      const int i = static_cast<int>(c % static_cast<std::size_t>(map->nx)),
                j = static_cast<int>(c / static_cast<std::size_t>(map->nx));
      if (j < rows.first || j >= rows.last) continue;
      const double measure = mesh.cell(i, j).measure(0.5, 0.5);
      own_sums[area] += measure;
      if (map->kinds[b] == BodyKind::no_flux) continue;
      const CornerValues corner = u.corners(i, j);
      own_sums[integral] += measure * (corner[0] + corner[1] + corner[2] + corner[3]) / 4;
    }
    for (int j = rows.first; j < rows.last; ++j)
      for (int i = 0; i < map->nx; ++i) {
        if (!body.touches(i, j)) continue;
        const CornerValues r = u.diffusion(i, j).sums, load = load_of(mesh.cell(i, j), f),
                           reaction = u.has_reaction() ? u.reaction(i, j) : CornerValues{};
        for (std::size_t a = 0; a < 4; ++a)
          if (body.has_node(i + static_cast<int>(a % 2), j + static_cast<int>(a / 2)))
            own_sums[flux] += r[a] + reaction[a] - load[a];
      }
    own_sums[flux] -= given_beside(mesh, problem, u, body, rows);
    if (map->kinds[b] != BodyKind::no_flux) continue;
    // Of nodes that periodic boundaries join the first one counts.
    const bool has_last_row = rows.last == map->ny && !mesh.logical().y().is_periodic();
    for (int j = rows.first; j < rows.last + (has_last_row ? 1 : 0); ++j)
      for (int i = 0; i < map->nx + (mesh.logical().x().is_periodic() ? 0 : 1); ++i)
        if (body.has_node(i, j) && map->node_at(i, j) == BodyMap::unknown) {
          own_sums[surface_sum] +=
              nodal[static_cast<std::size_t>(j - rows.first) * (static_cast<std::size_t>(map->nx) + 1) +
                    static_cast<std::size_t>(i)];
          own_sums[surface_nodes] += 1;
        }
  }
  if (of_u.is_part()) {
    const std::vector<double> all = ctx.communicator()->join_on_host(sums);
    std::fill(sums.begin(), sums.end(), 0.0);
    for (std::size_t k = 0; k < all.size(); ++k) sums[k % sums.size()] += all[k];
  }
  std::vector<BodyFlux> found;
  for (std::size_t b = 0; b < map->kinds.size(); ++b) {
    const double* const s = &sums[count * b];
    const bool empty = map->kinds[b] == BodyKind::no_flux;
    const double mean = empty ? (s[surface_nodes] > 0 ? s[surface_sum] / s[surface_nodes] : 0) : s[integral] / s[area];
    found.push_back({static_cast<std::int64_t>(map->cells[b].size()), s[area], s[flux], mean});
  }
  return found;
}

CornerGap largest_body_gap(Context& ctx, const Geometry& mesh, const PoissonProblem& problem) {
  CornerGap largest;
  const auto map = bodies_on(ctx, mesh, problem);
  if (!map || !map->has_held()) return largest;
  detail::for_each_dirichlet_value(mesh, problem, [&](int i, int j, double value) {
    if (map->node_at(i, j) != BodyMap::given) return;
    const Point p = mesh.node(i, j);
    if (const double gap = std::abs(value - map->value_at(i, j)); gap > largest.gap) largest = {gap, p.x, p.y};
  });
  return largest;
}

}  // namespace stratum
