#pragma once

// The steps of a run, with all that is printed and written on the way, in two dimensions and in three. What is of the dimension
// is the Case's:
//
//     Settings, Solver, program_name
//     Case(ctx, settings, options)                           the mesh, and where values are asked for
//     why_alone(ctx)                                         why one rank is faster than several; empty: it is not
//     restart_of(start, given)                               what a restart file has to fit
//     expected_memory(ctx, outputs)                          throws ResourceError where there is less
//     solver(ctx)                                            at the start
//     ranks(ctx, solver, run)                                numbers of several ranks
//     warn_at_start(ctx, solver)                             of data, and of the matrix
//     heading(ctx, solver, ranks)                            prints it
//     values(ctx, solver)                                    u at all nodes, on the first rank at least
//     add_profile(csv, t, u)                                 values of --probe at a time
//     write_picture(ctx, solver, number, series)             picture `number` of the film
//     write_png(path, u, title)
//     fluxes_at_end(ctx, solver)                             what flows, where that is computed; may be left out
//     json_report(ctx, solver, run)
//     warn_at_end(ctx, solver)                               what u at the end shows to be wrong; may be left out
//     ended(ctx, solver, run)  print_ended()                 where it has these: what else it finds at the end, and prints

#include <algorithm>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <stratum/mesh/vtk/vtk.hpp>

#include "schedule.hpp"
#include "steps_report.hpp"
#include "support/output_files.hpp"
#include "support/progress.hpp"
#include "support/restart_file.hpp"
#include "support/vtk_series.hpp"

namespace stratum::apps::heat {

/// From a restart file; what has changed since it was saved is said.
template <class Solver>
void go_on(Context& ctx, const char* program, const CommandLine& options, const Restart& restart, Solver& solver) {
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
  warn(program, message("the restart file '", options.text("restart"), "': ", what, "; this run goes on from ",
                        taken_over ? "its state" : "its u, and du/dt is found anew", " at t = ", solver.time()));
}

/// The exit code. Throws as the solver does, and FileError.
template <class Case>
int run_steps(typename Case::Settings settings, const CommandLine& options, OutputFiles outputs) {
  Machine& machine = settings.machine;
  machine.warn_of_binding(Case::program_name);
  Context ctx = machine.context();
  expects(!outputs.has("vtk") || vtk_available(), "--vtk: this build has no VTK (Debian: libvtk9-dev)");
  const bool speaks = !machine.has_ranks() || machine.ranks->rank() == 0;
  if (speaks) outputs.check();
  const double begin = wall_seconds();
  Case with(ctx, settings, options);
  if (const auto why = with.why_alone(ctx); !why.empty())
    if (const auto code = machine.go_on_alone(ctx, why)) return *code;
  const GivenData given = given_data(options);
  std::optional<Restart> restart;
  if (options.has("restart")) {
    restart = read_restart(options.text("restart"), with.restart_of(settings.params.start, given));
    expects(!options.has("start") || restart->start == settings.params.start, "--start: '", options.text("start"),
            "' is not the start of the restart file, ", restart->start, "; leave it out");
    expects(settings.end > restart->state.report.t, "--end: '", options.text("end"),
            "' does not come after the restart file's t = ", restart->state.report.t);
    settings.params.start = restart->start;
  }
  Run result;
  std::string profiles;
  result.expected_memory = with.expected_memory(ctx, outputs);
  const bool saves_state = outputs.has("save"), draws = outputs.has("png"), probes = options.has("probe");
  if (!speaks) outputs.remove_all_but("vtk");
  progress(settings, "setting up ...");
  typename Case::Solver solver = with.solver(ctx);
  if (restart) go_on(ctx, Case::program_name, options, *restart, solver);
  restart.reset();
  progress(settings, "");

  result.setup_seconds = wall_seconds() - begin;
  result.ranks = with.ranks(ctx, solver, result);
  with.warn_at_start(ctx, solver);
  if (!settings.quiet) with.heading(ctx, solver, result.ranks);
  const double start = settings.params.start;
  const Stops pictures(start, settings.end, settings.output_every), saves(start, settings.end, settings.restart_every);
  std::optional<VtkSeries> series;
  if (outputs.has("vtk"))
    series.emplace(outputs.path("vtk"), machine.has_ranks() ? machine.ranks->communicator() : nullptr);
  const int first = pictures.number(solver.time());
  if (series)
    for (int n = 0; n < first; ++n) series->adopt(n, pictures.at(n));
  const auto show = [&](bool with_picture) {
    result.moments.push_back({solver.time(), solver.report().steps, solver.heat(ctx)});
    if (!settings.quiet) {
      progress("");
      print_moment(result.moments.back(), solver.report(), result.moments.size() == 1);
    }
    if (probes && with_picture) {
      const auto u = with.values(ctx, solver);
      if (speaks) with.add_profile(profiles, solver.time(), u);
    }
    if (!series || !with_picture) return;
    outputs.write(
        "vtk", [&](const std::string&) { with.write_picture(ctx, solver, pictures.number(solver.time()), *series); });
  };
  const auto save = [&] {
    const HeatState now = solver.state(ctx);
    outputs.write("save", [&](const std::string& path) { write_restart(path, with.restart_of(start, given), now); });
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
  result.ranks = with.ranks(ctx, solver, result);
  constexpr bool finds_more = requires { with.print_ended(); };
  if constexpr (finds_more) with.ended(ctx, solver, result);
  if constexpr (requires { with.fluxes_at_end(ctx, solver); }) result.at_end = with.fluxes_at_end(ctx, solver);
  const int code = exit_code(result.report.status);
  if (!settings.quiet) {
    progress("");
    print_end(result);
    if constexpr (finds_more) with.print_ended();
  } else if (code != 0) {
    (void)std::fprintf(stderr, "%s: %s: %s\n", Case::program_name, std::string(to_string(result.report.status)).c_str(),
                       result.report.reason.c_str());
  }
  if constexpr (requires { with.warn_at_end(ctx, solver); })
    if (code != 3) with.warn_at_end(ctx, solver);
  if (probes) outputs.write_text("probe", profiles);
  outputs.write_text("report", with.json_report(ctx, solver, result));
  if (draws && code != 3) {  // there is something to show
    const auto u = with.values(ctx, solver);
    outputs.write("png", [&](const std::string& path) {
      with.write_png(path, u, message("u at t = ", plain_time(solver.time())));
    });
  }
  if (!settings.quiet) outputs.print_written();
  return machine.ended(code);
}

}  // namespace stratum::apps::heat
