#pragma once

// Expressions as text of C++, for compilers that make device code of them. What muParser takes is taken, with its precedence:
//
//     C ? U : V    ||    &&    < <= > >= == !=    + -    * /    signs    ^ (from the right)
//     abs acos acosh asin asinh atan atan2 atanh avg cos cosh exp ln log log10 log2 max min rint sign sin sinh sqrt sum tan tanh
//
// Names of variables and constants stay as they are. The text calls functions of <math.h> and those of `helpers`.

#include <optional>
#include <string>

namespace stratum {

/// Nothing where the text has something else; it is then for muParser alone.
[[nodiscard]] std::optional<std::string> source_of_expression(const std::string& text);

/// Functions that the text may call, their declarations preceded by `qualifier`.
[[nodiscard]] std::string expression_helpers(const std::string& qualifier);

}  // namespace stratum
