#include <stratum/mesh/vtk.hpp>

#include <algorithm>

#include <stratum/core/errors.hpp>

#if defined(STRATUM_HAVE_VTK)
#include <vtkRectilinearGrid.h>
#include <vtkXMLRectilinearGridWriter.h>

#include <stratum/mesh/vtk_files.hpp>
#endif

namespace stratum {

std::vector<double> cell_aspect_ratios(const TensorMesh& mesh) {
  std::vector<double> ratios;
  ratios.reserve(static_cast<std::size_t>(mesh.cells()));
  for (const double hy : mesh.y().widths())
    for (const double hx : mesh.x().widths()) ratios.push_back(std::max(hx / hy, hy / hx));
  return ratios;
}

#if defined(STRATUM_HAVE_VTK)

bool vtk_available() { return true; }

void write_vtr(const std::string& path, const TensorMesh& mesh, const std::vector<VtkField>& node_fields,
               const std::vector<VtkField>& cell_fields, VtkCompression compression) {
  const auto x = mesh.x().coordinates(), y = mesh.y().coordinates();
  const double zero = 0;
  vtkNew<vtkRectilinearGrid> grid;
  grid->SetDimensions(static_cast<int>(x.size()), static_cast<int>(y.size()), 1);
  grid->SetXCoordinates(detail::wrap("x", x));
  grid->SetYCoordinates(detail::wrap("y", y));
  grid->SetZCoordinates(detail::wrap("z", {&zero, 1}));
  detail::write_grid<vtkXMLRectilinearGridWriter>(path, grid.Get(), node_fields, cell_fields, compression);
}

#else

bool vtk_available() { return false; }

void write_vtr(const std::string& path, const TensorMesh& /*mesh*/, const std::vector<VtkField>& /*node_fields*/,
               const std::vector<VtkField>& /*cell_fields*/, VtkCompression /*compression*/) {
  throw UsageError(message("cannot write '", path, "': this build has no VTK (Debian: libvtk9-dev)"));
}

#endif

}  // namespace stratum
