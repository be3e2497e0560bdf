#include "solve.hpp"

#include <algorithm>
#include <utility>

#include <stratum/assembly/box_values.hpp>
#include <stratum/mesh/vtk/vtk.hpp>

#include "report.hpp"
#include "support/progress.hpp"
#include "support/rank_output.hpp"
#include "support/solve_output.hpp"

namespace stratum::apps::poisson3d {

namespace {

std::int64_t nodal_bytes(const TensorMesh<3>& mesh) {
  return static_cast<std::int64_t>(node_count(mesh)) * std::int64_t{sizeof(double)};
}

void say(const Settings& settings, const char* what) {
  if (!settings.quiet) progress(what);
}

}  // namespace

std::int64_t Outcome::unknowns() const {
  std::int64_t unknowns = 1;
  for (int d = 0; d < 3; ++d) unknowns *= mesh.axis(d).unknowns();
  return unknowns;
}

std::int64_t expected_memory(const Context& ctx, const Settings& settings, const TensorMesh<3>& mesh,
                             const Uses& uses) {
  const std::int64_t field = nodal_bytes(mesh);
  const std::int64_t solver = required_memory(ctx, mesh, settings.problem, settings.solver);
  // The range, fluxes and errors take values at all nodes, too.
  const std::int64_t solving = (uses.nodal() || uses.summary ? field : 0) + (ctx.on_gpu() ? field : solver);
  const std::int64_t writer = vtk_writer_bytes(field, ctx.threads());
  const std::int64_t fields = settings.problem.has_exact() ? 5 : 3;  // with the aspect ratios
  const std::int64_t needed = std::max(solving, uses.vtk ? writer + fields * field : 0);
  expect_room(ctx,
              message("mesh ", mesh.name(), " with ", mesh.x().unknowns(), " x ", mesh.y().unknowns(), " x ",
                      mesh.z().unknowns(), " unknowns"),
              needed, solver, uses.vtk ? "; --vtk none may take less" : "");
  return peak_memory() + needed;
}

Solved solve(Context& ctx, const Settings& settings, const CommandLine& options, int level, const Uses& uses) {
  const bool talk = !settings.quiet && !settings.table;
  const TensorMesh<3> mesh = settings.mesh_at(level);
  const std::int64_t expected = expected_memory(ctx, settings, mesh, uses);
  if (const EdgeGap edge = largest_edge_gap(mesh, settings.problem); talk && edge.gap > 0)
    warn(program_name, message("the ", to_string(edge.kept), " and the ", to_string(edge.other), " face differ by ",
                               edge.gap, " at (", edge.x, ", ", edge.y, ", ", edge.z,
                               "), a node of their edge; it has the value of the ", to_string(edge.kept), " one"));
  say(settings, "setting up ...");
  std::optional<PoissonSolver3D> solver(std::in_place, ctx, mesh, settings.problem, settings.solver);
  say(settings, "");
  Solved solved{{level, mesh, solver->plan()}};
  Outcome& outcome = solved.outcome;
  outcome.expected_memory = expected;
  outcome.compatibility = solver->compatibility();
  if (talk) print_heading(settings, options, ctx, outcome);
  say(settings, "solving ...");
  Progress solving(!settings.quiet);
  outcome.report = solver->solve(
      [&, table = talk ? residual_table(ReferenceNorm::initial, 0) : Monitor{}](int iteration, double residual) {
        solving.clear();
        say(settings, "");
        if (table) table(iteration, residual);
        solving(static_cast<double>(iteration) / settings.solver.stop.max_iterations,
                [iteration] { return message("solve ", iteration); });
      });
  solving.clear();
  say(settings, "");
  const bool is_finite = settings.exit_code(outcome.report) != 3;
  if (uses.summary || uses.nodal()) solved.nodal = solver->nodal_solution();
  if (uses.summary) {
    outcome.errors = solver->relative_errors(solved.nodal);
    if (is_finite) {
      outcome.fluxes = solver->fluxes(solved.nodal);
      outcome.range = solver->range(solved.nodal);
    }
  }
  if (!uses.nodal()) solved.nodal = {};
  solver.reset();  // makes room for files
  if (talk) print_outcome(settings, outcome);
  return solved;
}

void compare(Solved& solved, const Solved& coarser) {
  for (const Solved* one : {&std::as_const(solved), &coarser})
    if (exit_code(one->outcome.report.status) == 3) return;
  Outcome& outcome = solved.outcome;
  outcome.difference = level_difference(coarser.outcome.mesh, coarser.nodal, solved.nodal);
  outcome.order = observed_order(coarser.outcome.difference, *outcome.difference);
}

}  // namespace stratum::apps::poisson3d
