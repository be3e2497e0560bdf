#pragma once

// --slice AXIS=AT, a plane across an axis, and --probe: the solution at points of a line or of a plane, as CSV.

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <stratum/assembly/box_values.hpp>

#include "support/command_line.hpp"
#include "support/probe.hpp"

namespace stratum::apps::poisson3d {

/// Across direction d at a coordinate.
struct Plane {
  int d = 2;
  double at = 0;
  [[nodiscard]] std::string text() const { return message("xyz"[d], " = ", at); }
};

/// Throws UsageError for another text than AXIS=AT, and for a plane outside the box.
[[nodiscard]] Plane parse_plane(const std::string& option, const std::string& text, const TensorMesh<3>& mesh);

struct BoxProbe {
  std::vector<BoxPosition> points;
  std::vector<double> arc_lengths;  // from the first end of a line; none on a plane
};

/// WHERE:FILE.csv. Throws UsageError for another text, and for points outside the box.
[[nodiscard]] BoxProbe parse_box_probe(const std::string& text, const TensorMesh<3>& mesh);

/// A line of names where there is none before, and one for every point: the time where there is one, coordinates, of a line the
/// distance from its first end, and u.
void add_profile(std::string& csv, std::optional<double> t, const BoxProbe& probe, const TensorMesh<3>& mesh,
                 std::span<const double> nodal);

/// A picture of the faces, or on a plane; `title` stands above.
void draw_box(const std::string& path, const TensorMesh<3>& mesh, std::span<const double> nodal,
              const std::optional<Plane>& slice, const std::string& title);

}  // namespace stratum::apps::poisson3d
