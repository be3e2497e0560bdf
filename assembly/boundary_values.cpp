// The values of Dirichlet boundaries, at their nodes and inside (poisson_problem.hpp).

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include <stratum/assembly/points.hpp>
#include <stratum/assembly/problem_boundary.hpp>
#include <stratum/assembly/rectangle_fields.hpp>
#include <stratum/core/errors.hpp>

namespace stratum {

using detail::all_boundaries;
using detail::BoundaryOf;
using detail::for_each_dirichlet_value;

namespace {

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

}  // namespace

void detail::for_each_dirichlet_node(const TensorMesh<2>& mesh, const BoundaryConditions& boundaries,
                                     const std::function<void(int, int, const BoundaryCondition&)>& f) {
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

void detail::for_each_dirichlet_value(const Geometry& mesh, const PoissonProblem& problem,
                                      const std::function<void(int, int, double)>& f) {
  const auto g = boundary_function(problem);
  for_each_dirichlet_node(mesh.logical(), problem.boundaries, [&](int i, int j, const BoundaryCondition& boundary) {
    f(i, j, evaluate(boundary.value ? boundary.value : g, mesh.node(i, j), "boundary value"));
  });
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

void lift_boundary(Context& ctx, const Geometry& mesh, const PoissonProblem& problem, const GridFunction<double>& u) {
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
    return std::vector<double>(first, first + (rows ? u.view.ny : u.view.nx));
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
                  u.view);
  if (const auto map = bodies_on(ctx, mesh, problem)) clear_fixed_nodes(ctx, mesh, *map, u);
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

std::vector<double> dirichlet_values(const Geometry& mesh, const PoissonProblem& problem) {
  std::vector<double> values;
  for_each_dirichlet_value(mesh, problem, [&](int /*i*/, int /*j*/, double value) { values.push_back(value); });
  return values;
}

}  // namespace stratum
