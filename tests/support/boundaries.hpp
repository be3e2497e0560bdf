#pragma once

// Meshes by the kinds of their boundaries, and with lines that are waves.

#include <cmath>
#include <numbers>

#include <stratum/assembly/poisson_problem.hpp>
#include <stratum/mesh/mapped_mesh.hpp>
#include <stratum/mesh/tensor_mesh.hpp>

namespace test {

struct Ends {
  stratum::BoundaryType left, right, bottom, top;
};

[[nodiscard]] inline stratum::TensorMesh<2> with_boundaries(const stratum::TensorMesh<2>& mesh, const Ends& ends) {
  return {mesh.x().with_boundaries(ends.left, ends.right), mesh.y().with_boundaries(ends.bottom, ends.top)};
}

/// Opposite boundaries are one another's copies, so that they may be periodic; the lower one rises. From a rectangle at 0:
/// positions are positive.
[[nodiscard]] inline stratum::MappedMesh wavy(stratum::Context& ctx, const stratum::TensorMesh<2>& mesh) {
  using stratum::Point;
  const double a = mesh.x().length(), b = mesh.y().length();
  const auto wave = [=](const Point& p) {
    return std::sin(2 * std::numbers::pi * p.x / a + 1) * std::cos(2 * std::numbers::pi * p.y / b);
  };
  return mapped(
      ctx, mesh, [=](const Point& p) { return p.x + 0.05 * a * (1 + wave(p)); },
      [=](const Point& p) { return p.y + 0.04 * b * (1 + wave(p)) + 0.1 * b * p.x / a; });
}

}  // namespace test
