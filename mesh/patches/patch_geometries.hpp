#pragma once

// Meshes of patches for examples, tests and measurements. Each returns its parts, so that cells and gradings can be added
// before a PatchMesh is made. Boundary edges around bodies are named "wall", the others as said below.
//
//     l_shape           [-1, 1]^2 without [0, 1] x [-1, 0]: 3 patches; re-entrant corner at the origin; "wall"
//     square_with_hole  [-1.5, 1.5]^2 without [-0.5, 0.5]^2: 8 patches; "wall", "outer"
//     cylinder          channel 2.2 x 0.41 around a cylinder at (0.2, 0.2) of radius 0.05: 14 patches; "wall" (cylinder),
//                       "inlet", "outlet", "channel" (Schaefer, Turek, Benchmark Computations of Laminar Flow, 1996)
//     c_grid            around a body with a round nose, with a cut along its wake: 6 patches; "wall", "outer"
//     pipe_section      the unit disc, a square and four patches around it; "wall"
//     star              k patches around one vertex, a regular k-gon; "outer"
//     patch_grid        the unit square, m x n patches; "left", "right", "bottom", "top"
//     triangle_patches  k x k squares cut into triangles, each triangle into three patches: 6 k^2; "outer"
//     patch_ring        k patches between the circles of radius 1 and 2; "wall" (inner), "outer"

#include <cstdint>
#include <vector>

#include <stratum/mesh/patches/patch_mesh.hpp>

namespace stratum {

[[nodiscard]] PatchMeshParts l_shape();
[[nodiscard]] PatchMeshParts square_with_hole();
[[nodiscard]] PatchMeshParts cylinder_in_channel();
[[nodiscard]] PatchMeshParts c_grid();
[[nodiscard]] PatchMeshParts pipe_section();
[[nodiscard]] PatchMeshParts star(int patches);
[[nodiscard]] PatchMeshParts patch_grid(int m, int n);
[[nodiscard]] PatchMeshParts triangle_patches(int k, std::uint64_t seed = 0, double jitter = 0.2);
[[nodiscard]] PatchMeshParts patch_ring(int patches);

/// Vertices of the boundary edges that have this name, ascending.
[[nodiscard]] std::vector<int> vertices_of_boundary(const PatchMeshParts& parts, const std::string& name);

/// Thin cells at vertices: every chord with an edge that ends at one of them gets widths that are thin there, all with the
/// number of cells `parts.cells`. Boundary edges between two of the vertices run along the wall and do not count.
///
///     smallest   geometric widths, the smallest of this fraction of the edge
///     bisected   repeated bisection of the thin interval into nu/2 and 1 - nu/2, as in the published meshes; cells: 2^level
struct VertexGrading {
  enum class Kind : std::uint8_t { smallest, bisected };
  Kind kind = Kind::smallest;
  double value = 1e-6;  // smallest width, or nu
};
[[nodiscard]] PatchMeshParts graded_towards(PatchMeshParts parts, const std::vector<int>& vertices,
                                            const VertexGrading& grading);

/// The same mesh with the axes of every patch turned at random by a multiple of 90 degrees.
[[nodiscard]] PatchMeshParts turned_at_random(PatchMeshParts parts, std::uint64_t seed);

}  // namespace stratum
