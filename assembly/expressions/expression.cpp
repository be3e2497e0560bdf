#include <stratum/assembly/expressions/expression.hpp>

#include <algorithm>
#include <array>
#include <numbers>
#include <utility>
#include <vector>

#include <stratum/assembly/expressions/expression_source.hpp>
#include <stratum/core/errors.hpp>

#if defined(STRATUM_HAVE_MUPARSER)
#include <muParser.h>
#endif

namespace stratum {

#if defined(STRATUM_HAVE_MUPARSER)

namespace {

/// What muParser takes for something else than what was written down: x = 0 assigns, and 0 < x < 1 compares 0 or 1 with 1.
void refuse_misleading_operators(const std::string& text) {
  // Comparisons since the last of && || ? : , in each pair of parentheses that is open.
  std::vector<int> comparisons{0};
  for (std::size_t k = 0; k < text.size(); ++k) {
    const char c = text[k], next = k + 1 < text.size() ? text[k + 1] : ' ';
    if (c == '(') comparisons.push_back(0);
    if (c == ')' && comparisons.size() > 1) comparisons.pop_back();
    if (c == '?' || c == ':' || c == ',' || c == '&' || c == '|') comparisons.back() = 0;
    if (c == '=' && next != '=')
      throw UsageError(message("expression '", text, "': '=' at character ", k + 1, " would assign; did you mean '",
                               std::string(text).insert(k, "="), "'?"));
    const bool two_characters = next == '=' && (c == '=' || c == '!' || c == '<' || c == '>');
    if (two_characters || c == '<' || c == '>')
      if (++comparisons.back() > 1)
        throw UsageError(message("expression '", text, "': the comparison at character ", k + 1,
                                 " compares the result of another one; join two by &&, as in 0 < x && x < 1, or use "
                                 "parentheses"));
    if (two_characters) ++k;
  }
}

bool has_distances(Variables variables) {
  return variables == Variables::space || variables == Variables::space_and_time;
}
bool has_time(Variables variables) {
  return variables == Variables::space_and_time || variables == Variables::position_and_time;
}

/// What expressions know of a point: its variables, and constants that do not depend on it.
template <class P>
struct KnownNames {
  using Variables = std::vector<std::pair<const char*, double P::*>>;
  Variables variables;
  std::vector<std::pair<const char*, double>> constants;
  Variables distances;      // to the boundaries
  P somewhere;              // a point of the domain
  const char* remark = "";  // behind the list of names

  [[nodiscard]] std::string list() const {
    std::string names;
    for (const auto& [name, unused] : variables) names += std::string(name) + ", ";
    for (const auto& [name, unused] : constants) names += std::string(name) + ", ";
    for (const auto& [name, unused] : distances) names += std::string(name) + ", ";
    return names;
  }
};

KnownNames<Point> known_names(double a, double b, Variables variables) {
  if (variables == Variables::curve) return {{{"t", &Point::t}}, {}, {}, {}, ""};
  KnownNames<Point> known{{{"x", &Point::x}, {"y", &Point::y}},
                          {},
                          {},
                          {a / 2, b / 2, a / 2, b / 2, a / 2, b / 2},
                          has_distances(variables) ? "" : "; a mesh that is no rectangle has no a, b, xl, xr, yl, yr"};
  if (has_time(variables)) known.variables.emplace_back("t", &Point::t);
  if (!has_distances(variables)) return known;
  known.distances = {
      {"xl", &Point::to_left}, {"xr", &Point::to_right}, {"yl", &Point::to_bottom}, {"yr", &Point::to_top}};
  known.constants = {{"a", a}, {"b", b}};
  return known;
}

KnownNames<Point3D> known_names(const std::array<double, 3>& lengths, Variables variables) {
  const auto [a, b, d] = lengths;
  KnownNames<Point3D> known{{{"x", &Point3D::x}, {"y", &Point3D::y}, {"z", &Point3D::z}},
                            {{"a", a}, {"b", b}, {"d", d}},
                            {{"xl", &Point3D::to_left},
                             {"xr", &Point3D::to_right},
                             {"yl", &Point3D::to_bottom},
                             {"yr", &Point3D::to_top},
                             {"zl", &Point3D::to_front},
                             {"zr", &Point3D::to_back}},
                            {a / 2, b / 2, d / 2, a / 2, b / 2, d / 2, a / 2, b / 2, d / 2},
                            ""};
  if (has_time(variables)) known.variables.emplace_back("t", &Point3D::t);
  return known;
}

// A parser is bound to the addresses of its variables and keeps a stack of its own, so every copy gets both anew: each
// thread evaluates a copy.
template <class P>
class Expression {
 public:
  Expression(std::string text, KnownNames<P> known) : text_(std::move(text)), known_(std::move(known)) {
    for (const auto* variables : {&known_.variables, &known_.distances})
      for (const auto& [name, member] : *variables) parser_.DefineVar(name, &(point_.*member));
    parser_.ClearConst();  // muParser's own _pi and _e have twelve digits
    for (const auto& [name, value] : known_.constants) parser_.DefineConst(name, value);
    parser_.DefineConst("pi", std::numbers::pi);
    parser_.DefineConst("e", std::numbers::e);
    parser_.SetExpr(text_);
  }
  Expression(const Expression& other) : Expression(other.text_, other.known_) {}
  Expression& operator=(const Expression&) = delete;
  ~Expression() = default;

