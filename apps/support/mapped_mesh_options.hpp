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
  return {{"map", "X,Y", "",
           "moves the node (x, y) of the rectangle to (X, Y), two expressions in x, y, a, b, xl, xr, yl, yr. All other "
           "expressions then use only x and y, of the moved point. The boundaries keep the names that they have on the "
           "rectangle"},
          input_file("mesh-file", "FILE.vts",
                     "a mesh of quadrilaterals: the points of a VTK structured grid. --level N halves its cells N "
                     "times. Expressions use only x and y")};
}

/// Where the nodes of a rectangle go, if anywhere.
struct Deformation {
  std::string text;  // of the map, or the file's name
  ScalarFunction x, y;
  std::optional<MappedMesh> file;

  [[nodiscard]] bool is_given() const { return !text.empty(); }
  /// What expressions of the problem know.
  [[nodiscard]] Variables variables(bool time = false) const {
    if (is_given()) return time ? Variables::position_and_time : Variables::position;
    return time ? Variables::space_and_time : Variables::space;
  }
  /// Every rank has all positions. Throws where there is no room for them.
  [[nodiscard]] ProblemMesh at(Context& ctx, const Machine& machine, const MeshChoice<2>& mesh, int level) const {
    if (!is_given()) return ProblemMesh(mesh.at(level));
    expect_room_on_ranks(ctx, machine, message("mesh ", mesh.family.name),
                         2 * mesh.nodes(level) * std::int64_t{sizeof(double)}, 0);
    if (file) return ProblemMesh(halved(*file, level));
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
    deformation = {text, function(parts[0]), function(parts[1]), {}};
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
  return deformation;
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
