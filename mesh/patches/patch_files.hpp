#pragma once

// Meshes of patches from files, by their ending: .msh of Gmsh, .xml of FEAT3, .vtm of VTK, and text
// (mesh/patches/patch_text.hpp). Meshes of quadrilaterals are taken apart into patches by their base complex
// (mesh/patches/quad_mesh.hpp).
//
// Throws as the readers and PatchMesh do, and UsageError for `cells` where a file has cells of its own.

#include <optional>
#include <string>
#include <vector>

#include <stratum/mesh/patches/patch_mesh.hpp>
#include <stratum/mesh/patches/patch_text.hpp>

namespace stratum {

struct PatchFile {
  PatchMesh mesh;
  std::vector<double> diffusion{};  // K of each patch; empty: 1
  std::string summary{};            // what the file was, for people
};

/// `cells`: of chords of which the file says nothing.
[[nodiscard]] PatchFile read_patches(const std::string& path, const PatchExpressions& expressions = {},
                                     std::optional<int> cells = {});

}  // namespace stratum
