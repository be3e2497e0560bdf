#pragma once

// What is given on boundaries, K and c: options, and what they say. Expressions may know the time.

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <stratum/assembly/cell_files.hpp>
#include <stratum/assembly/expressions/expression.hpp>
#include <stratum/assembly/field_files.hpp>
#include <stratum/mesh/graded.hpp>
#include <stratum/mesh/named_meshes.hpp>

#include "command_line.hpp"
#include "mesh_options.hpp"

namespace stratum::apps {

/// What commas outside parentheses separate, as expressions have commas too.
[[nodiscard]] inline std::vector<std::string> expressions_of(const std::string& text) {
  std::vector<std::string> parts(1);
  int depth = 0;
  for (const char c : text) {
    depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    if (c == ',' && depth <= 0)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

inline constexpr std::string_view file_prefix = "file:";

[[nodiscard]] inline bool names_file(std::string_view text) { return text.starts_with(file_prefix); }

/// Of an option that takes PATH after `file:`, once or among other expressions.
[[nodiscard]] inline std::vector<std::string> files_of_expressions(const std::string& text) {
  std::vector<std::string> files;
  for (const auto& part : expressions_of(text))
    if (names_file(part)) try {
        files.push_back(parse_cell_file(std::string_view(part).substr(file_prefix.size())).path);
      } catch (const UsageError&) {  // names none; who reads it says why
      }
  return files;
}

/// Behind the kind of a boundary.
[[nodiscard]] inline std::vector<std::string> files_of_boundary(const std::string& text) {
  const auto colon = text.find(':');
  return colon == std::string::npos ? std::vector<std::string>() : files_of_expressions(text.substr(colon + 1));
}

/// One that takes expressions, and files in their place.
[[nodiscard]] inline Option expression_option(std::string name, std::string value_name, std::string fallback,
                                              std::string help, bool repeatable = false) {
  return with_files({std::move(name), std::move(value_name), std::move(fallback), std::move(help), repeatable},
                    Names::input, files_of_expressions);
}

/// By the ends of the axes: the first and the last of x, of y and, in a box, of z.
inline constexpr std::array<const char*, 6> box_face_names{"left", "right", "bottom", "top", "front", "back"};
inline constexpr std::span<const char* const, 4> boundary_names = std::span(box_face_names).first<4>();

/// What is given on the boundaries of D dimensions.
template <int D>
[[nodiscard]] std::vector<Option> boundary_options() {
  std::vector<Option> options{
      {"left", "TYPE", "",
       "condition on the left boundary: dirichlet:G (u = G), neumann:G (n.K grad u = G, n outward), robin:ALPHA,G (n.K "
       "grad u + ALPHA u = G, ALPHA >= 0), or periodic (on both opposite boundaries). ALPHA and G are expressions; "
       "neumann without G means G = 0, and dirichlet without G takes --boundary, else --exact, else 0. Convection with "
       "the coefficient H to the temperature T is robin:H,H*T (dirichlet)"},
      {"right", "TYPE", "", "the same on the right (dirichlet)"},
      {"bottom", "TYPE", "", "the same at the bottom (dirichlet)"},
      {"top", "TYPE", "", "the same at the top (dirichlet)"}};
  if (D == 3) {
    options.push_back({"front", "TYPE", "", "the same at the front, where z begins (dirichlet)"});
    options.push_back({"back", "TYPE", "", "the same at the back, where z ends (dirichlet)"});
  }
  for (Option& option : options) option = with_files(std::move(option), Names::input, files_of_boundary);
  return options;
}

[[nodiscard]] inline std::vector<Option> boundary_and_coefficient_options() {
  return joined(
      boundary_options<2>(),
      {expression_option(
           "kappa", "K", "1",
           "K in -div(K grad u) + c u = f: one expression, or three, KXX,KXY,KYY, for a positive definite tensor. Each "
           "cell has the value at its centre. file:PATH instead of an expression reads values on cells, see below"),
       expression_option("reaction", "C", "0",
                         "c >= 0: a number, an expression or file:PATH, one value for each cell. A cell in which the "
                         "expression jumps has the mean of c, and the mean of f")});
}

/// For the end of --help.
inline constexpr const char* about_expressions =
    "Expressions, as in 'x < 1/2 && y > 0 ? sin(pi*x) : 2*y^2'\n"
    "  + - * / ^              arithmetic; -x^2 is -(x^2)\n"
    "  == != < <= > >= && ||  1 where it holds, else 0; two comparisons are joined by && (0 < x && x < 1)\n"
    "  C ? U : V              U where C holds, else V\n"
    "  sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh exp ln log log2 log10 sqrt abs sign rint\n"
    "  min max sum avg        of any number of values; log is ln\n"
    "  pi e                   and the names that the options above say: x, y ...\n\n";

/// For the end of --help.
inline constexpr const char* about_files =
    "Fields from files, instead of any expression; on cells or nodes of the mesh, or of one that halving refines to "
    "it\n"
    "                         numbers in rows, the bottom row first; values between nodes are bilinear\n"
    "  file:PATH.vtr[:ARRAY]  cell or point data of a VTK rectilinear grid, .vti of a uniform one; for K three numbers "
    "per\n"
    "                         cell are KXX, KXY and KYY. ARRAY may be left out if there is only one\n"
    "  file:PATH.npy          a NumPy array, floating-point or integer, of shape (ny, nx) on cells or (ny + 1, nx + 1) "
    "on\n"
    "                         nodes; for a boundary also (n) or (n + 1) along it\n"
    "  file:PATH.nc[:ARRAY]   an array of a NetCDF file of these shapes; ARRAY[K] is record K, from 0 on, of a "
    "direction before "
    "these\n"
    "  file:PATH.png          a picture, a pixel for each cell: black is 0, white 1, the upper row on top. "
    "PATH.png:0.001..1 says "
    "what\n"
    "                         black and white are\n"
    "  file:PATH.csv          a line for every row, numbers separated by commas or blanks, # comments; for a boundary "
    "also one\n"
    "                         row or column\n\n";

/// Reads expressions and files of a problem. Files are for the coarsest mesh that is solved on.
struct ProblemReader {
  const MeshChoice<2>& mesh;
  int level;
  Variables variables = Variables::space;

  [[nodiscard]] ScalarFunction function(const std::string& text) const {
    return names_file(text) ? function_of(values(text), mesh.at(level)) : expression(text);
  }
  [[nodiscard]] ScalarFunction function(const std::string& text, const BoundaryPlace& boundary) const {
    return names_file(text) ? function_of(values(text), mesh.at(level), boundary) : expression(text);
  }
  /// K, c or a capacity; of a file the three numbers KXX, KXY and KYY, where it has these.
  [[nodiscard]] std::vector<Coefficient> coefficient(const std::string& text) const {
    if (!names_file(text)) return {expression(text)};
    FileValues numbers = values(text, true);
    if (numbers.on == FileValues::On::nodes || lies_on(numbers, mesh.at(level)) == FileValues::On::nodes)
      return {Coefficient(function_of(std::move(numbers), mesh.at(level)))};
    std::vector<Coefficient> read;
    for (auto& cells : cells_of(std::move(numbers))) read.emplace_back(std::move(cells));
    return read;
  }
  [[nodiscard]] bool depends_on_time(const std::string& text) const {
    return !names_file(text) && stratum::depends_on_time(text, mesh.family.lengths[0], mesh.family.lengths[1]);
  }

 private:
  [[nodiscard]] ScalarFunction expression(const std::string& text) const {
    return parse_expression(text, mesh.family.lengths[0], mesh.family.lengths[1], variables);
  }
  [[nodiscard]] static FileValues values(const std::string& text, bool cells_first = false) {
    const CellFile file = parse_cell_file(std::string_view(text).substr(file_prefix.size()));
    return read_values(file.path, file.array, cells_first);
  }
};

/// K and c, where they are not 1 and a number.
inline void parse_coefficients(const CommandLine& options, const ProblemReader& read, PoissonProblem& problem) {
  const auto coefficient = [&](const char* option, const std::string& text) -> Coefficient {
    return parsed(option, [&] {
      auto parts = read.coefficient(text);
      expects(parts.size() == 1, "'", text, "' has ", parts.size(), " numbers a cell, one is needed here");
      return std::move(parts[0]);
    });
  };
  if (options.has("kappa")) {
    const auto parts = expressions_of(options.text("kappa"));
    expects(parts.size() == 1 || parts.size() == 3, "--kappa: '", options.text("kappa"),
            "' is not one expression or file, and not three, KXX,KXY,KYY");
    std::vector<Coefficient> k;
    if (parts.size() == 1)
      k = parsed("--kappa", [&] { return read.coefficient(parts[0]); });
    else
      for (const auto& part : parts) k.push_back(coefficient("--kappa", part));
    problem.diffusion.xx = std::move(k[0]);
    if (k.size() == 3) {
      problem.diffusion.xy = std::move(k[1]);
      problem.diffusion.yy = std::move(k[2]);
    }
  }
  const std::string reaction = options.text("reaction");
  if (number_of(reaction))
    problem.reaction = options.number("reaction", not_negative);
  else
    problem.reaction_of_cells = coefficient("--reaction", reaction);
}

/// A boundary by the text that `option` has, of expressions that `function` reads.
template <class Condition, class Function>
[[nodiscard]] Condition parse_boundary_text(const std::string& option, const std::string& text,
                                            const Function& function) {
  Condition boundary;
  const auto colon = text.find(':');
  const std::string kind = text.substr(0, colon), data = colon == std::string::npos ? "" : text.substr(colon + 1);
  constexpr auto& kinds = values_of<BoundaryConditionType>;
  if (std::none_of(kinds.begin(), kinds.end(), [&](BoundaryConditionType known) { return kind == to_string(known); }))
    throw UsageError(message(option, ": unknown condition '", shown(kind), "'; known are ", list_of_names(kinds),
                             ", as dirichlet:G, neumann:G or robin:ALPHA,G. Convection with the coefficient H to the "
                             "temperature T is robin:H,H*T"));
  boundary.kind = choice<BoundaryConditionType>(option, kind);
  const auto of_option = [&](const std::string& expression) {
    return parsed(option, [&] { return function(expression); });
  };
  expects(boundary.kind != BoundaryConditionType::periodic || colon == std::string::npos, option,
          ": a periodic boundary has no value, not '", data, "'");
  if (has_alpha(boundary.kind)) {
    const auto parts = expressions_of(data);
    expects(parts.size() == 2, option, ": '", text, "' is not ", kind, ":ALPHA,G");
    boundary.alpha = of_option(parts[0]);
    boundary.value = of_option(parts[1]);
  } else if (colon != std::string::npos) {
    boundary.value = of_option(data);
  }
  return boundary;
}

/// A boundary that --NAME describes; dirichlet without.
template <class Condition, class Function>
[[nodiscard]] Condition parse_boundary(const CommandLine& options, const std::string& name, const Function& function) {
  if (!options.has(name)) return {};
  return parse_boundary_text<Condition>("--" + name, options.text(name), function);
}

[[nodiscard]] inline BoundaryConditions parse_boundaries(const CommandLine& options, const ProblemReader& read) {
  const auto boundary = [&](const char* name, const BoundaryPlace& place) {
    return parse_boundary<BoundaryCondition>(
        options, name, [&](const std::string& expression) { return read.function(expression, place); });
  };
  return {boundary("left", {Direction::y, false}), boundary("right", {Direction::y, true}),
          boundary("bottom", {Direction::x, false}), boundary("top", {Direction::x, true})};
}

}  // namespace stratum::apps
