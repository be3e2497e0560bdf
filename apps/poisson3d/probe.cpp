#include "probe.hpp"

#include <cmath>
#include <sstream>

#include <stratum/assembly/box_picture.hpp>
#include <stratum/assembly/picture.hpp>

namespace stratum::apps::poisson3d {

namespace {

constexpr const char* forms = "X0,Y0,Z0,X1,Y1,Z1,N:FILE.csv, along a line, or AXIS=AT,M,N:FILE.csv, on a plane";

BoxProbe along_line(const std::vector<std::string>& parts) {
  const auto number = [&](std::size_t k) { return parse_number("--probe", parts[k], any_number); };
  const BoxPosition from{number(0), number(1), number(2)}, to{number(3), number(4), number(5)};
  const int count = parse_integer("--probe", parts[6], 2, most_probe_points);
  const double length = std::hypot(to[0] - from[0], to[1] - from[1], to[2] - from[2]);
  expects(length > 0, "--probe: (", from[0], ", ", from[1], ", ", from[2], ") is both ends of the line");
  BoxProbe probe;
  for (int k = 0; k < count; ++k) {
    const double t = static_cast<double>(k) / (count - 1);
    BoxPosition p = to;
    for (std::size_t d = 0; k < count - 1 && d < 3; ++d) p[d] = from[d] + t * (to[d] - from[d]);
    probe.points.push_back(p);
    probe.arc_lengths.push_back(t * length);
  }
  return probe;
}

BoxProbe on_plane(const std::vector<std::string>& parts, const TensorMesh<3>& mesh) {
  const Plane plane = parse_plane("--probe", parts[0], mesh);
  const int m = parse_integer("--probe", parts[1], 2, most_probe_points),
            n = parse_integer("--probe", parts[2], 2, most_probe_points);
  expects(static_cast<double>(m) * n <= most_probe_points, "--probe: ", m, " x ", n, " points are more than ",
          most_probe_points);
  const auto at = [&mesh](int d, int k, int count) {
    const Axis& axis = mesh.axis(d);
    return axis.origin() + axis.length() * k / (count - 1);
  };
  const int first = plane.d == 0 ? 1 : 0, second = plane.d == 2 ? 1 : 2;
  BoxProbe probe;
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < m; ++i) {
      BoxPosition p{};
      p[static_cast<std::size_t>(plane.d)] = plane.at;
      p[static_cast<std::size_t>(first)] = at(first, i, m);
      p[static_cast<std::size_t>(second)] = at(second, j, n);
      probe.points.push_back(p);
    }
  return probe;
}

}  // namespace

Plane parse_plane(const std::string& option, const std::string& text, const TensorMesh<3>& mesh) {
  const std::string what = "AXIS=AT, as in z=0.5";
  const auto [axis, at] = parse_pair(option, text, "=", what);
  const auto d = axis.size() == 1 ? std::string_view("xyz").find(axis[0]) : std::string_view::npos;
  expects(d != std::string_view::npos, option, ": '", shown(text), "' is not ", what);
  const Plane plane{static_cast<int>(d), parse_number(option, at, any_number)};
  const Axis& across = mesh.axis(plane.d);
  expects(interval_of(across, plane.at).has_value(), option, ": ", plane.text(),
          " is outside the box, which reaches from ", across.origin(), " to ", across.origin() + across.length());
  return plane;
}

BoxProbe parse_box_probe(const std::string& text, const TensorMesh<3>& mesh) {
  const auto [where, path] = parse_pair("--probe", text, ":", forms);
  expects(!path.empty(), "--probe: '", shown(text), "' names no file; it is ", forms);
  std::vector<std::string> parts;
  std::istringstream rest(where);
  for (std::string part; std::getline(rest, part, ',');) parts.push_back(part);
  constexpr std::size_t of_line = 7, of_plane = 3;
  expects(parts.size() == of_line || parts.size() == of_plane, "--probe: '", shown(text), "' is not ", forms);
  BoxProbe probe = parts.size() == of_line ? along_line(parts) : on_plane(parts, mesh);
  for (std::size_t k = 0; k < probe.points.size(); ++k) {
    const auto& [x, y, z] = probe.points[k];
    expects(locate(mesh, probe.points[k]).has_value(), "--probe: (", x, ", ", y, ", ", z, "), point ", k + 1, " of ",
            probe.points.size(), ", is outside the box");
  }
  return probe;
}

void add_profile(std::string& csv, std::optional<double> t, const BoxProbe& probe, const TensorMesh<3>& mesh,
                 std::span<const double> nodal) {
  const bool is_line = !probe.arc_lengths.empty();
  std::ostringstream out;
  out.precision(17);
  if (csv.empty()) out << (t ? "t," : "") << (is_line ? "x,y,z,s,u\n" : "x,y,z,u\n");
  for (std::size_t k = 0; k < probe.points.size(); ++k) {
    const auto& [x, y, z] = probe.points[k];
    if (t) out << *t << ',';
    out << x << ',' << y << ',' << z << ',';
    if (is_line) out << probe.arc_lengths[k] << ',';
    out << value_at(mesh, nodal, *locate(mesh, probe.points[k])) << '\n';
  }
  csv += out.str();
}

void draw_box(const std::string& path, const TensorMesh<3>& mesh, std::span<const double> nodal,
              const std::optional<Plane>& slice, const std::string& title) {
  if (!slice) return write_png(path, mesh, nodal, title);
  const auto& [d, at] = *slice;
  const auto [plane, on_plane] = plane_values(mesh, nodal, d, at);
  write_png(
      path, Geometry(plane), on_plane,
      message(title, "; ", slice->text(), ", ", d == 0 ? "y" : "x", " to the right, ", d == 2 ? "y" : "z", " up"));
}

}  // namespace stratum::apps::poisson3d
