#include "json.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace stratum::apps {

namespace {

std::string scalar(const nlohmann::json& value) {
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string joined(const std::vector<std::string>& texts, const char* separator) {
  std::string all;
  for (const std::string& text : texts) all += (&text == &texts.front() ? "" : separator) + text;
  return all;
}

}  // namespace

Json::Json(double value) : text_(scalar(value)) {}

std::string Json::quoted(std::string_view text) { return scalar(text); }

void Json::push_back(const Json& element) {
  if (elements_.empty() && element.kind_ == Kind::object) kind_ = Kind::array_of_objects;
  elements_.push_back(element.in_one_line());
}

void Json::append(const Json& array) {
  if (elements_.empty()) kind_ = array.kind_;
  elements_.insert(elements_.end(), array.elements_.begin(), array.elements_.end());
}

std::string Json::in_one_line() const {
  const bool is_array = kind_ == Kind::array || kind_ == Kind::array_of_objects;
  return is_array ? "[" + joined(elements_, ", ") + "]" : text_;
}

JsonObject& JsonObject::add(std::string_view key, Json value) {
  const auto there =
      std::ranges::find(members_, key, [](const auto& member) { return std::string_view(member.first); });
  if (there != members_.end())
    there->second = std::move(value);
  else
    members_.emplace_back(key, std::move(value));
  return *this;
}

Json JsonObject::value() const {
  std::vector<std::string> members;
  for (const auto& [key, value] : members_) members.push_back(Json::quoted(key) + ": " + value.in_one_line());
  return Json(Json::Kind::object, "{" + joined(members, ", ") + "}");
}

std::string JsonObject::text() const {
  std::vector<std::string> members;
  for (const auto& [key, value] : members_)
    members.push_back("\n  " + Json::quoted(key) + ": " +
                      (value.kind_ == Json::Kind::array_of_objects
                           ? "[\n    " + joined(value.elements_, ",\n    ") + "]"
                           : value.in_one_line()));
  return "{" + joined(members, ",") + "\n}\n";
}

}  // namespace stratum::apps
