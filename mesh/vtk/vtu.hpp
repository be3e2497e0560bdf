#pragma once

// Unstructured-grid files (.vtu) of hexahedra or tetrahedra for ParaView, written by VTK's own writer as rectilinear ones are
// (mesh/vtk/vtk.hpp).

#include <string>
#include <vector>

#include <stratum/mesh/box_grid.hpp>
#include <stratum/mesh/vtk/vtk.hpp>

namespace stratum {

struct VtkCells {
  std::vector<Point3> points;
  int corners_per_cell = 8;  // 8: hexahedra, 4: tetrahedra
  std::vector<int> corners;  // in VTK's order, cell by cell

  [[nodiscard]] std::size_t count() const { return corners.size() / static_cast<std::size_t>(corners_per_cell); }
};

/// A field has a number for every cell, or three. Throws UsageError when this build has no VTK, a field has the wrong size or
/// cells are neither of the two, FileError when the file cannot be written.
void write_vtu(const std::string& path, const VtkCells& cells, const std::vector<VtkField>& cell_fields,
               VtkCompression compression = VtkCompression::fast);

}  // namespace stratum
