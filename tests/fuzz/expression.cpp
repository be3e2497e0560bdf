// Expressions: what parses can be copied, and every copy gives the same numbers.

#include <bit>
#include <string>

#include <stratum/assembly/expressions/expression.hpp>

#include "target.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stratum;
  const std::string text(reinterpret_cast<const char*>(data), size);
  ScalarFunction f;
  try {
    f = parse_expression(text, 2, 0.5);
  } catch (const UsageError&) {
    return 0;
  }
  const ScalarFunction copy = f;
  for (const Point& p : {Point{0, 0, 2, 0.5}, Point{1.25, 0.125, 0.75, 0.375}, Point{2, 0.5, 0, 0}}) {
    double first = 0;
    try {
      first = f(p);
    } catch (const UsageError&) {  // a value that cannot be computed here
      continue;
    }
    const double again = f(p), other = copy(p);
    require(std::bit_cast<std::uint64_t>(first) == std::bit_cast<std::uint64_t>(again), "the same value twice");
    require(std::bit_cast<std::uint64_t>(first) == std::bit_cast<std::uint64_t>(other), "the same value from a copy");
  }
  return 0;
}
