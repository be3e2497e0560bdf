#pragma once

// Reports as JSON: members in the order of their adding, numbers that JSON cannot hold are null, bytes that are no UTF-8 become
// U+FFFD. A member a line, and an element a line in arrays of objects, so that people and grep read them too.

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <ranges>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace stratum::apps {

template <class T>
concept Text = std::convertible_to<const T&, std::string_view>;

/// Null, a number, a text, or an array or object of them: as the text that it becomes in one line.
class Json {
 public:
  Json(std::nullptr_t = nullptr) : text_("null") {}
  Json(bool value) : text_(value ? "true" : "false") {}
  Json(double value);
  template <std::integral T>
  Json(T value) : text_(std::to_string(value)) {}
  template <Text T>
  Json(const T& text) : text_(quoted(text)) {}
  /// An array.
  template <std::ranges::input_range Range>
  requires(!Text<Range>) Json(const Range& values) : kind_(Kind::array) {
    for (const auto& value : values) push_back(value);
  }
  /// An array of numbers; members of objects are added by name.
  template <class T>
  requires std::is_arithmetic_v<T> Json(std::initializer_list<T> numbers) : Json(std::vector<T>(numbers)) {}
  [[nodiscard]] static Json array() { return Json(std::vector<Json>()); }

  void push_back(const Json& element);
  /// All of another array.
  void append(const Json& array);
  [[nodiscard]] bool empty() const { return elements_.empty(); }
  [[nodiscard]] std::string in_one_line() const;

 private:
  friend class JsonObject;
  enum class Kind : std::uint8_t { scalar, array, array_of_objects, object };

  [[nodiscard]] static std::string quoted(std::string_view text);
  Json(Kind kind, std::string text) : kind_(kind), text_(std::move(text)) {}

  Kind kind_ = Kind::scalar;
  std::string text_;                   // of what is no array
  std::vector<std::string> elements_;  // of an array
};

/// f of every element.
template <class Range, class F>
[[nodiscard]] Json json_array(const Range& range, const F& f) {
  Json array = Json::array();
  for (const auto& value : range) array.push_back(f(value));
  return array;
}

class JsonObject {
 public:
  /// In the place of the member of this name, if there is one.
  JsonObject& add(std::string_view key, Json value);
  [[nodiscard]] Json value() const;
  [[nodiscard]] std::string text() const;

 private:
  std::vector<std::pair<std::string, Json>> members_;
};

}  // namespace stratum::apps
