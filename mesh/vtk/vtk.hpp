#pragma once

// Rectilinear-grid files (.vtr) for ParaView, in double. Data are appended and compressed by VTK's compressors, in several
// threads, unless the caller chooses otherwise. On a partitioned mesh every subdomain writes a file, and a .pvtr (.pvts for
// deformed meshes) lists them. A file is written under a temporary name and then renamed: it is there whole or not at all.

#include <span>
#include <string>
#include <vector>

#include <stratum/mesh/partition.hpp>
#include <stratum/mesh/tensor_mesh.hpp>

namespace stratum {

/// A field on the nodes, (cells_x + 1) * (cells_y + 1) numbers, or on the cells, cells_x * cells_y; of a box times those of z;
/// x runs fastest, then y. Three times as many are vectors.
struct VtkField {
  std::string name;
  std::span<const double> values;
};

/// Of files: fast is LZ4, about as quick as none; best is zlib, ten times as slow for up to a third less.
enum class VtkCompression : std::uint8_t { none, fast, best };

/// Bytes of an array that every thread compresses before they are written.
inline constexpr std::int64_t vtk_bytes_of_a_thread = std::int64_t{1} << 20;
/// Bytes that writing takes beside the arrays: VTK's code, and what the threads have compressed of the longest array.
[[nodiscard]] constexpr std::int64_t vtk_writer_bytes(std::int64_t longest_array, int threads) {
  constexpr std::int64_t code = std::int64_t{7} << 20;
  const std::int64_t together = vtk_bytes_of_a_thread * threads;
  return code + (longest_array < together ? longest_array : together);
}

/// True when this build can write VTK files.
[[nodiscard]] bool vtk_available();

/// Throws UsageError when this build has no VTK or a field has the wrong size, FileError when the file cannot be written.
void write_vtr(const std::string& path, const TensorMesh<2>& mesh, const std::vector<VtkField>& node_fields,
               const std::vector<VtkField>& cell_fields = {}, VtkCompression compression = VtkCompression::fast,
               int threads = 1);

void write_vtr(const std::string& path, const TensorMesh<3>& mesh, const std::vector<VtkField>& node_fields,
               const std::vector<VtkField>& cell_fields = {}, VtkCompression compression = VtkCompression::fast,
               int threads = 1);

/// A piece, of these rows of nodes and the cells between; fields are those of the piece. Of a box: of these planes of nodes
/// across an axis.
void write_vtr_piece(const std::string& path, const TensorMesh<2>& mesh, NodeRows rows,
                     const std::vector<VtkField>& node_fields, const std::vector<VtkField>& cell_fields = {},
                     VtkCompression compression = VtkCompression::fast, int threads = 1);
void write_vtr_piece(const std::string& path, const TensorMesh<3>& mesh, int axis, NodeRows planes,
                     const std::vector<VtkField>& node_fields, const std::vector<VtkField>& cell_fields = {},
                     VtkCompression compression = VtkCompression::fast, int threads = 1);
/// All pieces, from the lowest rows to the uppermost, neighbours with a row of nodes in common; files by names that are
/// relative to that of this one. Fields are those of any piece. Text, which VTK reads; its own parallel writer learns of other
/// processes' pieces by a controller of VTK's alone.
struct VtkPiece {
  std::string file;
  NodeRows rows;
};
void write_pvtr(const std::string& path, const TensorMesh<2>& mesh, const std::vector<VtkPiece>& pieces,
                const std::vector<VtkField>& node_fields, const std::vector<VtkField>& cell_fields = {});
/// Of a box; rows are planes across the axis.
void write_pvtr(const std::string& path, const TensorMesh<3>& mesh, int axis, const std::vector<VtkPiece>& all,
                const std::vector<VtkField>& node_fields, const std::vector<VtkField>& cell_fields = {});
/// Likewise of structured grids (mesh/vtk/vts.hpp), whose cells are joined as those of this mesh.
void write_pvts(const std::string& path, const TensorMesh<2>& logical, const std::vector<VtkPiece>& pieces,
                const std::vector<VtkField>& node_fields, const std::vector<VtkField>& cell_fields = {});

/// Ratio of the longest side to the shortest of every cell, x fastest.
[[nodiscard]] std::vector<double> cell_aspect_ratios(const TensorMesh<2>& mesh);
[[nodiscard]] std::vector<double> cell_aspect_ratios(const TensorMesh<3>& mesh);
/// Of the cells between rows of nodes.
[[nodiscard]] std::vector<double> cell_aspect_ratios(const TensorMesh<2>& mesh, NodeRows rows);

}  // namespace stratum
