#include <stratum/mesh/vtk.hpp>

#include <algorithm>

#include <stratum/core/errors.hpp>
#include <stratum/core/io/output_file.hpp>

#if defined(STRATUM_HAVE_VTK)
#include <vtkRectilinearGrid.h>
#include <vtkXMLRectilinearGridWriter.h>

#include <stratum/mesh/vtk_files.hpp>
#endif

namespace stratum {

std::vector<double> cell_aspect_ratios(const TensorMesh& mesh) {
  return cell_aspect_ratios(mesh, {0, mesh.y().size()});
}

std::vector<double> cell_aspect_ratios(const TensorMesh& mesh, NodeRows rows) {
  std::vector<double> ratios;
  const std::span<const double> heights(mesh.y().widths());
  const auto count = static_cast<std::size_t>(rows.last - rows.first);
  ratios.reserve(count * mesh.x().widths().size());
  for (const double hy : heights.subspan(static_cast<std::size_t>(rows.first), count))
    for (const double hx : mesh.x().widths()) ratios.push_back(std::max(hx / hy, hy / hx));
  return ratios;
}

namespace {

/// Of a file's name, as it stands between quotes.
std::string quoted(const std::string& text) {
  std::string result;
  for (const char c : text) result += c == '&' ? "&amp;" : c == '"' ? "&quot;" : c == '<' ? "&lt;" : std::string(1, c);
  return '"' + result + '"';
}

std::string extent(const TensorMesh& mesh, NodeRows rows) {
  return message("\"0 ", mesh.x().size(), ' ', rows.first, ' ', rows.last, " 0 0\"");
}

}  // namespace

void write_pvtr(const std::string& path, const TensorMesh& mesh, const std::vector<VtkPiece>& pieces,
                const std::vector<VtkField>& node_fields, const std::vector<VtkField>& cell_fields) {
  std::string text = "<?xml version=\"1.0\"?>\n<VTKFile type=\"PRectilinearGrid\" version=\"1.0\" "
                     "byte_order=\"LittleEndian\" header_type=\"UInt64\">\n";
  text += message("  <PRectilinearGrid WholeExtent=", extent(mesh, {0, mesh.y().size()}), " GhostLevel=\"0\">\n");
  const auto arrays = [&text](const char* kind, const std::vector<std::string>& names, bool has_scalars) {
    text += message("    <", kind, has_scalars ? message(" Scalars=", quoted(names.front())) : "", ">\n");
    for (const auto& name : names) text += message("      <PDataArray type=\"Float64\" Name=", quoted(name), "/>\n");
    text += message("    </", kind, ">\n");
  };
  const auto names_of = [](const std::vector<VtkField>& fields) {
    std::vector<std::string> names;
    for (const auto& field : fields) names.push_back(field.name);
    return names;
  };
  arrays("PPointData", names_of(node_fields), !node_fields.empty());
  arrays("PCellData", names_of(cell_fields), !cell_fields.empty());
  arrays("PCoordinates", {"x", "y", "z"}, false);
  for (const auto& piece : pieces)
    text += message("    <Piece Extent=", extent(mesh, piece.rows), " Source=", quoted(piece.file), "/>\n");
  write_whole_text(path, text + "  </PRectilinearGrid>\n</VTKFile>\n");
}

void write_vtr(const std::string& path, const TensorMesh& mesh, const std::vector<VtkField>& node_fields,
               const std::vector<VtkField>& cell_fields, VtkCompression compression) {
  write_vtr_piece(path, mesh, {0, mesh.y().size()}, node_fields, cell_fields, compression);
}

#if defined(STRATUM_HAVE_VTK)

bool vtk_available() { return true; }

void write_vtr_piece(const std::string& path, const TensorMesh& mesh, NodeRows rows,
                     const std::vector<VtkField>& node_fields, const std::vector<VtkField>& cell_fields,
                     VtkCompression compression) {
  const auto x = mesh.x().coordinates(), y = mesh.y().coordinates();
  const double zero = 0;
  vtkNew<vtkRectilinearGrid> grid;
  grid->SetExtent(0, mesh.x().size(), rows.first, rows.last, 0, 0);
  grid->SetXCoordinates(detail::wrap("x", x));
  grid->SetYCoordinates(detail::wrap(
      "y", std::span(y).subspan(static_cast<std::size_t>(rows.first), static_cast<std::size_t>(rows.count()))));
  grid->SetZCoordinates(detail::wrap("z", {&zero, 1}));
  detail::write_grid<vtkXMLRectilinearGridWriter>(path, grid.Get(), node_fields, cell_fields, compression);
}

#else

bool vtk_available() { return false; }

void write_vtr_piece(const std::string& path, const TensorMesh& /*mesh*/, NodeRows /*rows*/,
                     const std::vector<VtkField>& /*node_fields*/, const std::vector<VtkField>& /*cell_fields*/,
                     VtkCompression /*compression*/) {
  throw UsageError(message("cannot write '", path, "': this build has no VTK (Debian: libvtk9-dev)"));
}

#endif

}  // namespace stratum
