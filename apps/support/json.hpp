#pragma once

// Reports as JSON, by nlohmann-json: members in the order of their adding, numbers that JSON cannot hold are null, bytes that
// are no UTF-8 become U+FFFD. A member a line, and an element a line in arrays of objects, so that people and grep read them
// too.

#include <cstdint>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

namespace stratum::apps {

using Json = nlohmann::ordered_json;

/// f of every element.
template <class Range, class F>
[[nodiscard]] Json json_array(const Range& range, const F& f) {
  Json array = Json::array();
  for (const auto& value : range) array.push_back(f(value));
  return array;
}

[[nodiscard]] inline std::string in_one_line(const Json& value) {
  std::string text;
  const auto next = [&] { text += text.empty() ? "" : ", "; };
  if (value.is_object()) {
    for (const auto& [key, member] : value.items()) {
      next();
      text += in_one_line(key) + ": " + in_one_line(member);
    }
    return "{" + text + "}";
  }
  if (!value.is_array()) return value.dump(-1, ' ', false, Json::error_handler_t::replace);
  for (const auto& element : value) {
    next();
    text += in_one_line(element);
  }
  return "[" + text + "]";
}

class JsonObject {
 public:
  JsonObject& add(const std::string& key, Json value) {
    members_[key] = std::move(value);
    return *this;
  }
  [[nodiscard]] const Json& value() const { return members_; }
  [[nodiscard]] std::string text() const {
    std::string text;
    for (const auto& [key, member] : members_.items()) {
      text += (text.empty() ? "\n  " : ",\n  ") + in_one_line(key) + ": ";
      if (member.is_array() && !member.empty() && member.front().is_object()) {
        std::string rows;
        for (const auto& row : member) rows += (rows.empty() ? "\n    " : ",\n    ") + in_one_line(row);
        text += "[" + rows + "]";
      } else {
        text += in_one_line(member);
      }
    }
    return "{" + text + "\n}\n";
  }

 private:
  Json members_ = Json::object();
};

}  // namespace stratum::apps
