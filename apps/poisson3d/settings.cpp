#include "settings.hpp"

#include <tuple>
#include <utility>

#include "bodies.hpp"
#include "problem.hpp"

namespace stratum::apps::poisson3d {

Settings parse_settings(const CommandLine& options) {
  Settings settings;
  settings.mesh = parse_mesh<3>(options);
  settings.first_level = settings.last_level = parse_level(options, settings.mesh);
  settings.table = options.has("convergence-table");
  if (settings.table) std::tie(settings.first_level, settings.last_level) = parse_table_levels<3>(options);
  const ProblemReader read{settings.mesh, settings.last_level};
  settings.problem = parse_problem(options, read);
  settings.problem.bodies = parse_bodies(options, [&](const std::string& text) { return read.function(text); });
  expects(settings.problem.bodies.empty() || options.has("rhs"),
          "--body: give --rhs as well; the default right-hand side has a solution without bodies");
  PoissonProblem3D without_exact = settings.problem;
  without_exact.exact = {};
  expects(!options.has("exact") || !without_exact.has_exact(),
          "--exact: give --rhs as well; the default right-hand side has the solution xl xr yl yr zl zr");
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
