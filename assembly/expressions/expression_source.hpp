#pragma once

// What is known of expressions without muParser: the text that a function was made from, and the same as text of C++, for
// compilers that make device code of it. What muParser takes is taken, with its precedence:
//
//     C ? U : V    ||    &&    < <= > >= == !=    + -    * /    signs    ^ (from the right)
//     abs acos acosh asin asinh atan atan2 atanh avg cos cosh exp ln log log10 log2 max min rint sign sin sinh sqrt sum tan tanh
//
// Names of variables and constants stay as they are. The text calls functions of <math.h> and those of `helpers`.

#include <array>
#include <optional>
#include <string>

#include <stratum/assembly/geometry.hpp>
#include <stratum/assembly/poisson_problem_3d.hpp>

namespace stratum {

/// An expression without the variable t; a and b as it knows them.
struct ExpressionText {
  std::string text;
  double a, b;
};
/// What parse_expression makes of one, so that expression_of finds its text.
struct FunctionOfText {
  ExpressionText expression;
  ScalarFunction value;
  double operator()(const Point& point) const { return value(point); }
};
/// What a function was made from, if it was that.
[[nodiscard]] std::optional<ExpressionText> expression_of(const ScalarFunction& function);

/// The same in a box with edges of these lengths; whether it depends on x, y and z, the distances to faces among them. It may
/// have the variable t, and then a point's, or the time `t` that it is bound to.
struct BoxExpressionText {
  std::string text;
  std::array<double, 3> lengths;
  std::array<bool, 3> depends;
  bool has_time = false;
  double t = 0;
};
struct BoxFunctionOfText {
  BoxExpressionText expression;
  ScalarFunction3D value;
  double operator()(const Point3D& point) const { return value(point); }
};
[[nodiscard]] std::optional<BoxExpressionText> expression_of(const ScalarFunction3D& function);

/// Nothing where the text has something else; it is then for muParser alone.
[[nodiscard]] std::optional<std::string> source_of_expression(const std::string& text);

/// Functions that the text may call, their declarations preceded by `qualifier`.
[[nodiscard]] std::string expression_helpers(const std::string& qualifier);

}  // namespace stratum
