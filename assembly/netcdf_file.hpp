#pragma once

// Arrays of NetCDF files (classic, 64-bit and NetCDF-4), by libnetcdf, which a build may do without.
//
// An array is a variable of numbers whose last directions are those of the mesh, (ny, nx) or (nz, ny, nx). Directions before
// these have length one, or NAME[K], NAME[K,L] says which of their records is taken, counted from 0. A direction whose
// coordinate variable decreases, as latitudes do, is turned round. Packed numbers are unpacked (scale_factor, add_offset,
// _Unsigned), missing ones (_FillValue, without it that of the type, and missing_value) are no numbers.
//
// Throws FileError for a file that cannot be read or is cut off, UsageError naming it for an array that is not there (with
// those that are) or has another shape, and where the build has no libnetcdf.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace stratum {

struct NetcdfArray {
  std::vector<std::size_t> shape;  // the slowest direction first
  std::vector<double> numbers;
};

[[nodiscard]] bool netcdf_available();
[[nodiscard]] bool is_netcdf(std::string_view path);
/// `array` may be empty where one variable alone has so many directions or more.
[[nodiscard]] NetcdfArray read_netcdf(const std::string& path, const std::string& array, std::size_t fewest,
                                      std::size_t most);

}  // namespace stratum
