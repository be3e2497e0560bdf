#include <stratum/assembly/poisson_problem.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <utility>

#include <stratum/assembly/gauss_rules.hpp>
#include <stratum/assembly/points.hpp>
#include <stratum/assembly/polynomial_problem.hpp>
#include <stratum/assembly/problem_boundary.hpp>
#include <stratum/assembly/rooms.hpp>
#include <stratum/core/errors.hpp>

namespace stratum {

using detail::all_boundaries;
using detail::alpha_at;
using detail::BoundaryOf;

namespace {

/// The interval of a line that has the point at distance s from its begin, and the fraction of it.
std::pair<int, double> place_on(const Axis& line, double s) {
  const auto& nodes = line.from_begin();
  const auto next = std::upper_bound(nodes.begin() + 1, nodes.end() - 1, s);
  const auto k = static_cast<std::size_t>(next - nodes.begin() - 1);
  return {static_cast<int>(k), (s - nodes[k]) / line.widths()[k]};
}

/// alpha at a place on the boundary given by the logical mesh's line.
std::function<double(double)> along_mapped_side(const MappedMesh& mesh, const BoundaryOf& boundary) {
  return [alpha = boundary.condition.alpha, mesh, place = boundary.place](double s) {
    const Geometry geometry(mesh);
    const auto [interval, fraction] = place_on(geometry.along(place), s);
    return alpha(geometry.on_boundary(place, interval, fraction));
  };
}

}  // namespace

ScalarFunction rhs_function(const PoissonProblem& problem) {
  if (problem.rhs) return problem.rhs;
  return PolynomialRhs{};
}

ScalarFunction exact_function(const PoissonProblem& problem) {
  expects(problem.has_exact(), "the exact solution of this problem is not known");
  if (problem.exact) return problem.exact;
  return PolynomialSolution{};
}

ScalarFunction boundary_function(const PoissonProblem& problem) {
  if (problem.boundary) return problem.boundary;
  if (problem.exact) return problem.exact;
  return [](const Point&) { return 0.0; };
}

bool PoissonProblem::has_exact() const {
  if (exact) return true;
  if (rhs || boundary || reaction != 0 || has_coefficients()) return false;
  // The polynomial vanishes on all boundaries, and has no other property there.
  const auto plain = [](const BoundaryCondition& condition) {
    return condition.kind == BoundaryConditionType::dirichlet && !condition.value;
  };
  return plain(boundaries.left) && plain(boundaries.right) && plain(boundaries.bottom) && plain(boundaries.top);
}

TensorMesh<2> with_boundaries(const TensorMesh<2>& mesh, const BoundaryConditions& boundaries) {
  const auto both = [](const BoundaryCondition& first, const BoundaryCondition& second, const char* names) {
    expects((first.kind == BoundaryConditionType::periodic) == (second.kind == BoundaryConditionType::periodic), "the ",
            names, " boundaries are ", to_string(first.kind), " and ", to_string(second.kind),
            "; a direction is periodic at both sides or at none");
  };
  both(boundaries.left, boundaries.right, "left and right");
  both(boundaries.bottom, boundaries.top, "bottom and top");
  const auto end = [](const BoundaryCondition& boundary) { return boundary_type(boundary.kind); };
  TensorMesh<2> result{mesh.x().with_boundaries(end(boundaries.left), end(boundaries.right)),
                       mesh.y().with_boundaries(end(boundaries.bottom), end(boundaries.top)), mesh.name()};
  expects(result.unknowns().nodes() > 0, "the mesh has ", mesh.x().size(), " x ", mesh.y().size(),
          " cells, and between its boundaries no unknowns: between two Dirichlet boundaries there must be at least 2");
  return result;
}

MappedMesh with_boundaries(const MappedMesh& mesh, const BoundaryConditions& boundaries) {
  return mesh.with_ends_of(with_boundaries(mesh.logical(), boundaries));
}

ProblemMesh with_boundaries(const Geometry& mesh, const BoundaryConditions& boundaries) {
  return mesh.mapped() != nullptr ? ProblemMesh(with_boundaries(*mesh.mapped(), boundaries))
                                  : ProblemMesh(with_boundaries(mesh.logical(), boundaries));
}

double detail::alpha_at(const Geometry& mesh, const BoundaryOf& boundary, int k, double t) {
  if (!has_alpha(boundary.condition.kind)) return 0;
  expects(static_cast<bool>(boundary.condition.alpha), "the ", boundary.name, " boundary is a ",
          to_string(boundary.condition.kind), " one and has no alpha");
  const Point point = mesh.on_boundary(boundary.place, k, t);
  const double alpha = boundary.condition.alpha(point);
  expects(std::isfinite(alpha) && alpha >= 0, "alpha of the ", boundary.name, " boundary is ", alpha, " at (", point.x,
          ", ", point.y, "); it must be finite and not negative");
  return alpha;
}

namespace {

/// What an axis, a centre or a pole can have. Throws UsageError for all else.
void check_sides_without_area(const Geometry& mesh, const PoissonProblem& problem) {
  if (mesh.mapped() == nullptr || mesh.mapped()->is_cartesian()) return;
  const Coordinates coordinates = mesh.mapped()->coordinates();
  for (const BoundaryOf& boundary : all_boundaries(problem.boundaries)) {
    const auto shape = side_shape(coordinates, mesh.logical(), boundary.place.along, boundary.place.last);
    if (shape == SideShape::area) continue;
    const auto& [kind, value, alpha] = boundary.condition;
    const bool is_free = kind == BoundaryConditionType::neumann && !value;
    if (shape == SideShape::axis) {
      expects(is_free, "the ", boundary.name, " boundary is the axis of ", to_string(coordinates),
              " coordinates, which has no area: nothing can be given there; it is a neumann boundary without a value");
      continue;
    }
    expects(is_free || kind == BoundaryConditionType::dirichlet, "the ", boundary.name,
            " boundary is a single point of ", to_string(coordinates),
            " coordinates: it is a neumann boundary without a value, or a dirichlet one, not ",
            kind == BoundaryConditionType::neumann ? "one with a flux" : to_string(kind));
    if (is_free) continue;
    const ScalarFunction g = value ? value : boundary_function(problem);
    const int nodes = mesh.along(boundary.place).size();
    const Point begin = mesh.on_boundary(boundary.place, 0, 0);
    const double first = g(begin);
    for (int k = 0; k < nodes; ++k) {
      const Point p = mesh.on_boundary(boundary.place, k, 1);
      expects(std::abs(g(p) - first) <= 1e-12 * std::max(std::abs(first), std::abs(g(p))), "the ", boundary.name,
              " boundary is a single point of ", to_string(coordinates), " coordinates, and its values differ: ", first,
              " at (", begin.x, ", ", begin.y, ") and ", g(p), " at (", p.x, ", ", p.y, "); give one value, or none");
    }
  }
}

}  // namespace

OperatorTerms operator_terms(const Geometry& mesh, const PoissonProblem& given) {
  check_sides_without_area(mesh, given);
  // alpha does not count where bodies are.
  const auto robin = [](const BoundaryOf& boundary) { return has_alpha(boundary.condition.kind); };
  const auto sides = all_boundaries(given.boundaries);
  std::optional<PoissonProblem> masked;
  if (!given.bodies.empty() && std::any_of(sides.begin(), sides.end(), robin)) {
    Context host(Backend::cpu, 1);
    masked = in_live_cells(given, bodies_on(host, mesh, given));
  }
  const PoissonProblem& problem = masked ? *masked : given;
  expects(std::isfinite(problem.reaction) && problem.reaction >= 0,
          "the reaction coefficient c must be finite and not negative, not ", problem.reaction);
  OperatorTerms terms;
  terms.reaction = problem.reaction;
  const std::array<RobinCoefficient*, 4> alphas{&terms.left, &terms.right, &terms.bottom, &terms.top};
  const auto boundaries = all_boundaries(problem.boundaries);
  for (std::size_t k = 0; k < boundaries.size(); ++k) {
    const BoundaryOf& boundary = boundaries[k];
    if (!has_alpha(boundary.condition.kind)) continue;
    const Axis& along = mesh.along(boundary.place);
    const double first = alpha_at(mesh, boundary, 0, gauss4[0].t);
    bool varies = false;
    for (int i = 0; i < along.size(); ++i)
      for (const auto& [t, weight] : gauss4) varies = varies || alpha_at(mesh, boundary, i, t) != first;
    if (!varies) {
      alphas[k]->constant = first;
      continue;
    }
    if (mesh.mapped() != nullptr) {
      alphas[k]->varying = along_mapped_side(*mesh.mapped(), boundary);
      continue;
    }
    const Axis& other = mesh.across(boundary.place);
    alphas[k]->varying = [alpha = boundary.condition.alpha, row = boundary.place.along == Direction::x,
                          across = node_of(other, boundary.place.last ? other.size() : 0), along](double s) {
      const auto [interval, fraction] = place_on(along, s);
      const LinePoint p{along.origin() + s, s, along.length() - s, LineInterval(along, interval).place(fraction)};
      return alpha(row ? make_point(p, across) : make_point(across, p));
    };
  }
  return terms;
}

std::optional<CellCoefficients> cell_coefficients(Context& ctx, const Geometry& mesh, const PoissonProblem& problem) {
  if (!problem.has_coefficients()) return std::nullopt;
  CellCoefficients cells = on_cells(ctx, mesh, problem.diffusion, problem.reaction_of_cells);
  if (const auto map = bodies_on(ctx, mesh, problem))
    set_bodies(ctx, mesh, problem.bodies, map, problem.reaction, cells);
  return cells;
}

bool is_singular(Context& ctx, const Geometry& mesh, const PoissonProblem& problem, const CellCoefficients* cells) {
  if (cells != nullptr && cells->bodies && cells->bodies->has_solids()) {
    return rooms_of(mesh, operator_terms(mesh, problem), *cells).singular() > 0;
  }
  if (cells == nullptr && !problem.bodies.empty()) {
    const auto own = cell_coefficients(ctx, mesh, problem);
    return is_singular(ctx, mesh, problem, &*own);
  }
  if (!is_singular(mesh.logical(), operator_terms(mesh, problem))) return false;
  if (cells != nullptr || !problem.reaction_of_cells.is_given()) return cells == nullptr || cells->c.empty();
  return on_cells(ctx, mesh, {}, problem.reaction_of_cells).c.empty();
}

}  // namespace stratum
