#include <stratum/assembly/boundary_fluxes.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <vector>

#include <stratum/assembly/cellwise_solution.hpp>
#include <stratum/assembly/near_boundary.hpp>
#include <stratum/assembly/points.hpp>
#include <stratum/assembly/problem_boundary.hpp>
#include <stratum/assembly/rectangle_fields.hpp>
#include <stratum/core/errors.hpp>
#include <stratum/core/field/blas.hpp>

namespace stratum {

namespace {

using detail::BoundaryOf;
using detail::CellwiseSolution;
using detail::CornerValues;
using detail::for_each_outer_cell;
using detail::given_flux_of;
using detail::load_of;
using detail::nodal_values_of;

enum : std::size_t { left, right, bottom, top };

/// Of n.K grad u by the data of a Neumann or Robin boundary: over the boundary, and times phi of its first and its last node.
struct GivenFlux {
  double all = 0, first = 0, last = 0;
  double magnitudes = 0;  // of intervals
};
GivenFlux given_flux(const Geometry& mesh, const BoundaryOf& boundary, const CellwiseSolution& u) {
  GivenFlux flux;
  const int intervals = mesh.along(boundary.place).size();
  for (int k = 0; k < intervals; ++k) {
    const auto of_interval = given_flux_of(mesh, boundary, u, k);
    flux.all += of_interval.all;
    flux.magnitudes += std::abs(of_interval.all);
    if (k == 0) flux.first += of_interval.first;
    if (k == intervals - 1) flux.last += of_interval.second;
  }
  return flux;
}

/// r_i of nodes of the boundaries: sums over those of one boundary between its corners, and the corners', c = cx + 2 cy.
class Reactions {
 public:
  std::array<double, 4> boundaries{}, corners{};
  std::array<double, 4> of_cells{};  // magnitudes of what diffusion, c and f of cells give to those between corners
  double magnitude = 0;              // what is times epsilon the round-off of the sums

  /// `natural` boundaries have no part: their fluxes are data.
  explicit Reactions(std::array<bool, 4> natural) : natural_(natural) {}

  void add(const CellwiseSolution& u, const ScalarFunction& f, const Geometry& mesh, int i, int j) {
    if (!u.is_live(i, j)) return;
    const CellwiseSolution::Diffusion diffusion = u.diffusion(i, j);
    CornerValues r = diffusion.sums;
    const CornerValues c = u.has_reaction() ? u.reaction(i, j) : CornerValues{}, load = load_of(mesh.cell(i, j), f);
    for (std::size_t a = 0; a < 4; ++a) {
      const int p = i + static_cast<int>(a % 2), q = j + static_cast<int>(a / 2);
      const bool on_x = p == 0 || p == u.nx(), on_y = q == 0 || q == u.ny();
      if ((!on_x && !on_y) || u.is_held(p, q)) continue;
      const std::size_t vertical = p == 0 ? left : right, horizontal = q == 0 ? bottom : top;
      const bool of_x = on_x && !natural_[vertical], of_y = on_y && !natural_[horizontal];
      if (!of_x && !of_y) continue;
      const double size = std::abs(r[a]) + std::abs(c[a]) + std::abs(load[a]);
      r[a] += c[a] - load[a];
      // Differences along a boundary cancel in the sum of its nodes, and so does the round-off of u in them.
      magnitude += diffusion.terms[a] + (of_x ? diffusion.along_x[a] : 0) + (of_y ? diffusion.along_y[a] : 0);
      if (on_x && on_y) {
        corners[(p == 0 ? 0U : 1U) + (q == 0 ? 0U : 2U)] += r[a];
        continue;
      }
      const std::size_t boundary = on_x ? vertical : horizontal;
      boundaries[boundary] += r[a];
      of_cells[boundary] += size;
    }
  }

