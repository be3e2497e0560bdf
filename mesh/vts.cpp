#include <stratum/mesh/vts.hpp>

#include <cmath>
#include <utility>

#include <stratum/core/errors.hpp>
#include <stratum/mesh/graded.hpp>

#if defined(STRATUM_HAVE_VTK)
#include <vtkPoints.h>
#include <vtkStructuredGrid.h>
#include <vtkXMLStructuredGridReader.h>
#include <vtkXMLStructuredGridWriter.h>

#include <stratum/mesh/vtk_files.hpp>
#endif

namespace stratum {

void write_vts(const std::string& path, const MappedMesh& mesh, const std::vector<VtkField>& node_fields,
               const std::vector<VtkField>& cell_fields, VtkCompression compression) {
  write_vts_piece(path, mesh, {0, mesh.logical().y().size()}, node_fields, cell_fields, compression);
}

#if defined(STRATUM_HAVE_VTK)

void write_vts_piece(const std::string& path, const MappedMesh& mesh, NodeRows rows,
                     const std::vector<VtkField>& node_fields, const std::vector<VtkField>& cell_fields,
                     VtkCompression compression) {
  const int columns = mesh.logical().x().size() + 1;
  vtkNew<vtkPoints> points;
  points->SetDataTypeToDouble();
  points->SetNumberOfPoints(static_cast<vtkIdType>(rows.count()) * columns);
  vtkIdType k = 0;
  for (int j = rows.first; j <= rows.last; ++j)
    for (int i = 0; i < columns; ++i) {
      const auto [x, y] = mesh.node(i, j);
      points->SetPoint(k++, x, y, 0);
    }
  vtkNew<vtkStructuredGrid> grid;
  grid->SetExtent(0, columns - 1, rows.first, rows.last, 0, 0);
  grid->SetPoints(points);
  detail::write_grid<vtkXMLStructuredGridWriter>(path, grid.Get(), node_fields, cell_fields, compression);
}

MappedMesh read_vts(const std::string& path, const std::string& name) {
  expects(path.ends_with(".vts"), "'", path, "' is no mesh of quadrilaterals by its ending; known is .vts");
  vtkNew<vtkXMLStructuredGridReader> reader;
  detail::read_grid(reader.Get(), path, "structured");
  vtkStructuredGrid* const grid = reader->GetOutput();
  int counts[3] = {};
  grid->GetDimensions(counts);
  expects(counts[0] >= 2 && counts[1] >= 2 && counts[2] == 1, "'", path, "' has ", counts[0], " x ", counts[1], " x ",
          counts[2], " points; two or more in its first and second direction and one in the third are needed");
  expects(counts[0] <= max_cells && counts[1] <= max_cells, "'", path, "' has ", counts[0], " x ", counts[1],
          " points; a direction has 1 .. ", max_cells, " cells");
  std::vector<double> x, y;
  const auto nodes = grid->GetNumberOfPoints();
  x.reserve(static_cast<std::size_t>(nodes));
  y.reserve(static_cast<std::size_t>(nodes));
  double first = 0;
  for (vtkIdType k = 0; k < nodes; ++k) {
    double p[3];
    grid->GetPoint(k, p);
    if (k == 0) first = p[2];
    expects(p[2] == first, "'", path, "': point (", k % counts[0], ", ", k / counts[0], ") lies at z = ", p[2],
            ", the first at ", first, "; the mesh must be plane");
    x.push_back(p[0]);
    y.push_back(p[1]);
  }
  return {TensorMesh(uniform(1, counts[0] - 1), uniform(1, counts[1] - 1), name), std::move(x), std::move(y)};
}

#else

void write_vts_piece(const std::string& path, const MappedMesh& /*mesh*/, NodeRows /*rows*/,
                     const std::vector<VtkField>& /*node_fields*/, const std::vector<VtkField>& /*cell_fields*/,
                     VtkCompression /*compression*/) {
  throw UsageError(message("cannot write '", path, "': this build has no VTK (Debian: libvtk9-dev)"));
}

MappedMesh read_vts(const std::string& path, const std::string& /*name*/) {
  throw UsageError(message("cannot read '", path, "': this build has no VTK (Debian: libvtk9-dev)"));
}

#endif

}  // namespace stratum
