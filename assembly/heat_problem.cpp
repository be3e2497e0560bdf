#include <stratum/assembly/heat_problem.hpp>

#include <numeric>
#include <vector>

#include <stratum/assembly/gauss_rules.hpp>
#include <stratum/assembly/mapped_element.hpp>
#include <stratum/assembly/points.hpp>
#include <stratum/core/field/blas.hpp>

namespace stratum {

namespace {

BoundaryConditions at_time(const BoundaryConditions& boundaries, double t) {
  BoundaryConditions now = boundaries;
  for (BoundaryCondition* side : {&now.left, &now.right, &now.bottom, &now.top}) {
    side->value = stratum::at_time(side->value, t);
    side->alpha = stratum::at_time(side->alpha, t);
  }
  return now;
}

double zero(const Point& /*p*/) { return 0; }

/// At the unknowns of `shape`. What every row of cells gives to the nodes below and above it, every other row first: these
/// share no node. Row j of unknowns lies between rows j and j + 1 of the cells that are visited.
std::vector<double> quick_load(const Context& ctx, const Geometry& mesh, const GridLayout<2>& shape,
                               const ScalarFunction& f) {
  const Axis &x = mesh.logical().x(), &y = mesh.logical().y();
  const auto nodes = static_cast<std::size_t>(x.size()) + 1, nx = static_cast<std::size_t>(shape.nx);
  std::vector<double> load(nx * static_cast<std::size_t>(shape.ny), 0.0);
  const auto add_row = [&](const std::vector<double>& given, int row) {
    if (row < 0 || row >= shape.ny) return;
    const auto first = static_cast<std::size_t>(row) * nx, first_x = static_cast<std::size_t>(shape.origin_x);
    for (std::size_t p = 0; p < nx; ++p) load[first + p] += given[p + first_x];
  };
  for (const int odd : {0, 1})
    for_each_row(
        ctx, (shape.ny + 2 - odd) / 2,
        [&](int k, const ScalarFunction& own) {
          const int j = 2 * k + odd;
          int cells = shape.origin_y - 1 + j;
          if (y.is_periodic()) cells = (cells + y.size()) % y.size();
          if (cells < 0 || cells >= y.size()) return;
          std::vector<double> lower(nodes, 0.0), upper(lower);
          for (int i = 0; i < x.size(); ++i) {
            const CellPoints cell = mesh.cell(i, cells);
            const auto n = static_cast<std::size_t>(i);
            for (const auto& [s, weight_y] : gauss2)
              for (const auto& [t, weight_x] : gauss2) {
                const double value =
                    weight_x * weight_y * cell.measure(t, s) * evaluate(own, cell.at(t, s), "right-hand side");
                lower[n] += value * (1 - s) * (1 - t);
                lower[n + 1] += value * (1 - s) * t;
                upper[n] += value * s * (1 - t);
                upper[n + 1] += value * s * t;
              }
          }
          if (x.is_periodic()) {
            lower[0] += lower[nodes - 1];
            upper[0] += upper[nodes - 1];
          }
          add_row(lower, j - 1);
          add_row(upper, j);
        },
        f);
  return load;
}

}  // namespace

ScalarFunction at_time(const ScalarFunction& function, double t) {
  if (!function) return {};
  return [function, t](Point p) {
    p.t = t;
    return function(p);
  };
}

Coefficient at_time(const Coefficient& coefficient, double t) {
  return coefficient.function ? Coefficient(at_time(coefficient.function, t)) : coefficient;
}

PoissonProblem at_time(const HeatProblem& problem, double t) {
  PoissonProblem now = problem.space;
  now.rhs = now.rhs ? at_time(now.rhs, t) : zero;
  now.exact = at_time(now.exact, t);
  now.boundary = at_time(now.boundary, t);
  now.boundaries = at_time(now.boundaries, t);
  for (Coefficient* k : {&now.diffusion.xx, &now.diffusion.xy, &now.diffusion.yy, &now.reaction_of_cells})
    *k = at_time(*k, t);
  for (Body& body : now.bodies)
    for (ScalarFunction* const given : {&body.inside, &body.value, &body.kxy, &body.kyy}) *given = at_time(*given, t);
  return now;
}

ScalarFunction initial_function(const HeatProblem& problem, double start) {
  if (problem.initial) return at_time(problem.initial, start);
  return problem.space.exact ? at_time(problem.space.exact, start) : zero;
}

bool coefficients_vary(const HeatProblem& problem) {
  if (problem.steady_coefficients) return false;
  const PoissonProblem& space = problem.space;
  for (const Coefficient* k :
       {&space.diffusion.xx, &space.diffusion.xy, &space.diffusion.yy, &space.reaction_of_cells, &problem.capacity})
    if (k->function) return true;
  for (const Body& body : space.bodies)
    if (body.kind == BodyKind::coefficient) return true;
  const BoundaryConditions& s = space.boundaries;
  for (const BoundaryCondition* side : {&s.left, &s.right, &s.bottom, &s.top})
    if (has_alpha(side->kind)) return true;
  return false;
}

bool coefficients_are_numbers(const Geometry& mesh, const HeatProblem& problem, double t) {
  const PoissonProblem& space = problem.space;
  const auto number = [](const Coefficient& k) { return k.constant || !k.is_given(); };
  return mesh.mapped() == nullptr && space.bodies.empty() && number(space.diffusion.xx) &&
         !space.diffusion.xy.is_given() && number(space.diffusion.yy) && number(space.reaction_of_cells) &&
         number(problem.capacity) && !coefficients_vary(problem) && !operator_terms(mesh, at_time(problem, t)).varies();
}

void assemble_heat_load(Context& ctx, const Geometry& mesh, const HeatProblem& problem, double t,
                        const GridFunction<double>& b, const std::vector<std::size_t>& averaged) {
  if (!problem.space.rhs) return set(ctx, 0.0, b.view);
  GridLayout<2> shape = mesh.logical().unknowns();
  shape.origin_y += first_row_of(ctx, "the load vector", mesh.logical(), b);
  shape.ny = b.view.ny;
  const ScalarFunction f = at_time(problem.space.rhs, t);
  if (!problem.steady_rhs) {
    copy_from_host(ctx, quick_load(ctx, mesh, shape, f).data(), b.view);
    return add_averaged_load(ctx, mesh, f, static_cast<int>(gauss2.size()), averaged, b);
  }
  PoissonProblem load;
  load.rhs = f;
  load.boundaries = problem.space.boundaries;
  for (BoundaryCondition* side :
       {&load.boundaries.left, &load.boundaries.right, &load.boundaries.bottom, &load.boundaries.top})
    side->value = {};
  assemble_load(ctx, mesh, load, b);
  add_averaged_load(ctx, mesh, f, static_cast<int>(gauss4.size()), averaged, b);
}

double total_heat(Context& ctx, const Geometry& geometry, const HeatProblem& problem, double t,
                  const GridFunction<const double>& u) {
  const TensorMesh<2>& mesh = geometry.logical();
  const PoissonProblem now = at_time(problem, t);
  const auto values = nodal_solution(ctx, geometry, now, u);
  const auto map = bodies_on(ctx, geometry, now);
  const auto capacities = problem.capacity.constant ? std::vector<double>()
                                                    : capacity_on_cells(ctx, geometry, at_time(problem.capacity, t));
  const NodeRows nodes = node_rows(mesh, layout_of(mesh, u));
  const auto columns = mesh.x().widths().size(), first = static_cast<std::size_t>(nodes.first),
             rows = static_cast<std::size_t>(nodes.count()) - 1;
  std::vector<double> heat(rows, 0.0);  // of rows of cells
  for (std::size_t j = 0; j < rows; ++j) {
    for (std::size_t i = 0; i < columns; ++i) {
      if (map && map->cell_at(static_cast<int>(i), static_cast<int>(first + j)) != BodyMap::live) continue;
      const double* south = &values[j * (columns + 1) + i];
      const double* north = south + columns + 1;
      const double capacity = capacities.empty() ? *problem.capacity.constant : capacities[(first + j) * columns + i];
      if (geometry.mapped() != nullptr) {
        const MappedElement cell = element_of(*geometry.mapped(), static_cast<int>(i), static_cast<int>(first + j),
                                              {.xx = 0, .yy = 0, .c = capacity});
        const double corners[4] = {south[0], south[1], north[0], north[1]};
        for (int a = 0; a < 4; ++a)
          for (int b = 0; b < 4; ++b)
            heat[j] += cell.entry(a % 2, a / 2, b % 2, b / 2) * corners[static_cast<std::size_t>(b)];
        continue;
      }
      heat[j] += capacity * mesh.x().widths()[i] * (south[0] + south[1] + north[0] + north[1]) / 4;
    }
    if (geometry.mapped() == nullptr) heat[j] *= mesh.y().widths()[first + j];
  }
  if (u.is_part()) heat = ctx.communicator()->join_on_host(heat);
  return std::accumulate(heat.begin(), heat.end(), 0.0);
}

}  // namespace stratum
