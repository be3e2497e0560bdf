#pragma once

// JsonObject: a flat JSON object as text, for reports.

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
  static std::string string(std::string_view text) {
    std::string quoted = "\"";
    for (const char c : text) {
      if (c == '"' || c == '\\') quoted += '\\';
      quoted += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
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

 private:
  std::string text_;
};

}  // namespace stratum
