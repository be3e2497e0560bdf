#pragma once

// Numbers from files, on the nx x ny cells of a mesh or on its (nx + 1) x (ny + 1) nodes, bottom row first, x fastest, whatever
// the order in the file.
//
//     .vtr, .vti   VTK's rectilinear and uniform grids, their cell and point data (mesh/vtk/vtk_xml.hpp); one layer of cells in x
//                  and y. The array has one component, or three on cells: KXX, KXY, KYY. Where its points lie does not matter.
//     .npy         NumPy's, versions 1 to 3: shape (rows, columns), C or Fortran order; float32, float64, integers and bool, either
//                  byte order; along a boundary of one dimension
//     .nc          NetCDF, where the build has libnetcdf (assembly/netcdf_file.hpp): shape (rows, columns) behind other directions
//     .png         a picture, a number on each cell: black is 0, white is 1 (core/io/png_file.hpp); or of black and white, as in
//                  PATH.png:0.001..1, and linear between
//     .csv         a line for every row, the bottom row first; commas or blanks between numbers, # begins a comment; the
//                  last line ends as the others do
//
// Throws FileError for a file that cannot be read, ends too early or lacks numbers of some cells; UsageError naming it for all
// else that is wrong with it: another ending, no such array (with the arrays there are), another type or shape, a row of
// another length, a number that is not finite. Source of the format: NEP 1, A Simple File Format for NumPy Arrays.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <stratum/assembly/coefficients.hpp>

namespace stratum {

/// Numbers of a file: `rows` of `columns`, and what they lie on, where the file says so.
struct FileValues {
  enum class On : std::uint8_t { unsaid, cells, nodes };
  On on = On::unsaid;
  int columns = 0, rows = 0, dimensions = 2;
  std::vector<std::vector<double>> components;  // one or more
  std::string from;
};
/// `array` may be empty where the file has one only, with `cells_first` one only on cells; .npy and .csv name none. Of an array
/// on cells and one on nodes of the same name neither is taken.
[[nodiscard]] FileValues read_values(const std::string& path, const std::string& array = {}, bool cells_first = false);

/// Numbers in a box, x fastest, from a .npy or .nc file of shape (nz, ny, nx), which does not say what they lie on, or from an array
/// of a .vtr or .vti file, on cells or, if `nodes_too`, at nodes.
struct BoxFileValues {
  FileValues::On on = FileValues::On::unsaid;
  std::array<int, 3> count{};  // in x, y, z
  std::vector<double> numbers;
};
[[nodiscard]] BoxFileValues read_box_values(const std::string& path, const std::string& array = {},
                                            bool nodes_too = false);

/// Those that are on cells, of every component.
[[nodiscard]] std::vector<CellValues> cells_of(FileValues numbers);
/// Of every component, one or three. `array` may be empty where the file has one only on cells.
[[nodiscard]] std::vector<CellValues> read_cell_values(const std::string& path, const std::string& array = {});

/// What follows "file:": PATH or PATH:ARRAY, where PATH ends in .vtr, .vti or .nc, or in .png with BLACK..WHITE in the array's
/// place.
struct CellFile {
  std::string path, array;
};
[[nodiscard]] CellFile parse_cell_file(std::string_view text);

}  // namespace stratum
