#pragma once

// Coefficients from files: numbers on the nx x ny cells of a mesh, bottom row first, x fastest, whatever the order in the file.
//
//     .vtr, .vti   VTK's rectilinear and uniform grids, their cell data (mesh/vtk/vtk_xml.hpp); one layer of cells in x and y. The
//                  array has one component, or three: KXX, KXY, KYY. Where its points lie does not matter.
//     .npy         NumPy's, versions 1 to 3: shape (ny, nx), C or Fortran order; float32, float64 and integers, either byte order
//     .csv         a line for every row of cells, the bottom row first; commas or blanks between numbers, # begins a comment
//
// Throws FileError for a file that cannot be read, ends too early or lacks numbers of some cells; UsageError naming it for all
// else that is wrong with it: another ending, no such array (with the arrays there are), another type or shape, a row of
// another length, a number that is not finite. Source of the format: NEP 1, A Simple File Format for NumPy Arrays.

#include <string>
#include <string_view>
#include <vector>

#include <stratum/assembly/coefficients.hpp>

namespace stratum {

/// Of every component, one or three. `array` may be empty where the file has one only; .npy and .csv name none.
[[nodiscard]] std::vector<CellValues> read_cell_values(const std::string& path, const std::string& array = {});

/// What follows "file:": PATH or PATH:ARRAY, where PATH ends in .vtr or .vti.
struct CellFile {
  std::string path, array;
};
[[nodiscard]] CellFile parse_cell_file(std::string_view text);

}  // namespace stratum
