#include <stratum/assembly/expressions/expression_source.hpp>

#include <algorithm>
#include <cctype>
#include <initializer_list>
#include <string_view>
#include <utility>
#include <vector>

#include <stratum/core/errors.hpp>

namespace stratum {

namespace {

struct NotTranslated {};

constexpr std::string_view unary_functions[] = {"acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "exp",
                                                "log",  "log10", "log2", "sin",   "sinh", "sqrt",  "tan", "tanh"};
/// muParser's name and the one in the text.
constexpr std::pair<std::string_view, std::string_view> renamed_functions[] = {
    {"abs", "fabs"}, {"ln", "log"}, {"rint", "muparser_rint"}, {"sign", "muparser_sign"}};

/// By recursive descent; every method takes what binds at least as tightly as its name says.
class Translation {
 public:
  explicit Translation(const std::string& text) : text_(text) {}
  std::string whole() {
    std::string source = choice();
    if (at_ < text_.size()) throw NotTranslated{};
    return source;
  }

 private:
  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }
  bool take(std::string_view token) {
    skip_blanks();
    if (text_.compare(at_, token.size(), token) != 0) return false;
    at_ += token.size();
    skip_blanks();
    return true;
  }
  void expect(std::string_view token) {
    if (!take(token)) throw NotTranslated{};
  }
  static std::string truth(const std::string& condition) { return "(" + condition + " ? 1.0 : 0.0)"; }
  static std::string holds(const std::string& value) { return value + " != 0"; }

  std::string choice() {
    const std::string condition = any();
    if (!take("?")) return condition;
    const std::string first = choice();
    expect(":");
    return "(" + holds(condition) + " ? " + first + " : " + choice() + ")";
  }
  using Operand = std::string (Translation::*)();
  using Joined = std::string (*)(const std::string& left, const std::string& sign, const std::string& right);
  /// Operands with these signs in between, from the left; of signs the first one that fits.
  std::string chain(std::initializer_list<std::string_view> signs, Operand operand, Joined join) {
    std::string left = (this->*operand)();
    for (;;) {
      const auto* const sign = std::find_if(signs.begin(), signs.end(), [&](std::string_view s) { return take(s); });
      if (sign == signs.end()) return left;
      left = join(left, message(" ", *sign, " "), (this->*operand)());
    }
  }
  static std::string of_numbers(const std::string& left, const std::string& sign, const std::string& right) {
    return "(" + left + sign + right + ")";
  }
  static std::string of_truths(const std::string& left, const std::string& sign, const std::string& right) {
    return truth(holds(left) + sign + holds(right));
  }
  static std::string compared(const std::string& left, const std::string& sign, const std::string& right) {
    return truth(left + sign + right);
  }
  std::string any() { return chain({"||"}, &Translation::all, of_truths); }
  std::string all() { return chain({"&&"}, &Translation::comparison, of_truths); }
  std::string comparison() { return chain({"<=", ">=", "==", "!=", "<", ">"}, &Translation::sum, compared); }
  std::string sum() { return chain({"+", "-"}, &Translation::product, of_numbers); }
  std::string product() { return chain({"*", "/"}, &Translation::factor, of_numbers); }
  std::string factor() {
    if (take("-")) return "(-" + power() + ")";
    (void)take("+");
    return power();
  }
  std::string power() {
    std::string base = primary();
    return take("^") ? "pow(" + base + ", " + factor() + ")" : base;
  }
  std::string primary() {
    skip_blanks();
    if (take("(")) {
      std::string inside = choice();
      expect(")");
      return inside;
    }
    const char c = at_ < text_.size() ? text_[at_] : '\0';
    if (std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '.') return number();
    if (std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_') return name();
    throw NotTranslated{};
  }
  /// As a double, whatever it looks like.
  std::string number() {
    std::string digits;
    const auto take_digits = [&] {
      while (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])) != 0) digits += text_[at_++];
    };
    take_digits();
    digits += '.';
    if (at_ < text_.size() && text_[at_] == '.') ++at_;
    take_digits();
    if (digits == ".") throw NotTranslated{};
    if (at_ < text_.size() && (text_[at_] == 'e' || text_[at_] == 'E')) {
      std::size_t next = at_ + 1;
      if (next < text_.size() && (text_[next] == '+' || text_[next] == '-')) ++next;
      if (next < text_.size() && std::isdigit(static_cast<unsigned char>(text_[next])) != 0) {
        digits.append(text_, at_, next - at_);
        at_ = next;
        take_digits();
      }
    }
    return digits;
  }
  std::string name() {
    std::string word;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '_'))
      word += text_[at_++];
    if (!take("(")) return word;
    std::vector<std::string> arguments{choice()};
    while (take(",")) arguments.push_back(choice());
    expect(")");
    return call(word, arguments);
  }
  static std::string call(const std::string& name, const std::vector<std::string>& arguments) {
    const std::size_t count = arguments.size();
    if (count == 1)
      for (const auto& known : unary_functions)
        if (name == known) return name + "(" + arguments[0] + ")";
    if (count == 1)
      for (const auto& [from, to] : renamed_functions)
        if (name == from) return message(to, "(", arguments[0], ")");
    if (name == "atan2" && count == 2) return "atan2(" + arguments[0] + ", " + arguments[1] + ")";
    const bool is_sum = name == "sum" || name == "avg";
    if (!is_sum && name != "min" && name != "max") throw NotTranslated{};
    std::string left = arguments[0];
    for (std::size_t k = 1; k < count; ++k)
      left = is_sum ? "(" + left + " + " + arguments[k] + ")" : "f" + name + "(" + left + ", " + arguments[k] + ")";
    return name == "avg" ? message("(", left, " / ", count, ".)") : left;
  }

  const std::string& text_;
  std::size_t at_ = 0;
};

}  // namespace

std::optional<ExpressionText> expression_of(const ScalarFunction& function) {
  const auto* const of_text = function.target<FunctionOfText>();
  return of_text == nullptr ? std::nullopt : std::optional(of_text->expression);
}

std::optional<BoxExpressionText> expression_of(const ScalarFunction3D& function) {
  const auto* const of_text = function.target<BoxFunctionOfText>();
  return of_text == nullptr ? std::nullopt : std::optional(of_text->expression);
}

std::optional<std::string> source_of_expression(const std::string& text) {
  try {
    return Translation(text).whole();
  } catch (const NotTranslated&) {
    return std::nullopt;
  }
}

std::string expression_helpers(const std::string& qualifier) {
  return qualifier + " double muparser_rint(double v) { return floor(v + 0.5); }\n" + qualifier +
         " double muparser_sign(double v) { return v < 0 ? -1.0 : v > 0 ? 1.0 : 0.0; }\n";
}

}  // namespace stratum
