#pragma once

// Functions from text, by muParser: "sin(pi*x)*exp(-y)". Known names: x, y, the sides a and b, the distances xr = a - x and
// yr = b - y (accurate in the thinnest cells), pi and e, and muParser's functions. Comparisons are worth 0 or 1, and C ? U : V
// chooses. Refused although muParser takes them: assignment (x = 0) and comparisons of comparisons (0 < x < 1).

#include <string>

#include <stratum/assembly/poisson_problem.hpp>

namespace stratum {

/// True when this build has muParser.
[[nodiscard]] bool expressions_available();

/// Throws UsageError when the text does not parse, with the position and the reason, or when this build has no muParser.
[[nodiscard]] ScalarFunction parse_expression(const std::string& text, double a, double b);

}  // namespace stratum
