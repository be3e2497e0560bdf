#pragma once

// VtkXmlFile: reads VTK's XML files of grids (.vti, .vtr, .vts). VTK's own readers trust a file: where pieces do not cover the
// grid they leave memory uninitialised, and an array that is too short ends the program. This reader checks first that
//
//     the pieces lie within the grid, cover it, and agree where they overlap (shared nodes, ghost cells)
//     every array of every piece has exactly as many numbers as the piece has cells or nodes
//
// Arrays may be ascii, binary (base64) or appended (raw or base64), in either byte order, with headers of 32 or 64 bits. In a
// build with VTK they may be compressed by zlib, LZ4 or LZMA. All numeric types of VTK are accepted. Cells and nodes are
// numbered x fastest. Of an array at several times the first one is read.
//
// Throws FileError with the name of the file and what is wrong or missing.
//
// Source of the format: VTK File Formats, https://docs.vtk.org/en/latest/design_documents/VTKFileFormats.html

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace stratum::detail {

/// First and last node of a box, in x, y and z.
struct VtkExtent {
  std::array<std::int64_t, 3> first{}, last{};

  [[nodiscard]] std::int64_t points(std::size_t d) const { return last[d] - first[d] + 1; }
  /// Of a flat direction one.
  [[nodiscard]] std::int64_t cells(std::size_t d) const { return last[d] > first[d] ? last[d] - first[d] : 1; }
  [[nodiscard]] std::int64_t points() const { return points(0) * points(1) * points(2); }
  [[nodiscard]] std::int64_t cells() const { return cells(0) * cells(1) * cells(2); }
};

class VtkXmlFile {
 public:
  /// Reads the file; `kind`: ImageData, RectilinearGrid or StructuredGrid.
  VtkXmlFile(const std::string& path, std::string_view kind);

  [[nodiscard]] const VtkExtent& whole() const { return whole_; }
  enum class On { cells, points };
  /// Names of the arrays of numbers on cells or on points, in their order; empty where one has none.
  [[nodiscard]] std::vector<std::string> arrays(On on) const;

  struct Array {
    int components = 1;
    std::vector<double> values;  // those of a cell or a node together
  };
  /// The k-th of them, on all cells or points of the grid.
  [[nodiscard]] Array array(On on, std::size_t k) const;
  /// Three numbers for every node of the grid.
  [[nodiscard]] Array points() const;

 private:
  struct Element {
    std::string name;
    std::map<std::string, std::string> attributes;
    std::string_view text;  // up to the first element in it
    std::vector<std::size_t> children;

    [[nodiscard]] std::string attribute(const std::string& of, const std::string& otherwise = "") const {
      const auto found = attributes.find(of);
      return found == attributes.end() ? otherwise : found->second;
    }
  };

  [[noreturn]] void fail(const std::string& reason) const;
  [[noreturn]] void broken() const;
  void parse();
  /// The first of these in an element; null where there is none.
  [[nodiscard]] const Element* child(const Element& of, std::string_view name) const;
  [[nodiscard]] VtkExtent extent(const Element& of, const std::string& attribute) const;
  [[nodiscard]] std::vector<const Element*> arrays_of(const Element* group) const;
  [[nodiscard]] Array gather(On on, const std::string& what, const std::vector<const Element*>& of_pieces) const;
  [[nodiscard]] std::vector<double> numbers(const Element& array, const std::string& what, std::size_t count) const;
  [[nodiscard]] std::vector<double> ascii_numbers(const Element& array, const std::string& what,
                                                  std::size_t count) const;
  [[nodiscard]] std::vector<unsigned char> bytes(std::string_view from, bool base64, const std::string& what,
                                                 std::size_t size, std::size_t count) const;

  std::string path_, kind_, content_;
  std::vector<Element> elements_;  // the first: VTKFile
  std::string_view appended_;      // behind the underscore
  bool appended_base64_ = false;
  VtkExtent whole_;
  struct Piece {
    VtkExtent extent;
    const Element* element;
  };
  std::vector<Piece> pieces_;
};

}  // namespace stratum::detail
