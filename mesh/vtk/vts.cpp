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

namespace {

/// at(k) is node k of `columns` times rows `first` to `last`.
template <class At>
void write_structured(const std::string& path, int columns, int first, int last, const At& at,
                      const std::vector<VtkField>& node_fields, const std::vector<VtkField>& cell_fields,
                      VtkCompression compression) {
  const vtkIdType count = static_cast<vtkIdType>(last - first + 1) * columns;
  vtkNew<vtkPoints> points;
  points->SetDataTypeToDouble();
  points->SetNumberOfPoints(count);
  for (vtkIdType k = 0; k < count; ++k) {
    const Position p = at(k);
    points->SetPoint(k, p.x, p.y, 0);
  }
  vtkNew<vtkStructuredGrid> grid;
  grid->SetExtent(0, columns - 1, first, last, 0, 0);
  grid->SetPoints(points);
  detail::write_grid<vtkXMLStructuredGridWriter>(path, grid.Get(), node_fields, cell_fields, compression);
}

}  // namespace

void write_vts_piece(const std::string& path, const MappedMesh& mesh, NodeRows rows,
                     const std::vector<VtkField>& node_fields, const std::vector<VtkField>& cell_fields,
                     VtkCompression compression) {
  const int columns = mesh.logical().x().size() + 1;
  write_structured(
      path, columns, rows.first, rows.last,
      [&](vtkIdType k) { return mesh.node(static_cast<int>(k % columns), rows.first + static_cast<int>(k / columns)); },
      node_fields, cell_fields, compression);
}

void write_vts(const std::string& path, int nx, int ny, std::span<const Position> nodes,
               const std::vector<VtkField>& node_fields, const std::vector<VtkField>& cell_fields,
               VtkCompression compression) {
  expects(nodes.size() == (static_cast<std::size_t>(nx) + 1) * (static_cast<std::size_t>(ny) + 1), nx, " x ", ny,
          " cells do not have ", nodes.size(), " nodes");
  write_structured(
      path, nx + 1, 0, ny, [&](vtkIdType k) { return nodes[static_cast<std::size_t>(k)]; }, node_fields, cell_fields,
      compression);
}

#else

void write_vts_piece(const std::string& path, const MappedMesh& /*mesh*/, NodeRows /*rows*/,
                     const std::vector<VtkField>& /*node_fields*/, const std::vector<VtkField>& /*cell_fields*/,
                     VtkCompression /*compression*/) {
  throw UsageError(message("cannot write '", path, "': this build has no VTK (Debian: libvtk9-dev)"));
}

void write_vts(const std::string& path, int /*nx*/, int /*ny*/, std::span<const Position> /*nodes*/,
               const std::vector<VtkField>& /*node_fields*/, const std::vector<VtkField>& /*cell_fields*/,
               VtkCompression /*compression*/) {
  throw UsageError(message("cannot write '", path, "': this build has no VTK (Debian: libvtk9-dev)"));
}

#endif

StructuredNodes read_vts_nodes(const std::string& path) {
  expects(path.ends_with(".vts"), "'", path, "' is no mesh of quadrilaterals by its ending; known is .vts");
  const detail::VtkXmlFile file(path, "StructuredGrid");
  const std::int64_t nx = file.whole().points(0), ny = file.whole().points(1), nz = file.whole().points(2);
  expects(nx >= 2 && ny >= 2 && nz == 1, "'", path, "' has ", nx, " x ", ny, " x ", nz,
          " points; two or more in its first and second direction and one in the third are needed");
  expects(nx <= max_cells && ny <= max_cells, "'", path, "' has ", nx, " x ", ny, " points; a direction has 1 .. ",
          max_cells, " cells");
  const auto points = file.points().values;
  StructuredNodes nodes{static_cast<int>(nx) - 1, static_cast<int>(ny) - 1, {}};
  nodes.at.resize(static_cast<std::size_t>(nx * ny));
  for (std::size_t k = 0; k < nodes.at.size(); ++k) {
    const double z = points[3 * k + 2];
    const auto columns = static_cast<std::size_t>(nx);
    expects(z == points[2], "'", path, "': point (", k % columns, ", ", k / columns, ") lies at z = ", z,
            ", the first at ", points[2], "; the mesh must be plane");
    nodes.at[k] = {points[3 * k], points[3 * k + 1]};
  }
  return nodes;
}

MappedMesh read_vts(const std::string& path, const std::string& name) {
  const StructuredNodes nodes = read_vts_nodes(path);
  std::vector<double> x, y;
  for (const Position& p : nodes.at) {
    x.push_back(p.x);
    y.push_back(p.y);
  }
  return {TensorMesh<2>(uniform(1, nodes.nx), uniform(1, nodes.ny), name), std::move(x), std::move(y)};
}

}  // namespace stratum
