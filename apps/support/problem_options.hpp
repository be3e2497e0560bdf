#pragma once

// What is given on boundaries, K and c: options, and what they say. Expressions may know the time.

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <stratum/assembly/cell_files.hpp>
#include <stratum/assembly/expressions/expression.hpp>
#include <stratum/mesh/graded.hpp>
#include <stratum/mesh/named_meshes.hpp>

#include "command_line.hpp"

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

/// Of an option that takes PATH after `file:`, once or among other expressions.
[[nodiscard]] inline std::vector<std::string> coefficient_files(const std::string& text) {
  std::vector<std::string> files;
  for (const auto& part : expressions_of(text))
    if (part.starts_with(file_prefix)) try {
        files.push_back(parse_cell_file(std::string_view(part).substr(file_prefix.size())).path);
      } catch (const UsageError&) {  // names none; who reads it says why
      }
  return files;
}

/// K, c or a capacity.
[[nodiscard]] inline Option coefficient_option(std::string name, std::string value_name, std::string fallback,
                                               std::string help) {
  return with_files({std::move(name), std::move(value_name), std::move(fallback), std::move(help)}, Names::input,
                    coefficient_files);
}

/// By the ends of the axes: the first and the last of x, of y and, in a box, of z.
inline constexpr std::array<const char*, 6> box_face_names{"left", "right", "bottom", "top", "front", "back"};
inline constexpr std::span<const char* const, 4> boundary_names = std::span(box_face_names).first<4>();

/// What is given on the boundaries of D dimensions.
template <int D>
[[nodiscard]] std::vector<Option> boundary_options() {
  std::vector<Option> options{
      {"left", "TYPE", "",
       "dirichlet:G (u = G), neumann:G (n.grad u = G, n outward), robin:ALPHA,G (n.grad u + ALPHA u = G, ALPHA 0 or "
       "more), or periodic, like the boundary across; ALPHA and G are expressions, G without a word is 0 (dirichlet)"},
      {"right", "TYPE", "", "the same of the right boundary (dirichlet)"},
      {"bottom", "TYPE", "", "the bottom (dirichlet)"},
      {"top", "TYPE", "", D == 2 ? "and the top (dirichlet)" : "the top (dirichlet)"}};
  if (D == 3) {
    options.push_back({"front", "TYPE", "", "the front, where z begins (dirichlet)"});
    options.push_back({"back", "TYPE", "", "and the back, where z ends (dirichlet)"});
  }
  return options;
}

[[nodiscard]] inline std::vector<Option> boundary_and_coefficient_options() {
  return joined(
      boundary_options<2>(),
      {coefficient_option("kappa", "K", "1",
                          "K in -div(K grad u) + c u = f, an expression, or three for KXX,KXY,KYY, positive definite; "
                          "its value at the "
                          "centre of a cell is the cell's. Each may be file:PATH instead, numbers on cells, see below"),
       coefficient_option(
           "reaction", "C", "0",
           "c, 0 or more: a number, an expression or file:PATH, taken cell by cell as well; a cell where "
           "an expression jumps has its mean, and the mean of f")});
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
inline constexpr const char* about_coefficient_files =
    "Coefficients from files, on the cells of the mesh or of one that it refines by halving; bottom row first\n"
    "  file:PATH.vtr[:ARRAY]  cell data of VTK's rectilinear grids, .vti of uniform ones; one number a cell, or\n"
    "                         three for KXX, KXY and KYY. ARRAY may be left out where there is one only\n"
    "  file:PATH.npy          NumPy's array of shape (ny, nx), floating-point or whole numbers\n"
    "  file:PATH.csv          a line for every row of cells, commas or blanks between numbers, # comments\n\n";

/// A coefficient by an expression or from a file, which may have three: KXX, KXY and KYY.
[[nodiscard]] inline std::vector<Coefficient> parse_coefficient(const std::string& text, const MeshFamily<2>& family,
                                                                Variables variables = Variables::space) {
  if (!text.starts_with(file_prefix)) return {parse_expression(text, family.lengths[0], family.lengths[1], variables)};
  const CellFile file = parse_cell_file(std::string_view(text).substr(file_prefix.size()));
  std::vector<Coefficient> read;
  for (auto& cells : read_cell_values(file.path, file.array)) read.emplace_back(std::move(cells));
  return read;
}

/// K and c, where they are not 1 and a number.
inline void parse_coefficients(const CommandLine& options, const MeshFamily<2>& family, PoissonProblem& problem,
                               Variables variables = Variables::space) {
  const auto coefficient = [&](const char* option, const std::string& text) -> Coefficient {
    return parsed(option, [&] {
      auto parts = parse_coefficient(text, family, variables);
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
      k = parsed("--kappa", [&] { return parse_coefficient(parts[0], family, variables); });
    else
      for (const auto& part : parts) k.push_back(coefficient("--kappa", part));
    problem.diffusion.xx = std::move(k[0]);
    if (k.size() == 3) {
      problem.diffusion.xy = std::move(k[1]);
      problem.diffusion.yy = std::move(k[2]);
    }
  }
  const std::string reaction = options.text("reaction");
  char* end = nullptr;
  (void)std::strtod(reaction.c_str(), &end);
  if (end != nullptr && *end == '\0')
    problem.reaction = options.number("reaction", not_negative);
  else
    problem.reaction_of_cells = coefficient("--reaction", reaction);
}

/// A boundary that --NAME describes, of expressions that `function` reads; dirichlet without.
template <class Condition, class Function>
[[nodiscard]] Condition parse_boundary(const CommandLine& options, const std::string& name, const Function& function) {
  Condition boundary;
  if (!options.has(name)) return boundary;
  const std::string option = "--" + name, text = options.text(name);
  const auto colon = text.find(':');
  const std::string kind = text.substr(0, colon), data = colon == std::string::npos ? "" : text.substr(colon + 1);
  boundary.kind = choice<BoundaryConditionType>(option, kind,
                                                {{"dirichlet", BoundaryConditionType::dirichlet},
                                                 {"neumann", BoundaryConditionType::neumann},
                                                 {"robin", BoundaryConditionType::robin},
                                                 {"periodic", BoundaryConditionType::periodic}});
  const auto of_option = [&](const std::string& expression) {
    return parsed(option, [&] { return function(expression); });
  };
  expects(boundary.kind != BoundaryConditionType::periodic || colon == std::string::npos, option,
          ": a periodic boundary has no value, not '", data, "'");
  if (boundary.kind == BoundaryConditionType::robin) {
    const auto parts = expressions_of(data);
    expects(parts.size() == 2, option, ": '", text, "' is not robin:ALPHA,G");
    boundary.alpha = of_option(parts[0]);
    boundary.value = of_option(parts[1]);
  } else if (colon != std::string::npos) {
    boundary.value = of_option(data);
  }
  return boundary;
}

[[nodiscard]] inline BoundaryConditions parse_boundaries(const CommandLine& options, const MeshFamily<2>& family,
                                                         Variables variables = Variables::space) {
  const auto boundary = [&](const char* name) {
    return parse_boundary<BoundaryCondition>(options, name, [&](const std::string& expression) {
      return parse_expression(expression, family.lengths[0], family.lengths[1], variables);
    });
  };
  return {boundary("left"), boundary("right"), boundary("bottom"), boundary("top")};
}

}  // namespace stratum::apps
