#pragma once

// Structured-grid files (.vts) of deformed meshes: written for ParaView as rectilinear ones are (mesh/vtk/vtk.hpp), and read
// with or without VTK. Points are those of the nodes, x fastest, in a plane z = constant.

#include <span>
#include <string>
#include <vector>

#include <stratum/mesh/mapped_mesh.hpp>
#include <stratum/mesh/vtk/vtk.hpp>

namespace stratum {

/// Throws as write_vtr does.
void write_vts(const std::string& path, const MappedMesh& mesh, const std::vector<VtkField>& node_fields,
               const std::vector<VtkField>& cell_fields = {}, VtkCompression compression = VtkCompression::fast);
/// A piece, of these rows of nodes and the cells between; fields are those of the piece. write_pvts of mesh/vtk/vtk.hpp names
/// all.
void write_vts_piece(const std::string& path, const MappedMesh& mesh, NodeRows rows,
                     const std::vector<VtkField>& node_fields, const std::vector<VtkField>& cell_fields = {},
                     VtkCompression compression = VtkCompression::fast);

/// (nx + 1) (ny + 1) nodes, x fastest.
void write_vts(const std::string& path, int nx, int ny, std::span<const Position> nodes,
               const std::vector<VtkField>& node_fields, const std::vector<VtkField>& cell_fields = {},
               VtkCompression compression = VtkCompression::fast);

/// The nodes of a file, x fastest, as they are: no cell is looked at. Throws as read_vts does.
struct StructuredNodes {
  int nx = 0, ny = 0;  // cells
  std::vector<Position> at{};
};
[[nodiscard]] StructuredNodes read_vts_nodes(const std::string& path);

/// The nodes of a file, on a logical mesh of equal cells of the unit square with this name. Throws FileError for a file that
/// cannot be read, whose pieces do not cover its extent or which has too few points, and for compressed ones when this build
/// has no VTK; UsageError for one of another ending and for points that are no plane mesh of quadrilaterals.
[[nodiscard]] MappedMesh read_vts(const std::string& path, const std::string& name = "custom");

}  // namespace stratum
