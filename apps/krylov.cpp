// krylov: solves A x = b for a matrix from a Matrix Market file, or a generated one, by any method and preconditioner of the
// library. --help explains. The parts stand in krylov/: options, settings, system, solve and report, in the order of a run.

#include <cstdio>
#include <string>

#include <stratum/core/io/matrix_market.hpp>

#include "krylov/options.hpp"
#include "krylov/preconditioners.hpp"
#include "krylov/report.hpp"
#include "krylov/settings.hpp"
#include "krylov/solve.hpp"
#include "krylov/system.hpp"
#include "support/program.hpp"
#include "support/solve_output.hpp"

namespace {

using namespace stratum;
using namespace stratum::apps;
using namespace stratum::apps::krylov;

int run(const Settings& settings, const CommandLine& options, OutputFiles outputs) {
  Context ctx = settings.machine.context();
  outputs.check();
  const auto system = make_system(ctx, options, settings);
  const auto plan = make_plan(system, settings);
  expects_a_solution(system, settings.stop);
  const auto outcome = solve(ctx, system, settings, plan);
  const auto& report = outcome.report;
  const int code = exit_code_of(report, settings);
  const std::string proposal = advice(system, plan, report);
  if (!settings.quiet)
    print_outcome(outcome);
  else if (code != 0)
    print_failure("krylov", report);
  if (!proposal.empty()) (void)std::fprintf(stderr, "krylov: %s\n", proposal.c_str());
  // First what is small: a full disk shall not lose it.
  outputs.write_text("report", json_report(options, ctx, system, settings, plan, outcome));
  outputs.write_text("history", csv_history({&report, 1}));
  outputs.write("save-matrix", [&](const std::string& path) { write_matrix_market(path, given_matrix(system)); });
  if (code != 3)  // there is a solution to show
    outputs.write("solution", [&](const std::string& path) { write_matrix_market(path, outcome.x); });
  if (!settings.quiet) outputs.print_written();
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  Program program{"krylov",
                  text_before_options(),
                  text_after_options(),
                  make_command_line(),
                  {{"list-methods", list_methods}, {"list-preconditioners", list_preconditioners}},
                  prepare_by(parse_settings, outputs_of_options, run)};
  return run_program(program, argc, argv);
}