 private:
  std::array<bool, 4> natural_;
};

/// Without the reaction.
BoundaryFluxes fluxes_of(const Geometry& mesh, const PoissonProblem& problem, const CellwiseSolution& u) {
  const auto boundaries = detail::all_boundaries(problem.boundaries);
  const auto kind = [&](std::size_t boundary) { return boundaries[boundary].condition.kind; };
  const auto neumann = [&](std::size_t boundary) { return boundary_type(kind(boundary)) == BoundaryType::neumann; };

  std::array<double, 4> inward{};  // integrals of n.K grad u
  std::array<GivenFlux, 4> given{};
  BoundaryFluxes found;
  for (std::size_t k = 0; k < 4; ++k)
    if (neumann(k)) {
      given[k] = given_flux(mesh, boundaries[k], u);
      inward[k] = given[k].all;
      found.magnitudes += given[k].magnitudes;
    }
  if (!neumann(left) || !neumann(right) || !neumann(bottom) || !neumann(top)) {
    Reactions r({neumann(left), neumann(right), neumann(bottom), neumann(top)});
    for_each_outer_cell(u.nx(), u.ny(), [&, f = rhs_function(problem)](int i, int j) { r.add(u, f, mesh, i, j); });
    found.rounding = std::numeric_limits<double>::epsilon() * r.magnitude;
    for (std::size_t k = 0; k < 4; ++k)
      if (!neumann(k)) {
        inward[k] += r.boundaries[k];
        found.magnitudes += r.of_cells[k];
      }
    // Of the node at a corner of `boundary`, at the last end of its line or at the first; of a periodic boundary the mean with
    // the one across.
    const auto at_corner = [&](std::size_t boundary, bool last_boundary) {
      const double flux = u.flux_at_end(boundaries[boundary], last_boundary);
      return kind(boundary) == BoundaryConditionType::periodic
                 ? (flux - u.flux_at_end(boundaries[boundary ^ 1U], last_boundary)) / 2
                 : flux;
    };
    for (std::size_t c = 0; c < 4; ++c) {
      const std::size_t v = c % 2 == 0 ? left : right, h = c / 2 == 0 ? bottom : top;
      const bool v_end = h == top, h_end = v == right;
      if (neumann(v) && neumann(h)) continue;
      if (neumann(v)) {
        inward[h] += r.corners[c] - (v_end ? given[v].last : given[v].first);
      } else if (neumann(h)) {
        inward[v] += r.corners[c] - (h_end ? given[h].last : given[h].first);
      } else {
        const double of_v = at_corner(v, v_end), of_h = at_corner(h, h_end), rest = r.corners[c] - of_v - of_h;
        const bool v_takes = kind(v) == BoundaryConditionType::dirichlet,
                   h_takes = kind(h) == BoundaryConditionType::dirichlet;
        inward[v] += of_v + (v_takes ? (h_takes ? rest / 2 : rest) : 0);
        inward[h] += of_h + (h_takes ? (v_takes ? rest / 2 : rest) : 0);
      }
    }
  }
  // No minus zero.
  found.left = 0 - inward[left];
  found.right = 0 - inward[right];
  found.bottom = 0 - inward[bottom];
  found.top = 0 - inward[top];
  return found;
}

/// In the cells between rows of nodes.
double reaction_of(Context& ctx, NodeRows nodes, const CellwiseSolution& u) {
  std::vector<double> rows(static_cast<std::size_t>(nodes.last - nodes.first), 0.0);
  for_each_row(ctx, nodes.last - nodes.first, [&](int row) {
    for (int i = 0; i < u.nx(); ++i)
      for (const double value : u.reaction(i, nodes.first + row)) rows[static_cast<std::size_t>(row)] += value;
  });
  return std::accumulate(rows.begin(), rows.end(), 0.0);
}

}  // namespace

BoundaryFluxes boundary_fluxes(Context& ctx, const Geometry& mesh, const PoissonProblem& given,
                               std::span<const double> nodal, const CellCoefficients* cells) {
  expects_nodal(mesh, nodal);
  const PoissonProblem problem = in_live_cells(given, bodies_on(ctx, mesh, given));
  const auto own = cells == nullptr ? cell_coefficients(ctx, mesh, problem) : std::nullopt;
  const CellwiseSolution u(mesh, problem, nodal_values_of(nodal, mesh, 0), own ? &*own : cells);
  BoundaryFluxes found = fluxes_of(mesh, problem, u);
  if (u.has_reaction()) found.reaction = reaction_of(ctx, {0, u.ny()}, u);
  return found;
}

BoundaryFluxes boundary_fluxes(Context& ctx, const Geometry& mesh, const PoissonProblem& given,
                               const GridFunction<const double>& u, const CellCoefficients* cells) {
  const PoissonProblem problem = in_live_cells(given, bodies_on(ctx, mesh, given));
  const auto own = cells == nullptr ? cell_coefficients(ctx, mesh, problem) : std::nullopt;
  const CellCoefficients* const k = own ? &*own : cells;
  const CellwiseSolution at_boundaries(mesh, problem, NearBoundary(ctx, mesh, problem, u), k);
  BoundaryFluxes found = fluxes_of(mesh, problem, at_boundaries);
  if (!at_boundaries.has_reaction()) return found;
  if (mesh.mapped() == nullptr && (k == nullptr || k->c.empty())) {
    found.reaction = problem.reaction * integral(ctx, mesh.logical(), problem, u);
    return found;
  }
  const NodeRows rows = node_rows(mesh.logical(), layout_of(mesh.logical(), u));
  const auto nodal = nodal_solution(ctx, mesh, problem, u);
  found.reaction = reaction_of(ctx, rows, CellwiseSolution(mesh, problem, nodal_values_of(nodal, mesh, rows.first), k));
  if (u.is_part()) {
    const auto parts = ctx.communicator()->gather_on_host(found.reaction);
    found.reaction = std::accumulate(parts.begin(), parts.end(), 0.0);
  }
  return found;
}

double load_integral(Context& ctx, const Geometry& mesh, const PoissonProblem& problem,
                     const GridFunction<const double>& b, const CellCoefficients* cells) {
  const TensorMesh<2>& logical = mesh.logical();
  (void)first_row_of(ctx, "the load vector", logical, b);
  if (const auto map = bodies_on(ctx, mesh, problem); map && map->has_solids()) {
    // Not of b, in which f at nodes that bodies hold has no place.
    std::vector<double> rows(static_cast<std::size_t>(map->ny), 0.0);
    for_each_row(
        ctx, map->ny,
        [&](int j, const ScalarFunction& f) {
          for (int i = 0; i < map->nx; ++i)
            if (map->cell_at(i, j) == BodyMap::live)
              for (const double value : load_of(mesh.cell(i, j), f)) rows[static_cast<std::size_t>(j)] += value;
        },
        rhs_function(problem));
    return std::accumulate(rows.begin(), rows.end(), 0.0);
  }
  double sum = 0;
  if (b.view.nodes() > 0) sum = sum_of(ctx, b.view);
  // What Neumann or Robin boundaries and boundary values added.
  BoundaryLoads given(logical.unknowns());
  if (b.view.nodes() > 0) add_fluxes(mesh, problem, given);
  for (const auto* part : {&given.left, &given.right, &given.bottom, &given.top})
    sum -= std::accumulate(part->begin(), part->end(), 0.0);
  if (has_boundary_values(problem)) {
    const auto own = cells == nullptr ? cell_coefficients(ctx, mesh, problem) : std::nullopt;
    const auto values = dirichlet_values(mesh, problem);
    for (const DirichletEntry& entry : dirichlet_entries(mesh, problem, own ? &*own : cells, problem.reaction))
      sum += entry.times(values);
  }
  // The nodes that are no unknowns.
  const ScalarFunction f = rhs_function(problem);
  const Axis &x = logical.x(), &y = logical.y();
  const auto is_dirichlet = [](const Axis& line, int node) {
    return (node == 0 && line.first_boundary() == BoundaryType::dirichlet) ||
           (node == line.size() && line.last_boundary() == BoundaryType::dirichlet);
  };
  for_each_outer_cell(x.size(), y.size(), [&](int i, int j) {
    std::array<bool, 4> counts{};
    for (std::size_t a = 0; a < 4; ++a)
      counts[a] = is_dirichlet(x, i + static_cast<int>(a % 2)) || is_dirichlet(y, j + static_cast<int>(a / 2));
    if (std::none_of(counts.begin(), counts.end(), std::identity())) return;
    const CornerValues load = load_of(mesh.cell(i, j), f);
    for (std::size_t a = 0; a < 4; ++a)
      if (counts[a]) sum += load[a];
  });
  return sum;
}

double load_magnitudes(Context& ctx, const PoissonProblem& problem, FieldView<const double> b) {
  return problem.bodies.empty() && !has_boundary_values(problem) ? compatibility(ctx, b).sum_of_magnitudes : 0;
}

}  // namespace stratum
