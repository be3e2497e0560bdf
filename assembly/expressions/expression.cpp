#include <stratum/assembly/expressions/expression.hpp>

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

// A parser is bound to the addresses of its variables and keeps a stack of its own, so every copy gets both anew: each
// thread evaluates a copy.
class Expression {
 public:
  Expression(std::string text, double a, double b, Variables variables)
      : text_(std::move(text)), a_(a), b_(b), variables_(variables) {
    parser_.DefineVar("x", &point_.x);
    parser_.DefineVar("y", &point_.y);
    if (has_distances(variables_)) {
      parser_.DefineVar("xr", &point_.to_right);
      parser_.DefineVar("yr", &point_.to_top);
      parser_.DefineVar("xl", &point_.to_left);
      parser_.DefineVar("yl", &point_.to_bottom);
    }
    if (has_time(variables_)) parser_.DefineVar("t", &point_.t);
    parser_.ClearConst();  // muParser's own _pi and _e have twelve digits
    if (has_distances(variables_)) {
      parser_.DefineConst("a", a_);
      parser_.DefineConst("b", b_);
    }
    parser_.DefineConst("pi", std::numbers::pi);
    parser_.DefineConst("e", std::numbers::e);
    parser_.SetExpr(text_);
  }
  Expression(const Expression& other) : Expression(other.text_, other.a_, other.b_, other.variables_) {}
  Expression& operator=(const Expression&) = delete;
  ~Expression() = default;

  double operator()(const Point& point) const {
    point_ = point;
    return parser_.Eval();
  }

  /// muParser parses at the first evaluation; this is one.
  void parse() const {
    try {
      (*this)({a_ / 2, b_ / 2, a_ / 2, b_ / 2, a_ / 2, b_ / 2});
    } catch (const mu::Parser::exception_type& error) {
      // muParser counts characters from zero, and only in some of its messages.
      std::string reason = error.GetMsg();
      for (const char* position : {" found at position", " at position", " at expression position"})
        reason = reason.substr(0, reason.find(position));
      const int at = error.GetPos();
      const bool inside = at >= 0 && static_cast<std::size_t>(at) < text_.size();
      throw UsageError(message(
          "expression '", text_, "': ", reason, inside ? message(" at character ", at + 1) : " at the end",
          "; known names: x, y, ", has_time(variables_) ? "t, " : "",
          has_distances(variables_) ? "a, b, xl, xr, yl, yr, " : "", "pi, e and functions such as sin, exp, sqrt",
          has_distances(variables_) ? "" : "; a mesh that is no rectangle has no a, b, xl, xr, yl, yr"));
    }
    expects(parser_.GetNumResults() == 1, "expression '", text_, "': it gives ", parser_.GetNumResults(),
            " values, not one");
  }
  [[nodiscard]] bool uses(const std::string& variable) const { return parser_.GetUsedVar().count(variable) > 0; }

 private:
  std::string text_;
  double a_;
  double b_;
  Variables variables_;
  mutable Point point_;
  mu::Parser parser_;
};

}  // namespace

bool expressions_available() { return true; }

ScalarFunction parse_expression(const std::string& text, double a, double b, Variables variables) {
  expects(text.find_first_not_of(" \t") != std::string::npos, "an expression must not be empty");
  refuse_misleading_operators(text);
  try {
    Expression expression(text, a, b, variables);
    expression.parse();
    if (expression.uses("t")) return expression;
    return FunctionOfText{{text, a, b}, std::move(expression)};
  } catch (const mu::Parser::exception_type& error) {
    throw UsageError(message("expression '", text, "': ", error.GetMsg()));
  }
}

bool depends_on_time(const std::string& text, double a, double b) {
  return Expression(text, a, b, Variables::space_and_time).uses("t");
}

#else

bool expressions_available() { return false; }

ScalarFunction parse_expression(const std::string& text, double /*a*/, double /*b*/, Variables /*variables*/) {
  throw UsageError(message("expression '", text, "': this build has no muParser (Debian: libmuparser-dev)"));
}

bool depends_on_time(const std::string& /*text*/, double /*a*/, double /*b*/) { return false; }

#endif

}  // namespace stratum
