#include "report.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include <stratum/version.h>

#include "ranks.hpp"
#include "support/json.hpp"
#include "support/problem_options.hpp"
#include "support/rank_output.hpp"
#include "support/solution_summary.hpp"
#include "support/solve_output.hpp"

namespace stratum::apps::poisson3d {

namespace {

constexpr const char* coefficients[] = {"kappa", "kx", "ky", "kz", "reaction"};

std::string text_of(const NodalValue3D& node) {
  return message(node.value, " at (", node.x, ", ", node.y, ", ", node.z, ")");
}

/// Levels of multigrid.
std::string text_of(const BoxSolverPlan& plan) {
  std::string text;
  for (const BoxLevelPlan& level : plan.levels) {
    const auto& [nx, ny, nz] = level.unknowns;
    text += message(text.empty() ? "" : ", ", nx, " x ", ny, " x ", nz, " ", level.smoother);
  }
  return message(text, "; ", plan.nodes, " times the finest one together");
}

double from_bodies(const Outcome& outcome) {
  double sum = 0;
  for (const BoxBodyFlux& body : outcome.bodies) sum += body.flux.value_or(0);
  return sum;
}

Balance balance_of(const Outcome& outcome) {
  const BoundaryFluxes3D& fluxes = *outcome.fluxes;
  double magnitudes = std::max(fluxes.magnitudes, outcome.compatibility ? outcome.compatibility->sum_of_magnitudes : 0);
  Balance balance{.fluxes = {fluxes.faces.begin(), fluxes.faces.end()},
                  .reaction = fluxes.reaction,
                  .sum = fluxes.sum(),
                  .load = fluxes.load + from_bodies(outcome),
                  .rounding = fluxes.rounding,
                  .from_bodies = from_bodies(outcome)};
  for (const BoxBodyFlux& body : outcome.bodies) {
    magnitudes += std::abs(body.flux.value_or(0));
    balance.fluxes.push_back(body.flux.value_or(0));
    balance.rounding += body.rounding;
  }
  balance.magnitudes = magnitudes;
  return balance;
}

std::vector<double> place(const NodalValue3D& node) { return {node.x, node.y, node.z}; }

}  // namespace

void print_heading(const Settings& settings, const CommandLine& options, const Context& ctx, const Outcome& outcome) {
  const TensorMesh<3>& mesh = outcome.mesh;
  std::printf("mesh      %s: %d x %d x %d cells, %d x %d x %d unknowns, smallest width %.3g, aspect ratio up to %.3g\n",
              settings.mesh.text().c_str(), mesh.x().size(), mesh.y().size(), mesh.z().size(), mesh.x().unknowns(),
              mesh.y().unknowns(), mesh.z().unknowns(), mesh.smallest_width(), mesh.largest_aspect_ratio());
  std::string given;
  const auto add = [&](const char* name) {
    if (options.has(name)) given += message(given.empty() ? "" : ", ", name, " ", options.text(name));
  };
  for (const char* face : box_face_names) add(face);
  for (const char* name : coefficients) add(name);
  for (const std::string& body : options.texts("body")) given += message(given.empty() ? "" : ", ", "body ", body);
  if (!given.empty()) std::printf("problem   %s\n", given.c_str());
  std::printf("solver    %s; %s\n", outcome.plan.method.c_str(), ctx.description().c_str());
  std::printf("          %s\n", outcome.plan.reason.c_str());
  if (!outcome.plan.levels.empty()) std::printf("levels    %s\n", text_of(outcome.plan).c_str());
  if (const auto& c = outcome.compatibility; c && !c->holds())
    std::printf("load      %.6g is subtracted from f, since the data do not balance\n", c->mean);
  print_alone(settings.machine);
  if (outcome.ranks.empty())
    std::printf("memory    %lld MiB expected\n", static_cast<long long>(outcome.expected_memory >> 20));
  print_ranks(ctx, outcome.plan, outcome.ranks);
  std::printf("\n");
}

void print_outcome(const Outcome& outcome) {
  const auto& report = outcome.report;
  const SolutionRange3D u = outcome.range.value_or(SolutionRange3D{});
  print_end(report, false, {u.smallest.value, u.largest.value});
  print_errors(outcome.errors);
  if (outcome.range)
    std::printf("solution    %s to %s; %.6g to %.6g on the boundary\n", text_of(outcome.range->smallest).c_str(),
                text_of(outcome.range->largest).c_str(), outcome.range->smallest_on_boundary,
                outcome.range->largest_on_boundary);
  if (outcome.fluxes) {
    std::string text;
    for (std::size_t face = 0; face < box_face_names.size(); ++face)
      text += message(face == 0 ? "" : ", ", box_face_names[face], " ", outcome.fluxes->faces[face]);
    std::printf("flux        outward: %s", text.c_str());
    print_balance(balance_of(outcome));
  }
  const auto& rooms = outcome.compatibility_of_rooms;
  if (!std::all_of(rooms.begin(), rooms.end(), [](const Compatibility& room) { return room.holds(); })) {
    std::string constants;
    for (const Compatibility& room : rooms) constants += message(constants.empty() ? "" : ", ", room.mean);
    std::printf("load        %s %s subtracted from f in %s, since the data do not balance\n", constants.c_str(),
                rooms.size() == 1 ? "is" : "are",
                rooms.size() == 1 ? "the room that nothing holds" : "the rooms that nothing holds");
  }
  print_bodies(body_lines(outcome.given_bodies, outcome.bodies, &BoxBodyFlux::volume), "volume");
  std::printf("time        %.3g s set-up, %.3g s solve: %.3g million unknowns per second\n", report.setup_seconds,
              report.solve_seconds, static_cast<double>(outcome.unknowns()) / report.solve_seconds / 1e6);
}

void warn_of_solution(const Settings& settings, const Outcome& outcome) {
  if (outcome.fluxes)
    warn_of_balance(program_name, "", balance_of(outcome), settings.solver.stop.error_limit(), outcome.report);
  if (outcome.range) {
    const auto text = [](const NodalValue3D& node) { return message(node.x, ", ", node.y, ", ", node.z); };
    warn_of_layers(program_name, "the solution", outcome.range->largest_step(), outcome.range->change_of_flux,
                   text(outcome.range->step_from), text(outcome.range->step_to));
  }
}

std::string json_report(const Settings& settings, const CommandLine& options, const Context& ctx,
                        const std::vector<Outcome>& outcomes, const OutputFiles& outputs) {
  const Outcome& outcome = outcomes.back();
  const auto& report = outcome.report;
  const double unknown = std::nan("");
  JsonObject json;
  json.add("program", program_name).add("version", STRATUM_VERSION);
  add_end(json, report, settings.exit_code(report));
  json.add("quadrature", options.has("quadrature") ? Json(settings.solver.quadrature_points) : Json(nullptr));
  json.add("rtol", settings.solver.stop.rtol).add("atol", settings.solver.stop.atol);
  add_errors(json, outcome.errors);
  const auto& range = outcome.range;
  const auto or_null = [](bool known, Json value) { return known ? std::move(value) : Json(nullptr); };
  json.add("minimum", range ? range->smallest.value : unknown).add("maximum", range ? range->largest.value : unknown);
  const SolutionRange3D extremes = range.value_or(SolutionRange3D{});
  json.add("minimum_at", or_null(range.has_value(), place(extremes.smallest)));
  json.add("maximum_at", or_null(range.has_value(), place(extremes.largest)));
  json.add("boundary_range", or_null(range.has_value(), {extremes.smallest_on_boundary, extremes.largest_on_boundary}));
  json.add("largest_step", range ? range->largest_step() : unknown);
  const BoundaryFluxes3D fluxes = outcome.fluxes.value_or(BoundaryFluxes3D{});
  const bool balanced = outcome.fluxes.has_value();
  json.add("fluxes", or_null(balanced, fluxes.faces));
  json.add("flux_rounding", balanced ? fluxes.rounding : unknown);
  json.add("reaction_integral", balanced ? fluxes.reaction : unknown)
      .add("load_integral", balanced ? fluxes.load : unknown);
  add_bodies(json, body_lines(settings.problem.bodies, outcome.bodies, &BoxBodyFlux::volume), "volume");
  const TensorMesh<3>& mesh = outcome.mesh;
  json.add("mesh", settings.mesh.family.name).add("level", outcome.level);
  add_mesh(json, settings.mesh);
  json.add("largest_aspect_ratio", mesh.largest_aspect_ratio()).add("smallest_width", mesh.smallest_width());
  for (const char* face : box_face_names) json.add(face, options.has(face) ? options.text(face) : "dirichlet");
  for (const char* name : coefficients)
    if (options.has(name)) json.add(name, options.text(name));
  json.add("cells", {mesh.x().size(), mesh.y().size(), mesh.z().size()}).add("unknowns", outcome.unknowns());
  json.add("method", outcome.plan.method).add("choice", outcome.plan.reason);
  const BoxSolverPlan& plan = outcome.plan;
  const bool multigrid = plan.kind == BoxMethod::multigrid, planes = plan.kind == BoxMethod::planes;
  json.add("solver", std::string(to_string(plan.kind)));
  json.add("lines", or_null(!multigrid && !planes, of_direction("", static_cast<std::size_t>(plan.lines))));
  json.add("levels", or_null(multigrid, json_array(plan.levels, [](const BoxLevelPlan& level) {
                               JsonObject numbers;
                               numbers.add("unknowns", level.unknowns).add("smoother", level.smoother);
                               return numbers.value();
                             })));
  json.add("nodes_of_levels", or_null(multigrid, plan.nodes)).add("precision", plan.float_cycles ? "mixed" : "double");
  json.add("operations", plan.operations).add("singular", outcome.compatibility.has_value());
  const auto& rooms = outcome.compatibility_of_rooms;
  const Json constants = json_array(rooms, [](const Compatibility& room) { return room.mean; });
  json.add("subtracted_from_f", rooms.size() > 1        ? constants
                                : outcome.compatibility ? Json(outcome.compatibility->mean)
                                                        : Json(0));
  add_machine(json, ctx);
  add_alone(json, settings.machine);
  add_ranks(json, ctx, plan, outcome.ranks);
  json.add("setup_seconds", report.setup_seconds).add("solve_seconds", report.solve_seconds);
  json.add("write_seconds", outputs.seconds("vtk"));
  json.add("unknowns_per_second", static_cast<double>(outcome.unknowns()) / report.solve_seconds);
  json.add("expected_memory_bytes", outcome.expected_memory).add("peak_memory_bytes", peak_memory());
  json.add("history", report.history);
  if (settings.table)
    json.add("convergence_table",
             json_array(outcomes, [](const Outcome& level) { return level_row_json(level.result()); }));
  return json.text();
}

}  // namespace stratum::apps::poisson3d
