#pragma once

// Bodies inside the domain (assembly/bodies.hpp): the option, and what it says.
//
//     --body SHAPE:KIND     split at the first ":KIND", whose names are not those of variables, so that colons of C ? U : V and
//                           of
//                           file:PATH:ARRAY stay in the shape

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <stratum/assembly/bodies.hpp>

#include "problem_options.hpp"

namespace stratum::apps {

/// SHAPE, KIND and what follows the kind's colon.
struct BodyText {
  std::string shape, data;
  BodyKind kind = BodyKind::value;
  bool has_data = false;
};

[[nodiscard]] inline std::optional<BodyText> split_body(const std::string& text) {
  std::optional<BodyText> found;
  std::size_t first = std::string::npos;
  for (const auto& [kind, name] : names_of<BodyKind>) {
    const std::string token = message(":", name);
    for (std::size_t at = text.find(token); at < first; at = text.find(token, at + 1)) {
      const std::size_t end = at + token.size();
      if (end < text.size() && text[end] != ':') continue;
      first = at;
      found = BodyText{text.substr(0, at), end < text.size() ? text.substr(end + 1) : "", kind, end < text.size()};
    }
  }
  return found;
}

[[nodiscard]] inline std::vector<std::string> files_of_body(const std::string& text) {
  const auto body = split_body(text);
  if (!body) return {};
  auto files = files_of_expressions(body->shape);
  const auto more = files_of_expressions(body->data);
  files.insert(files.end(), more.begin(), more.end());
  return files;
}

[[nodiscard]] inline Option body_option() {
  return with_files(
      {"body", "SHAPE:KIND", "",
       "a body inside the domain: the cells whose centre lies in SHAPE. SHAPE is an expression (inside where it is "
       "above 0), "
       "rectangle(x0,y0,x1,y1), disc(x,y,r), polygon(x,y; x,y; ...), or file:PATH, a mask on cells or nodes (inside "
       "where it is "
       "above 0). KIND is value:G (a conductor, held at u = G), no-flux (a solid that nothing flows into), k:K "
       "(another K, one "
       "expression or KXX,KXY,KYY) or contact:R (a resistance R on its surface). Repeat the option for several bodies",
       true},
      Names::input, files_of_body);
}

/// It is none of those with a name.
[[nodiscard]] inline bool is_expression_shape(const std::string& text) {
  return !text.starts_with("rectangle(") && !text.starts_with("disc(") && !text.starts_with("polygon(");
}

// `read`: ProblemReader, or what else has its function(text), and perhaps a shape(text) for shapes.

/// The shape by its name, or an expression.
template <class Reader>
[[nodiscard]] ScalarFunction parse_shape(const std::string& text, const Reader& read) {
  const auto numbers_in = [&](std::string_view list) {
    std::vector<double> numbers;
    for (const auto& part : expressions_of(std::string(list))) {
      const auto number = number_of(part);
      expects(number.has_value(), "'", shown(part), "' is not a number");
      numbers.push_back(*number);
    }
    return numbers;
  };
  for (const char* const name : {"rectangle", "disc", "polygon"}) {
    const std::string begin = message(name, "(");
    if (!text.starts_with(begin) || !text.ends_with(")")) continue;
    const std::string inside = text.substr(begin.size(), text.size() - begin.size() - 1);
    if (begin == "polygon(") {
      std::vector<Position> corners;
      for (std::size_t at = 0; at <= inside.size();) {
        const std::size_t end = std::min(inside.find(';', at), inside.size());
        const auto xy = numbers_in(std::string_view(inside).substr(at, end - at));
        expects(xy.size() == 2, "'", shown(inside.substr(at, end - at)),
                "' is no corner x,y of a polygon(x,y; x,y; ...)");
        corners.push_back({xy[0], xy[1]});
        at = end + 1;
      }
      return polygon_shape(std::move(corners));
    }
    const auto n = numbers_in(inside);
    if (begin == "disc(") {
      expects(n.size() == 3, "'", shown(text), "' is not disc(x,y,r)");
      return disc_shape(n[0], n[1], n[2]);
    }
    expects(n.size() == 4, "'", shown(text), "' is not rectangle(x0,y0,x1,y1)");
    return rectangle_shape(n[0], n[1], n[2], n[3]);
  }
  if constexpr (requires { read.shape(text); })
    return read.shape(text);
  else
    return read.function(text);
}

/// With a shape, and a value where its kind wants one.
[[nodiscard]] inline BodyText body_text(const std::string& text) {
  auto parts = split_body(text);
  expects(parts.has_value(), "'", shown(text), "' is not SHAPE:KIND, KIND being value:G, no-flux, k:K or contact:R");
  expects(!parts->shape.empty(), "'", shown(text), "' has no shape before :", to_string(parts->kind));
  expects(parts->has_data == (parts->kind != BodyKind::no_flux), "'", shown(text), "': ",
          parts->has_data ? "no-flux has no value"
                          : message(to_string(parts->kind), " needs a value, ", to_string(parts->kind), ":..."));
  return *std::move(parts);
}

[[nodiscard]] inline double resistance_of(const std::string& text) {
  const auto number = number_of(text);
  expects(number.has_value(), "the contact resistance '", shown(text), "' is not a number");
  return *number;
}

template <class Reader>
[[nodiscard]] Body parse_body(const std::string& text, const Reader& read) {
  const BodyText parts = body_text(text);
  Body body;
  body.name = text;
  body.kind = parts.kind;
  body.inside = parse_shape(parts.shape, read);
  const auto expressions = expressions_of(parts.data);
  switch (body.kind) {
    case BodyKind::no_flux: break;
    case BodyKind::value: body.value = read.function(parts.data); break;
    case BodyKind::coefficient:
      expects(expressions.size() == 1 || expressions.size() == 3, "'", shown(parts.data),
              "' is not one expression for K, and not three, KXX,KXY,KYY");
      body.value = read.function(expressions[0]);
      if (expressions.size() == 3) {
        body.kxy = read.function(expressions[1]);
        body.kyy = read.function(expressions[2]);
      }
      break;
    case BodyKind::contact: body.resistance = resistance_of(parts.data); break;
  }
  return body;
}

template <class Reader>
[[nodiscard]] std::vector<Body> parse_bodies(const CommandLine& options, const Reader& read) {
  std::vector<Body> bodies;
  for (const std::string& text : options.texts("body"))
    bodies.push_back(parsed("--body", [&] { return parse_body(text, read); }));
  return bodies;
}

}  // namespace stratum::apps
