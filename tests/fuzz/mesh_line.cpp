// Directions of a mesh: the first byte says what the others are, coordinates, widths, or a grading in words. Whatever is
// accepted has positive, finite widths that sum to the length.

#include <cmath>
#include <sstream>
#include <string>

#include <stratum/core/errors.hpp>
#include <stratum/mesh/graded.hpp>

#include "target.hpp"

namespace {

using namespace stratum;

void check(const Axis& line, double length) {
  require(line.size() >= 1, "a line has cells");
  for (const double w : line.widths()) require(w > 0 && std::isfinite(w), "widths are positive and finite");
  require(std::abs(line.length() - length) <= 1e-12 * length, "widths sum to the length");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  try {
    std::istringstream in(text);
    if (data[0] == 'c') {
      const auto line = read_coordinates(in, "text");
      check(line, line.length());
    } else if (data[0] == 'w') {
      const auto line = read_widths(in, "text");
      check(line, line.length());
    } else {
      const auto grading = parse_grading(text);
      if (grading.from_file()) return 0;  // any path on this machine
      for (const int cells : {1, 2, 7, 64})
        for (const double length : {1.0, 1e-3, 2e5}) try {
            const auto line = make_line(grading, length, cells);
            require(line.size() == cells, "as many cells as asked for");
            check(line, length);
          } catch (const UsageError&) {
            continue;
          }
    }
  } catch (const UsageError&) {
    return 0;
  }
  return 0;
}
