#pragma once

// JsonObject: a flat JSON object as text, for reports.

#include <algorithm>
#include <cmath>
#include <sstream>
#include <string>
#include <string_view>

namespace stratum {

/// One JSON object, members in the order of their adding. Numbers that JSON cannot hold become null.
class JsonObject {
 public:
  static std::string number(double value) {
    if (!std::isfinite(value)) return "null";
    std::ostringstream out;
    out.precision(17);
    out << value;
    return out.str();
  }
  /// Names of files may be any bytes: those that are no UTF-8 become U+FFFD each.
  static std::string string(std::string_view text) {
    std::string quoted = "\"";
    while (!text.empty()) {
      const auto c = static_cast<unsigned char>(text.front());
      const std::size_t length = utf8_length(text);
      if (length == 0) {
        quoted += "\\ufffd";
      } else if (c == '"' || c == '\\') {
        quoted += {'\\', text.front()};
      } else if (c < 0x20) {
        constexpr const char* digits = "0123456789abcdef";
        quoted += {'\\', 'u', '0', '0', digits[c / 16U], digits[c % 16U]};
      } else {
        quoted += text.substr(0, length);
      }
      text.remove_prefix(std::max<std::size_t>(1, length));
    }
    return quoted + '"';
  }
  template <class Range, class F>
  static std::string array(const Range& range, const F& item) {
    std::string text = "[";
    for (const auto& value : range) text += (text.size() > 1 ? ", " : "") + item(value);
    return text + "]";
  }

  JsonObject& add_raw(const std::string& key, const std::string& value) {
    text_ += (text_.empty() ? "\n  " : ",\n  ") + string(key) + ": " + value;
    return *this;
  }
  JsonObject& add(const std::string& key, double value) { return add_raw(key, number(value)); }
  JsonObject& add(const std::string& key, std::string_view value) { return add_raw(key, string(value)); }
  [[nodiscard]] std::string text() const { return "{" + text_ + "\n}\n"; }
  /// The same in one line, without its end: a row of an array.
  [[nodiscard]] std::string line() const {
    std::string line = text();
    std::erase(line, '\n');
    return line;
  }

 private:
  /// Bytes of the character that a text begins with; 0 where that is not UTF-8 (RFC 3629).
  static std::size_t utf8_length(std::string_view text) {
    const auto byte = [&text](std::size_t k) { return static_cast<unsigned char>(text[k]); };
    const unsigned first = byte(0);
    const std::size_t length = first < 0x80   ? 1
                               : first < 0xc2 ? 0
                               : first < 0xe0 ? 2
                               : first < 0xf0 ? 3
                               : first < 0xf5 ? 4
                                              : 0;
    if (length < 2 || text.size() < length) return length < 2 ? length : 0;
    for (std::size_t k = 1; k < length; ++k)
      if ((byte(k) & 0xc0U) != 0x80) return 0;
    const bool overlong = (first == 0xe0 && byte(1) < 0xa0) || (first == 0xf0 && byte(1) < 0x90);
    const bool beyond = (first == 0xed && byte(1) > 0x9f) || (first == 0xf4 && byte(1) > 0x8f);
    return overlong || beyond ? 0 : length;
  }

  std::string text_;
};

}  // namespace stratum
