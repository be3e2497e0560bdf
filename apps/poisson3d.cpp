// poisson3d: solves -div(K grad u) + c u = f in a box by fast diagonalization and writes what ParaView opens. --help explains.
// The parts stand in poisson3d/: options, settings, solve, report and output, in the order of a run.

#include "poisson3d/options.hpp"
#include "poisson3d/output.hpp"
#include "poisson3d/report.hpp"
#include "poisson3d/settings.hpp"
#include "poisson3d/solve.hpp"
#include "support/level_runs.hpp"
#include "support/program.hpp"
#include "support/rank_output.hpp"
#include "support/solution_files.hpp"

namespace {

using namespace stratum;
using namespace stratum::apps;
using namespace stratum::apps::poisson3d;

int run(Settings settings, const CommandLine& options, OutputFiles outputs) {
  settings.machine.warn_of_binding(program_name);
  Context ctx = settings.machine.context();
  if (settings.machine.ranks->rank() == 0)
    check_solution_files(settings.files(), outputs, settings.mesh.nodes(settings.last_level));
  share_outputs(settings.machine, outputs);
  const bool shown = !settings.quiet || outputs.has("report"), array = is_array(outputs);
  const bool pieces = has_pieces(outputs);
  const Uses of_last{.summary = shown,
                     .vtk = outputs.has("vtk") && !array,
                     .pieces = pieces,
                     .kept = array || outputs.has("probe") || outputs.has("png")};
  if (settings.machine.ranks->rank() > 0) outputs.remove_all_but(pieces ? "vtk" : "");  // the first rank writes
  const std::int64_t unknowns = unknowns_of(settings.mesh_at(settings.last_level));
  if (const auto why = settings.machine.too_few(unknowns, PartitionLevels::least_for_several_gpus); !why.empty())
    if (const auto code = settings.machine.go_on_alone(ctx, why)) return *code;
  // Nothing shall be solved in vain: of a table the largest mesh comes first.
  if (settings.first_level < settings.last_level)
    (void)expected_memory(ctx, settings, settings.mesh_at(settings.last_level), of_last);

  const LevelRuns<Solved> runs(
      program_name, settings, settings.problem.has_exact(),
      [&](int level, bool differences) {
        Uses uses = level == settings.last_level ? of_last : Uses{.summary = shown};
        uses.kept = uses.kept || differences;
        return solve(ctx, settings, options, level, uses);
      },
      compare);
  write_files(
      outputs, settings.quiet, {&runs.outcomes.back().report, 1},
      [&] { return json_report(settings, options, ctx, runs.outcomes, outputs); },
      [&] { write_solution(ctx, settings, *runs.last, outputs); });
  return settings.machine.ended(runs.code);
}

}  // namespace

int main(int argc, char** argv) {
  Ranks ranks;
  Program program{
      program_name,        text_before_options(),          text_after_options(),
      make_command_line(), {{"list-meshes", list_meshes}}, prepare_by(parse_settings, parse_outputs, run, &ranks)};
  return run_program(program, argc, argv, &ranks);
}
