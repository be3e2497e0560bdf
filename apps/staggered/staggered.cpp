// staggered: quark propagators of staggered fermions on a gauge field, by conjugate gradients in mixed precision, and the
// pion's correlator. --help explains. The parts stand in program/: options, settings, compute and report, in the order of a
// run.

#include <cstdint>
#include <string>
#include <vector>

#include <stratum/staggered/nersc.hpp>

#include "staggered/program/compute.hpp"
#include "staggered/program/options.hpp"
#include "staggered/program/report.hpp"
#include "staggered/program/settings.hpp"
#include "support/program.hpp"
#include "support/solve_output.hpp"

namespace {

using namespace stratum;
using namespace stratum::apps;
using namespace stratum::apps::propagators;

/// Sites below which one GPU is faster than several: an iteration on two takes half of one GPU's 0.3 ns a site, and 70 us more.
constexpr std::int64_t least_sites_for_several_gpus = 400'000;

int run(Settings settings, const CommandLine& options, OutputFiles outputs) {
  settings.machine.warn_of_binding("staggered");
  Context ctx = settings.machine.context();
  const Lattice lattice = settings.gauge.empty() ? settings.lattice : nersc_lattice(settings.gauge);
  const auto expect_subdomains = [&] { (void)LatticeSubdomain::of(ctx, lattice, settings.partition); };
  if (settings.partition.t > 0)
    parsed("--partition", expect_subdomains);
  else
    expect_subdomains();
  if (settings.machine.ranks->rank() == 0)
    outputs.check();
  else
    outputs.remove_all_but("");
  if (const auto why = settings.machine.too_few(lattice.volume(), least_sites_for_several_gpus, "sites");
      !why.empty()) {
    if (const auto code = settings.machine.go_on_alone(ctx, why)) return *code;
    settings.partition.t = settings.partition.z = 0;
  }
  expect_room_for(ctx, settings, lattice);
  const GaugeField field = make_field(settings);
  if (!settings.quiet) print_heading(ctx, field, settings);
  const Outcome outcome = compute(ctx, field, settings);
  const SolveReport& report = worst(outcome.runs, settings.tolerance_asked_for);
  const int code = exit_code(report.status, settings.tolerance_asked_for);
  if (!settings.quiet)
    print_outcome(outcome, settings, report);
  else if (code != 0)
    print_failure("staggered", report);
  outputs.write_text("report", json_report(options, ctx, field, settings, outcome, report));
  std::vector<SolveReport> reports;
  for (const auto& one : outcome.runs) reports.push_back(one.report);
  outputs.write_text("history", csv_history(reports));
  if (code == 0) outputs.write_text("correlator", csv_correlators(outcome, settings));
  outputs.write("save-gauge", [&](const std::string& path) { write_nersc(path, field); });
  if (!settings.quiet) outputs.print_written();
  return settings.machine.ended(code);
}

}  // namespace

int main(int argc, char** argv) {
  Ranks ranks;
  Program program{"staggered",
                  text_before_options(),
                  text_after_options(),
                  make_command_line(),
                  {},
                  prepare_by(parse_settings, outputs_of_options, run, &ranks)};
  return run_program(program, argc, argv, &ranks);
}
