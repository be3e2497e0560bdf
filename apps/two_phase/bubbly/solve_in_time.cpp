#include "solve.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <numbers>
#include <optional>
#include <string>
#include <vector>

#include <stratum/core/field/blas.hpp>
#include <stratum/core/io/npy_file.hpp>

#include "output.hpp"
#include "report.hpp"
#include "support/solve_output.hpp"
#include "support/timing.hpp"
#include "support/vtk_series.hpp"
#include "system.hpp"

namespace stratum::apps::bubbly {

namespace {

/// Bubbles rise by a height of the box in a time of 1 and turn with an eddy as large as the box. Who leaves through the top
/// comes back at the bottom.
void move(const Settings& s, std::vector<Disc>& bubbles) {
  constexpr double eddy = 0.5;
  for (Disc& bubble : bubbles) {
    const double x = std::numbers::pi * bubble.x / s.width, y = std::numbers::pi * bubble.y / s.height;
    bubble.x += s.dt * eddy * s.width * std::sin(x) * std::cos(y);
    bubble.y += s.dt * s.height * (1 - eddy * std::cos(x) * std::sin(y));
    bubble.x = std::clamp(bubble.x, 0.0, s.width);
    bubble.y -= s.height * std::floor(bubble.y / s.height);
  }
}

struct TimeStep {
  double t = 0;
  SolveReport report;
  double first = 0, residual = 0;  // relative; of both parts where x is kept so
  int vectors = 0;
};

void print_step(const TimeStep& step, int number) {
  if (number == 0)
    std::printf("%6s %12s %11s %11s %11s %9s %10s %10s\n", "step", "t", "at first", "iterations", "residual", "vectors",
                "set-up s", "solve s");
  std::printf("%6d %12.6g %11.3e %11d %11.3e %9d %10.3g %10.3g\n", number, step.t, step.first, step.report.iterations,
              step.residual, step.vectors, step.report.setup_seconds, step.report.solve_seconds);
  (void)std::fflush(stdout);
}

/// Where a cell has become light the last p may be worse than none. Nearer than zero in the energy norm, (x, A x) < 2 (x, b):
/// what takes the fewer iterations of both wherever that was tried.
bool may_start_from(Context& ctx, Reuse reuse, const GridOperator<double>& a, FieldView<const double> b,
                    FieldView<const double> x) {
  if (reuse != Reuse::automatic) return reuse != Reuse::none;
  Field<double> r(ctx, a.shape());
  a.residual(ctx, b, x, r.view());
  return dot<double>(ctx, x, r.cview()) + dot<double>(ctx, x, b) > 0;
}

}  // namespace

int solve_in_time(Context& ctx, Settings s, const CommandLine& options, OutputFiles& outputs) {
  std::optional<VtkSeries> series;
  if (outputs.has("vtk")) series.emplace(outputs.path("vtk"));
  constexpr int kept_iterations = 60;
  if (s.reuse == Reuse::ritz) s.params.keep = std::max(kept_iterations, 2 * s.ritz);
  const ProblemMesh mesh(mesh_of_cells(s));
  const GridLayout<2> shape = mesh_of_centres(make_system(s, ctx.threads()).links).unknowns();
  Field<double> b(ctx, shape), x(ctx, shape);
  std::vector<double> p(s.cells());
  std::vector<TimeStep> steps;
  DeflationVectors ritz;
  std::optional<JsonObject> json;
  int code = 0;
  for (int n = 0; n <= s.time_steps && code == 0; ++n) {
    if (n > 0) move(s, s.bubbles);
    const double begin = wall_seconds();
    const PressureSystem system = make_system(s, ctx.threads());
    auto making = start_rhs(s, system, ctx.threads());
    PressureSolver solver(ctx, system, s.params, ritz);
    const RightHandSide rhs = making.get();
    copy_from_host(ctx, rhs.b.data(), b.view());
    if (!may_start_from(ctx, s.reuse, solver.a(), b.cview(), x.cview())) set(ctx, 0.0, x.view());
    ctx.synchronise();
    TimeStep step{s.dt * n, {}, 0, 0, solver.vectors()};
    const double setup = wall_seconds() - begin;
    step.report = solver.solve(ctx, b.cview(), x.view(), s.stop);
    step.report.setup_seconds = setup;
    if (step.report.reference_norm_value > 0) {
      step.first = step.report.initial_residual / step.report.reference_norm_value;
      step.residual = solver.residual_of_parts() / step.report.reference_norm_value;
    }
    if (n == 0) {
      json = start_report(s, options, ctx, system, solver);
      if (!s.quiet) print_heading(s, options, ctx, system, solver);
    }
    steps.push_back(step);
    code = exit_code(step.report.status, s.tolerance_asked_for);
    if (!s.quiet) print_step(step, n);
    if (code == 3) break;
    if (s.reuse == Reuse::ritz && step.report.iterations > 0) ritz = solver.ritz(ctx, s.ritz);
    copy_to_host(ctx, x.cview(), p.data());
    if (series)
      outputs.write("vtk", [&](const std::string&) {
        series->write(n, step.t, mesh, {}, fields_of(s, system, solver, p, rhs.b).of_cells());
      });
  }
  int iterations = 0;
  double setup = 0, solving = 0;
  for (const TimeStep& step : steps) {
    iterations += step.report.iterations;
    setup += step.report.setup_seconds;
    solving += step.report.solve_seconds;
  }
  const SolveReport& last = steps.back().report;
  if (!s.quiet)
    std::printf("\nstatus      %s: %s\niterations  %d in %zu solves\ntime        %.3g s set-up, %.3g s solve\n",
                std::string(to_string(last.status)).c_str(), last.reason.c_str(), iterations, steps.size(), setup,
                solving);
  else if (code != 0)
    print_failure(program_name, last);
  json->add("status", to_string(last.status)).add("reason", last.reason).add("exit_code", code);
  json->add("iterations", iterations).add("reuse", options.text("reuse")).add("dt", s.dt);
  json->add("setup_seconds", setup).add("solve_seconds", solving);
  json->add("steps", json_array(steps, [](const TimeStep& step) {
              JsonObject row;
              row.add("t", step.t).add("status", to_string(step.report.status));
              row.add("relative_residual_at_first", step.first).add("iterations", step.report.iterations);
              row.add("relative_residual", step.residual).add("vectors", step.vectors);
              row.add("setup_seconds", step.report.setup_seconds).add("solve_seconds", step.report.solve_seconds);
              return row.value();
            }));
  outputs.write_text("report", json->text());
  if (code != 3) {
    outputs.write("npy", [&](const std::string& path) {
      write_npy(path, {static_cast<std::size_t>(s.ny), static_cast<std::size_t>(s.nx)}, {p});
    });
    outputs.write("png",
                  [&](const std::string& path) { write_picture(s, p, path, message("p at t = ", steps.back().t)); });
  }
  if (!s.quiet) outputs.print_written();
  return code;
}

}  // namespace stratum::apps::bubbly
