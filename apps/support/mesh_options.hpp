#pragma once

// Which mesh: options, the mesh of every level, what --help says about gradings.

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <stratum/mesh/graded.hpp>
#include <stratum/mesh/named_meshes.hpp>

#include "command_line.hpp"
#include "json.hpp"

namespace stratum::apps {

/// 2^level cells in each direction; of three dimensions no machine holds more.
template <int D>
inline constexpr int max_level = D == 2 ? 20 : 12;
/// Of named meshes.
template <int D>
inline constexpr int default_level = D == 2 ? 8 : 6;

/// The name of direction d behind `before`.
[[nodiscard]] inline std::string of_direction(const char* before, std::size_t d) { return message(before, "xyz"[d]); }

/// The mesh of every level: one of a family, or a base mesh whose intervals are all halved `level` times.
template <int D>
struct MeshChoice {
  MeshFamily<D> family;
  std::string graded;  // directions of a named mesh in three dimensions
  std::optional<TensorMesh<D>> base;
  std::array<std::string, D> gradings = [] {
    std::array<std::string, D> uniform;
    uniform.fill("uniform");
    return uniform;
  }();                             // of the base
  std::array<double, D> origin{};  // where x, y ... begin

  [[nodiscard]] TensorMesh<D> at(int level) const {
    const TensorMesh<D> mesh =
        base
            ? TensorMesh<D>(make_axes<D>([&](std::size_t d) { return halved(base->axis(static_cast<int>(d)), level); }))
            : make_mesh(family, level);
    return TensorMesh<D>(
        make_axes<D>([&](std::size_t d) { return mesh.axis(static_cast<int>(d)).starting_at(origin[d]); }),
        family.name);
  }
  [[nodiscard]] std::int64_t nodes(int level) const {
    const std::int64_t refinement = std::int64_t{1} << level;
    std::int64_t nodes = 1;
    for (int d = 0; d < D; ++d) nodes *= (base ? base->axis(d).size() : 1) * refinement + 1;
    return nodes;
  }
  /// Its name, where it lies, and how it is refined, for people.
  [[nodiscard]] std::string text() const {
    std::string text = message(family.name, " on ");
    for (std::size_t d = 0; d < D; ++d)
      text += message(d == 0 ? "" : " x ", "[", origin[d], ", ", origin[d] + family.lengths[d], "]");
    for (std::size_t d = 0; base && d < D; ++d) text += message(of_direction(", ", d), " ", gradings[d]);
    if (!base) text += message(", nu ", family.nu);
    if (!base && !graded.empty()) text += " in " + graded;
    return text;
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

template <int D>
[[nodiscard]] std::vector<Option> mesh_options() {
  constexpr bool plane = D == 2;
  const char *const sizes = plane ? "NX,NY" : "NX,NY,NZ", *const cells = plane ? "2^N x 2^N" : "2^N x 2^N x 2^N";
  std::vector<Option> options{
      {"mesh", "NAME", "U1", "one of the published meshes, see --list-meshes"},
      {"level", "N", "",
       message(cells, " cells, N in 0 .. ", max_level<D>, " as far as memory allows (", default_level<D>,
               "); with --cells or a mesh file: how often every interval is halved (0)")}};
  if (!plane)
    options.push_back(
        {"graded", "AXES", "",
         "of a named mesh or --nu: the directions that are refined towards the last end of x and the first ends of y "
         "and z, and of U2 and U3 those with the short edges: one, two or three of x, y and z, as in z, yz or xyz "
         "(z)"});
  options.insert(
      options.end(),
      {{"domain", plane ? "A,B" : "A,B,C", "",
        plane ? "a mesh of your own on [0, A] x [0, B], A and B above 0 (1,1)"
              : "a mesh of your own on [0, A] x [0, B] x [0, C], all above 0 (1,1,1)"},
       {"origin", plane ? "X0,Y0" : "X0,Y0,Z0", "",
        plane
            ? "the lower left corner of the mesh, [X0, X0 + A] x [Y0, Y0 + B]; a file of coordinates has its own (0,0)"
            : "where x, y and z of any mesh begin, [X0, X0 + A] x [Y0, Y0 + B] x [Z0, Z0 + C]; a file of coordinates "
              "has its own (0,0,0)"},
       {"nu", "X", "",
        "a mesh of your own that is refined like the published ones: every refinement splits the interval at a thin "
        "end into nu/2 and 1 - nu/2, nu in (0, 2) (1: uniform)"},
       {"thin", plane ? "X,Y" : "X,Y,Z", "",
        plane ? "for --nu: the ends of x and y where the intervals are thin, each first, last or none (last,first)"
              : "of --nu, in place of --graded: ends of x, y and z with the thin intervals: first, last or none "
                "(none,none,first)"},
       {"cells", message("N|", sizes), "",
        plane
            ? "a mesh of N x N or NX x NY cells, any numbers; leave out the number of a direction that is read from a "
              "file, as in ,64"
            : "a mesh of N x N x N or NX x NY x NZ cells, any numbers; a direction read from a file has its own, as in "
              "64,64,"}});
  for (std::size_t d = 0; d < D; ++d)
    options.push_back(
        with_files({of_direction("grade-", d), "SPEC", "",
                    message(of_direction("the grading of ", d), d == 0 ? ", see below" : "", " (uniform)")},
                   Names::input, grading_files));
  return options;
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
    std::printf("%-5s %8g %4g %9g  %s\n", family.name.c_str(), family.lengths[0], family.lengths[1], family.nu,
                family.description.c_str());
}

/// One direction of a mesh of --cells, --grade-x ..., and its length; `cells` and `length` are empty where they were not given.
[[nodiscard]] inline std::pair<Axis, double> parse_line(const std::string& option, const std::string& spec,
                                                        const std::string& cells, const std::string& length) {
  const int count = cells.empty() ? 0 : parse_integer("--cells", cells, 1, max_cells);
  const double side = length.empty() ? 1 : parse_number("--domain", length, positive);
  return parsed(option, [&]() -> std::pair<Axis, double> {
    const auto grading = parse_grading(spec);
    if (!grading.from_file()) {
      expects(count > 0, "how many cells? --cells says");
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

template <int D>
[[nodiscard]] bool is_given_by_cells(const CommandLine& options) {
  bool given = options.has("cells");
  for (std::size_t d = 0; d < D; ++d) given = given || options.has(of_direction("grade-", d));
  return given;
}

template <int D>
[[nodiscard]] MeshFamily<D> parse_named_mesh(const CommandLine& options, const std::string& graded) {
  if constexpr (D == 2)
    return parsed("--mesh", [&] { return mesh_family(options.text("mesh")); });
  else {
    const std::string name = parsed("--mesh", [&] { return mesh_family(options.text("mesh")); }).name;
    return parsed("--graded", [&] { return box_family(name, graded); });
  }
}

template <int D>
[[nodiscard]] MeshChoice<D> parse_shape(const CommandLine& options) {
  constexpr const char *numbers = D == 2 ? "two numbers A,B" : "three numbers A,B,C",
                       *ends = D == 2 ? "two of first, last and none, as in last,first"
                                      : "three of first, last and none, as in last,none,first";
  MeshChoice<D> mesh;
  auto& family = mesh.family;
  const bool by_cells = is_given_by_cells<D>(options), by_family = options.has("nu") || options.has("thin");
  if (D == 3) mesh.graded = options.has("graded") ? options.text("graded") : "z";
  if (!by_cells && !by_family && !options.has("domain")) {
    family = parse_named_mesh<D>(options, mesh.graded);
    return mesh;
  }
  expects(!options.has("mesh"), "--mesh ", options.has("mesh") ? options.text("mesh") : "",
          ": a named mesh has its own lengths, cells and nu; to describe another leave out --mesh");
  expects(!by_cells || !by_family, "--nu and --thin refine a single cell; they do not go with --cells and gradings");
  if (D == 3) {
    expects(!options.has("graded") || options.has("nu"),
            "--graded: it is for a named mesh and for --nu; --grade-x, --grade-y and --grade-z grade another one");
    expects(!options.has("graded") || !options.has("thin"), "--graded: --thin says which directions are refined");
  }
  std::array<std::string, D> domain, cells;
  if (options.has("domain")) domain = parse_parts<D>("--domain", options.text("domain"), numbers);
  if (by_cells) {
    mesh.graded.clear();
    if (options.has("cells")) cells = parse_sizes<D>("--cells", options.text("cells"));
    mesh.base.emplace(make_axes<D>([&](std::size_t d) {
                        const std::string option = of_direction("grade-", d);
                        if (options.has(option)) mesh.gradings[d] = options.text(option);
                        auto [axis, length] = parse_line("--" + option, mesh.gradings[d], cells[d], domain[d]);
                        family.lengths[d] = length;
                        mesh.origin[d] = axis.origin();
                        return std::move(axis);
                      }),
                      family.name);
    return mesh;
  }
  if (options.has("domain"))
    for (std::size_t d = 0; d < D; ++d) family.lengths[d] = parse_number("--domain", domain[d], positive);
  if (options.has("nu")) family.nu = options.number("nu", {0, 2, true, true});
  if constexpr (D == 3) family.thin = parsed("--graded", [&] { return box_family("A1", mesh.graded).thin; });
  if (options.has("thin")) {
    const auto thin = parse_parts<D>("--thin", options.text("thin"), ends);
    std::transform(thin.begin(), thin.end(), family.thin.begin(),
                   [](const std::string& end) { return parsed("--thin", [&] { return thin_side(end); }); });
    mesh.graded.clear();
  }
  return mesh;
}

template <int D>
[[nodiscard]] MeshChoice<D> parse_mesh(const CommandLine& options) {
  constexpr double most_nodes = D == 2 ? HUGE_VAL : 1e12;  // which int64 counts in bytes
  MeshChoice<D> mesh = parse_shape<D>(options);
  double nodes = 1;
  for (int d = 0; mesh.base && d < D; ++d) nodes *= mesh.base->axis(d).size();
  expects(nodes <= most_nodes, "--cells: ", nodes, " cells are more than ", most_nodes);
  if (!options.has("origin")) return mesh;
  const auto origin =
      parse_parts<D>("--origin", options.text("origin"), D == 2 ? "two numbers X0,Y0" : "three numbers X0,Y0,Z0");
  for (std::size_t d = 0; d < D; ++d) {
    if (origin[d].empty()) continue;
    double& start = mesh.origin[d];
    const double length = mesh.family.lengths[d], given = parse_number("--origin", origin[d], any_number);
    expects(start == 0 || start == given, "--origin: the file begins at ", start, ", not at ", given,
            "; leave its number out, as in ", D == 2 ? ",1 or 1," : ",1,1 or 1,,1");
    expects(given + length != given, "--origin: beside ", given, " a side of length ", length, " vanishes in rounding");
    start = given;
  }
  return mesh;
}

/// For names of files, so that another mesh has another one: its own name, or what was given to describe it.
template <int D>
[[nodiscard]] std::string mesh_label(const CommandLine& options) {
  const auto of_files = [](std::string text) {
    for (char& c : text)
      if (std::isalnum(static_cast<unsigned char>(c)) == 0 && std::string_view("._+-").find(c) == std::string::npos)
        c = '-';
    constexpr std::size_t longest = 60;
    return text.size() > longest ? text.substr(text.size() - longest) : text;
  };
  if (options.knows("mesh-file") && options.has("mesh-file"))
    return of_files(std::filesystem::path(options.text("mesh-file")).replace_extension().string());
  std::string label;
  for (const char* option : {"domain", "nu", "thin", "cells", "grade-x", "grade-y", "grade-z"})
    if (options.knows(option) && options.has(option))
      label += message(label.empty() ? "" : "_", option, "-", of_files(options.text(option)));
  if (label.empty()) label = options.text("mesh");
  if (options.knows("graded") && options.has("graded")) label += "_graded-" + of_files(options.text("graded"));
  if (options.has("origin")) label += "_origin-" + of_files(options.text("origin"));
  if (options.knows("map") && options.has("map")) {
    std::uint32_t hash = 2166136261U;  // FNV-1a: expressions make poor names
    for (const char c : options.text("map")) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
    char digits[8];
    label += "_map-" + std::string(digits, std::to_chars(digits, digits + sizeof(digits), hash, 16).ptr);
  }
  return label;
}

template <int D>
[[nodiscard]] int parse_level(const CommandLine& options, const MeshChoice<D>& mesh) {
  if (options.has("level")) return options.integer("level", 0, max_level<D>);
  return mesh.base ? 0 : default_level<D>;
}

/// --convergence-table: its first and its last level. It takes the place of --level.
template <int D>
[[nodiscard]] std::pair<int, int> parse_table_levels(const CommandLine& options) {
  expects(!options.has("level"), "--convergence-table: its levels take the place of --level");
  const auto [first, last] = parse_pair("--convergence-table", options.text("convergence-table"), "..",
                                        "a range of levels; write it as L1..L2, for example 0..3");
  const int from = parse_integer("--convergence-table", first, 0, max_level<D>);
  return {from, parse_integer("--convergence-table", last, from, max_level<D>)};
}

/// Where the mesh lies and how it is refined, for reports.
template <int D>
void add_mesh(JsonObject& json, const MeshChoice<D>& mesh) {
  json.add("domain", mesh.family.lengths).add("origin", mesh.origin);
  json.add("nu", mesh.base ? std::nan("") : mesh.family.nu);
  if (!mesh.graded.empty()) json.add("graded", mesh.graded);
  for (std::size_t d = 0; mesh.base && d < D; ++d) json.add(of_direction("grade_", d), mesh.gradings[d]);
}

}  // namespace stratum::apps
