#pragma once

// Writing a rectilinear grid (.vtr): arrays are cut into blocks, which several threads compress, by VTK's compressors, and are
// appended to the file in their order. VTK's own writer compresses one block after the other. Needs VTK. (mesh/vtk/vtk_xml.hpp
// reads such files.)
//
//     <VTKFile> ... offsets of the arrays ...   _  for every array: number of blocks, size of a block, of the last one where
//                                                  it is smaller, of each when compressed (64 bits each); blocks
//
// Source of the format: VTK File Formats, https://docs.vtk.org/en/latest/design_documents/VTKFileFormats.html

#include <array>
#include <span>
#include <string>
#include <vector>

#include <stratum/mesh/vtk/vtk.hpp>

namespace stratum::detail {

/// A part of a grid: the numbers of its first and last node in every direction, and the coordinates of its nodes.
struct RectilinearPart {
  std::array<int, 3> first{}, last{};
  std::array<std::span<const double>, 3> coordinates{};

  [[nodiscard]] std::int64_t count(int more) const {  // of nodes: 1, of cells: 0; a flat direction has one cell
    std::int64_t all = 1;
    for (std::size_t d = 0; d < 3; ++d) all *= last[d] == first[d] ? 1 : last[d] - first[d] + more;
    return all;
  }
};

/// There whole or not at all. Throws FileError when it cannot be written, UsageError for a field of the wrong size.
void write_rectilinear(const std::string& path, const RectilinearPart& part, const std::vector<VtkField>& node_fields,
                       const std::vector<VtkField>& cell_fields, VtkCompression compression, int threads);

}  // namespace stratum::detail
