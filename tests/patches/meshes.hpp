#pragma once

// Meshes that the tests of patches share.

#include <cmath>
#include <string>
#include <vector>

#include <stratum/mesh/patches/patch_geometries.hpp>

namespace test {

using stratum::PatchMesh;
using stratum::PatchMeshParts;
using stratum::VertexGrading;

inline PatchMeshParts with_cells(PatchMeshParts parts, int cells) {
  parts.cells = cells;
  return parts;
}
inline PatchMeshParts thin_at_wall(PatchMeshParts parts, int cells, double h = 1e-6) {
  parts.cells = cells;
  const auto wall = vertices_of_boundary(parts, "wall");
  return graded_towards(std::move(parts), wall, {VertexGrading::Kind::smallest, h});
}
inline PatchMeshParts thin_at_origin(PatchMeshParts parts, int cells, VertexGrading grading = {}) {
  parts.cells = cells;
  int origin = 0;
  for (std::size_t v = 0; v < parts.vertices.size(); ++v)
    if (std::hypot(parts.vertices[v].x, parts.vertices[v].y) < 1e-12) origin = static_cast<int>(v);
  return graded_towards(std::move(parts), {origin}, grading);
}

}  // namespace test
