#include "report.hpp"

#include <cmath>
#include <cstdio>
#include <limits>

#include <stratum/version.h>

#include "support/json.hpp"
#include "support/problem_options.hpp"
#include "support/solve_output.hpp"

namespace stratum::apps::heat {

void warn_of_body(double t, const CornerGap& body, const char* so) {
  if (body.gap > 0)
    warn(program_name, message("at t = ", t, " a body and a boundary differ by ", body.gap, " at (", body.x, ", ",
                               body.y, "); ", so));
}

void print_heading(const Settings& settings, const CommandLine& options, const Context& ctx, const RunOn& on,
                   const std::vector<RankNumbers>& ranks) {
  const auto& mesh = on.mesh.logical();
  const auto& params = on.solver.params();
  const auto& shape = on.unknowns;
  std::string where =
      message(settings.mesh.family.name, " on [", mesh.x().origin(), ", ", mesh.x().origin() + mesh.x().length(),
              "] x [", mesh.y().origin(), ", ", mesh.y().origin() + mesh.y().length(), "]");
  if (options.has("map")) where += ", mapped by " + settings.deformation.text;
  if (options.has("mesh-file")) where = "from " + settings.deformation.text;
  if (options.has("coordinates")) where += ", " + options.text("coordinates");
  if (settings.volumes) where += ", finite volumes";
  std::printf("mesh      %s: %d x %d cells, %d x %d unknowns, aspect ratio up to %.3g\n", where.c_str(),
              mesh.x().size(), mesh.y().size(), shape.nx, shape.ny, on.mesh.largest_aspect_ratio());
  std::string problem;
  for (const char* name :
       {"initial", "rhs", "capacity", "kappa", "reaction", "left", "right", "bottom", "top", "boundary"})
    if (options.has(name)) problem += message(problem.empty() ? "" : ", ", name, " ", options.text(name));
  for (const std::string& body : options.texts("body")) problem += message(problem.empty() ? "" : ", ", "body ", body);
  std::printf("problem   %s\n", problem.empty() ? "sin(pi x/a) sin(pi y/b) decays" : problem.c_str());
  print_times(settings, on.t);
  std::printf("solver    %s, %s; %s precision, %s operator; %s\n",
              std::string(to_string(params.method.value_or(Method::multigrid))).c_str(),
              options.text("smoother").c_str(), std::string(to_string(params.precision)).c_str(),
              std::string(to_string(params.format)).c_str(), ctx.description().c_str());
  print_ranks(ctx, ranks);
  print_alone(settings.machine);
  std::printf("\n");
}

std::string json_report(const Settings& settings, const CommandLine& options, const Context& ctx, const RunOn& on,
                        const Run& run) {
  const auto& mesh = on.mesh.logical();
  JsonObject json;
  json.add("program", program_name).add("version", STRATUM_VERSION);
  add_status(json, run);
  json.add("mesh", settings.mesh.family.name).add("level", settings.level);
  json.add("cells", {mesh.x().size(), mesh.y().size()});
  json.add("unknowns", on.unknowns.nodes()).add("discretisation", options.text("discretisation"));
  for (const char* name : {"map", "mesh-file"})
    if (options.has(name)) json.add(name[3] == 'h' ? "mesh_file" : name, options.text(name));
  json.add("coordinates", options.text("coordinates"));
  json.add("largest_aspect_ratio", on.mesh.largest_aspect_ratio());
  for (const char* side : boundary_names) json.add(side, options.has(side) ? options.text(side) : "dirichlet");
  for (const char* name : {"initial", "rhs", "capacity", "kappa", "reaction", "boundary", "exact"})
    if (options.has(name)) json.add(name, options.text(name));
  if (!settings.volumes) json.add("mass", options.text("mass"));
  add_steps(json, settings, run);
  const auto& params = on.solver.params();
  json.add("solver", to_string(params.method.value_or(Method::multigrid))).add("operator", to_string(params.format));
  for (const char* name : {"smoother", "inner"}) json.add(name, options.text(name));
  json.add("precision", to_string(params.precision));
  add_machine(json, ctx);
  add_ends(json, run);
  add_ranks(json, ctx, run.ranks);
  add_alone(json, settings.machine);
  return json.text();
}

}  // namespace stratum::apps::heat
