#pragma once

// Multi-block files (.vtm) of patches: a file that names structured grids (mesh/vtk/vts.hpp), one a patch, in a folder beside
// it that has its name without the ending.
//
// A file is read by joining the nodes of its blocks that lie within 1e-6 of the local width of each other; blocks need not meet
// in whole edges. Boundaries are called BLOCK.left, .right, .bottom and .top, by the name of a block or, where it has none, by
// its number.
//
// Errors: those of mesh/vtk/vts.hpp; UsageError where a node of a block lies on the edge of another between two nodes.

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <stratum/mesh/patches/quad_mesh.hpp>
#include <stratum/mesh/vtk/vtk.hpp>

namespace stratum {

/// Fields of one patch by their names.
struct PatchFields {
  std::vector<std::pair<std::string, std::vector<double>>> nodes{}, cells{};
};

void write_vtm(const std::string& path, const PatchMesh& mesh, const std::function<PatchFields(int patch)>& fields,
               VtkCompression compression = VtkCompression::fast);

[[nodiscard]] QuadMesh read_vtm(const std::string& path);

}  // namespace stratum
