#pragma once

// Bodies, and domains around them, as tests have them: in the plane, and in boxes where the shape takes a Point3D.

#include <type_traits>
#include <utility>
#include <vector>

#include <stratum/assembly/poisson_problem.hpp>
#include <stratum/assembly/poisson_problem_3d.hpp>

namespace test {

/// The same at all points of the plane, or of a box.
[[nodiscard]] inline auto number(double value) {
  return [value](const auto&) { return value; };
}

template <class Shape>
using BodyOf = std::conditional_t<std::is_invocable_v<Shape, const stratum::Point&>, stratum::Body, stratum::Body3D>;

template <class Shape>
[[nodiscard]] BodyOf<Shape> held(Shape shape, double value) {
  return {std::move(shape), stratum::BodyKind::value, number(value)};
}
[[nodiscard]] inline stratum::Body held(stratum::ScalarFunction shape, stratum::ScalarFunction value) {
  return {std::move(shape), stratum::BodyKind::value, std::move(value)};
}
template <class Shape>
[[nodiscard]] BodyOf<Shape> solid(Shape shape) {
  return {std::move(shape), stratum::BodyKind::no_flux};
}
template <class Shape>
[[nodiscard]] BodyOf<Shape> material(Shape shape, double k) {
  return {std::move(shape), stratum::BodyKind::coefficient, number(k)};
}
template <class Shape>
[[nodiscard]] BodyOf<Shape> contact(Shape shape, double resistance) {
  BodyOf<Shape> body{std::move(shape), stratum::BodyKind::contact};
  body.resistance = resistance;
  return body;
}

[[nodiscard]] inline stratum::BoundaryCondition neumann() { return {stratum::BoundaryConditionType::neumann}; }
[[nodiscard]] inline stratum::BoundaryConditions all_neumann() { return {neumann(), neumann(), neumann(), neumann()}; }
inline void all_neumann(stratum::PoissonProblem3D& problem) {
  problem.boundaries.faces.fill({stratum::BoundaryConditionType::neumann, {}, {}});
}

/// n cells of the same width in [0, 1].
[[nodiscard]] inline stratum::Axis unit_axis(int n) {
  return {std::vector<double>(static_cast<std::size_t>(n), 1.0 / n), 1};
}
[[nodiscard]] inline stratum::TensorMesh<2> unit_square(int n) { return {unit_axis(n), unit_axis(n), "square"}; }
[[nodiscard]] inline stratum::TensorMesh<3> unit_cube(int n) {
  return {unit_axis(n), unit_axis(n), unit_axis(n), "cube"};
}

}  // namespace test
