#include <stratum/assembly/heat_problem.hpp>

#include <stratum/core/grid/blas.hpp>

namespace stratum {

namespace {

Sides at_time(const Sides& sides, double t) {
  Sides now = sides;
  for (SideCondition* side : {&now.left, &now.right, &now.bottom, &now.top}) {
    side->value = stratum::at_time(side->value, t);
    side->alpha = stratum::at_time(side->alpha, t);
  }
  return now;
}

double zero(const Point& /*p*/) { return 0; }

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
  now.sides = at_time(now.sides, t);
  for (Coefficient* k : {&now.diffusion.xx, &now.diffusion.xy, &now.diffusion.yy, &now.reaction_of_cells})
    *k = at_time(*k, t);
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
  const Sides& s = space.sides;
  for (const SideCondition* side : {&s.left, &s.right, &s.bottom, &s.top})
    if (side->kind == SideKind::robin) return true;
  return false;
}

void assemble_heat_load(Context& ctx, const TensorMesh& mesh, const HeatProblem& problem, double t,
                        GridView<double> b) {
  if (!problem.space.rhs) return set(ctx, 0.0, b);
  PoissonProblem load;
  load.rhs = at_time(problem.space.rhs, t);
  load.sides = problem.space.sides;
  for (SideCondition* side : {&load.sides.left, &load.sides.right, &load.sides.bottom, &load.sides.top})
    side->value = {};
  assemble_load(ctx, mesh, load, b);
}

double total_heat(Context& ctx, const TensorMesh& mesh, const HeatProblem& problem, double t,
                  GridView<const double> u) {
  const auto values = nodal_solution(ctx, mesh, at_time(problem, t), u);
  const auto capacity = capacity_on_cells(ctx, mesh, at_time(problem.capacity, t));
  const auto columns = mesh.x().widths().size(), rows = mesh.y().widths().size();
  double heat = 0;
  for (std::size_t j = 0; j < rows; ++j) {
    double row = 0;
    for (std::size_t i = 0; i < columns; ++i) {
      const double* south = &values[j * (columns + 1) + i];
      const double* north = south + columns + 1;
      row += capacity[j * columns + i] * mesh.x().widths()[i] * (south[0] + south[1] + north[0] + north[1]) / 4;
    }
    heat += mesh.y().widths()[j] * row;
  }
  return heat;
}

}  // namespace stratum
