#pragma once

// Which mesh: options, the mesh of every level, what --help says about gradings.

#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <stratum/mesh/graded.hpp>
#include <stratum/mesh/named_meshes.hpp>

#include "command_line.hpp"

namespace stratum::apps {

inline constexpr int max_level = 20;
inline constexpr int default_level = 8;  // of named meshes

/// The mesh of every level: one of a family, or a base mesh whose intervals are all halved `level` times.
struct MeshChoice {
  MeshFamily family;
  std::optional<TensorMesh<2>> base;
  std::string grade_x = "uniform", grade_y = "uniform";  // of the base
  double x0 = 0, y0 = 0;                                 // its lower left corner

  [[nodiscard]] TensorMesh<2> at(int level) const {
    const TensorMesh<2> mesh =
        base ? TensorMesh<2>(halved(base->x(), level), halved(base->y(), level)) : make_mesh(family, level);
    return {mesh.x().starting_at(x0), mesh.y().starting_at(y0), family.name};
  }
  [[nodiscard]] std::int64_t nodes(int level) const {
    const std::int64_t refinement = std::int64_t{1} << level;
    return ((base ? base->x().size() : 1) * refinement + 1) * ((base ? base->y().size() : 1) * refinement + 1);
  }
};

[[nodiscard]] inline std::vector<std::string> grading_files(const std::string& text) {
  try {
    const auto grading = parse_grading(text);
    if (grading.from_file()) return {grading.path};
  } catch (const UsageError&) {  // names none; who reads it says why
  }
  return {};
}

[[nodiscard]] inline std::vector<Option> mesh_options() {
  return {{"mesh", "NAME", "U1", "one of the published meshes, see --list-meshes"},
          {"level", "N", "",
           message("2^N x 2^N cells, N in 0 .. ", max_level, " as far as memory goes (", default_level,
                   "); with --cells or a file, every interval is halved N times (0)")},
          {"domain", "A,B", "", "a mesh of your own on [0, A] x [0, B], A and B above 0 (1,1)"},
          {"origin", "X0,Y0", "",
           "the lower left corner of any mesh, [X0, X0 + A] x [Y0, Y0 + B]; a file of coordinates has its own (0,0)"},
          {"nu", "X", "",
           "a mesh of your own: the thin ends' intervals are split nu/2 to 1 - nu/2 at every refinement, nu in "
           "(0, 2) (1: uniform)"},
          {"thin", "X,Y", "", "ends of x and y with the thin intervals: first, last or none (last,first)"},
          {"cells", "N|NX,NY", "",
           "a mesh of N x N or NX x NY cells, any numbers; a direction read from a file has its own, as in ,64"},
          with_files({"grade-x", "SPEC", "", "the grading of x, see below (uniform)"}, Names::input, grading_files),
          with_files({"grade-y", "SPEC", "", "the grading of y (uniform)"}, Names::input, grading_files)};
}

/// For the end of --help.
inline constexpr const char* about_gradings =
    "Gradings SPEC; SIDE is where the cells are thin: first, last or both\n"
    "  uniform\n"
    "  geometric:R,SIDE     every cell R >= 1 times as wide as its thinner neighbour\n"
    "  geometric:h=W,SIDE   the same with R found so that the thinnest cell has width W\n"
    "  tanh:D,SIDE          x = tanh(D s) / tanh(D), D in (0, 300]; widths differ by up to cosh(D)^2\n"
    "  cosine[,SIDE]        x = sin(pi s / 2), both sides by default: Chebyshev-like\n"
    "  shishkin:T,SIDE      half of the cells evenly within T of the thin side, the others evenly beyond\n"
    "  file:PATH            coordinates, increasing; blanks, commas or line ends between, # comments\n"
    "  widths:PATH          widths of the cells. Extreme grading needs these: beside x = 1 coordinates are\n"
    "                       1e-16 apart, and a width of 1e-15 is lost in their differences\n\n";

inline void list_meshes() {
  std::printf("%-5s %8s %4s %9s  %s\n", "mesh", "a", "b", "nu", "description");
  for (const auto& family : named_meshes())
    std::printf("%-5s %8g %4g %9g  %s\n", family.name.c_str(), family.a, family.b, family.nu,
                family.description.c_str());
}

/// One direction of a mesh of --cells, --grade-x and --grade-y, and its length; `cells` and `length` are empty where they
/// were not given.
[[nodiscard]] inline std::pair<Axis, double> parse_line(const std::string& option, const std::string& spec,
                                                        const std::string& cells, const std::string& length) {
  const int count = cells.empty() ? 0 : parse_integer("--cells", cells, 1, max_cells);
  const double side = length.empty() ? 1 : parse_number("--domain", length, positive);
  return parsed(option, [&]() -> std::pair<Axis, double> {
    const auto grading = parse_grading(spec);
    if (!grading.from_file()) {
      expects(count > 0, "how many cells? --cells NX,NY says");
      return {make_line(grading, side, count), side};
    }
    Axis line = read_line(grading);
    expects(count == 0 || count == line.size(), "the file has ", line.size(), " cells, --cells says ", count,
            "; leave its number out, as in ,64 or 64,");
    expects(length.empty() || std::abs(line.length() - side) <= 1e-12 * side, "the file is ", line.length(),
            " long, --domain says ", side, "; leave its length out, as in ,1 or 1,");
    if (!length.empty() && grading.kind == Grading::Kind::widths) line = Axis(line.widths(), side);
    const double own = line.length();
    return {std::move(line), own};
  });
}

[[nodiscard]] inline MeshChoice parse_shape(const CommandLine& options) {
  MeshChoice mesh;
  const bool by_cells = options.has("cells") || options.has("grade-x") || options.has("grade-y");
  const bool by_family = options.has("nu") || options.has("thin");
  if (!by_cells && !by_family && !options.has("domain")) {
    mesh.family = parsed("--mesh", [&] { return mesh_family(options.text("mesh")); });
    return mesh;
  }
  expects(!options.has("mesh"), "--mesh ", options.has("mesh") ? options.text("mesh") : "",
          ": a named mesh has its own sides, cells and nu; to describe another leave out --mesh");
  expects(!by_cells || !by_family,
          "--nu and --thin refine a single cell; they do not go with --cells, --grade-x and --grade-y");
  std::pair<std::string, std::string> domain, cells;
  if (options.has("domain")) domain = parse_pair("--domain", options.text("domain"), ",", "two numbers A,B");
  auto& family = mesh.family;
  if (by_cells) {
    if (options.has("cells")) cells = parse_sizes(options.text("cells"));
    if (options.has("grade-x")) mesh.grade_x = options.text("grade-x");
    if (options.has("grade-y")) mesh.grade_y = options.text("grade-y");
    auto [x, a] = parse_line("--grade-x", mesh.grade_x, cells.first, domain.first);
    auto [y, b] = parse_line("--grade-y", mesh.grade_y, cells.second, domain.second);
    family.a = a;
    family.b = b;
    mesh.x0 = x.origin();
    mesh.y0 = y.origin();
    mesh.base = TensorMesh<2>(std::move(x), std::move(y), family.name);
    return mesh;
  }
  if (options.has("domain")) {
    family.a = parse_number("--domain", domain.first, positive);
    family.b = parse_number("--domain", domain.second, positive);
  }
  if (options.has("nu")) family.nu = options.number("nu", {0, 2, true, true});
  if (options.has("thin")) {
    const auto [x, y] =
        parse_pair("--thin", options.text("thin"), ",", "two of first, last and none, as in last,first");
    family.thin_x = thin_side(x);
    family.thin_y = thin_side(y);
  }
  return mesh;
}

[[nodiscard]] inline MeshChoice parse_mesh(const CommandLine& options) {
  MeshChoice mesh = parse_shape(options);
  if (!options.has("origin")) return mesh;
  const auto [x, y] = parse_pair("--origin", options.text("origin"), ",", "two numbers X0,Y0");
  for (const auto& [text, start, length] : {std::tuple{&x, &mesh.x0, mesh.family.a}, {&y, &mesh.y0, mesh.family.b}}) {
    if (text->empty()) continue;
    const double given = parse_number("--origin", *text, any_number);
    expects(*start == 0 || *start == given, "--origin: the file begins at ", *start, ", not at ", given,
            "; leave its number out, as in ,1 or 1,");
    expects(given + length != given, "--origin: beside ", given, " a side of length ", length, " vanishes in rounding");
    *start = given;
  }
  return mesh;
}

/// For names of files, so that another mesh has another one: its own name, or what was given to describe it.
[[nodiscard]] inline std::string mesh_label(const CommandLine& options) {
  const auto of_files = [](std::string text) {
    for (char& c : text)
      if (std::isalnum(static_cast<unsigned char>(c)) == 0 && std::string_view("._+-").find(c) == std::string::npos)
        c = '-';
    constexpr std::size_t longest = 60;
    return text.size() > longest ? text.substr(text.size() - longest) : text;
  };
  if (options.has("mesh-file"))
    return of_files(std::filesystem::path(options.text("mesh-file")).replace_extension().string());
  std::string label;
  for (const char* option : {"domain", "nu", "thin", "cells", "grade-x", "grade-y"})
    if (options.has(option)) label += message(label.empty() ? "" : "_", option, "-", of_files(options.text(option)));
  if (label.empty()) label = options.text("mesh");
  if (options.has("origin")) label += "_origin-" + of_files(options.text("origin"));
  if (options.has("map")) {
    std::uint32_t hash = 2166136261U;  // FNV-1a: expressions make poor names
    for (const char c : options.text("map")) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
    char digits[8];
    label += "_map-" + std::string(digits, std::to_chars(digits, digits + sizeof(digits), hash, 16).ptr);
  }
  return label;
}

[[nodiscard]] inline int parse_level(const CommandLine& options, const MeshChoice& mesh) {
  if (options.has("level")) return options.integer("level", 0, max_level);
  return mesh.base ? 0 : default_level;
}

}  // namespace stratum::apps
