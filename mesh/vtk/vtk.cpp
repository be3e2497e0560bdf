#include <stratum/mesh/vtk/vtk.hpp>

#include <algorithm>
#include <array>

#include <stratum/core/errors.hpp>
#include <stratum/core/io/output_file.hpp>

#if defined(STRATUM_HAVE_VTK)
#include <stratum/mesh/vtk/vtr_writer.hpp>
#endif

namespace stratum {

std::vector<double> cell_aspect_ratios(const TensorMesh<2>& mesh) {
  return cell_aspect_ratios(mesh, {0, mesh.y().size()});
}

std::vector<double> cell_aspect_ratios(const TensorMesh<2>& mesh, NodeRows rows) {
  std::vector<double> ratios;
  const std::span<const double> heights(mesh.y().widths());
  const auto count = static_cast<std::size_t>(rows.last - rows.first);
  ratios.reserve(count * mesh.x().widths().size());
  for (const double hy : heights.subspan(static_cast<std::size_t>(rows.first), count))
    for (const double hx : mesh.x().widths()) ratios.push_back(std::max(hx / hy, hy / hx));
  return ratios;
}

std::vector<double> cell_aspect_ratios(const TensorMesh<3>& mesh) {
  std::vector<double> ratios;
  ratios.reserve(static_cast<std::size_t>(mesh.cells()));
  for (const double hz : mesh.z().widths())
    for (const double hy : mesh.y().widths())
      for (const double hx : mesh.x().widths()) ratios.push_back(std::max({hx, hy, hz}) / std::min({hx, hy, hz}));
  return ratios;
}

namespace {

/// Of a file's name, as it stands between quotes.
std::string quoted(const std::string& text) {
  std::string result;
  for (const char c : text) result += c == '&' ? "&amp;" : c == '"' ? "&quot;" : c == '<' ? "&lt;" : std::string(1, c);
  return '"' + result + '"';
}

/// A grid of so many cells, cut across an axis.
struct CutGrid {
  std::array<int, 3> cells;
  std::size_t axis;

