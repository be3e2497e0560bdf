#include <stratum/assembly/expression.hpp>

#include <numbers>
#include <utility>

#include <stratum/core/errors.hpp>

#if defined(STRATUM_HAVE_MUPARSER)
#include <muParser.h>
#endif

namespace stratum {

#if defined(STRATUM_HAVE_MUPARSER)

namespace {

// A parser is bound to the addresses of its variables and keeps a stack of its own, so every copy gets both anew: each
// thread evaluates a copy.
class Expression {
 public:
  Expression(std::string text, double a, double b) : text_(std::move(text)), a_(a), b_(b) {
    parser_.DefineVar("x", &point_.x);
    parser_.DefineVar("y", &point_.y);
    parser_.DefineVar("xr", &point_.to_right);
    parser_.DefineVar("yr", &point_.to_top);
    parser_.DefineConst("a", a_);
    parser_.DefineConst("b", b_);
    parser_.DefineConst("pi", std::numbers::pi);
    parser_.DefineConst("e", std::numbers::e);
    parser_.SetExpr(text_);
  }
  Expression(const Expression& other) : Expression(other.text_, other.a_, other.b_) {}
  Expression& operator=(const Expression&) = delete;
  ~Expression() = default;

  double operator()(const Point& point) const {
    point_ = point;
    return parser_.Eval();
  }

  /// muParser parses at the first evaluation; this is one.
  void parse() const {
    try {
      (*this)({a_ / 2, b_ / 2, a_ / 2, b_ / 2});
    } catch (const mu::Parser::exception_type& error) {
      // muParser counts characters from zero, and only in some of its messages.
      std::string reason = error.GetMsg();
      for (const char* position : {" found at position", " at position", " at expression position"})
        reason = reason.substr(0, reason.find(position));
      const int at = error.GetPos();
      const bool inside = at >= 0 && static_cast<std::size_t>(at) < text_.size();
      throw UsageError(message("expression '", text_, "': ", reason,
                               inside ? message(" at character ", at + 1) : " at the end",
                               "; known names: x, y, a, b, xr, yr, pi, e and functions such as sin, exp, sqrt"));
    }
    expects(parser_.GetNumResults() == 1, "expression '", text_, "': it gives ", parser_.GetNumResults(),
            " values, not one");
  }

 private:
  std::string text_;
  double a_;
  double b_;
  mutable Point point_;
  mu::Parser parser_;
};

}  // namespace

bool expressions_available() { return true; }

ScalarFunction parse_expression(const std::string& text, double a, double b) {
  expects(text.find_first_not_of(" \t") != std::string::npos, "an expression must not be empty");
  try {
    Expression expression(text, a, b);
    expression.parse();
    return expression;
  } catch (const mu::Parser::exception_type& error) {
    throw UsageError(message("expression '", text, "': ", error.GetMsg()));
  }
}

#else

bool expressions_available() { return false; }

ScalarFunction parse_expression(const std::string& text, double /*a*/, double /*b*/) {
  throw UsageError(message("expression '", text, "': this build has no muParser (Debian: libmuparser-dev)"));
}

#endif

}  // namespace stratum
