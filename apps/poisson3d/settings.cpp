#include "settings.hpp"

#include <tuple>
#include <utility>

#include <stratum/assembly/box_values.hpp>
#include <stratum/assembly/cell_files.hpp>
#include <stratum/assembly/expressions/expression.hpp>

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

PoissonProblem3D parse_problem(const CommandLine& options, const MeshChoice<3>& meshes, int last_level) {
  const MeshFamily<3>& family = meshes.family;
  const auto field = [&](const std::string& text) {
    if (!names_file(text)) return parse_expression(text, family.lengths);
    return function_of_file(text, meshes, last_level, true);
  };
  const auto function = [&](const std::string& name) -> ScalarFunction3D {
    if (!options.has(name)) return {};
    return parsed("--" + name, [&] { return field(options.text(name)); });
  };
  PoissonProblem3D problem;
  for (const BoxFace face : all_box_faces)
    problem.boundaries[face] = parse_boundary<BoundaryCondition3D>(options, std::string(to_string(face)), field);
  problem.reaction = options.number("reaction", not_negative);
  const bool by_directions = options.has("kx") || options.has("ky") || options.has("kz");
  expects(!by_directions || !options.has("kappa"),
          "--kappa: K is a scalar, or given in each direction by --kx, --ky and --kz, not both");
  const auto coefficient = [&](const char* name) {
    const std::string text = options.has(name) ? options.text(name) : "";
    if (!names_file(text)) return function(name);
    return parsed(message("--", name), [&] { return function_of_file(text, meshes, last_level, false); });
  };
  if (by_directions) {
    const ScalarFunction3D one = [](const Point3D& /*p*/) { return 1.0; };
    const auto or_one = [&](const char* name) { return options.has(name) ? coefficient(name) : one; };
    problem.diffusion = {or_one("kx"), or_one("ky"), or_one("kz"), {"--kx", "--ky", "--kz"}};
  } else {
    problem.diffusion.xx = coefficient("kappa");
    problem.diffusion.names.fill("--kappa");
  }
  expects(!options.has("exact") || options.has("rhs") || options.has("boundary") || !problem.has_exact(),
          "--exact: give --rhs as well; the default right-hand side has the solution xl xr yl yr zl zr");
  problem.rhs = function("rhs");
  problem.exact = function("exact");
  problem.boundary = function("boundary");
  return problem;
}

}  // namespace

Settings parse_settings(const CommandLine& options) {
  Settings settings;
  settings.mesh = parse_mesh<3>(options);
  settings.first_level = settings.last_level = parse_level(options, settings.mesh);
  settings.table = options.has("convergence-table");
  if (settings.table) std::tie(settings.first_level, settings.last_level) = parse_table_levels<3>(options);
  settings.problem = parse_problem(options, settings.mesh, settings.last_level);
  settings.tolerance_asked_for = options.has("rtol") || options.has("atol");
  StoppingParams& stop = settings.solver.stop;
  stop.rtol = options.number("rtol", fraction);
  stop.atol = options.number("atol", not_negative);
  stop.max_iterations = options.integer("max-iterations", 1, 1000);
  stop.rounding_will_do = !settings.tolerance_asked_for;
  if (options.has("quadrature")) settings.solver.quadrature_points = options.integer("quadrature", 1, 4);
  settings.solver.project = options.is_set("project");
  settings.solver.method = choice<BoxMethod>("--method", options.text("method"));
  settings.solver.float_cycles =
      choice<bool>("--precision", options.text("precision"), {{"double", false}, {"mixed", true}});
  (void)settings.mesh_at(settings.first_level);  // too few cells for the boundaries are found here
  const TensorMesh<3> mesh = settings.mesh_at(settings.last_level);
  if (options.has("probe")) settings.probe = parse_box_probe(options.text("probe"), mesh);
  if (options.has("slice")) settings.slice = parse_plane("--slice", options.text("slice"), mesh);
  expects(!settings.slice || options.has("png"), "--slice: to what file? --png FILE says");
  settings.compression = parse_compression(options);
  settings.machine = parse_machine(options);
  settings.quiet = options.is_set("quiet");
  return settings;
}

}  // namespace stratum::apps::poisson3d
