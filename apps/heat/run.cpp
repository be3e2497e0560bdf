#include "run.hpp"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <stratum/assembly/picture.hpp>

#include "output.hpp"
#include "report.hpp"
#include "schedule.hpp"
#include "support/probe.hpp"
#include "support/progress.hpp"
#include "support/rank_output.hpp"
#include "support/restart_file.hpp"
#include "support/vtk_series.hpp"

namespace stratum::apps::heat {

namespace {

/// From a restart file; what has changed since it was saved is said.
void go_on(Context& ctx, const CommandLine& options, const Restart& restart, HeatSolver& solver) {
  const auto is_of_problem = [](const std::string& name) {
    return std::find(std::begin(problem_options), std::end(problem_options), name) != std::end(problem_options);
  };
  std::string changed;
  for (const auto& name : restart.changed) changed += (changed.empty() ? "--" : ", --") + name;
  const bool same_problem = std::none_of(restart.changed.begin(), restart.changed.end(), is_of_problem);
  const bool taken_over = solver.restore(ctx, restart.state, same_problem);
  if (changed.empty() && taken_over) return;
  const std::string what = changed.empty() ? "its du/dt does not solve the equation of this run"
                                           : message("it was saved with other values of ", changed);
  warn(program_name, message("the restart file '", options.text("restart"), "': ", what, "; this run goes on from ",
                             taken_over ? "its state" : "its u, and du/dt is found anew", " at t = ", solver.time()));
}

/// Why one rank is faster than several; nothing where that is not so. The same on all ranks.
std::string why_alone(Context& ctx, const Settings& settings, const ProblemMesh& mesh) {
  const Machine& machine = settings.machine;
  if (auto why = machine.too_few(mesh.logical().unknowns().nodes(), PartitionLevels::least_for_several_gpus);
      !why.empty())
    return why;
  if (!machine.may_take_one_gpu()) return "";
  const HeatSolver solver(ctx, mesh, settings.problem, settings.params);
  return why_one_gpu(ctx, solver.solver(), mesh);
}

}  // namespace

int run(Settings settings, const CommandLine& options, OutputFiles outputs) {
  settings.machine.warn_of_binding(program_name);
  Context ctx = settings.machine.context();
  expects(!outputs.has("vtk") || vtk_available(), "--vtk: this build has no VTK (Debian: libvtk9-dev)");
  const bool speaks = settings.machine.ranks->rank() == 0;
  if (speaks) outputs.check();
  const double begin = wall_seconds();
  const ProblemMesh mesh = settings.mesh_at(ctx);
  if (const auto why = why_alone(ctx, settings, mesh); !why.empty())
    if (const auto code = settings.machine.go_on_alone(ctx, why)) return *code;
  const GivenData given = given_data(options);
  std::optional<Restart> restart;
  if (options.has("restart")) {
    const HeatParams& params = settings.params;
    restart = read_restart(options.text("restart"), {mesh, params.method, params.tol.has_value(), params.start, given});
    expects(!options.has("start") || restart->start == params.start, "--start: '", options.text("start"),
            "' is not the start of the restart file, ", restart->start, "; leave it out");
    expects(settings.end > restart->state.report.t, "--end: '", options.text("end"),
            "' does not come after the restart file's t = ", restart->state.report.t);
    settings.params.start = restart->start;
  }
  Run result;
  const auto probed = settings.probe ? located(*settings.probe, mesh) : std::vector<MeshPoint>();
  std::string profiles;
  result.expected_memory = expected_memory(ctx, settings, mesh, outputs);
  const bool saves_state = outputs.has("save"), draws = outputs.has("png");
  if (!speaks) outputs.remove_all_but("vtk");
  if (!settings.quiet) progress("setting up ...");
  HeatSolver solver(ctx, mesh, settings.problem, settings.params);
  if (restart) go_on(ctx, options, *restart, solver);
  restart.reset();
  if (!settings.quiet) progress("");

  result.setup_seconds = wall_seconds() - begin;
  const auto find_rank_numbers = [&] {
    const StructuredSolver& of_stages = solver.solver();
    result.ranks = rank_numbers(ctx, settings.machine,
                                PartitionLevels(ctx, of_stages.meshes(), of_stages.params().multigrid.partition()),
                                result.setup_seconds, result.solve_seconds, result.expected_memory);
  };
  find_rank_numbers();
  if (!settings.quiet) print_heading(settings, options, ctx, solver, result.ranks);
  const double start = settings.params.start;
  const Stops pictures(start, settings.end, settings.output_every), saves(start, settings.end, settings.restart_every);
  std::optional<VtkSeries> series;
  if (outputs.has("vtk")) {
    const Machine& machine = settings.machine;
    series.emplace(outputs.path("vtk"), machine.has_ranks() ? machine.ranks->communicator() : nullptr);
  }
  const int first = pictures.number(solver.time());
  if (series)
    for (int n = 0; n < first; ++n) series->adopt(n, pictures.at(n));
  const auto show = [&](bool with_picture) {
    result.moments.push_back({solver.time(), solver.report().steps, solver.heat(ctx)});
    if (!settings.quiet) {
      progress("");
      print_moment(result.moments.back(), solver.report(), result.moments.size() == 1);
    }
    if (settings.probe && with_picture) {
      const auto u = gathered(ctx, mesh.logical(), rows_of(solver), solver.nodal_solution(ctx));
      if (speaks) add_profile(profiles, solver.time(), *settings.probe, mesh, probed, u);
    }
    if (!series || !with_picture) return;
    outputs.write("vtk", [&](const std::string&) {
      write_picture(ctx, settings, solver, pictures.number(solver.time()), *series);
    });
  };
  const auto save = [&] {
    const HeatState now = solver.state(ctx);
    outputs.write("save", [&](const std::string& path) {
      const HeatParams& params = settings.params;
      write_restart(path, {mesh, params.method, params.tol.has_value(), start, given}, now);
    });
  };
  show(pictures.has(solver.time()) || solver.time() == start);
  Progress monitor(!settings.quiet);
  const double from = solver.time();
  const double ready = wall_seconds();
  while (solver.time() < settings.end) {
    const double to = std::min(pictures.after(solver.time()), saves.after(solver.time()));
    result.report = solver.advance(ctx, to, [&](const HeatReport& report, double dt) {
      monitor((report.t - from) / (settings.end - from), [&] {
        char text[96];
        (void)std::snprintf(text, sizeof text, "t = %.12g, %lld steps, dt %.3g", report.t,
                            static_cast<long long>(report.steps), dt);
        return std::string(text);
      });
    });
    if (result.report.status != Status::converged) break;
    if (pictures.has(to)) show(true);
    if (saves_state && saves.has(to)) save();
  }
  result.solve_seconds = wall_seconds() - ready;
  if (result.report.status != Status::converged) show(false);
  result.error = solver.relative_l2_error(ctx);
  find_rank_numbers();
  const int code = exit_code(result.report.status);
  if (!settings.quiet) {
    progress("");
    print_end(result);
  } else if (code != 0) {
    (void)std::fprintf(stderr, "%s: %s: %s\n", program_name, std::string(to_string(result.report.status)).c_str(),
                       result.report.reason.c_str());
  }
  if (settings.probe) outputs.write_text("probe", profiles);
  outputs.write_text("report", json_report(settings, options, ctx, solver, result));
  if (draws && code != 3) {  // there is something to show
    const auto u = gathered(ctx, mesh.logical(), rows_of(solver), solver.nodal_solution(ctx));
    outputs.write("png", [&](const std::string& path) {
      write_png(path, mesh, u, message("u at t = ", plain_time(solver.time())));
    });
  }
  if (!settings.quiet) outputs.print_written();
  return settings.machine.ended(code);
}

}  // namespace stratum::apps::heat
