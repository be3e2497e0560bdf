#include "solve.hpp"

#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include <stratum/core/field/blas.hpp>
#include <stratum/core/io/npy_file.hpp>

#include "output.hpp"
#include "report.hpp"
#include "support/progress.hpp"
#include "support/solve_output.hpp"
#include "support/timing.hpp"
#include "system.hpp"

namespace stratum::apps::bubbly {

int solve_once(Context& ctx, const Settings& s, const CommandLine& options, OutputFiles& outputs) {
  const double begin = wall_seconds();
  progress(s, "setting up ...");
  const PressureSystem system = make_system(s, ctx.threads());
  auto making = start_rhs(s, system, ctx.threads());
  PressureSolver solver(ctx, system, s.params);
  const RightHandSide rhs = making.get();
  Field<double> b(ctx, solver.a().shape()), x(ctx, solver.a().shape());
  copy_from_host(ctx, rhs.b.data(), b.view());
  solver.warm_up(ctx, b.cview(), x.view());
  ctx.synchronise();
  const double ready = wall_seconds();
  Outcome outcome;
  Monitor table;
  Progress monitor(!s.quiet);
  if (!s.quiet) {
    progress("");
    print_heading(s, options, ctx, system, solver);
    const double norm = norm2(ctx, b.cview());
    table = with_progress(monitor, s.stop, norm, residual_table(ReferenceNorm::rhs, norm));
  }
  outcome.report = solver.solve(ctx, b.cview(), x.view(), s.stop, table);
  monitor.clear();
  outcome.report.setup_seconds = ready - begin;
  outcome.residual_of_parts = solver.residual_of_parts();
  std::vector<double> p(s.cells());
  copy_to_host(ctx, x.cview(), p.data());
  if (!rhs.solution.empty()) outcome.error = relative_error(p, rhs.solution, system.is_singular());

  const SolveReport& report = outcome.report;
  const int code = exit_code(report.status, s.tolerance_asked_for);
  if (!s.quiet)
    print_outcome(solver, outcome);
  else if (code != 0)
    print_failure(program_name, report);
  JsonObject json = start_report(s, options, ctx, system, solver);
  add_end(json, report, code);
  json.add("residual_of_parts", outcome.residual_of_parts);
  json.add("relative_error", outcome.error.value_or(std::nan("")));
  json.add("setup_seconds", report.setup_seconds).add("solve_seconds", report.solve_seconds);
  json.add("history", report.history);
  outputs.write_text("report", json.text());
  outputs.write_text("history", csv_history({&report, 1}));
  if (code != 3) {  // there is a solution to show
    outputs.write("npy", [&](const std::string& path) {
      write_npy(path, {static_cast<std::size_t>(s.ny), static_cast<std::size_t>(s.nx)}, {p});
    });
    outputs.write("vtk", [&](const std::string& path) {
      write_vtr(path, mesh_of_cells(s), {}, fields_of(s, system, solver, p, rhs.b).of_cells());
    });
    outputs.write("png", [&](const std::string& path) { write_picture(s, p, path, "p"); });
  }
  if (!s.quiet) outputs.print_written();
  return code;
}

}  // namespace stratum::apps::bubbly
