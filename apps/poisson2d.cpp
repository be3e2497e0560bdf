// poisson2d: solves -Laplace u = f on a tensor-product or deformed mesh by geometric multigrid and writes what ParaView opens.
// --help explains. The parts stand in poisson/: options, settings, memory, solve, report and output, in the order of a run.

#include <functional>
#include <optional>
#include <utility>

#include "poisson/json_report.hpp"
#include "poisson/memory.hpp"
#include "poisson/options.hpp"
#include "poisson/output.hpp"
#include "poisson/patches_run.hpp"
#include "poisson/screen.hpp"
#include "poisson/settings.hpp"
#include "poisson/solve.hpp"
#include "support/level_runs.hpp"
#include "support/program.hpp"
#include "support/solution_files.hpp"
#include "support/solver_options.hpp"

namespace {

using namespace stratum;
using namespace stratum::apps;
using namespace stratum::apps::poisson;

int run(Settings settings, const CommandLine& options, OutputFiles outputs) {
  settings.machine.warn_of_binding(program_name);
  Context ctx = settings.machine.context();
  if (settings.machine.ranks->rank() == 0)
    check_solution_files(settings.files(), outputs, settings.mesh.nodes(settings.last_level));
  share_outputs(settings.machine, outputs);
  // Nothing shall be solved in vain: of a table the largest mesh comes first, and what is to be read off a deformed one.
  const bool shown = !settings.quiet || outputs.has("report"), array = is_array(outputs);
  const Uses of_last{.summary = shown,
                     .errors = shown,
                     .vtk = outputs.has("vtk") && !array,
                     .kept = array || outputs.has("probe") || outputs.has("png")};
  if (settings.machine.ranks->rank() > 0) outputs.remove_all_but(array ? "" : "vtk");
  std::optional<Prepared> prepared;
  if (const auto why = why_alone(ctx, settings, of_last, prepared); !why.empty())
    if (const auto code = settings.machine.go_on_alone(ctx, why)) return *code;
  const bool deformed_probe = settings.probe && settings.deformation.is_given();
  if (!settings.volumes && (settings.first_level < settings.last_level || deformed_probe)) {
    const ProblemMesh finest = settings.mesh_at(ctx, settings.last_level);
    (void)expected_memory(ctx, settings, finest, of_last, params_on(ctx, settings, finest));
    if (deformed_probe) (void)located(*settings.probe, finest);
  }

  const LevelRuns<Solved> runs(
      program_name, settings, settings.problems[0].has_exact(),
      [&](int level, bool differences) {
        Uses uses = level == settings.last_level ? of_last : Uses{.errors = shown};
        uses.kept = uses.kept || differences;
        if (!prepared) prepared = prepare(ctx, settings, level, uses);
        return solve(ctx, settings, options, level, uses, *std::exchange(prepared, std::nullopt));
      },
      [](Solved& solved, const Solved& coarser) { compare(solved.outcome, solved.nodal[0], coarser); });
  write_files(
      outputs, settings.quiet, reports_of(runs.outcomes.back()),
      [&] { return json_report(settings, options, ctx, runs.outcomes, outputs); },
      [&] { write_solution(ctx, settings, *runs.last, outputs); });
  return settings.machine.ended(runs.code);
}

/// On a rectangle, or on patches.
std::function<std::function<int()>(const CommandLine&)> prepare(const Ranks& ranks) {
  return
      [on_rectangle = prepare_by(
           parse_settings,
           [](const CommandLine& options, Settings& settings) {
             check_reproducible(settings);
             return parse_outputs(options, settings);
           },
           run, &ranks),
       on_patches = prepare_by(parse_patch_settings, parse_patch_outputs, run_patches, &ranks)](
          const CommandLine& options) { return options.has("patches") ? on_patches(options) : on_rectangle(options); };
}

}  // namespace

int main(int argc, char** argv) {
  Ranks ranks;
  Program program{program_name,
                  text_before_options(),
                  text_after_options(),
                  make_command_line(),
                  {{"list-meshes", list_meshes}, {"list-smoothers", list_smoothers}},
                  prepare(ranks)};
  return run_program(program, argc, argv, &ranks);
}
