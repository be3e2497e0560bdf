#include <stratum/assembly/heat_problem_3d.hpp>

#include <algorithm>

#include <stratum/assembly/expressions/expression_source.hpp>

namespace stratum {

namespace {

/// What loads know to be constant.
ScalarFunction3D zero() {
  return BoxFunctionOfText{{"0", {1, 1, 1}, {}}, [](const Point3D& /*p*/) { return 0.0; }};
}

bool is_steady(const ScalarFunction3D& function) {
  if (!function) return true;
  const auto text = expression_of(function);
  return text && !text->has_time;
}

ScalarFunction3D at_time(const ScalarFunction3D& function, double t) {
  if (is_steady(function)) return function;
  const auto bound = [function, t](Point3D p) {
    p.t = t;
    return function(p);
  };
  auto text = expression_of(function);
  if (!text) return bound;
  text->t = t;
  return BoxFunctionOfText{*text, bound};
}

}  // namespace

PoissonProblem3D at_time(const HeatProblem3D& problem, double t) {
  PoissonProblem3D now = problem.space;
  now.rhs = now.rhs ? at_time(now.rhs, t) : zero();
  now.exact = at_time(now.exact, t);
  now.boundary = at_time(now.boundary, t);
  for (BoundaryCondition3D& face : now.boundaries.faces) face.value = at_time(face.value, t);
  for (Body3D& body : now.bodies)
    if (body.kind == BodyKind::value) body.value = at_time(body.value, t);
  return now;
}

ScalarFunction3D initial_function(const HeatProblem3D& problem, double start) {
  if (problem.initial) return at_time(problem.initial, start);
  return problem.space.exact ? at_time(problem.space.exact, start) : zero();
}

bool has_steady_rhs(const HeatProblem3D& problem) { return problem.steady_rhs || is_steady(problem.space.rhs); }

bool has_steady_bodies(const HeatProblem3D& problem) {
  const auto& bodies = problem.space.bodies;
  return problem.steady_bodies || std::all_of(bodies.begin(), bodies.end(), [](const Body3D& body) {
           return body.kind != BodyKind::value || is_steady(body.value);
         });
}

bool has_steady_faces(const HeatProblem3D& problem) {
  if (problem.steady_faces) return true;
  const PoissonProblem3D& space = problem.space;
  const auto& faces = space.boundaries.faces;
  // Dirichlet faces without a value of their own have the problem's.
  const bool own = std::all_of(faces.begin(), faces.end(), [](const BoundaryCondition3D& face) {
    return face.value || face.kind != BoundaryConditionType::dirichlet;
  });
  return std::all_of(faces.begin(), faces.end(),
                     [](const BoundaryCondition3D& face) { return is_steady(face.value); }) &&
         (own || is_steady(space.boundary ? space.boundary : space.exact));
}

}  // namespace stratum
