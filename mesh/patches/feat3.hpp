#pragma once

// FEAT3's meshes, .xml of quadrilaterals (conformal:hypercube:2:2): every cell is a patch, mesh parts that hold edges of the
// boundary name them, and edges of parts with a chart follow it, a circle or a Bezier curve.
//
// Throws FileError for a file that cannot be read or ends too early, UsageError for triangles and for charts of other kinds.
//
// Source of the format: the documentation of FEAT3, "Mesh file format" (FEAT_MESH_FILE_FORMAT).

#include <string>

#include <stratum/mesh/patches/patch_mesh.hpp>

namespace stratum {

[[nodiscard]] PatchMeshParts read_feat3(const std::string& path);

}  // namespace stratum
