#pragma once

// Functions from text, in two or three dimensions, by muParser: "sin(pi*x)*exp(-y)". Known names: x, y, the lengths a and b of
// the boundaries, the distances xl and xr to the left and the right side, yl and yr to the bottom and the top (accurate in the
// thinnest cells: on [0, a] x [0, b] xr = a - x and yr = b - y), pi and e, the time t where there is one, and muParser's
// functions. On a mesh that is no rectangle x and y alone have a meaning. In a box there are z, its length d, and the distances
// zl and zr to the front and the back as well. Comparisons are worth 0 or 1, and C ? U : V chooses. Refused although muParser
// takes them: assignment (x = 0) and comparisons of comparisons (0 < x < 1).

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include <stratum/assembly/poisson_problem.hpp>
#include <stratum/assembly/poisson_problem_3d.hpp>

namespace stratum {

/// True when this build has muParser.
[[nodiscard]] bool expressions_available();

// position: x and y alone; curve: t alone
enum class Variables : std::uint8_t { space, space_and_time, position, position_and_time, curve };

/// Throws UsageError when the text does not parse, with the position and the reason, or when this build has no muParser.
[[nodiscard]] ScalarFunction parse_expression(const std::string& text, double a, double b,
                                              Variables variables = Variables::space);

/// In a box with edges of these lengths, which are a, b and d. `variables`: space, or space_and_time. Throws alike.
[[nodiscard]] ScalarFunction3D parse_expression(const std::string& text, const std::array<double, 3>& lengths,
                                                Variables variables = Variables::space);

/// What an expression without variables is worth, as 4*pi or 25/60; nothing where the text is none, or this build has no
/// muParser.
[[nodiscard]] std::optional<double> value_of_expression(const std::string& text);

/// Of one that parses: it has the variable t.
[[nodiscard]] bool depends_on_time(const std::string& text, double a, double b);
[[nodiscard]] bool depends_on_time(const std::string& text, const std::array<double, 3>& lengths);

}  // namespace stratum
