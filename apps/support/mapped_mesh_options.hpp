#pragma once

// Meshes of quadrilaterals: options, and the mesh of every level, be it one of those or a rectangle's.

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <stratum/assembly/expressions/expression.hpp>
#include <stratum/assembly/poisson_problem.hpp>
#include <stratum/assembly/problem_mesh.hpp>
#include <stratum/mesh/mapped_mesh.hpp>
#include <stratum/mesh/vtk/vts.hpp>

#include "command_line.hpp"
#include "mesh_options.hpp"
#include "probe.hpp"
#include "problem_options.hpp"
#include "rank_output.hpp"

namespace stratum::apps {

[[nodiscard]] inline std::vector<Option> mapped_mesh_options() {
  return {
      {"map", "X,Y", "",
       "moves the node (x, y) of the rectangle to (X, Y), two expressions in x, y, a, b, xl, xr, yl, yr. All other "
       "expressions then use only x and y, of the moved point. The boundaries keep the names that they have on the "
       "rectangle"},
      input_file("mesh-file", "FILE.vts",
                 "a mesh of quadrilaterals: the points of a VTK structured grid. --level N halves its cells N "
                 "times. Expressions use only x and y"),
      {"coordinates", "NAME", std::string(to_string(Coordinates::cartesian)),
       "what x and y are: cartesian; cylindrical (x = r, y = z, the same all around the axis); polar (x = r, y = "
       "angle); "
       "spherical (x = r, y = angle from the upper pole, the same all around it); or lat-lon (x = longitude, y = "
       "latitude on a sphere of radius 1); angles in radians. Axes, centres and poles are no boundaries and need no "
       "condition; integrals and fluxes are those per radian of the angle left out"}};
}

/// Where the nodes of a rectangle go, if anywhere, or what its coordinates are.
struct Deformation {
  std::string text;  // of the map, or the file's name
  ScalarFunction x, y;
  std::optional<MappedMesh> file;
  Coordinates coordinates = Coordinates::cartesian;

  [[nodiscard]] bool moves_nodes() const { return !text.empty(); }
  [[nodiscard]] bool is_given() const { return moves_nodes() || coordinates != Coordinates::cartesian; }
  /// Which gave it.
  [[nodiscard]] const char* option() const { return !moves_nodes() ? "--coordinates" : file ? "--mesh-file" : "--map"; }
  /// What expressions of the problem know.
  [[nodiscard]] Variables variables(bool time = false) const {
    if (moves_nodes()) return time ? Variables::position_and_time : Variables::position;
    return time ? Variables::space_and_time : Variables::space;
  }
  /// Every rank has all positions. Throws where there is no room for them.
  [[nodiscard]] ProblemMesh at(Context& ctx, const Machine& machine, const MeshChoice<2>& mesh, int level) const {
    if (!is_given()) return ProblemMesh(mesh.at(level));
    expect_room_on_ranks(ctx, machine, message("mesh ", mesh.family.name),
                         2 * mesh.nodes(level) * std::int64_t{sizeof(double)}, 0);
    if (file) return ProblemMesh(halved(*file, level));
    if (!moves_nodes())
      return parsed("--coordinates", [&] { return ProblemMesh(MappedMesh(mesh.at(level), coordinates)); });
    return parsed("--map", [&] { return ProblemMesh(stratum::mapped(ctx, mesh.at(level), x, y)); });
  }
};

/// Gives `mesh` the cells of a file.
[[nodiscard]] inline Deformation parse_deformation(const CommandLine& options, MeshChoice<2>& mesh) {
  Deformation deformation;
  if (options.has("map")) {
    const std::string text = options.text("map");
    const auto parts = expressions_of(text);
    expects(parts.size() == 2, "--map: '", text, "' is not two expressions X,Y");
    const auto function = [&](const std::string& part) {
      return parsed("--map", [&] { return parse_expression(part, mesh.family.lengths[0], mesh.family.lengths[1]); });
    };
    deformation.text = text;
    deformation.x = function(parts[0]);
    deformation.y = function(parts[1]);
  }
  if (options.has("mesh-file")) {
    for (const char* other : {"mesh", "domain", "origin", "nu", "thin", "cells", "grade-x", "grade-y", "map"})
      expects(!options.has(other), "--mesh-file: a file has its own nodes; leave out --", other);
    const std::string path = options.text("mesh-file");
    mesh.family.name = std::filesystem::path(path).stem().string();
    deformation.file = parsed("--mesh-file", [&] { return read_vts(path, mesh.family.name); });
    deformation.text = path;
    mesh.base = deformation.file->logical();
  }
  deformation.coordinates = choice<Coordinates>("--coordinates", options.text("coordinates"));
  expects(!deformation.moves_nodes() || deformation.coordinates == Coordinates::cartesian,
          "--coordinates: they are for rectangles of x and y; leave out ", deformation.option());
  if (deformation.coordinates != Coordinates::cartesian)
    parsed("--coordinates", [&] { check_range(deformation.coordinates, mesh.at(mesh.base ? 0 : 1)); });
  return deformation;
}

/// Axes, centres and poles of which nothing is said are free.
inline void free_sides_without_area(const CommandLine& options, const MeshChoice<2>& mesh,
                                    const Deformation& deformation, BoundaryConditions& boundaries) {
  if (deformation.coordinates == Coordinates::cartesian) return;
  const TensorMesh<2> any = mesh.at(mesh.base ? 0 : 1);
  const auto free = [&](const char* name, Direction along, bool last, BoundaryCondition& boundary) {
    if (options.has(name) || side_shape(deformation.coordinates, any, along, last) == SideShape::area) return;
    boundary.kind = BoundaryConditionType::neumann;
  };
  free("left", Direction::y, false, boundaries.left);
  free("right", Direction::y, true, boundaries.right);
  free("bottom", Direction::x, false, boundaries.bottom);
  free("top", Direction::x, true, boundaries.top);
}

/// --probe, where it is given. Throws UsageError for points beyond a rectangle; those of a deformed mesh are found with its
/// nodes.
[[nodiscard]] inline std::optional<Probe> parse_probe(const CommandLine& options, const MeshChoice<2>& mesh,
                                                      const Deformation& deformation) {
  if (!options.has("probe")) return std::nullopt;
  Probe probe = parse_probe(options.text("probe"));
  if (!deformation.is_given()) (void)located(probe, mesh.at(mesh.base ? 0 : 1));
  return probe;
}

}  // namespace stratum::apps
