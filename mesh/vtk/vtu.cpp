#include <stratum/mesh/vtk/vtu.hpp>

#include <stratum/core/errors.hpp>

#if defined(STRATUM_HAVE_VTK)
#include <vtkCellArray.h>
#include <vtkCellType.h>
#include <vtkPoints.h>
#include <vtkUnstructuredGrid.h>
#include <vtkXMLUnstructuredGridWriter.h>

#include <stratum/mesh/vtk/vtk_files.hpp>
#endif

namespace stratum {

#if defined(STRATUM_HAVE_VTK)

void write_vtu(const std::string& path, const VtkCells& cells, const std::vector<VtkField>& cell_fields,
               VtkCompression compression) {
  const int each = cells.corners_per_cell;
  expects((each == 8 || each == 4) && cells.corners.size() % static_cast<std::size_t>(each) == 0,
          "cells of a .vtu file have 8 or 4 corners, not ", each, " of ", cells.corners.size(), " in all");
  vtkNew<vtkPoints> points;
  points->SetDataTypeToDouble();
  points->SetNumberOfPoints(static_cast<vtkIdType>(cells.points.size()));
  for (std::size_t k = 0; k < cells.points.size(); ++k)
    points->SetPoint(static_cast<vtkIdType>(k), cells.points[k].data());
  vtkNew<vtkCellArray> array;
  for (std::size_t k = 0; k < cells.corners.size(); k += static_cast<std::size_t>(each)) {
    array->InsertNextCell(each);
    for (std::size_t c = k; c < k + static_cast<std::size_t>(each); ++c) {
      expects(cells.corners[c] >= 0 && static_cast<std::size_t>(cells.corners[c]) < cells.points.size(), "corner ",
              cells.corners[c], " of a cell is not one of ", cells.points.size(), " points");
      array->InsertCellPoint(cells.corners[c]);
    }
  }
  vtkNew<vtkUnstructuredGrid> grid;
  grid->SetPoints(points);
  grid->SetCells(each == 8 ? VTK_HEXAHEDRON : VTK_TETRA, array);
  detail::write_grid<vtkXMLUnstructuredGridWriter>(path, grid.Get(), {}, cell_fields, compression);
}

#else

void write_vtu(const std::string& path, const VtkCells& /*cells*/, const std::vector<VtkField>& /*cell_fields*/,
               VtkCompression /*compression*/) {
  throw UsageError(message("cannot write '", path, "': this build has no VTK (Debian: libvtk9-dev)"));
}

#endif

}  // namespace stratum
