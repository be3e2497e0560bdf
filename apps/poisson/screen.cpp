#include "screen.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "support/body_warnings.hpp"
#include "support/problem_options.hpp"
#include "support/program.hpp"
#include "support/solution_summary.hpp"
#include "support/solve_output.hpp"

namespace stratum::apps::poisson {

namespace {

/// What smoother "auto" chose and why, levels with the same choice together, the finest first.
void print_choices(const Outcome& outcome) {
  const auto& levels = outcome.smoothers;
  const auto& damping = outcome.params.multigrid.smoother_params.damping;
  const char* title = "smoother";
  if (outcome.is_direct())
    std::printf("%-9s none: %d x %d %s\n", title, levels.back().nx, levels.back().ny, levels.back().reason.c_str());
  for (auto finest = levels.rbegin(); finest != levels.rend() && !finest->smoother.empty();) {
    auto last = finest;  // the coarsest with the same choice; those that are solved have none
    while (last + 1 != levels.rend() && (last + 1)->smoother == finest->smoother &&
           (last + 1)->sweeps == finest->sweeps)
      ++last;
    const std::string range = last == finest ? "" : message(" to ", last->nx, " x ", last->ny);
    std::printf("%-9s %d x %d%s: %s, %d + %d sweeps, %s; %s\n", title, finest->nx, finest->ny, range.c_str(),
                finest->smoother.c_str(), finest->sweeps, finest->sweeps,
                damping ? message("damped by ", *damping).c_str() : "undamped", finest->reason.c_str());
    title = "";
    finest = last + 1;
  }
  if (!outcome.choice.empty() && !outcome.is_direct()) std::printf("%-9s %s\n", "cycle", outcome.choice.c_str());
}

Balance balance_of(const Summary& summary) {
  const auto& f = summary.fluxes;
  Balance balance{{f.left, f.right, f.bottom, f.top}, f.reaction, f.sum(), summary.load, f.rounding};
  for (const BodyFlux& body : summary.bodies) balance.fluxes.push_back(body.flux);
  balance.from_bodies = summary.from_bodies;
  balance.magnitudes = std::max(summary.magnitudes, f.magnitudes);
  return balance;
}

void print_summary(const Summary& summary, const PoissonProblem& problem) {
  const auto& range = summary.range;
  const auto& fluxes = summary.fluxes;
  std::printf("solution    %.6g at (%.6g, %.6g) to %.6g at (%.6g, %.6g); %.6g to %.6g on the boundary\n",
              range.smallest.value, range.smallest.x, range.smallest.y, range.largest.value, range.largest.x,
              range.largest.y, range.smallest_on_boundary, range.largest_on_boundary);
  std::printf("flux        outward: left %.6g, right %.6g, bottom %.6g, top %.6g", fluxes.left, fluxes.right,
              fluxes.bottom, fluxes.top);
  print_balance(balance_of(summary));
  print_bodies(body_lines(problem.bodies, summary.bodies, &BodyFlux::area), "area");
}

}  // namespace

void print_heading(const Settings& settings, const CommandLine& options, const Context& ctx, const Outcome& outcome) {
  const auto& mesh = outcome.mesh();
  const auto shape = outcome.grid();
  std::string where = settings.mesh.text();
  if (options.has("map")) where += ", mapped by " + settings.deformation.text;
  if (options.has("mesh-file")) where = "from " + settings.deformation.text;
  if (options.has("coordinates")) where += ", " + options.text("coordinates");
  if (settings.volumes) where += ", finite volumes";
  std::printf("mesh      %s: %d x %d cells, %d x %d unknowns, smallest width %.3g, aspect ratio up to %.3g\n",
              where.c_str(), mesh.x().size(), mesh.y().size(), shape.nx, shape.ny, outcome.smallest_width,
              outcome.largest_aspect_ratio);
  std::string boundaries;
  for (const char* side : boundary_names)
    if (options.has(side)) boundaries += message(boundaries.empty() ? "" : ", ", side, " ", options.text(side));
  for (const std::string& body : options.texts("body"))
    boundaries += message(boundaries.empty() ? "" : ", ", "body ", body);
  for (const char* name : {"kappa", "reaction"})
    if (options.has(name)) boundaries += message(boundaries.empty() ? "" : ", ", name, " ", options.text(name));
  if (!boundaries.empty()) std::printf("problem   %s\n", boundaries.c_str());
  const auto levels = outcome.hierarchy.size();
  std::printf("levels    %zu, %s; ", levels, coarsening(outcome).c_str());
  const auto coarsest = outcome.hierarchy.front().unknowns().nodes();
  if (coarsest == 1)
    std::printf("the last has one unknown\n");
  else
    std::printf("the last has %lld unknowns, solved directly\n", static_cast<long long>(coarsest));
  const bool chosen = options.text("smoother") == "auto";
  const int sweeps = outcome.smoothers.back().sweeps;
  const std::string smoother =
      chosen ? "auto" : message(options.text("smoother"), ", ", sweeps, " + ", sweeps, " sweeps");
  const std::string cycle = outcome.is_direct() ? "no cycle" : outcome.cycle_name(options) + "-cycle";
  std::printf("solver    %s, %s, %s; %s precision, %s operator; %s\n", outcome.method_name().c_str(), cycle.c_str(),
              smoother.c_str(), outcome.precision_name().c_str(), std::string(to_string(outcome.params.format)).c_str(),
              ctx.description().c_str());
  print_ranks(ctx, outcome.ranks, outcome.overlaps);
  print_alone(settings.machine);
  if (chosen) print_choices(outcome);
  if (!outcome.deflation.empty()) std::printf("deflated  %s\n", outcome.deflation.c_str());
  std::printf("\n");
}

void print_outcome(const Settings& settings, const Outcome& outcome) {
  const auto& report = outcome.report;
  const auto& summary = outcome.systems.front().summary;
  const SolutionRange u = summary ? summary->range : SolutionRange{};
  print_end(report, settings.solver.precision == Precision::mixed, {u.smallest.value, u.largest.value});
  print_errors(outcome.errors());
  if (summary) print_summary(*summary, settings.problems.front());
  std::printf("time        %.3g s set-up, %.3g s solve", report.setup_seconds, report.solve_seconds);
  if (report.iterations > 0) std::printf(": %.3g million unknowns per second", outcome.unknowns_per_second() / 1e6);
  std::printf("\n");
}

void print_systems(const Outcome& outcome) {
  std::printf("  rhs   iterations   relative residual   relative error    seconds   status\n");
  for (std::size_t k = 0; k < outcome.systems.size(); ++k) {
    const auto& [rhs, report, errors, summary] = outcome.systems[k];
    std::printf("%5zu   %10d   %17.3e   ", k + 1, report.iterations, report.relative_residual());
    std::printf(errors ? "%14.7e" : "     not known", errors ? errors->l2 : 0);
    std::printf("   %8.3g   %s: %s\n", report.solve_seconds, std::string(to_string(report.status)).c_str(),
                report.reason.c_str());
  }
}

void warn_of_solutions(const Outcome& outcome) {
  for (std::size_t k = 0; k < outcome.systems.size(); ++k) {
    const auto& [rhs, report, errors, summary] = outcome.systems[k];
    if (!summary) continue;
    apps::warn_of_balance(program_name, of_solution(k, outcome.systems.size()), balance_of(*summary),
                          outcome.params.stop.error_limit(), report);
    const auto& [from, to] = std::pair{summary->range.step_from, summary->range.step_to};
    apps::warn_of_layers(program_name, outcome.systems.size() == 1 ? "the solution" : message("solution ", k + 1),
                         summary->range.largest_step(), summary->change_of_flux, message(from.x, ", ", from.y),
                         message(to.x, ", ", to.y));
  }
}

}  // namespace stratum::apps::poisson