  [[nodiscard]] static CutGrid of(const TensorMesh<2>& mesh) { return {{mesh.x().size(), mesh.y().size(), 0}, 1}; }
  [[nodiscard]] static CutGrid of(const TensorMesh<3>& mesh, int axis) {
    return {{mesh.x().size(), mesh.y().size(), mesh.z().size()}, static_cast<std::size_t>(axis)};
  }
  /// "0 8 4 8 0 0", with the quotes.
  [[nodiscard]] std::string extent(NodeRows rows) const {
    std::string text;
    for (std::size_t d = 0; d < 3; ++d)
      text += message(d == 0 ? "" : " ", d == axis ? rows.first : 0, ' ', d == axis ? rows.last : cells[d]);
    return '"' + text + '"';
  }
  [[nodiscard]] std::string whole() const { return extent({0, cells[axis]}); }
};

/// Of grids of a kind; `places`: where their points are.
void write_pieces_file(const std::string& path, const std::string& kind, const std::string& places, const CutGrid& grid,
                       const std::vector<VtkPiece>& pieces, const std::vector<VtkField>& node_fields,
                       const std::vector<VtkField>& cell_fields) {
  std::string text = message("<?xml version=\"1.0\"?>\n<VTKFile type=", quoted(kind),
                             " version=\"1.0\" byte_order=\"LittleEndian\" header_type=\"UInt64\">\n");
  text += message("  <", kind, " WholeExtent=", grid.whole(), " GhostLevel=\"0\">\n");
  const auto arrays = [&text](const char* of, const std::vector<VtkField>& fields) {
    text += message("    <", of, fields.empty() ? "" : message(" Scalars=", quoted(fields.front().name)), ">\n");
    for (const auto& field : fields)
      text += message("      <PDataArray type=\"Float64\" Name=", quoted(field.name), "/>\n");
    text += message("    </", of, ">\n");
  };
  arrays("PPointData", node_fields);
  arrays("PCellData", cell_fields);
  text += places;
  for (const auto& piece : pieces)
    text += message("    <Piece Extent=", grid.extent(piece.rows), " Source=", quoted(piece.file), "/>\n");
  write_whole_text(path, text + message("  </", kind, ">\n</VTKFile>\n"));
}

void write_rectilinear_pieces(const std::string& path, const CutGrid& grid, const std::vector<VtkPiece>& pieces,
                              const std::vector<VtkField>& node_fields, const std::vector<VtkField>& cell_fields) {
  std::string coordinates = "    <PCoordinates>\n";
  for (const char* name : {"x", "y", "z"})
    coordinates += message("      <PDataArray type=\"Float64\" Name=", quoted(name), "/>\n");
  write_pieces_file(path, "PRectilinearGrid", coordinates + "    </PCoordinates>\n", grid, pieces, node_fields,
                    cell_fields);
}

}  // namespace

void write_pvtr(const std::string& path, const TensorMesh<2>& mesh, const std::vector<VtkPiece>& pieces,
                const std::vector<VtkField>& node_fields, const std::vector<VtkField>& cell_fields) {
  write_rectilinear_pieces(path, CutGrid::of(mesh), pieces, node_fields, cell_fields);
}

void write_pvtr(const std::string& path, const TensorMesh<3>& mesh, int axis, const std::vector<VtkPiece>& pieces,
                const std::vector<VtkField>& node_fields, const std::vector<VtkField>& cell_fields) {
  write_rectilinear_pieces(path, CutGrid::of(mesh, axis), pieces, node_fields, cell_fields);
}

void write_pvts(const std::string& path, const TensorMesh<2>& logical, const std::vector<VtkPiece>& pieces,
                const std::vector<VtkField>& node_fields, const std::vector<VtkField>& cell_fields) {
  write_pieces_file(path, "PStructuredGrid",
                    "    <PPoints>\n      <PDataArray type=\"Float64\" Name=\"Points\" NumberOfComponents=\"3\"/>\n"
                    "    </PPoints>\n",
                    CutGrid::of(logical), pieces, node_fields, cell_fields);
}

void write_vtr(const std::string& path, const TensorMesh<2>& mesh, const std::vector<VtkField>& node_fields,
               const std::vector<VtkField>& cell_fields, VtkCompression compression, int threads) {
  write_vtr_piece(path, mesh, {0, mesh.y().size()}, node_fields, cell_fields, compression, threads);
}

void write_vtr(const std::string& path, const TensorMesh<3>& mesh, const std::vector<VtkField>& node_fields,
               const std::vector<VtkField>& cell_fields, VtkCompression compression, int threads) {
  write_vtr_piece(path, mesh, 2, {0, mesh.z().size()}, node_fields, cell_fields, compression, threads);
}

#if defined(STRATUM_HAVE_VTK)

bool vtk_available() { return true; }

void write_vtr_piece(const std::string& path, const TensorMesh<2>& mesh, NodeRows rows,
                     const std::vector<VtkField>& node_fields, const std::vector<VtkField>& cell_fields,
                     VtkCompression compression, int threads) {
  const auto x = mesh.x().coordinates(), y = mesh.y().coordinates();
  const double zero = 0;
  const auto of_rows =
      std::span(y).subspan(static_cast<std::size_t>(rows.first), static_cast<std::size_t>(rows.count()));
  detail::write_rectilinear(path, {{0, rows.first, 0}, {mesh.x().size(), rows.last, 0}, {x, of_rows, {&zero, 1}}},
                            node_fields, cell_fields, compression, threads);
}

void write_vtr_piece(const std::string& path, const TensorMesh<3>& mesh, int axis, NodeRows planes,
                     const std::vector<VtkField>& node_fields, const std::vector<VtkField>& cell_fields,
                     VtkCompression compression, int threads) {
  const std::array<std::vector<double>, 3> all{mesh.x().coordinates(), mesh.y().coordinates(), mesh.z().coordinates()};
  detail::RectilinearPart part;
  for (std::size_t d = 0; d < 3; ++d) {
    const bool cut = static_cast<int>(d) == axis;
    const NodeRows own = cut ? planes : NodeRows{0, mesh.axis(static_cast<int>(d)).size()};
    part.first[d] = own.first;
    part.last[d] = own.last;
    part.coordinates[d] =
        std::span(all[d]).subspan(static_cast<std::size_t>(own.first), static_cast<std::size_t>(own.count()));
  }
  detail::write_rectilinear(path, part, node_fields, cell_fields, compression, threads);
}

#else

namespace {

[[noreturn]] void fail_without_vtk(const std::string& path) {
  throw UsageError(message("cannot write '", path, "': this build has no VTK (Debian: libvtk9-dev)"));
}

}  // namespace

bool vtk_available() { return false; }

void write_vtr_piece(const std::string& path, const TensorMesh<2>& /*mesh*/, NodeRows /*rows*/,
                     const std::vector<VtkField>& /*node_fields*/, const std::vector<VtkField>& /*cell_fields*/,
                     VtkCompression /*compression*/, int /*threads*/) {
  fail_without_vtk(path);
}

void write_vtr_piece(const std::string& path, const TensorMesh<3>& /*mesh*/, int /*axis*/, NodeRows /*planes*/,
                     const std::vector<VtkField>& /*node_fields*/, const std::vector<VtkField>& /*cell_fields*/,
                     VtkCompression /*compression*/, int /*threads*/) {
  fail_without_vtk(path);
}

#endif

}  // namespace stratum
