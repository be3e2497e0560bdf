#include <stratum/mesh/vtk/vts.hpp>

#include <cmath>
#include <utility>

#include <stratum/core/errors.hpp>
#include <stratum/mesh/graded.hpp>
#include <stratum/mesh/vtk/vtk_xml.hpp>

#if defined(STRATUM_HAVE_VTK)
#include <vtkPoints.h>
#include <vtkStructuredGrid.h>
#include <vtkXMLStructuredGridWriter.h>

#include <stratum/mesh/vtk/vtk_files.hpp>
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

#else

void write_vts_piece(const std::string& path, const MappedMesh& /*mesh*/, NodeRows /*rows*/,
                     const std::vector<VtkField>& /*node_fields*/, const std::vector<VtkField>& /*cell_fields*/,
                     VtkCompression /*compression*/) {
  throw UsageError(message("cannot write '", path, "': this build has no VTK (Debian: libvtk9-dev)"));
}

#endif

MappedMesh read_vts(const std::string& path, const std::string& name) {
  expects(path.ends_with(".vts"), "'", path, "' is no mesh of quadrilaterals by its ending; known is .vts");
  const detail::VtkXmlFile file(path, "StructuredGrid");
  const std::int64_t nx = file.whole().points(0), ny = file.whole().points(1), nz = file.whole().points(2);
  expects(nx >= 2 && ny >= 2 && nz == 1, "'", path, "' has ", nx, " x ", ny, " x ", nz,
          " points; two or more in its first and second direction and one in the third are needed");
  expects(nx <= max_cells && ny <= max_cells, "'", path, "' has ", nx, " x ", ny, " points; a direction has 1 .. ",
          max_cells, " cells");
  const auto points = file.points().values;
  const auto nodes = static_cast<std::size_t>(nx * ny);
  std::vector<double> x(nodes), y(nodes);
  for (std::size_t k = 0; k < nodes; ++k) {
    const double z = points[3 * k + 2];
    const auto columns = static_cast<std::size_t>(nx);
    expects(z == points[2], "'", path, "': point (", k % columns, ", ", k / columns, ") lies at z = ", z,
            ", the first at ", points[2], "; the mesh must be plane");
    x[k] = points[3 * k];
    y[k] = points[3 * k + 1];
  }
  return {TensorMesh<2>(uniform(1, static_cast<int>(nx) - 1), uniform(1, static_cast<int>(ny) - 1), name), std::move(x),
          std::move(y)};
}

}  // namespace stratum
