#include "patches_run.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <utility>

#include <stratum/assembly/patches/patch_checks.hpp>
#include <stratum/assembly/picture.hpp>
#include <stratum/version.h>

#include "support/level_runs.hpp"
#include "support/patch_report.hpp"
#include "support/progress.hpp"
#include "support/solution_summary.hpp"
#include "support/solve_output.hpp"

namespace stratum::apps::poisson {

namespace {

constexpr const char* program = "poisson2d";

struct Extreme {
  double value = 0;
  Position at{};
};

/// One level.
struct Outcome {
  int level = 0;
  PatchesWithBodies on;
  std::int64_t unknowns = 0;
  std::vector<PatchLevelPlan> levels{};
  PatchSizes sizes{};
  std::string solved_as{};  // of one patch
  SolveReport report{};
  std::optional<PatchErrors> errors{};
  std::optional<Compatibility> compatibility{};
  PatchValues nodal{};
  std::optional<PatchFluxes> fluxes{};  // of a solution that is finite
  Extreme smallest{HUGE_VAL}, largest{-HUGE_VAL};
  PatchStep step{};                  // the largest between neighbouring nodes
  std::vector<RankNumbers> ranks{};  // rows: patches
};

void print_heading(const PatchSettings& settings, const CommandLine& options, const Context& ctx,
                   const Machine& machine, const Outcome& outcome) {
  print_patch_mesh(settings.path, settings.file, outcome.on, settings.bodies.bodies, outcome.sizes);
  std::printf("problem   %s\n",
              problem_on_patches(options, outcome.on.mesh, settings.conditions, {"kappa", "reaction"}).c_str());
  std::printf("levels    %s\n", levels_text(outcome.levels, outcome.solved_as).c_str());
  print_ranks_of_patches(ctx, outcome.ranks);
  print_alone(machine);
  std::printf("solver    %s; cycles in %s precision; %s\n",
              settings.full_multigrid_only ? "one FMG cycle" : "conjugate gradients around a V-cycle",
              settings.solver.float_cycles ? "single" : "double", ctx.description().c_str());
  if (const auto& c = outcome.compatibility; c && !c->holds())
    std::printf("load      %.6g is subtracted from f, since the data do not balance\n", c->mean);
  std::printf("\n");
}

Balance balance_of(const Outcome& outcome) {
  const PatchFluxes& fluxes = *outcome.fluxes;
  return {.fluxes = fluxes.boundaries,
          .reaction = fluxes.reaction,
          .sum = fluxes.sum(),
          .load = fluxes.load,
          .rounding = fluxes.rounding,
          .magnitudes =
              std::max(fluxes.magnitudes, outcome.compatibility ? outcome.compatibility->sum_of_magnitudes : 0)};
}

void print_outcome(const Outcome& outcome) {
  const SolveReport& report = outcome.report;
  print_end(report, false, {outcome.smallest.value, outcome.largest.value});
  if (outcome.errors)
    std::printf("error       %.7e (L2, relative to the exact solution), largest %.2e\n", outcome.errors->l2,
                outcome.errors->largest);
  else
    std::printf("error       not known (--exact gives the exact solution)\n");
  const auto& [low, high] = std::pair{outcome.smallest, outcome.largest};
  if (low.value <= high.value)
    std::printf("solution    %.6g at (%.6g, %.6g) to %.6g at (%.6g, %.6g)\n", low.value, low.at.x, low.at.y, high.value,
                high.at.x, high.at.y);
  if (outcome.fluxes) {
    print_patch_fluxes(outcome.on.mesh, *outcome.fluxes);
    print_balance(balance_of(outcome));
  }
  std::printf("time        %.3g s set-up, %.3g s solve\n", report.setup_seconds, report.solve_seconds);
}

void print_table_row(const Outcome& outcome, const Outcome* coarser) {
  if (coarser == nullptr)
    std::printf("level   unknowns   iterations   residual    relative error   reduction    largest    seconds\n");
  std::printf("%5d %10lld   %10d   %8.1e   ", outcome.level, static_cast<long long>(outcome.unknowns),
              outcome.report.iterations, outcome.report.relative_residual());
  if (outcome.errors) {
    std::printf("  %12.7e   ", outcome.errors->l2);
    if (coarser != nullptr && coarser->errors)
      std::printf("%9.3f", coarser->errors->l2 / outcome.errors->l2);
    else
      std::printf("%9s", "");
    std::printf("   %8.2e", outcome.errors->largest);
  }
  std::printf("   %8.3g\n", outcome.report.solve_seconds);
  (void)std::fflush(stdout);
}

/// `keep`: the solution on the first rank.
Outcome solve(Context& ctx, const PatchSettings& settings, const Machine& machine, const CommandLine& options,
              int level, bool keep) {
  const bool warns = !settings.table, talk = warns && !settings.quiet;
  Outcome outcome{level, settings.at(level)};
  const PatchMesh& mesh = outcome.on.mesh;
  // Of a node, all levels together: 310 were measured, with room for levels in double where single precision is insufficient.
  constexpr std::int64_t host_bytes = 450, device_bytes = 300;
  const std::int64_t nodes_of_rank = mesh.nodes() / ctx.subdomains();
  expect_room_on_ranks(ctx, machine, message("a mesh of ", mesh.nodes(), " nodes on ", mesh.patches(), " patches"),
                       host_bytes * nodes_of_rank, device_bytes * nodes_of_rank);
  if (warns) {
    warn(program, warning_of_vertices(mesh, outcome.on.problem));
    warn(program, warning_of_data(ctx, mesh, outcome.on.problem));
  }
  progress(settings, "setting up ...");
  PatchPoissonSolver solver(ctx, mesh, outcome.on.problem, settings.solver);
  const auto is_own = [&, rank = ctx.subdomains() == 1 ? 0 : ctx.communicator()->rank()](int p) {
    return solver.rank_of(p) == rank;
  };
  RankNumbers numbers;
  outcome.sizes = patch_sizes(ctx, mesh, solver, numbers);
  outcome.ranks = rank_numbers(ctx, machine, numbers);
  progress(settings, "");
  outcome.unknowns = solver.unknowns();
  outcome.levels = solver.levels();
  outcome.solved_as = solver.solved_as();
  outcome.compatibility = solver.compatibility();
  if (talk) print_heading(settings, options, ctx, machine, outcome);
  if (settings.full_multigrid_only) {
    outcome.report = solver.full_multigrid_pass();
  } else {
    Progress solving(!settings.quiet);
    outcome.report = solver.solve(with_progress(
        solving, settings.solver.stop, 0, talk ? residual_table(settings.solver.stop.reference_norm, 0) : Monitor{}));
    solving.clear();
  }
  if (settings.exit_code(outcome.report) != 3) {
    outcome.errors = solver.relative_errors();
    if (!settings.table) outcome.fluxes = solver.fluxes();
    for (int p = 0; p < mesh.patches(); ++p) {
      std::vector<double> u;
      if (is_own(p)) u = solver.nodal_solution(p);
      const auto keep_it = [&] {
        if (keep) outcome.nodal.push_back(on_first_rank(ctx, std::move(u)));
      };
      if (u.empty()) {
        keep_it();
        continue;
      }
      if (warns)
        if (const PatchStep step = largest_step(ctx, mesh, outcome.on.problem, p, u, outcome.step.step); step.step > 0)
          outcome.step = step;
      const auto [low, high] = std::minmax_element(u.begin(), u.end());
      const bool lower = *low<outcome.smallest.value, higher = *high> outcome.largest.value;
      if (lower || higher) {
        const PatchNodes nodes = mesh.nodes_of(p);
        if (lower) outcome.smallest = {*low, nodes.at[static_cast<std::size_t>(low - u.begin())]};
        if (higher) outcome.largest = {*high, nodes.at[static_cast<std::size_t>(high - u.begin())]};
      }
      keep_it();
    }
    const auto by_value = [](const Extreme& l, const Extreme& r) { return l.value < r.value; };
    outcome.smallest = least_of_ranks(ctx, outcome.smallest, by_value);
    outcome.largest =
        least_of_ranks(ctx, outcome.largest, [&](const auto& l, const auto& r) { return by_value(r, l); });
    outcome.step = least_of_ranks(ctx, outcome.step, [](const auto& l, const auto& r) { return l.step > r.step; });
  }
  numbers.setup_seconds = outcome.report.setup_seconds;
  numbers.solve_seconds = outcome.report.solve_seconds;
  numbers.expected_memory = (ctx.on_gpu() ? device_bytes : host_bytes) * nodes_of_rank;
  outcome.ranks = rank_numbers(ctx, machine, numbers);
  if (talk) print_outcome(outcome);
  if (const double range = outcome.largest.value - outcome.smallest.value; warns && range > 0)
    warn_of_layers(program, "the solution", outcome.step.step / range, outcome.step.change_of_flux,
                   message(outcome.step.from.x, ", ", outcome.step.from.y),
                   message(outcome.step.to.x, ", ", outcome.step.to.y));
  return outcome;
}

std::string csv_profile(const Probe& probe, const Outcome& outcome) {
  const PatchLocator locator(outcome.on.mesh);
  const auto points = located_by(locator, probe);
  std::ostringstream out;
  out << "x,y,s,u\n";
  write_patch_points(out, probe, locator, points, outcome.nodal);
  return out.str();
}

std::string json_report(const PatchSettings& settings, const CommandLine& options, const Context& ctx,
                        const Machine& machine, const std::vector<Outcome>& outcomes, const OutputFiles& outputs) {
  const Outcome& outcome = outcomes.back();
  const SolveReport& report = outcome.report;
  const PatchMesh& mesh = outcome.on.mesh;
  const double unknown = std::nan("");
  JsonObject json;
  json.add("program", program).add("version", STRATUM_VERSION);
  add_end(json, report, settings.exit_code(report));
  json.add("rtol", settings.solver.stop.rtol).add("atol", settings.solver.stop.atol);
  const auto error = [&](const Outcome& level, double PatchErrors::*which) {
    return level.errors ? (*level.errors).*which : unknown;
  };
  json.add("relative_l2_error", error(outcome, &PatchErrors::l2));
  json.add("relative_largest_error", error(outcome, &PatchErrors::largest));
  const bool is_finite = outcome.smallest.value <= outcome.largest.value;
  json.add("minimum", is_finite ? outcome.smallest.value : unknown);
  json.add("maximum", is_finite ? outcome.largest.value : unknown);
  json.add("minimum_at", {outcome.smallest.at.x, outcome.smallest.at.y});
  json.add("maximum_at", {outcome.largest.at.x, outcome.largest.at.y});
  json.add("patch_file", settings.path).add("level", outcome.level);
  add_patch_mesh(json, mesh, outcome.unknowns, outcome.sizes, settings.conditions);
  add_patch_bodies(json, outcome.on, settings.bodies.bodies);
  add_patch_fluxes(json, outcome.fluxes ? &*outcome.fluxes : nullptr);
  if (options.has("kappa")) json.add("kappa", options.text("kappa"));
  json.add("reaction", options.text("reaction"));
  add_patch_levels(json, outcome.levels);
  json.add("solved_as", outcome.solved_as.empty() ? "patches" : outcome.solved_as);
  json.add("solver", "cg").add("cycle", options.has("cycle") ? options.text("cycle") : "v");
  json.add("precision", options.text("precision"));
  add_machine(json, ctx);
  add_ranks_of_patches(json, ctx, outcome.ranks);
  add_alone(json, machine);
  json.add("setup_seconds", report.setup_seconds).add("solve_seconds", report.solve_seconds);
  json.add("write_seconds", outputs.seconds("vtk")).add("peak_memory_bytes", peak_memory());
  json.add("history", report.history);
  if (settings.table)
    json.add("convergence_table", json_array(outcomes, [&](const Outcome& level) {
               JsonObject row;
               row.add("level", level.level).add("unknowns", level.unknowns);
               row.add("status", to_string(level.report.status)).add("iterations", level.report.iterations);
               row.add("relative_l2_error", error(level, &PatchErrors::l2));
               return row.add("relative_largest_error", error(level, &PatchErrors::largest)).value();
             }));
  return json.text();
}

void write_solution(const PatchSettings& settings, const Outcome& outcome, OutputFiles& outputs) {
  if (settings.exit_code(outcome.report) == 3)
    return leave_out_solution(outputs, "there is", !settings.quiet && !settings.table);
  if (settings.probe) outputs.write_text("probe", csv_profile(*settings.probe, outcome));
  if (outputs.has("png")) {
    progress(settings, "drawing ...");
    const std::string title =
        message("solution, ", outcome.on.mesh.patches(), " patches, ", outcome.on.mesh.cells(), " cells");
    outputs.write("png", [&](const std::string& path) { write_png(path, outcome.on.mesh, outcome.nodal, title); });
    progress(settings, "");
  }
  write_solution_file(settings.files(), outputs, [&](const std::string& path) {
    write_vtm(
        path, outcome.on.mesh,
        [&](int p) {
          return patch_fields(outcome.on.mesh, p, outcome.on.problem, "solution",
                              outcome.nodal[static_cast<std::size_t>(p)]);
        },
        settings.compression);
  });
}

}  // namespace

int run_patches(const PatchSettings& settings, const CommandLine& options, OutputFiles outputs) {
  Machine machine = settings.machine;
  machine.warn_of_binding(program);
  Context ctx = machine.context();
  const PatchMesh finest = settings.at(settings.last_level).mesh;
  if (const auto why = machine.too_few(finest.nodes(), PartitionLevels::least_for_several_gpus); !why.empty())
    if (const auto code = machine.go_on_alone(ctx, why)) return *code;
  const bool speaks = ctx.subdomains() == 1 || ctx.communicator()->rank() == 0;
  if (speaks)
    check_solution_files(settings.files(), outputs, finest.nodes());
  else
    outputs.remove_all_but("");
  if (settings.probe) (void)located_by(PatchLocator(finest), *settings.probe);
  bool keep = outputs.has("vtk") || outputs.has("png") || outputs.has("probe");
  if (ctx.subdomains() > 1) keep = ctx.communicator()->gather_on_host(keep ? 1 : 0).front() != 0;
  std::vector<Outcome> outcomes;
  int code = 0;
  for (int level = settings.first_level; level <= settings.last_level; ++level) {
    outcomes.push_back(solve(ctx, settings, machine, options, level, keep && level == settings.last_level));
    const SolveReport& report = outcomes.back().report;
    code = std::max(code, settings.exit_code(report));
    if (settings.quiet && settings.exit_code(report) != 0) print_failure(program, report);
    if (speaks && outcomes.back().fluxes)
      warn_of_balance(program, "", balance_of(outcomes.back()), settings.solver.stop.error_limit(), report);
    if (settings.table && !settings.quiet)
      print_table_row(outcomes.back(), outcomes.size() > 1 ? &outcomes[outcomes.size() - 2] : nullptr);
  }
  write_files(
      outputs, settings.quiet, {&outcomes.back().report, 1},
      [&] { return json_report(settings, options, ctx, machine, outcomes, outputs); },
      [&] {
        if (speaks) write_solution(settings, outcomes.back(), outputs);
      });
  return machine.ended(code);
}

}  // namespace stratum::apps::poisson
