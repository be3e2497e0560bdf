#pragma once

// --probe X0,Y0,X1,Y1,N:FILE.csv: solutions at N points of a line, both its ends among them; in time, at every time shown.

#include <cmath>
#include <optional>
#include <ostream>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <stratum/assembly/point_values.hpp>

#include "command_line.hpp"

namespace stratum::apps {

struct Probe {
  Position from, to;
  int count = 0;
  std::string path;

  [[nodiscard]] Position at(int k) const {
    if (k == count - 1) return to;
    const double t = static_cast<double>(k) / (count - 1);
    return {from.x + t * (to.x - from.x), from.y + t * (to.y - from.y)};
  }
  [[nodiscard]] double arc_length(int k) const { return std::hypot(to.x - from.x, to.y - from.y) * k / (count - 1); }
};

inline constexpr int most_probe_points = 1'000'000;

[[nodiscard]] inline std::vector<std::string> probe_files(const std::string& text) {
  const auto colon = text.find(':');
  if (colon == std::string::npos || colon + 1 == text.size()) return {};
  return {text.substr(colon + 1)};
}

[[nodiscard]] inline Probe parse_probe(const std::string& text) {
  const std::string what = "X0,Y0,X1,Y1,N:FILE.csv";
  const auto [line, path] = parse_pair("--probe", text, ":", what);
  std::vector<std::string> parts;
  std::istringstream rest(line);
  for (std::string part; std::getline(rest, part, ',');) parts.push_back(part);
  expects(parts.size() == 5, "--probe: '", shown(line), "' is not X0,Y0,X1,Y1,N, a line's ends and a number of points");
  expects(!path.empty(), "--probe: '", shown(text), "' names no file; it is ", what);
  const auto number = [&](std::size_t k) { return parse_number("--probe", parts[k], any_number); };
  Probe probe{
      {number(0), number(1)}, {number(2), number(3)}, parse_integer("--probe", parts[4], 2, most_probe_points), path};
  expects(probe.from.x != probe.to.x || probe.from.y != probe.to.y, "--probe: (", probe.from.x, ", ", probe.from.y,
          ") is both ends of the line");
  return probe;
}

/// Where its points lie, by a locator of the mesh. Throws UsageError for one outside.
template <class Locator>
[[nodiscard]] auto located_by(const Locator& locator, const Probe& probe) {
  std::vector<typename decltype(locator.locate(Position{}))::value_type> points;
  for (int k = 0; k < probe.count; ++k) {
    const Position p = probe.at(k);
    const auto found = locator.locate(p);
    expects(found.has_value(), "--probe: (", p.x, ", ", p.y, "), point ", k + 1, " of ", probe.count,
            ", is outside the domain");
    points.push_back(*found);
  }
  return points;
}

[[nodiscard]] inline std::vector<MeshPoint> located(const Probe& probe, const Geometry& mesh) {
  return located_by(PointLocator(mesh), probe);
}

/// A line for every point: the time if there is one, coordinates, arc length from the first end, every solution.
inline void write_points(std::ostream& out, const Probe& probe, const Geometry& mesh,
                         const std::vector<MeshPoint>& points, std::span<const std::vector<double>> solutions,
                         std::optional<double> t = {}) {
  out.precision(17);
  for (int k = 0; k < probe.count; ++k) {
    const Position p = probe.at(k);
    if (t) out << *t << ',';
    out << p.x << ',' << p.y << ',' << probe.arc_length(k);
    for (const auto& nodal : solutions) out << ',' << value_at(mesh, nodal, points[static_cast<std::size_t>(k)]);
    out << '\n';
  }
}

/// At this time; before the first one, names.
inline void add_profile(std::string& csv, double t, const Probe& probe, const Geometry& mesh,
                        const std::vector<MeshPoint>& points, const std::vector<double>& nodal) {
  std::ostringstream out;
  if (csv.empty()) out << "t,x,y,s,u\n";
  write_points(out, probe, mesh, points, {&nodal, 1}, t);
  csv += out.str();
}

/// Coordinates, arc length from the first end, and every solution.
[[nodiscard]] inline std::string csv_profile(const Probe& probe, const Geometry& mesh,
                                             std::span<const std::vector<double>> solutions) {
  std::ostringstream out;
  out << "x,y,s";
  for (std::size_t n = 1; n <= solutions.size(); ++n) out << ",u" << (solutions.size() > 1 ? message("_", n) : "");
  out << "\n";
  write_points(out, probe, mesh, located(probe, mesh), solutions);
  return out.str();
}

}  // namespace stratum::apps
