// team20: problem 20 of the TEAM Workshop by edge elements: the field of a coil that lifts a pole of steel, the force on it,
// and Krylov methods for the singular system that it takes. --help explains. The parts stand in team20/: options, settings,
// problem, solve, results, report and output, in the order of a run.

#include <cstdio>
#include <string>

#include <stratum/assembly/picture.hpp>
#include <stratum/mesh/vtk/vtk.hpp>

#include "magnetics/team20/options.hpp"
#include "magnetics/team20/output.hpp"
#include "magnetics/team20/problem.hpp"
#include "magnetics/team20/report.hpp"
#include "magnetics/team20/results.hpp"
#include "magnetics/team20/settings.hpp"
#include "magnetics/team20/solve.hpp"
#include "support/program.hpp"
#include "support/solve_output.hpp"

namespace {

using namespace stratum;
using namespace stratum::apps;
using namespace stratum::apps::magnetics;

int run(const Settings& settings, const CommandLine& options, OutputFiles outputs) {
  Context ctx = settings.machine.context();
  expects(!outputs.has("vtk") || vtk_available(), "--vtk: this build has no VTK (Debian: libvtk9-dev)");
  expects(!outputs.has("png") || pictures_available(), "--png: this build has no VTK that draws (Debian: libvtk9-dev)");
  outputs.check();
  progress(settings.quiet ? "" : "assembling ...");
  const Problem problem = make_problem(ctx, settings);
  if (!settings.quiet) {
    progress("");
    print_heading(ctx, problem, settings);
  }
  InnerHistories histories;
  InnerHistories* const kept = outputs.has("inner-history") ? &histories : nullptr;
  const SolvedField field =
      settings.curve ? solve_nonlinear(ctx, problem, settings, kept) : solve_linear(ctx, problem, settings, kept);
  const SolveReport& report = field.report;
  const int code = exit_code(report.status, settings.tolerance_asked_for);
  const bool solved = report.status == Status::converged || report.status == Status::round_off_limit;
  const Results results = solved ? evaluate(ctx, problem, field, settings) : Results{};
  if (!settings.quiet) {
    print_end(report, settings.curve || !settings.solver.inner.empty());
    if (solved) print_results(results, settings, field);
    std::printf("time        %.3g s assembly, %.3g s set-up, %.3g s solve\n", problem.seconds, report.setup_seconds,
                report.solve_seconds);
  } else if (code != 0) {
    print_failure("team20", report);
  }
  // First what is small: a full disk shall not lose it.
  outputs.write_text("report", json_report(options, ctx, problem, settings, field, results));
  outputs.write_text("history", csv_history({&report, 1}));
  outputs.write_text("inner-history", histories.csv());
  if (solved) outputs.write("png", [&](const std::string& path) { draw(path, problem, field); });
  if (solved) outputs.write("vtk", [&](const std::string& path) { write_fields(path, problem, field, settings); });
  if (!settings.quiet) outputs.print_written();
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  Program program{"team20",
                  text_before_options(),
                  text_after_options(),
                  make_command_line(),
                  {{"list-methods", list_methods}, {"list-preconditioners", list_preconditioners}},
                  prepare_by(parse_settings, outputs_of_options, run)};
  return run_program(program, argc, argv);
}
