#include "settings.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numbers>
#include <string>
#include <vector>

#include "poisson3d/bodies.hpp"
#include "poisson3d/problem.hpp"
#include "support/body_options.hpp"
#include "support/problem_options.hpp"

namespace stratum::apps::heat3d {

namespace {

/// Nothing of a problem is given.
bool is_default_problem(const CommandLine& options) {
  return !options.has("exact") && !options.has("body") &&
         std::none_of(std::begin(problem_names), std::end(problem_names),
                      [&](const char* name) { return options.has(name); });
}

/// Values of faces have the time in them. Throws UsageError for an alpha that does.
bool faces_have_time(const CommandLine& options, const poisson3d::ProblemReader& read) {
  bool any = false;
  const auto depends = [&](const std::string& text) { return read.depends_on_time(text); };
  for (const char* name : {"boundary", "exact"}) any = any || (options.has(name) && depends(options.text(name)));
  for (const char* face : box_face_names) {
    const std::string text = options.text(face);
    const auto colon = text.find(':');
    if (colon == std::string::npos) continue;
    const auto parts = expressions_of(text.substr(colon + 1));
    expects(parts.size() < 2 || !depends(parts[0]), "--", face, ": ALPHA '", parts[0],
            "' depends on the time; in three dimensions K and ALPHA stay as they are");
    any = any || depends(parts.back());
  }
  return any;
}

/// Values of bodies have no time in them. Shapes and K may not have it.
bool bodies_are_steady(const CommandLine& options, const poisson3d::ProblemReader& read) {
  bool steady = true;
  for (const std::string& text : options.texts("body")) {
    const auto body = body_text(text);
    expects(poisson3d::has_name(body.shape) || !read.depends_on_time(body.shape), "--body: the shape '",
            shown(body.shape), "' depends on the time; bodies stay where they are. Leave t out of it");
    bool depends = false;
    if (body.kind == BodyKind::value || body.kind == BodyKind::coefficient)
      for (const auto& part : expressions_of(body.data)) depends = depends || read.depends_on_time(part);
    expects(!depends || body.kind == BodyKind::value, "--body: K '", shown(body.data),
            "' depends on the time; in three dimensions K stays as it is");
    steady = steady && !depends;
  }
  return steady;
}

HeatProblem3D parse_problem(const CommandLine& options, const poisson3d::ProblemReader& read, double start) {
  HeatProblem3D problem;
  if (is_default_problem(options)) {
    const auto [a, b, d] = read.meshes.family.lengths;
    const double kx = std::numbers::pi / a, ky = std::numbers::pi / b, kz = std::numbers::pi / d;
    problem.space.exact = [=](const Point3D& p) {
      return std::sin(kx * p.to_left) * std::sin(ky * p.to_bottom) * std::sin(kz * p.to_front) *
             std::exp(-(kx * kx + ky * ky + kz * kz) * (p.t - start));
    };
    problem.steady_faces = true;
    problem.space.boundary = [](const Point3D& /*p*/) { return 0.0; };
    return problem;
  }
  problem.space = poisson3d::parse_problem(options, read);
  problem.capacity = options.number("capacity", positive);
  problem.space.bodies = poisson3d::parse_bodies(options, [&](const std::string& text) { return read.function(text); });
  problem.steady_bodies = bodies_are_steady(options, read);
  if (options.has("initial"))
    problem.initial = parsed("--initial", [&] { return read.function(options.text("initial")); });
  problem.steady_rhs = !options.has("rhs") || !read.depends_on_time(options.text("rhs"));
  problem.steady_faces = !faces_have_time(options, read);
  return problem;
}

}  // namespace

Settings parse_settings(const CommandLine& options) {
  Settings settings;
  settings.mesh = parse_mesh<3>(options);
  settings.level = parse_level(options, settings.mesh);
  parse_times(options, settings);
  PoissonSolver3DParams& solver = settings.params.solver;
  solver.method = choice<BoxMethod>("--solver", options.text("solver"));
  solver.float_cycles = choice<bool>("--precision", options.text("precision"), {{"double", false}, {"mixed", true}});
  solver.stop.max_iterations = options.integer("max-iterations", 1, 1000);
  if (options.has("quadrature")) solver.quadrature_points = options.integer("quadrature", 1, 4);
  settings.problem =
      parse_problem(options, {settings.mesh, settings.level, Variables::space_and_time}, settings.params.start);
  const TensorMesh<3> mesh = settings.mesh_at_level();
  if (options.has("probe")) settings.probe = poisson3d::parse_box_probe(options.text("probe"), mesh);
  if (options.has("slice")) settings.slice = poisson3d::parse_plane("--slice", options.text("slice"), mesh);
  expects(!settings.slice || options.has("png"), "--slice: to what file? --png FILE says");
  return settings;
}

OutputFiles parse_outputs(const CommandLine& options, const Settings& settings) {
  return heat::parse_outputs_of_steps(options, settings.machine.has_ranks() ? settings.machine.ranks->size() : 1, 'r');
}

}  // namespace stratum::apps::heat3d
