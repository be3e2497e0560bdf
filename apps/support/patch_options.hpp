#pragma once

// --patches FILE: a mesh of patches, what is given on its boundaries, by their names, K and c on it, and bodies in it.

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <stratum/assembly/cell_files.hpp>
#include <stratum/assembly/expressions/patch_expressions.hpp>
#include <stratum/assembly/patches/patch_bodies.hpp>
#include <stratum/mesh/patches/patch_files.hpp>

#include "body_options.hpp"
#include "mesh_options.hpp"
#include "problem_options.hpp"

namespace stratum::apps {

[[nodiscard]] inline std::vector<Option> patch_options(const std::string& variables) {
  return {input_file(
      "patches", "FILE",
      message("a mesh of patches, logically rectangular grids around corners, holes and bodies: a text file, Gmsh's "
              ".msh, FEAT3's .xml, or VTK's .vtm of structured grids. --cells N gives the edges of patches of which "
              "the file says nothing N cells, --level N halves all cells N times, --boundary NAME=TYPE sets "
              "conditions. Expressions use only ",
              variables))};
}

inline constexpr int most_halvings_of_patches = 12;

/// The mesh of --patches. Throws UsageError where an option is given that is none of `known`.
[[nodiscard]] inline PatchFile parse_patches(const CommandLine& options, std::span<const char* const> known) {
  for (const auto& name : options.names_given())
    expects(std::find(known.begin(), known.end(), name) != known.end(), "--", name,
            ": it does not apply to a mesh of patches; leave it out with --patches");
  std::optional<int> cells;
  if (options.has("cells")) cells = options.integer("cells", 1, max_cells);
  return parsed("--patches", [&] { return read_patches(options.text("patches"), patch_expressions(), cells); });
}

/// `variables`: position, or position_and_time.
[[nodiscard]] inline ScalarFunction patch_function(const std::string& option, const std::string& text,
                                                   Variables variables) {
  expects(!names_file(text), option, ": with --patches it is an expression, not a file");
  return parsed(option, [&] { return parse_expression(text, 1, 1, variables); });
}

/// Reads expressions of bodies.
struct PatchReader {
  Variables variables;

  [[nodiscard]] ScalarFunction function(const std::string& text) const {
    expects(!names_file(text), "'", shown(text), "': with --patches it is an expression, not a file");
    return parse_expression(text, 1, 1, variables);
  }
  /// Of a mask, which is read by itself, none that is used.
  [[nodiscard]] ScalarFunction shape(const std::string& text) const {
    if (names_file(text)) return [](const Point& /*p*/) { return 0.0; };
    return function(text);
  }
};

/// NAME and CONDITION of "NAME=CONDITION"; no NAME where the text is an expression.
[[nodiscard]] inline std::pair<std::string, std::string> name_and_condition(const std::string& text) {
  const auto equals = text.find('=');
  const bool is_comparison = equals == std::string::npos || equals == 0 || text.substr(equals + 1).starts_with("=") ||
                             std::string_view("<>!").find(text[equals - 1]) != std::string_view::npos;
  if (is_comparison) return {"", text};
  return {text.substr(0, equals), text.substr(equals + 1)};
}

/// --boundary of programs without --patches is one expression.
inline void expect_one_boundary(const CommandLine& options) {
  expects(options.texts("boundary").size() <= 1,
          "--boundary: give one expression; NAME=TYPE, once for each boundary, is for --patches");
}

/// Conditions by name, as they were given.
using PatchConditions = std::map<std::string, std::string>;

/// --boundary of all boundaries of the mesh, which `problem` gets.
[[nodiscard]] inline PatchConditions parse_patch_boundaries(const CommandLine& options, const PatchMesh& mesh,
                                                            Variables variables, PatchProblem& problem) {
  const auto& names = mesh.boundary_names();
  PatchConditions conditions;
  std::string of_others;
  for (const std::string& text : options.texts("boundary")) {
    const auto [name, condition] = name_and_condition(text);
    if (name.empty()) {
      expects(of_others.empty(), "--boundary: '", shown(of_others), "' and '", shown(condition),
              "' are both the value of all boundaries that have none of their own; give others as NAME=CONDITION");
      of_others = condition;
      continue;
    }
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      std::string list;
      for (const auto& known : names) list += (list.empty() ? "" : ", ") + known;
      throw UsageError(message("--boundary: the mesh has no boundary '", shown(name), "'; it has ", list));
    }
    expects(!conditions.contains(name), "--boundary: two conditions for '", name, "'");
    conditions[name] = condition;
    const std::string option = message("--boundary ", name);
    BoundaryCondition& boundary = problem.boundaries[name];
    boundary = parse_boundary_text<BoundaryCondition>(option, condition, [&](const std::string& expression) {
      return parse_expression(expression, 1, 1, variables);
    });
    expects(boundary.kind != BoundaryConditionType::periodic, option, ": boundaries of patches cannot be periodic");
  }
  for (const auto& name : names) {
    BoundaryCondition& boundary = problem.boundaries[name];
    const bool takes_value = boundary.kind == BoundaryConditionType::dirichlet && !boundary.value;
    if (takes_value && !of_others.empty()) boundary.value = patch_function("--boundary", of_others, variables);
    std::string& text = conditions[name];
    if (text.empty() || text == "dirichlet")
      text = message("dirichlet:", !of_others.empty() ? of_others : options.has("exact") ? options.text("exact") : "0");
  }
  return conditions;
}

