// Matrix Market files: the first byte says whether the rest is read as a matrix or as a vector. What is accepted comes back the
// same after it was written and read once more.

#include <cmath>
#include <string>

#include <stratum/core/errors.hpp>
#include <stratum/core/io/matrix_market.hpp>

#include "scratch_file.hpp"
#include "target.hpp"

namespace {

using namespace stratum;

bool contains(const SparseRows& a, const SparseRows& b) {
  bool same = a.rows == b.rows && a.columns == b.columns;
  for (int i = 0; same && i < b.rows; ++i)
    for (int k = b.start[static_cast<std::size_t>(i)]; k < b.start[static_cast<std::size_t>(i) + 1]; ++k)
      same = same && a.at(i, b.column[static_cast<std::size_t>(k)]) == b.value[static_cast<std::size_t>(k)];
  return same;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const ScratchFile input(".in"), output(".out");
  if (size == 0) return 0;
  input.write(data + 1, size - 1);
  try {
    if (data[0] == 'm') {
      const SparseRows a = read_matrix_market(input.path());
      a.validate();
      for (const double value : a.value) require(std::isfinite(value), "entries are finite");
      write_matrix_market(output.path(), a);
      const SparseRows again = read_matrix_market(output.path());
      require(contains(a, again) && contains(again, a), "a matrix comes back");
    } else {
      const auto x = read_matrix_market_vector(input.path(), 3);
      for (const double value : x) require(std::isfinite(value), "values are finite");
      write_matrix_market(output.path(), x);
      require(read_matrix_market_vector(output.path(), 3) == x, "a vector comes back");
    }
  } catch (const FileError&) {
    return 0;
  }
  return 0;
}
