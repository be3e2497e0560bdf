#include "problem.hpp"

#include <utility>

#include <stratum/assembly/box_values.hpp>
#include <stratum/assembly/cell_files.hpp>

#include "support/problem_options.hpp"

namespace stratum::apps::poisson3d {

namespace {

/// Numbers of a file on the cells of the mesh or, if that `may_be_nodes`, at its nodes, or on a coarser one that it refines by
/// halving.
ScalarFunction3D function_of_file(const std::string& text, const MeshChoice<3>& meshes, int last_level,
                                  bool may_be_nodes) {
  const auto [path, array] = parse_cell_file(std::string_view(text).substr(file_prefix.size()));
  BoxFileValues read = read_box_values(path, array, may_be_nodes);
  using On = FileValues::On;
  const auto& [nx, ny, nz] = read.count;
  for (int level = last_level; level >= 0; --level) {
    const TensorMesh<3> mesh = meshes.at(level);
    const auto fits = [&, x = nx, y = ny, z = nz](int more) {
      return mesh.x().size() + more == x && mesh.y().size() + more == y && mesh.z().size() + more == z;
    };
    if (read.on != On::nodes && fits(0))
      return on_cells(mesh, {static_cast<std::size_t>(nx), static_cast<std::size_t>(ny), static_cast<std::size_t>(nz)},
                      std::move(read.numbers));
    if (read.on != On::cells && may_be_nodes && fits(1)) return on_nodes(mesh, std::move(read.numbers));
  }
  const TensorMesh<3> mesh = meshes.at(last_level);
  throw UsageError(message("'", path, "' has shape (", nz, ", ", ny, ", ", nx, "), and the mesh (", mesh.z().size(),
                           ", ", mesh.y().size(), ", ", mesh.x().size(), ") cells",
                           may_be_nodes ? " and one more of its nodes" : ""));
}

}  // namespace

ScalarFunction3D ProblemReader::function(const std::string& text) const {
  if (!names_file(text)) return parse_expression(text, meshes.family.lengths, variables);
  return function_of_file(text, meshes, level, true);
}

ScalarFunction3D ProblemReader::coefficient(const std::string& text) const {
  if (!names_file(text)) return parse_expression(text, meshes.family.lengths);
  return function_of_file(text, meshes, level, false);
}

bool ProblemReader::depends_on_time(const std::string& text) const {
  return variables == Variables::space_and_time && !names_file(text) &&
         stratum::depends_on_time(text, meshes.family.lengths);
}

std::vector<Option> coefficient_options() {
  return {
      expression_option("kappa", "K", "",
                        "K, above 0; its value at the centre of a cell is the cell's; or file:PATH.npy, an array of "
                        "shape (nz, ny, nx) on the cells, or on those of a coarser level (1)"),
      expression_option("kx", "K", "", "K in x, y and z by itself (1)"), expression_option("ky", "K", "", "in y (1)"),
      expression_option("kz", "K", "", "in z (1)")};
}

PoissonProblem3D parse_problem(const CommandLine& options, const ProblemReader& read) {
  const auto function = [&](const char* name) -> ScalarFunction3D {
    if (!options.has(name)) return {};
    return parsed(message("--", name), [&] { return read.function(options.text(name)); });
  };
  const auto coefficient = [&](const char* name) {
    return parsed(message("--", name), [&] { return read.coefficient(options.text(name)); });
  };
  PoissonProblem3D problem;
  for (const BoxFace face : all_box_faces)
    problem.boundaries[face] = parse_boundary<BoundaryCondition3D>(
        options, std::string(to_string(face)), [&](const std::string& text) { return read.function(text); });
  problem.reaction = options.number("reaction", not_negative);
  const bool by_directions = options.has("kx") || options.has("ky") || options.has("kz");
  expects(!by_directions || !options.has("kappa"),
          "--kappa: K is a scalar, or given in each direction by --kx, --ky and --kz, not both");
  if (by_directions) {
    const ScalarFunction3D one = [](const Point3D& /*p*/) { return 1.0; };
    const auto or_one = [&](const char* name) { return options.has(name) ? coefficient(name) : one; };
    problem.diffusion = {or_one("kx"), or_one("ky"), or_one("kz"), {"--kx", "--ky", "--kz"}};
  } else if (options.has("kappa")) {
    problem.diffusion.xx = coefficient("kappa");
    problem.diffusion.names.fill("--kappa");
  }
  problem.rhs = function("rhs");
  problem.exact = function("exact");
  problem.boundary = function("boundary");
  return problem;
}

std::string warning_of_edges(const TensorMesh<3>& mesh, const PoissonProblem3D& problem) {
  const EdgeGap edge = largest_edge_gap(mesh, problem);
  if (!(edge.gap > 0)) return {};
  return message("the ", to_string(edge.kept), " and the ", to_string(edge.other), " face differ by ", edge.gap,
                 " at (", edge.x, ", ", edge.y, ", ", edge.z, "), a node of their edge; it has the value of the ",
                 to_string(edge.kept), " one");
}

std::vector<std::pair<const char*, std::vector<double>>>
diffusion_on_cells(const Context& ctx, const TensorMesh<3>& mesh, const Diffusion3D& k) {
  std::vector<std::pair<const char*, std::vector<double>>> found;
  const char* const of_x = k.yy || k.zz ? "kxx" : "kappa";
  for (const auto& [name, function] :
       {std::pair<const char*, const ScalarFunction3D&>{of_x, k.xx}, {"kyy", k.yy}, {"kzz", k.zz}})
    if (function) found.emplace_back(name, at_cells(ctx, mesh, function));
  return found;
}

}  // namespace stratum::apps::poisson3d