/// --kappa and --reaction, beside K of the file.
inline void parse_patch_coefficients(const CommandLine& options, const PatchFile& file, Variables variables,
                                     PatchProblem& problem) {
  problem.diffusion_of_patches = file.diffusion;
  if (options.has("kappa")) {
    expects(expressions_of(options.text("kappa")).size() == 1, "--kappa: with --patches one expression, not a tensor");
    problem.diffusion = patch_function("--kappa", options.text("kappa"), variables);
  }
  if (const std::string reaction = options.text("reaction"); number_of(reaction))
    problem.reaction = options.number("reaction", not_negative);
  else
    problem.reaction_of_cells = patch_function("--reaction", reaction, variables);
}

/// --body on patches.
struct PatchBodies {
  std::vector<Body> bodies{};
  std::vector<PatchMask> masks{};  // of each of them; empty where it has a shape
};

/// A number for each cell of all patches, in one row or one column; of a single patch also in rows of cells.
[[nodiscard]] inline PatchMask read_mask(const std::string& text, const PatchMesh& mesh) {
  const CellFile file = parse_cell_file(std::string_view(text).substr(file_prefix.size()));
  FileValues numbers = read_values(file.path, file.array, true);
  const bool is_list = numbers.dimensions == 1 || numbers.rows == 1 || numbers.columns == 1;
  expects(is_list || mesh.patches() == 1, "'", numbers.from, "' has ", numbers.columns, " x ", numbers.rows,
          " numbers; with --patches a mask is one list of a number for each cell, patch after patch, x fastest");
  expects(numbers.components.size() == 1, "'", numbers.from, "' has ", numbers.components.size(),
          " numbers at a place, one is needed here");
  if (!is_list) {
    int columns = mesh.cells_x(0);
    while (columns > numbers.columns && columns % 2 == 0) columns /= 2;
    expects(numbers.columns == columns, "'", numbers.from, "' has rows of ", numbers.columns,
            " numbers; the patch has ", mesh.cells_x(0), " x ", mesh.cells_y(0),
            " cells, and rows of as many, or of half as many and so on, are needed");
  }
  return std::move(numbers.components.front());
}

/// Held and solid bodies are boundaries, whose conditions are these texts. `mesh`: the one that is solved on, or one that halving
/// refines to it.
[[nodiscard]] inline PatchBodies parse_patch_bodies(const CommandLine& options, const PatchMesh& mesh,
                                                    Variables variables, PatchConditions& conditions) {
  PatchBodies found{parse_bodies(options, PatchReader{variables})};
  const auto texts = options.texts("body");
  for (std::size_t k = 0; k < texts.size(); ++k) {
    const BodyKind kind = found.bodies[k].kind;
    if (kind == BodyKind::value || kind == BodyKind::no_flux) conditions[boundary_of_body(k)] = found.bodies[k].name;
    const std::string shape = split_body(texts[k])->shape;
    found.masks.push_back(names_file(shape) ? parsed("--body", [&] { return read_mask(shape, mesh); }) : PatchMask());
  }
  return found;
}

/// --solver and --precision: whether cycles are in single precision.
[[nodiscard]] inline bool parse_patch_solver(const CommandLine& options) {
  expects(!options.has("solver") || options.text("solver") == "cg",
          "--solver: on patches conjugate gradients, cg, around a cycle; not ", options.text("solver"));
  const std::string precision = options.text("precision");
  expects(precision == "mixed" || precision == "double", "--precision: on patches mixed or double, not ", precision);
  return precision == "mixed";
}

}  // namespace stratum::apps
