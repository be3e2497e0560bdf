#pragma once

// Gmsh's meshes, .msh of versions 2 and 4.1 in ASCII: quadrilaterals, with the physical groups of surfaces as regions and those
// of curves as names of boundaries. A curve without a group is called curveN by its number, a group without a name groupN.
//
// Coordinates are absolute: a width of 1e-12 at x = 1 has four digits. Thinner layers are for text files of patches.
//
// Throws FileError for a file that cannot be read, is binary, is of another version or ends too early; UsageError for
// triangles, for cells of second order, for a mesh that is not plane, and for surfaces whose curves lie at the same place or
// touch and are not joined, unless physical groups name the curves.
//
// Source of the format: Gmsh Reference Manual, MSH file format.

#include <string>

#include <stratum/mesh/patches/quad_mesh.hpp>

namespace stratum {

[[nodiscard]] QuadMesh read_gmsh(const std::string& path);

}  // namespace stratum
