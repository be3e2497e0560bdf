// Files of coefficients: the first byte says whether the rest is read as .npy, .png or .csv. What is accepted are finite
// numbers, one a cell.

#include <cmath>

#include <stratum/assembly/cell_files.hpp>
#include <stratum/core/errors.hpp>

#include "scratch_file.hpp"
#include "target.hpp"

using namespace stratum;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const ScratchFile npy(".npy"), png(".png"), csv(".csv");
  if (size == 0) return 0;
  const ScratchFile& input = data[0] == 'n' ? npy : data[0] == 'p' ? png : csv;
  input.write(data + 1, size - 1);
  try {
    const auto all = read_cell_values(input.path());
    require(all.size() == 1 && all[0].nx >= 1 && all[0].ny >= 1, "there are cells");
    require(all[0].values.size() == static_cast<std::size_t>(all[0].nx) * static_cast<std::size_t>(all[0].ny),
            "each has a number");
    for (const double value : all[0].values) require(std::isfinite(value), "numbers are finite");
  } catch (const UsageError&) {
    return 0;
  } catch (const FileError&) {
    return 0;
  }
  return 0;
}
