#include <stratum/assembly/expression_source.hpp>

#include <array>
#include <cctype>
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
  std::string any() {
    std::string left = all();
    while (take("||")) left = truth(holds(left) + " || " + holds(all()));
    return left;
  }
  std::string all() {
    std::string left = comparison();
    while (take("&&")) left = truth(holds(left) + " && " + holds(comparison()));
    return left;
  }
  std::string comparison() {
    std::string left = sum();
    for (bool found = true; found;) {
      found = false;
      for (const char* const sign : {"<=", ">=", "==", "!=", "<", ">"})
        if (!found && take(sign)) {
          left = truth(left + " " + sign + " " + sum());
          found = true;
        }
    }
    return left;
  }
  std::string sum() {
    std::string left = product();
    for (;;) {
      const char* const sign = take("+") ? " + " : take("-") ? " - " : nullptr;
      if (sign == nullptr) return left;
      left = "(" + left + sign + product() + ")";
    }
  }
  std::string product() {
    std::string left = factor();
    for (;;) {
      const char* const sign = take("*") ? " * " : take("/") ? " / " : nullptr;
      if (sign == nullptr) return left;
      left = "(" + left + sign + factor() + ")";
    }
  }
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
