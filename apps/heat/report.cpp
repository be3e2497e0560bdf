#include "report.hpp"

#include <cmath>
#include <cstdio>
#include <limits>

#include <stratum/version.h>

#include "support/json.hpp"
#include "support/problem_options.hpp"
#include "support/solve_output.hpp"

namespace stratum::apps::heat {

void print_heading(const Settings& settings, const CommandLine& options, const Context& ctx, const HeatSolver& solver,
                   const std::vector<RankNumbers>& ranks) {
  const auto& mesh = solver.mesh();
  const auto& params = solver.solver().params();
  const auto shape = mesh.unknowns();
  std::string where =
      message(settings.mesh.family.name, " on [", mesh.x().origin(), ", ", mesh.x().origin() + mesh.x().length(),
              "] x [", mesh.y().origin(), ", ", mesh.y().origin() + mesh.y().length(), "]");
  if (options.has("map")) where += ", mapped by " + settings.deformation.text;
  if (options.has("mesh-file")) where = "from " + settings.deformation.text;
  if (options.has("coordinates")) where += ", " + options.text("coordinates");
  std::printf("mesh      %s: %d x %d cells, %d x %d unknowns, aspect ratio up to %.3g\n", where.c_str(),
              mesh.x().size(), mesh.y().size(), shape.nx, shape.ny, solver.geometry().largest_aspect_ratio());
  std::string problem;
  for (const char* name :
       {"initial", "rhs", "capacity", "kappa", "reaction", "left", "right", "bottom", "top", "boundary"})
    if (options.has(name)) problem += message(problem.empty() ? "" : ", ", name, " ", options.text(name));
  for (const std::string& body : options.texts("body")) problem += message(problem.empty() ? "" : ", ", "body ", body);
  std::printf("problem   %s\n", problem.empty() ? "sin(pi x/a) sin(pi y/b) decays" : problem.c_str());
  const auto& [method, start, dt, tol, eta, unused, most] = settings.params;
  const std::string steps = tol ? message("steps to a tolerance of ", *tol) : message("steps of ", *dt);
  std::printf("time      %s, %s, from t = %.12g to %.12g\n", std::string(to_string(method)).c_str(), steps.c_str(),
              solver.time(), settings.end);
  std::printf("solver    %s, %s; %s precision, %s operator; %s\n",
              std::string(to_string(params.method.value_or(Method::multigrid))).c_str(),
              options.text("smoother").c_str(), options.text("precision").c_str(),
              std::string(to_string(params.format)).c_str(), ctx.description().c_str());
  print_ranks(ctx, ranks);
  print_alone(settings.machine);
  std::printf("\n");
}

std::string plain_time(double t) {
  char text[32];
  (void)std::snprintf(text, sizeof text, "%.12g", t);
  return text;
}

void print_moment(const Moment& moment, const HeatReport& report, bool first) {
  if (first) std::printf("%14s %10s %10s %10s %24s\n", "t", "steps", "rejected", "cycles", "heat");
  std::printf("%14.12g %10lld %10lld %10lld %24.16g\n", moment.t, static_cast<long long>(moment.steps),
              static_cast<long long>(report.rejected), static_cast<long long>(report.cycles), moment.heat);
  (void)std::fflush(stdout);
}

void print_end(const Run& run) {
  const HeatReport& r = run.report;
  std::printf("\nstatus      %s: %s\n", std::string(to_string(r.status)).c_str(), r.reason.c_str());
  std::printf("steps       %lld, %lld rejected, dt %.3g to %.3g\n", static_cast<long long>(r.steps),
              static_cast<long long>(r.rejected), r.shortest_dt, r.longest_dt);
  if (r.forced > 0)
    std::printf("            %lld as short as steps may be, in spite of their error: data that jump in time, or too "
                "small a --tol\n",
                static_cast<long long>(r.forced));
  std::printf("cycles      %lld in %lld solves, %d at most; %lld updates of the hierarchy\n",
              static_cast<long long>(r.cycles), static_cast<long long>(r.solves), r.most_cycles,
              static_cast<long long>(r.updates));
  if (r.estimated_error)
    std::printf("estimated error %.1e of the range of u at most, left by the solves\n", *r.estimated_error);
  std::printf("heat        %.16g, %.16g at first\n", run.moments.back().heat, run.moments.front().heat);
  if (run.error) std::printf("error       %.7e (L2, relative to the exact solution at the end)\n", *run.error);
  std::printf("time        %.3g s set-up, %.3g s steps\n", run.setup_seconds, run.solve_seconds);
}

std::string json_report(const Settings& settings, const CommandLine& options, const Context& ctx,
                        const HeatSolver& solver, const Run& run) {
  const HeatReport& r = run.report;
  const double unknown = std::nan("");
  const auto& mesh = solver.mesh();
  JsonObject json;
  json.add("program", program_name).add("version", STRATUM_VERSION);
  json.add("status", to_string(r.status)).add("reason", r.reason).add("exit_code", exit_code(r.status));
  json.add("relative_l2_error", run.error.value_or(unknown));
  json.add("mesh", settings.mesh.family.name).add("level", settings.level);
  json.add("cells", {mesh.x().size(), mesh.y().size()});
  json.add("unknowns", mesh.unknowns().nodes());
  for (const char* name : {"map", "mesh-file"})
    if (options.has(name)) json.add(name[3] == 'h' ? "mesh_file" : name, options.text(name));
  json.add("coordinates", options.text("coordinates"));
  json.add("largest_aspect_ratio", solver.geometry().largest_aspect_ratio());
  for (const char* side : boundary_names) json.add(side, options.has(side) ? options.text(side) : "dirichlet");
  for (const char* name : {"initial", "rhs", "capacity", "kappa", "reaction", "boundary", "exact"})
    if (options.has(name)) json.add(name, options.text(name));
  json.add("mass", options.text("mass"));
  json.add("method", to_string(settings.params.method)).add("start", settings.params.start).add("end", settings.end);
  json.add("dt", settings.params.dt.value_or(unknown)).add("tol", settings.params.tol.value_or(unknown));
  json.add("t", r.t).add("steps", r.steps).add("rejected", r.rejected);
  json.add("forced", r.forced);
  json.add("shortest_dt", r.shortest_dt).add("longest_dt", r.longest_dt);
  json.add("solves", r.solves).add("cycles", r.cycles);
  json.add("most_cycles", r.most_cycles).add("updates", r.updates);
  json.add("estimated_error", r.estimated_error.value_or(std::numeric_limits<double>::quiet_NaN()));
  json.add("heat_at_first", run.moments.front().heat).add("heat", run.moments.back().heat);
  const auto& params = solver.solver().params();
  json.add("solver", to_string(params.method.value_or(Method::multigrid))).add("operator", to_string(params.format));
  for (const char* name : {"smoother", "precision", "inner"}) json.add(name, options.text(name));
  add_machine(json, ctx);
  json.add("setup_seconds", run.setup_seconds).add("solve_seconds", run.solve_seconds);
  json.add("expected_memory_bytes", run.expected_memory).add("peak_memory_bytes", peak_memory());
  add_ranks(json, ctx, run.ranks);
  add_alone(json, settings.machine);
  json.add("outputs", json_array(run.moments, [](const Moment& m) {
             return Json{{"t", m.t}, {"steps", m.steps}, {"heat", m.heat}};
           }));
  return json.text();
}

}  // namespace stratum::apps::heat
