#include <stratum/assembly/poisson_problem.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <utility>

#include <stratum/assembly/expressions/gpu_integrals.hpp>
#include <stratum/assembly/gauss_rules.hpp>
#include <stratum/assembly/mapped_element.hpp>
#include <stratum/assembly/points.hpp>
#include <stratum/assembly/polynomial_problem.hpp>
#include <stratum/assembly/problem_boundary.hpp>
#include <stratum/assembly/rectangle_fields.hpp>
#include <stratum/core/errors.hpp>
#include <stratum/core/field/blas.hpp>

namespace stratum {

namespace {

/// Integrals of f phi_i over a line of `intervals` for all nodes, length(i) that of an interval and f(i, t) at a fraction of
/// it, by the 4-point rule.
template <class Length, class F>
std::vector<double> line_loads(int intervals, const Length& length, const F& f) {
  std::vector<double> loads(static_cast<std::size_t>(intervals) + 1, 0.0);
  for (int i = 0; i < intervals; ++i)
    for (const auto& [t, weight] : gauss4) {
      const auto k = static_cast<std::size_t>(i);
      const double value = weight * length(i) * f(i, t);
      loads[k] += value * (1 - t);
      loads[k + 1] += value * t;
    }
  return loads;
}

/// Integrals of s (length - s) phi_i, exact.
std::vector<double> parabola_loads(const Axis& line) {
  return line_loads(
      line.size(), [&line](int i) { return line.widths()[static_cast<std::size_t>(i)]; },
      [&line](int i, double t) {
        const LinePoint p = LineInterval(line, i).at(t);
        return p.from_begin * p.from_end;
      });
}

/// The unknowns of a rectangle of the host's: row j, x fastest. Of a subdomain rows from `first` on, numbered as all of them are.
struct HostGrid {
  int nx, ny, first;
  std::vector<double> values;
  HostGrid(int nx_, int ny_, int first_ = 0)
      : nx(nx_), ny(ny_), first(first_), values(static_cast<std::size_t>(nx_) * static_cast<std::size_t>(ny_), 0.0) {}
  [[nodiscard]] int end() const { return first + ny; }
  [[nodiscard]] bool has(int j) const { return j >= first && j < end(); }
  double& operator()(int i, int j) {
    return values[static_cast<std::size_t>(j - first) * static_cast<std::size_t>(nx) + static_cast<std::size_t>(i)];
  }
};

void add_polynomial_load(Context& ctx, const TensorMesh<2>& mesh, HostGrid& b) {
  const auto x = at_unknowns(mesh.x(), parabola_loads(mesh.x())), y = at_unknowns(mesh.y(), parabola_loads(mesh.y()));
  const auto hat_x = at_unknowns(mesh.x(), hat_integrals(mesh.x())),
             hat_y = at_unknowns(mesh.y(), hat_integrals(mesh.y()));
#pragma omp parallel for schedule(static) num_threads(ctx.threads())
  for (int j = b.first; j < b.end(); ++j)
    for (int i = 0; i < b.nx; ++i) {
      const auto p = static_cast<std::size_t>(i), q = static_cast<std::size_t>(j);
      b(i, j) = 2 * (y[q] * hat_x[p] + x[p] * hat_y[q]);
    }
}

/// Row j of unknowns gathers from the cell rows beside it, so that rows are independent and sums have one order.
template <class Rule>
void add_load(Context& ctx, const Geometry& mesh, const Rule& rule, const ScalarFunction& f, HostGrid& b) {
  const Axis &x = mesh.logical().x(), &y = mesh.logical().y();
  for_each_row(
      ctx, b.ny,
      [&](int own_row, const ScalarFunction& own) {
        const int j = b.first + own_row;
        for (int upper = 0; upper < 2; ++upper) {
          int cell_y = j + y.first_unknown() - 1 + upper;
          if (cell_y < 0 && y.is_periodic()) cell_y = y.size() - 1;
          if (cell_y < 0 || cell_y == y.size()) continue;
          for (int cell_x = 0; cell_x < x.size(); ++cell_x) {
            const CellPoints cell = mesh.cell(cell_x, cell_y);
            double left = 0, right = 0;
            for (const auto& [s, weight_y] : rule) {
              const double phi_y = weight_y * (upper == 1 ? 1 - s : s);
              for (const auto& [t, weight_x] : rule) {
                const double value =
                    phi_y * weight_x * cell.measure(t, s) * evaluate(own, cell.at(t, s), "right-hand side");
                left += value * (1 - t);
                right += value * t;
              }
            }
            if (const int i = unknown_at(x, cell_x); i >= 0) b(i, j) += left;
            if (const int i = unknown_at(x, cell_x + 1); i >= 0) b(i, j) += right;
          }
        }
      },
      f);
}

/// b_i += the integral over these cells of (mean of f - f) phi_i, that of f phi_i by `rule`.
template <class Rule>
void add_means(const Geometry& mesh, const Rule& rule, const ScalarFunction& f, const std::vector<std::size_t>& cells,
               HostGrid& b) {
  const Axis &x = mesh.logical().x(), &y = mesh.logical().y();
  const auto columns = static_cast<std::size_t>(x.size());
  for (const std::size_t k : cells) {
    const int cell_x = static_cast<int>(k % columns), cell_y = static_cast<int>(k / columns);
    const int rows[2] = {unknown_at(y, cell_y), unknown_at(y, cell_y + 1)};
    if (!std::any_of(std::begin(rows), std::end(rows), [&](int j) { return j >= 0 && b.has(j); })) continue;
    const CellPoints cell = mesh.cell(cell_x, cell_y);
    double mean = 0, area = 0, hats[2][2] = {}, given[2][2] = {};  // by y and x
    const auto visit = [](const auto& points, const auto& use) {
      for (const auto& [s, weight_y] : points)
        for (const auto& [t, weight_x] : points) use(t, s, weight_x * weight_y);
    };
    const auto add_to = [](double(&to)[2][2], double t, double s, double value) {
      to[0][0] += value * (1 - s) * (1 - t);
      to[0][1] += value * (1 - s) * t;
      to[1][0] += value * s * (1 - t);
      to[1][1] += value * s * t;
    };
    visit(gauss4, [&](double t, double s, double weight) {
      const double part = weight * cell.measure(t, s);
      mean += part * evaluate(f, cell.at(t, s), "right-hand side");
      area += part;
      add_to(hats, t, s, part);
    });
    mean /= area;
    visit(rule, [&](double t, double s, double weight) {
      add_to(given, t, s, weight * cell.measure(t, s) * evaluate(f, cell.at(t, s), "right-hand side"));
    });
    for (int upper = 0; upper < 2; ++upper)
      for (int right = 0; right < 2; ++right) {
        const int i = unknown_at(x, cell_x + right), j = rows[upper];
        if (i >= 0 && j >= 0 && b.has(j)) b(i, j) += mean * hats[upper][right] - given[upper][right];
      }
  }
}

/// Integrals of phi_i of the unknowns, or of those of a subdomain, whose rows begin with `first_row`.
Field<double> hat_integrals(Context& ctx, const MappedMesh& mesh, const GridLayout<2>& unknowns, int first_row) {
  HostGrid hats(unknowns.nx, unknowns.ny, first_row);
  add_load(
      ctx, mesh, gauss3, [](const Point&) { return 1.0; }, hats);
  Field<double> there(ctx, unknowns);
  copy_from_host(ctx, hats.values.data(), there.view());
  return there;
}
HatIntegrals hat_integrals(const TensorMesh<2>& mesh, int first_row) {
  return {at_unknowns(mesh.x(), hat_integrals(mesh.x())), at_unknowns(mesh.y(), hat_integrals(mesh.y())), first_row};
}

// --- boundaries ---------------------------------------------------------------------------------------------------------------

using detail::all_boundaries;
using detail::BoundaryOf;
using detail::is_neumann_or_robin;

/// Integrals of g phi_i over a Neumann or Robin boundary.
template <class Loads>
void add_flux(const Geometry& mesh, const BoundaryOf& boundary, Loads& b) {
  if (!is_neumann_or_robin(boundary.condition) || !boundary.condition.value) return;
  const Axis& along = mesh.along(boundary.place);
  const auto loads =
      at_unknowns(along, line_loads(
                             along.size(), [&](int k) { return mesh.length_on_side(boundary.place, k); },
                             [&](int k, double t) {
                               return evaluate(boundary.condition.value, mesh.on_boundary(boundary.place, k, t),
                                               "value of a boundary");
                             }));
  const int line = boundary.place.last ? mesh.across(boundary.place).unknowns() - 1 : 0;
  for (std::size_t k = 0; k < loads.size(); ++k) {
    const int i = static_cast<int>(k);
    const bool row = boundary.place.along == Direction::x;
    if (b.has(row ? line : i)) b(row ? i : line, row ? line : i) += loads[k];
  }
}

/// At fraction t of interval k of the boundary.
double alpha_at(const Geometry& mesh, const BoundaryOf& boundary, int k, double t) {
  if (boundary.condition.kind != BoundaryConditionType::robin) return 0;
  expects(static_cast<bool>(boundary.condition.alpha), "the ", boundary.name,
          " boundary is a robin one and has no alpha");
  const Point point = mesh.on_boundary(boundary.place, k, t);
  const double alpha = boundary.condition.alpha(point);
  expects(std::isfinite(alpha) && alpha >= 0, "alpha of the ", boundary.name, " boundary is ", alpha, " at (", point.x,
          ", ", point.y, "); it must be finite and not negative");
  return alpha;
}

/// alpha at a place on the boundary given by the logical mesh's line.
std::function<double(double)> along_mapped_side(const MappedMesh& mesh, const BoundaryOf& boundary) {
  return [alpha = boundary.condition.alpha, mesh, place = boundary.place](double s) {
    const Geometry geometry(mesh);
    const Axis& line = geometry.along(place);
    const auto& nodes = line.from_begin();
    const auto next = std::upper_bound(nodes.begin() + 1, nodes.end() - 1, s);
    const auto k = static_cast<std::size_t>(next - nodes.begin() - 1);
    return alpha(geometry.on_boundary(place, static_cast<int>(k), (s - nodes[k]) / line.widths()[k]));
  };
}

/// Entry of 1-D K or M between node i and its neighbour i + d, from the intervals that there are.
double factor(const Axis& line, int i, int d, bool stiffness) {
  const auto width = [&](int k) -> double {
    if (line.is_periodic()) k = (k + line.size()) % line.size();
    return k >= 0 && k < line.size() ? line.widths()[static_cast<std::size_t>(k)] : 0.0;
  };
  const double l = width(i - 1), r = width(i);
  if (d != 0) return stiffness ? -1 / (d < 0 ? l : r) : (d < 0 ? l : r) / 6;
  return stiffness ? (l > 0 ? 1 / l : 0) + (r > 0 ? 1 / r : 0) : (l + r) / 3;
}

/// Entry of A between node (i, j) and its neighbour (i + dx, j + dy), without what alpha adds.
double entry_of(const Geometry& geometry, const CellCoefficients* k, double c, int i, int j, int dx, int dy) {
  const TensorMesh<2>& mesh = geometry.logical();
  const MappedMesh* const mapped = geometry.mapped();
  if (k != nullptr || mapped != nullptr) {
    // The cells that both nodes touch.
    const auto wrapped = [](const Axis& line, int n) {
      return line.is_periodic() ? (n + line.size()) % line.size() : n;
    };
    double entry = 0;
    for (int right = dx < 0 ? 0 : dx; right <= (dx < 0 ? 0 : 1); ++right)
      for (int upper = dy < 0 ? 0 : dy; upper <= (dy < 0 ? 0 : 1); ++upper) {
        const int p = wrapped(mesh.x(), i - 1 + right), q = wrapped(mesh.y(), j - 1 + upper);
        if (p < 0 || p >= mesh.x().size() || q < 0 || q >= mesh.y().size()) continue;
        if (mapped != nullptr) {
          const auto material =
              k ? CellMaterial{k->kxx(p, q), k->kxy(p, q), k->kyy(p, q), k->reaction(p, q) + c} : CellMaterial{.c = c};
          entry += element_of(*mapped, p, q, material).entry(1 - right, 1 - upper, 1 - right + dx, 1 - upper + dy);
          continue;
        }
        const double hx = mesh.x().widths()[static_cast<std::size_t>(p)],
                     hy = mesh.y().widths()[static_cast<std::size_t>(q)];
        entry += element_entry(hx, hy, k->kxx(p, q), k->kxy(p, q), k->kyy(p, q), k->reaction(p, q) + c, 1 - right,
                               1 - upper, 1 - right + dx, 1 - upper + dy);
      }
    return entry;
  }
  const double mx = factor(mesh.x(), i, dx, false), my = factor(mesh.y(), j, dy, false);
  return factor(mesh.x(), i, dx, true) * my + mx * factor(mesh.y(), j, dy, true) + c * mx * my;
}

/// Which boundary a node gets its Dirichlet value from: left and right come before bottom and top. None: it is an unknown.
const BoundaryCondition* dirichlet_side(const TensorMesh<2>& mesh, const BoundaryConditions& boundaries, int i, int j) {
  const auto there = [](const BoundaryCondition& boundary, bool on) {
    return on && boundary.kind == BoundaryConditionType::dirichlet;
  };
  if (there(boundaries.left, i == 0)) return &boundaries.left;
  if (there(boundaries.right, i == mesh.x().size())) return &boundaries.right;
  if (there(boundaries.bottom, j == 0)) return &boundaries.bottom;
  if (there(boundaries.top, j == mesh.y().size())) return &boundaries.top;
  return nullptr;
}

/// f(i, j, boundary) for every node with a Dirichlet value and the boundary that it gets it from; of periodic boundaries' nodes those of the
/// first.
template <class F>
void for_each_dirichlet_node(const TensorMesh<2>& mesh, const BoundaryConditions& boundaries, const F& f) {
  const int last_x = mesh.x().size(), last_y = mesh.y().size();
  const auto visit = [&](int i, int j) {
    if (const BoundaryCondition* boundary = dirichlet_side(mesh, boundaries, i, j)) f(i, j, *boundary);
  };
  const int end_x = mesh.x().is_periodic() ? last_x - 1 : last_x;
  for (int i = 0; i <= end_x; ++i) {
    visit(i, 0);
    if (!mesh.y().is_periodic()) visit(i, last_y);
  }
  for (int j = 1; j < last_y; ++j) {
    visit(0, j);
    visit(last_x, j);
  }
}

/// f(i, j, value) likewise.
template <class F>
void for_each_dirichlet_value(const Geometry& mesh, const PoissonProblem& problem, const F& f) {
  const auto g = boundary_function(problem);
  for_each_dirichlet_node(mesh.logical(), problem.boundaries, [&](int i, int j, const BoundaryCondition& boundary) {
    f(i, j, evaluate(boundary.value ? boundary.value : g, mesh.node(i, j), "boundary value"));
  });
}

/// f(n, i, j, A_ik) for the n-th Dirichlet node k in the order of for_each_dirichlet_node and every unknown (i, j) coupled to
/// it. entry(p, q, dx, dy): A between node (p, q) and its neighbour (p + dx, q + dy).
template <class Entry, class F>
void for_each_dirichlet_entry(const Geometry& mesh, const PoissonProblem& problem, const Entry& entry, const F& f) {
  const Axis &x = mesh.logical().x(), &y = mesh.logical().y();
  const auto wrapped = [](const Axis& line, int k) { return line.is_periodic() ? (k + line.size()) % line.size() : k; };
  std::size_t n = 0;
  for_each_dirichlet_node(mesh.logical(), problem.boundaries, [&](int i, int j, const BoundaryCondition& /*boundary*/) {
    for (int dy = -1; dy <= 1; ++dy)
      for (int dx = -1; dx <= 1; ++dx) {
        const int p = wrapped(x, i + dx), q = wrapped(y, j + dy);
        if (p < 0 || p > x.size() || q < 0 || q > y.size()) continue;
        const int column = unknown_at(x, p), row = unknown_at(y, q);
        if (column >= 0 && row >= 0) f(n, column, row, entry(p, q, -dx, -dy));
      }
    ++n;
  });
}

/// `cells`: K and c, c beside `reaction`; K = 1 where there are none.
template <class F>
void for_each_dirichlet_entry(const Geometry& mesh, const PoissonProblem& problem, const CellCoefficients* cells,
                              double reaction, const F& f) {
  for_each_dirichlet_entry(
      mesh, problem, [&](int p, int q, int dx, int dy) { return entry_of(mesh, cells, reaction, p, q, dx, dy); }, f);
}

/// The same for what alpha adds: along a Robin boundary it couples the first and the last unknown to the Dirichlet nodes at its
/// corners.
template <class F>
void for_each_dirichlet_alpha(const Geometry& mesh, const PoissonProblem& problem, const F& f) {
  for (const BoundaryOf& boundary : all_boundaries(problem.boundaries)) {
    if (boundary.condition.kind != BoundaryConditionType::robin) continue;
    const auto [direction, last] = boundary.place;
    const Axis &along = mesh.along(boundary.place), &across = mesh.across(boundary.place);
    const int line = last ? across.unknowns() - 1 : 0;
    for (const bool end : {false, true}) {
      if ((end ? along.last_boundary() : along.first_boundary()) != BoundaryType::dirichlet || along.unknowns() == 0)
        continue;
      const int interval = end ? along.size() - 1 : 0;
      double coupling = 0;
      for (const auto& [t, weight] : gauss4)
        coupling += weight * mesh.length_on_side(boundary.place, interval) * t * (1 - t) *
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

/// A_ik for the Dirichlet node k goes to the right-hand sides of its neighbours.
template <class Loads>
void subtract_boundary(Context& ctx, const Geometry& mesh, const PoissonProblem& problem, const CellCoefficients* cells,
                       Loads& b) {
  if (!has_boundary_values(problem)) return;
  const auto own = cells == nullptr ? cell_coefficients(ctx, mesh, problem) : std::nullopt;
  if (own) cells = &*own;
  const auto values = dirichlet_values(mesh, problem);
  const auto subtract = [&](std::size_t n, int i, int j, double entry) {
    if (values[n] != 0 && b.has(j)) b(i, j) -= entry * values[n];
  };
  for_each_dirichlet_entry(mesh, problem, cells, problem.reaction, subtract);
  for_each_dirichlet_alpha(mesh, problem, subtract);
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

std::string_view to_string(BoundaryConditionType kind) {
  switch (kind) {
    case BoundaryConditionType::neumann: return "neumann";
    case BoundaryConditionType::robin: return "robin";
    case BoundaryConditionType::periodic: return "periodic";
    case BoundaryConditionType::dirichlet: break;
  }
  return "dirichlet";
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
  const auto end = [](const BoundaryCondition& boundary) {
    return boundary.kind == BoundaryConditionType::periodic    ? BoundaryType::periodic
           : boundary.kind == BoundaryConditionType::dirichlet ? BoundaryType::dirichlet
                                                               : BoundaryType::neumann;
  };
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

OperatorTerms operator_terms(const Geometry& mesh, const PoissonProblem& problem) {
  expects(std::isfinite(problem.reaction) && problem.reaction >= 0,
          "the reaction coefficient c must be finite and not negative, not ", problem.reaction);
  OperatorTerms terms;
  terms.reaction = problem.reaction;
  const std::array<RobinCoefficient*, 4> alphas{&terms.left, &terms.right, &terms.bottom, &terms.top};
  const auto boundaries = all_boundaries(problem.boundaries);
  for (std::size_t k = 0; k < boundaries.size(); ++k) {
    const BoundaryOf& boundary = boundaries[k];
    if (boundary.condition.kind != BoundaryConditionType::robin) continue;
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
                          across = node_of(other, boundary.place.last ? other.size() : 0), origin = along.origin(),
                          length = along.length()](double s) {
      const LinePoint p{origin + s, s, length - s};
      return alpha(row ? make_point(p, across) : make_point(across, p));
    };
  }
  return terms;
}

std::optional<CellCoefficients> cell_coefficients(Context& ctx, const Geometry& mesh, const PoissonProblem& problem) {
  if (!problem.has_coefficients()) return std::nullopt;
  return on_cells(ctx, mesh, problem.diffusion, problem.reaction_of_cells);
}

bool is_singular(Context& ctx, const Geometry& mesh, const PoissonProblem& problem, const CellCoefficients* cells) {
  if (!is_singular(mesh.logical(), operator_terms(mesh, problem))) return false;
  if (cells != nullptr || !problem.reaction_of_cells.is_given()) return cells == nullptr || cells->c.empty();
  return on_cells(ctx, mesh, {}, problem.reaction_of_cells).c.empty();
}

Compatibility make_compatible(Context& ctx, const Geometry& mesh, FieldView<double> b) {
  const int first_row = first_row_of(ctx, "the load vector", mesh.logical(), b);
  if (mesh.mapped() == nullptr) return make_compatible(ctx, hat_integrals(mesh.logical(), first_row), b);
  return make_compatible(ctx, hat_integrals(ctx, *mesh.mapped(), b.shape(), first_row).cview(), b);
}

void subtract_integral_mean(Context& ctx, const Geometry& mesh, FieldView<double> u) {
  const int first_row = first_row_of(ctx, "the solution", mesh.logical(), u);
  if (mesh.mapped() == nullptr) return subtract_integral_mean(ctx, hat_integrals(mesh.logical(), first_row), u);
  subtract_integral_mean(ctx, hat_integrals(ctx, *mesh.mapped(), u.shape(), first_row).cview(), u);
}

bool has_boundary_values(const PoissonProblem& problem) {
  for (const BoundaryOf& boundary : all_boundaries(problem.boundaries))
    if (boundary.condition.kind == BoundaryConditionType::dirichlet &&
        (boundary.condition.value || problem.boundary || problem.exact))
      return true;
  return false;
}

BoundaryValues boundary_values_of_nodes(const Geometry& mesh, const PoissonProblem& problem) {
  const Axis &x = mesh.logical().x(), &y = mesh.logical().y();
  const std::vector<double> vertical(static_cast<std::size_t>(y.size()) + 1),
      horizontal(static_cast<std::size_t>(x.size()) + 1);
  BoundaryValues values{vertical, vertical, horizontal, horizontal};
  for_each_dirichlet_value(mesh, problem, [&](int i, int j, double value) {
    const auto p = static_cast<std::size_t>(i), q = static_cast<std::size_t>(j);
    if (i == 0) values.left[q] = value;
    if (i == x.size()) values.right[q] = value;
    if (j == 0) values.bottom[p] = value;
    if (j == y.size()) values.top[p] = value;
  });
  if (x.is_periodic()) values.bottom.back() = values.bottom.front(), values.top.back() = values.top.front();
  if (y.is_periodic()) values.left.back() = values.left.front(), values.right.back() = values.right.front();
  return values;
}

void lift_boundary(Context& ctx, const Geometry& mesh, const PoissonProblem& problem, FieldView<double> u) {
  const int first_row = first_row_of(ctx, "the solution", mesh.logical(), u);
  const Axis &x = mesh.logical().x(), &y = mesh.logical().y();
  auto [left, right, bottom, top] = boundary_values_of_nodes(mesh, problem);
  // A boundary without values of its own takes those of the side across; where neither has any, the direction has no part.
  const auto complete = [](BoundaryConditionType first, BoundaryConditionType second, std::vector<double>& a,
                           std::vector<double>& b) {
    if (first != BoundaryConditionType::dirichlet) a = b;
    if (second != BoundaryConditionType::dirichlet) b = a;
    return first == BoundaryConditionType::dirichlet || second == BoundaryConditionType::dirichlet;
  };
  const BoundaryConditions& s = problem.boundaries;
  double corner[2][2] = {{left.front(), left.back()}, {right.front(), right.back()}};  // by x, by y
  const auto same = [](double(&to)[2], const double(&from)[2]) { std::copy(from, from + 2, to); };
  if (s.left.kind != BoundaryConditionType::dirichlet) same(corner[0], corner[1]);
  if (s.right.kind != BoundaryConditionType::dirichlet) same(corner[1], corner[0]);
  for (auto& of_boundary : corner) {
    if (s.bottom.kind != BoundaryConditionType::dirichlet) of_boundary[0] = of_boundary[1];
    if (s.top.kind != BoundaryConditionType::dirichlet) of_boundary[1] = of_boundary[0];
  }
  const bool in_x = complete(s.left.kind, s.right.kind, left, right);
  const bool in_y = complete(s.bottom.kind, s.top.kind, bottom, top);
  const auto of_unknowns = [&](const Axis& line, const std::vector<double>& at_nodes) {
    const bool rows = &line == &y;
    const auto first = at_nodes.begin() + line.first_unknown() + (rows ? first_row : 0);
    return std::vector<double>(first, first + (rows ? u.ny : u.nx));
  };
  const auto fractions = [&](const Axis& line) {
    auto part = of_unknowns(line, line.from_begin());
    for (double& t : part) t /= line.length();
    return part;
  };
  set_coons_patch(ctx,
                  {of_unknowns(y, left),
                   of_unknowns(y, right),
                   of_unknowns(x, bottom),
                   of_unknowns(x, top),
                   fractions(x),
                   fractions(y),
                   {{corner[0][0], corner[0][1]}, {corner[1][0], corner[1][1]}},
                   in_x,
                   in_y},
                  u);
}

CornerGap largest_corner_gap(const Geometry& mesh, const PoissonProblem& problem) {
  const auto g = boundary_function(problem);
  const BoundaryConditions& s = problem.boundaries;
  CornerGap largest;
  for (const auto& [vertical, i] : {std::pair{&s.left, 0}, {&s.right, mesh.logical().x().size()}})
    for (const auto& [horizontal, j] : {std::pair{&s.bottom, 0}, {&s.top, mesh.logical().y().size()}}) {
      if (vertical->kind != BoundaryConditionType::dirichlet || horizontal->kind != BoundaryConditionType::dirichlet)
        continue;
      const Point p = mesh.node(i, j);
      const double gap =
          std::abs((vertical->value ? vertical->value : g)(p) - (horizontal->value ? horizontal->value : g)(p));
      if (gap > largest.gap) largest = {gap, p.x, p.y};
    }
  return largest;
}

double& BoundaryLoads::operator()(int i, int j) {
  const auto p = static_cast<std::size_t>(i), q = static_cast<std::size_t>(j - first);
  if (i == 0) return left[q];
  if (i == shape.nx - 1) return right[q];
  return j == 0 ? bottom[p] : top[p];
}

BoundaryLoads::BoundaryLoads(const GridLayout<2>& unknowns, int first_row)
    : shape(unknowns), first(first_row), left(static_cast<std::size_t>(unknowns.ny), 0.0), right(left),
      bottom(static_cast<std::size_t>(unknowns.nx), 0.0), top(bottom) {}

void add(Context& ctx, const BoundaryLoads& boundaries, std::array<Field<double>, 2>& through, FieldView<double> b) {
  if (b.nodes() == 0) return;
  const auto add_part = [&](const std::vector<double>& numbers, Field<double>& line, int i, int j) {
    if (std::all_of(numbers.begin(), numbers.end(), [](double value) { return value == 0; })) return;
    FieldView<double> part = b;
    part.data = &b(i, j);
    part.nx = line.view().nx;
    part.ny = line.view().ny;
    copy_from_host(ctx, numbers.data(), line.view());
    axpy(ctx, 1, line.cview(), part);
  };
  add_part(boundaries.left, through[0], 0, 0);
  add_part(boundaries.right, through[0], b.nx - 1, 0);
  add_part(boundaries.bottom, through[1], 0, 0);
  add_part(boundaries.top, through[1], 0, b.ny - 1);
}

std::vector<double> dirichlet_values(const Geometry& mesh, const PoissonProblem& problem) {
  std::vector<double> values;
  for_each_dirichlet_value(mesh, problem, [&](int /*i*/, int /*j*/, double value) { values.push_back(value); });
  return values;
}

std::vector<DirichletEntry> dirichlet_entries(const Geometry& mesh, const PoissonProblem& problem,
                                              const CellCoefficients* cells, double reaction) {
  std::vector<DirichletEntry> entries;
  const auto add = [&](std::size_t n, int i, int j, double value) { entries.push_back({n, i, j, value}); };
  for_each_dirichlet_entry(mesh, problem, cells, reaction, add);
  for_each_dirichlet_alpha(mesh, problem, add);
  return entries;
}

std::vector<DirichletEntry> dirichlet_mass_entries(const TensorMesh<2>& mesh, const PoissonProblem& problem,
                                                   double capacity) {
  std::vector<DirichletEntry> entries;
  for_each_dirichlet_entry(
      mesh, problem,
      [&](int p, int q, int dx, int dy) {
        return capacity * factor(mesh.x(), p, dx, false) * factor(mesh.y(), q, dy, false);
      },
      [&](std::size_t n, int i, int j, double value) {
        entries.push_back({n, i, j, value});
      });
  return entries;
}

void add_fluxes(const Geometry& mesh, const PoissonProblem& problem, BoundaryLoads& b) {
  for (const BoundaryOf& boundary : all_boundaries(problem.boundaries)) add_flux(mesh, boundary, b);
}

void assemble_load(Context& ctx, const Geometry& mesh, const PoissonProblem& problem, FieldView<double> b,
                   const CellCoefficients* cells) {
  const TensorMesh<2>& logical = mesh.logical();
  const int first_row = first_row_of(ctx, "the load vector", logical, b);
  expects(logical.unknowns() == with_boundaries(logical, problem.boundaries).unknowns(),
          "the mesh has not the ends of the problem's boundaries; with_boundaries gives them");
  expects(mesh.mapped() == nullptr || !problem.is_polynomial(),
          "the problem without functions is one of rectangles; a deformed mesh needs a right-hand side");
  const auto averaged = cells != nullptr ? cells->averaged : averaged_cells(ctx, mesh, problem.reaction_of_cells);
  if (mesh.mapped() == nullptr && load_on_gpu(ctx, logical, rhs_function(problem), b)) {
    add_averaged_load(ctx, mesh, rhs_function(problem), static_cast<int>(gauss4.size()), averaged, b);
    BoundaryLoads boundaries(b.shape(), first_row);
    add_fluxes(mesh, problem, boundaries);
    subtract_boundary(ctx, mesh, problem, cells, boundaries);
    std::array<Field<double>, 2> through{Field<double>(ctx, {1, b.ny}), Field<double>(ctx, {b.nx, 1})};
    return add(ctx, boundaries, through, b);
  }
  HostGrid load(b.nx, b.ny, first_row);
  if (problem.is_polynomial())
    add_polynomial_load(ctx, logical, load);
  else
    add_load(ctx, mesh, gauss4, problem.rhs, load);
  add_means(mesh, gauss4, rhs_function(problem), averaged, load);
  for (const BoundaryOf& boundary : all_boundaries(problem.boundaries)) add_flux(mesh, boundary, load);
  subtract_boundary(ctx, mesh, problem, cells, load);
  copy_from_host(ctx, load.values.data(), b);
}

void add_averaged_load(Context& ctx, const Geometry& mesh, const ScalarFunction& f, int points,
                       const std::vector<std::size_t>& averaged, FieldView<double> b) {
  if (averaged.empty()) return;
  HostGrid more(b.nx, b.ny, first_row_of(ctx, "the load vector", mesh.logical(), b));
  if (points == static_cast<int>(gauss2.size()))
    add_means(mesh, gauss2, f, averaged, more);
  else
    add_means(mesh, gauss4, f, averaged, more);
  Field<double> there(ctx, {b.nx, b.ny});
  copy_from_host(ctx, more.values.data(), there.view());
  axpy(ctx, 1.0, there.cview(), b);
}

std::vector<double> nodal_solution(Context& ctx, const Geometry& geometry, const PoissonProblem& problem,
                                   FieldView<const double> u) {
  const TensorMesh<2>& mesh = geometry.logical();
  const int first_row = first_row_of(ctx, "the solution", mesh, u);
  FieldView<const double> rows = u;
  if (u.below || u.above) exchange(ctx, u);
  if (u.above) ++rows.ny;
  HostGrid unknowns(rows.nx, rows.ny, first_row);
  copy_to_host(ctx, rows, unknowns.values.data());
  const NodeRows nodes = node_rows(mesh, u.shape());
  HostGrid values(mesh.x().size() + 1, nodes.count(), nodes.first);
  for (int j = values.first; j < values.end(); ++j) {
    int row = unknown_at(mesh.y(), j);
    if (u.above && j == nodes.last) row = first_row + u.ny;  // of the subdomain above, which may be the first
    for (int i = 0; i < values.nx && row >= 0; ++i)
      if (const int column = unknown_at(mesh.x(), i); column >= 0) values(i, j) = unknowns(column, row);
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
