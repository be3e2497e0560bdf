#include <stratum/assembly/poisson_problem_3d.hpp>

#include <algorithm>
#include <cmath>

#include <stratum/assembly/box_points.hpp>
#include <stratum/assembly/polynomial_problem.hpp>
#include <stratum/core/errors.hpp>

namespace stratum {

std::string_view to_string(BoxFace face) {
  constexpr std::array<std::string_view, 6> names{"left", "right", "bottom", "top", "front", "back"};
  return names[static_cast<std::size_t>(face)];
}

bool PoissonProblem3D::has_exact() const {
  if (exact) return true;
  const auto is_plain = [](const BoundaryCondition3D& condition) {
    return condition.kind == BoundaryConditionType::dirichlet && !condition.value;
  };
  return is_product() && !boundary && reaction == 0 && !diffusion.is_given() && bodies.empty() &&
         std::all_of(boundaries.faces.begin(), boundaries.faces.end(), is_plain);
}

TensorMesh<3> with_boundaries(const TensorMesh<3>& mesh, const BoundaryConditions3D& boundaries) {
  std::array<Axis, 3> axes{mesh.x(), mesh.y(), mesh.z()};
  for (std::size_t d = 0; d < axes.size(); ++d) {
    const auto first = static_cast<BoxFace>(2 * d), last = static_cast<BoxFace>(2 * d + 1);
    const BoundaryType begin = boundary_type(boundaries[first].kind), end = boundary_type(boundaries[last].kind);
    expects((begin == BoundaryType::periodic) == (end == BoundaryType::periodic), "the ", to_string(first), " face is ",
            to_string(boundaries[first].kind), " and the ", to_string(last), " face is ",
            to_string(boundaries[last].kind), ": a periodic direction needs both faces periodic");
    expects(begin != BoundaryType::periodic || axes[d].size() >= 3, "a periodic direction needs at least 3 cells; ",
            axis_names[d], " has ", axes[d].size());
    axes[d] = axes[d].with_boundaries(begin, end);
    expects(axes[d].unknowns() > 0, "direction ", axis_names[d], " has ", axes[d].size(),
            " cell between two Dirichlet faces, and so no unknowns; it needs at least 2 cells");
  }
  return {axes[0], axes[1], axes[2], mesh.name()};
}

bool is_singular(const TensorMesh<3>& mesh, const PoissonProblem3D& problem) {
  if (problem.reaction > 0) return false;
  for (const BoxFace face : all_box_faces) {
    if (problem.boundaries[face].kind == BoundaryConditionType::dirichlet) return false;
    if (face_alpha(mesh, problem, face) > 0) return false;
  }
  return true;
}

double face_alpha(const TensorMesh<3>& mesh, const PoissonProblem3D& problem, BoxFace face) {
  const BoundaryCondition3D& condition = problem.boundaries[face];
  if (!has_alpha(condition.kind)) return 0;
  expects(static_cast<bool>(condition.alpha), "the ", to_string(face), " face is a ", to_string(condition.kind),
          " face and has no alpha");
  double found = 0;
  bool first = true;
  for_each_face_point(mesh, face, [&](const Point3D& p) {
    const double alpha = condition.alpha(p);
    expects(std::isfinite(alpha) && alpha >= 0, "alpha of the ", to_string(face), " face is ", alpha, " at (", p.x,
            ", ", p.y, ", ", p.z, "); it must be finite and not negative");
    if (first) found = alpha;
    first = false;
    expects(alpha == found, "alpha of the ", to_string(face), " face varies: it is ", found, " and ", alpha, " at (",
            p.x, ", ", p.y, ", ", p.z, "). The direct solver needs the same alpha everywhere on a face");
  });
  return found;
}

ScalarFunction3D rhs_function(const PoissonProblem3D& problem) {
  if (problem.rhs) return problem.rhs;
  return BoxPolynomialRhs{};
}

ScalarFunction3D exact_function(const PoissonProblem3D& problem) {
  if (problem.exact) return problem.exact;
  expects(problem.has_exact(), "the exact solution of this problem is not known");
  return BoxPolynomialSolution{};
}

ScalarFunction3D boundary_function(const PoissonProblem3D& problem) {
  if (problem.boundary) return problem.boundary;
  if (problem.exact) return problem.exact;
  return [](const Point3D& /*p*/) { return 0.0; };
}

EdgeGap largest_edge_gap(const TensorMesh<3>& mesh, const PoissonProblem3D& problem) {
  const ScalarFunction3D g = boundary_function(problem);
  EdgeGap largest;
  const auto value_of = [&](BoxFace face) -> const ScalarFunction3D& {
    return problem.boundaries[face].value ? problem.boundaries[face].value : g;
  };
  const auto is_dirichlet = [&](BoxFace face) {
    return problem.boundaries[face].kind == BoundaryConditionType::dirichlet;
  };
  for (const BoxFace kept : all_box_faces)
    for (const BoxFace other : all_box_faces) {
      const auto d = static_cast<int>(kept) / 2, e = static_cast<int>(other) / 2;
      if (d >= e || !is_dirichlet(kept) || !is_dirichlet(other)) continue;
      if (!problem.boundaries[kept].value && !problem.boundaries[other].value) continue;
      const int along = 3 - d - e;
      std::array<int, 3> node{};
      node[static_cast<std::size_t>(d)] = static_cast<int>(kept) % 2 == 0 ? 0 : mesh.axis(d).size();
      node[static_cast<std::size_t>(e)] = static_cast<int>(other) % 2 == 0 ? 0 : mesh.axis(e).size();
      for (int i = 0; i <= mesh.axis(along).size(); ++i) {
        node[static_cast<std::size_t>(along)] = i;
        const Point3D p = node_point(mesh, node[0], node[1], node[2]);
        const double gap = std::abs(value_of(kept)(p) - value_of(other)(p));
        if (gap > largest.gap) largest = {gap, p.x, p.y, p.z, kept, other};
      }
    }
  return largest;
}

double SolutionRange3D::largest_step() const {
  const double all = range();
  return all > 0 ? std::abs(step_to.value - step_from.value) / all : 0;
}

}  // namespace stratum