  double operator()(const P& point) const {
    point_ = point;
    return parser_.Eval();
  }

  /// muParser parses at the first evaluation; this is one.
  void parse() const {
    try {
      (*this)(known_.somewhere);
    } catch (const mu::Parser::exception_type& error) {
      // muParser counts characters from zero, and only in some of its messages.
      std::string reason = error.GetMsg();
      for (const char* position : {" found at position", " at position", " at expression position"})
        reason = reason.substr(0, reason.find(position));
      const int at = error.GetPos();
      const bool inside = at >= 0 && static_cast<std::size_t>(at) < text_.size();
      throw UsageError(
          message("expression '", text_, "': ", reason, inside ? message(" at character ", at + 1) : " at the end",
                  "; known names: ", known_.list(), "pi, e and functions such as sin, exp, sqrt", known_.remark));
    }
    expects(parser_.GetNumResults() == 1, "expression '", text_, "': it gives ", parser_.GetNumResults(),
            " values, not one");
  }
  [[nodiscard]] bool uses(const std::string& variable) const { return parser_.GetUsedVar().count(variable) > 0; }

 private:
  std::string text_;
  KnownNames<P> known_;
  mutable P point_;
  mu::Parser parser_;
};

/// One that parses.
template <class P>
Expression<P> parsed(const std::string& text, KnownNames<P> known) {
  expects(text.find_first_not_of(" \t") != std::string::npos, "an expression must not be empty");
  refuse_misleading_operators(text);
  try {
    Expression<P> expression(text, std::move(known));
    expression.parse();
    return expression;
  } catch (const mu::Parser::exception_type& error) {
    throw UsageError(message("expression '", text, "': ", error.GetMsg()));
  }
}

}  // namespace

bool expressions_available() { return true; }

ScalarFunction parse_expression(const std::string& text, double a, double b, Variables variables) {
  Expression<Point> expression = parsed(text, known_names(a, b, variables));
  if (expression.uses("t")) return expression;
  return FunctionOfText{{text, a, b}, std::move(expression)};
}

ScalarFunction3D parse_expression(const std::string& text, const std::array<double, 3>& lengths, Variables variables) {
  Expression<Point3D> expression = parsed(text, known_names(lengths, variables));
  const bool has_time = expression.uses("t");
  std::array<bool, 3> depends{};
  constexpr std::array<std::array<const char*, 3>, 3> names{{{"x", "xl", "xr"}, {"y", "yl", "yr"}, {"z", "zl", "zr"}}};
  for (std::size_t d = 0; d < 3; ++d)
    depends[d] = std::any_of(names[d].begin(), names[d].end(), [&](const char* name) { return expression.uses(name); });
  if (depends == std::array<bool, 3>{} && !has_time) {
    const double value = expression(Point3D{});
    return BoxFunctionOfText{{text, lengths, depends}, [value](const Point3D& /*p*/) { return value; }};
  }
  return BoxFunctionOfText{{text, lengths, depends, has_time}, std::move(expression)};
}

std::optional<double> value_of_expression(const std::string& text) {
  try {
    return parsed(text, KnownNames<Point>{})(Point{});
  } catch (const UsageError&) {
    return std::nullopt;
  }
}

bool depends_on_time(const std::string& text, double a, double b) {
  return Expression<Point>(text, known_names(a, b, Variables::space_and_time)).uses("t");
}
bool depends_on_time(const std::string& text, const std::array<double, 3>& lengths) {
  return Expression<Point3D>(text, known_names(lengths, Variables::space_and_time)).uses("t");
}

#else

bool expressions_available() { return false; }

namespace {

[[noreturn]] void fail_without_muparser(const std::string& text) {
  throw UsageError(message("expression '", text, "': this build has no muParser (Debian: libmuparser-dev)"));
}

}  // namespace

ScalarFunction parse_expression(const std::string& text, double /*a*/, double /*b*/, Variables /*variables*/) {
  fail_without_muparser(text);
}

ScalarFunction3D parse_expression(const std::string& text, const std::array<double, 3>& /*lengths*/,
                                  Variables /*variables*/) {
  fail_without_muparser(text);
}

std::optional<double> value_of_expression(const std::string& /*text*/) { return std::nullopt; }

bool depends_on_time(const std::string& /*text*/, double /*a*/, double /*b*/) { return false; }
bool depends_on_time(const std::string& /*text*/, const std::array<double, 3>& /*lengths*/) { return false; }

#endif

}  // namespace stratum
