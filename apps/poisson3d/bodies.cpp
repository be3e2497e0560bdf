#include "bodies.hpp"

#include <utility>

#include "support/body_options.hpp"

namespace stratum::apps::poisson3d {

namespace {

using Field = std::function<ScalarFunction3D(const std::string&)>;

/// The shape by its name, or an expression or a file.
ScalarFunction3D parse_shape(const std::string& text, const Field& field) {
  for (const auto& [name, count, words] : {std::tuple{"box", std::size_t{6}, "box(x0,y0,z0,x1,y1,z1)"},
                                           {"ball", std::size_t{4}, "ball(x,y,z,r)"},
                                           {"cylinder", std::size_t{7}, "cylinder(x0,y0,z0,x1,y1,z1,r)"}}) {
    const std::string begin = message(name, "(");
    if (!text.starts_with(begin) || !text.ends_with(")")) continue;
    std::vector<double> n;
    for (const auto& part : expressions_of(text.substr(begin.size(), text.size() - begin.size() - 1))) {
      const auto number = number_of(part);
      expects(number.has_value(), "'", shown(part), "' is not a number");
      n.push_back(*number);
    }
    expects(n.size() == count, "'", shown(text), "' is not ", words);
    const std::array<double, 3> first{n[0], n[1], n[2]};
    if (count == 4) return ball_shape(first, n[3]);
    const std::array<double, 3> last{n[3], n[4], n[5]};
    return count == 6 ? box_shape(first, last) : cylinder_shape(first, last, n[6]);
  }
  return field(text);
}

Body3D parse_body(const std::string& text, const Field& field) {
  const BodyText parts = body_text(text);
  Body3D body;
  body.name = text;
  body.kind = parts.kind;
  body.inside = parse_shape(parts.shape, field);
  const auto expressions = expressions_of(parts.data);
  switch (body.kind) {
    case BodyKind::no_flux: break;
    case BodyKind::value: body.value = field(parts.data); break;
    case BodyKind::coefficient:
      expects(expressions.size() == 1 || expressions.size() == 3, "'", shown(parts.data),
              "' is not one expression for K, and not three, KXX,KYY,KZZ");
      body.value = field(expressions[0]);
      if (expressions.size() == 3) {
        body.kyy = field(expressions[1]);
        body.kzz = field(expressions[2]);
      }
      break;
    case BodyKind::contact: body.resistance = resistance_of(parts.data); break;
  }
  return body;
}

}  // namespace

Option box_body_option() {
  return with_files(
      {"body", "SHAPE:KIND", "",
       "a body inside the box: the cells whose centre lies in SHAPE. SHAPE is an expression (inside where it is above "
       "0), "
       "box(x0,y0,z0,x1,y1,z1), ball(x,y,z,r), cylinder(x0,y0,z0,x1,y1,z1,r) around the line between two points, or "
       "file:PATH, a mask on cells or nodes. KIND is value:G (a conductor, held at u = G), no-flux (a solid that "
       "nothing "
       "flows into), k:K (another K, one expression or KXX,KYY,KZZ) or contact:R (a resistance R on the surface of a "
       "box(...)). Repeat the option for several bodies",
       true},
      Names::input, files_of_body);
}

bool has_name(const std::string& shape) {
  return shape.starts_with("box(") || shape.starts_with("ball(") || shape.starts_with("cylinder(");
}

std::vector<Body3D> parse_bodies(const CommandLine& options, const Field& field) {
  std::vector<Body3D> bodies;
  for (const std::string& text : options.texts("body"))
    bodies.push_back(parsed("--body", [&] { return parse_body(text, field); }));
  return bodies;
}

std::vector<double> numbers_of_bodies(const std::shared_ptr<const BoxBodies>& bodies, const NodePlanes& planes) {
  if (!bodies) return {};
  std::vector<double> numbers(bodies->cell.size(), 0.0);
  for (std::size_t b = 0; b < bodies->cells.size(); ++b)
    for (const std::size_t c : bodies->cells[b]) numbers[c] = static_cast<double>(b + 1);
  const auto& [nx, ny, nz] = bodies->cells_of_axes;
  return planes_of(numbers, {static_cast<int>(nx), static_cast<int>(ny), static_cast<int>(nz)}, planes.axis,
                   planes.first, planes.last - planes.first);
}

}  // namespace stratum::apps::poisson3d
