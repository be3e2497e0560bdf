#include "solve.hpp"

#include <algorithm>
#include <utility>

#include <stratum/assembly/box_values.hpp>
#include <stratum/mesh/vtk/vtk.hpp>

#include "problem.hpp"
#include "ranks.hpp"
#include "report.hpp"
#include "support/body_warnings.hpp"
#include "support/progress.hpp"
#include "support/rank_output.hpp"
#include "support/solve_output.hpp"

namespace stratum::apps::poisson3d {

namespace {

std::int64_t nodal_bytes(const TensorMesh<3>& mesh) {
  return static_cast<std::int64_t>(node_count(mesh)) * std::int64_t{sizeof(double)};
}

}  // namespace

std::int64_t unknowns_of(const TensorMesh<3>& mesh) {
  std::int64_t unknowns = 1;
  for (int d = 0; d < 3; ++d) unknowns *= mesh.axis(d).unknowns();
  return unknowns;
}

std::int64_t expected_memory(const Context& ctx, const Settings& settings, const TensorMesh<3>& mesh,
                             const Uses& uses) {
  const NodePlanes planes = node_planes(ctx, mesh, settings.problem, settings.solver.method);
  const std::int64_t whole = nodal_bytes(mesh), field = whole / (mesh.axis(planes.axis).size() + 1) * planes.count();
  const bool several = ctx.subdomains() > 1, writes = !several || ctx.communicator()->rank() == 0;
  const std::int64_t solver = required_memory(ctx, mesh, settings.problem, settings.solver);
  // For a GPU the load of an f that it does not evaluate is formed on the host, at all nodes and then for the unknowns. A K by
  // cells stands there, too, and twice more while the solver takes it.
  const Diffusion3D& k = settings.problem.diffusion;
  const bool has_bodies = !settings.problem.bodies.empty();
  const std::int64_t of_k = k.is_given() || has_bodies ? (k.yy || k.zz ? 9 : 3) * whole : 0;
  const std::int64_t loading = ctx.on_gpu() && !settings.problem.is_product() ? 2 * field : 0;
  const std::int64_t solving = std::max(loading, uses.nodal() ? field : 0) + (ctx.on_gpu() ? of_k : solver);
  const bool pieces = uses.vtk && uses.pieces;
  const std::int64_t kept = pieces ? field : 0;
  const std::int64_t gathering = several && uses.gathered() ? kept + field + (writes ? 2 * whole : 0) : 0;
  const std::int64_t writer = vtk_writer_bytes(whole, ctx.threads());
  // With the aspect ratios and K.
  const std::int64_t fields = (settings.problem.has_exact() ? 5 : 3) + (k.xx ? 1 : 0) + (k.yy ? 1 : 0) + (k.zz ? 1 : 0);
  const std::int64_t of_file = pieces ? field : writes && uses.vtk ? whole : 0;
  const std::int64_t beside = pieces && uses.gathered() && writes ? whole : 0;
  const std::int64_t needed = std::max({solving, gathering, of_file > 0 ? writer + fields * of_file + beside : 0});
  expect_room_on_ranks(ctx, settings.machine,
                       message("mesh ", mesh.name(), " with ", mesh.x().unknowns(), " x ", mesh.y().unknowns(), " x ",
                               mesh.z().unknowns(), " unknowns"),
                       needed, solver, uses.vtk ? "; --vtk none may take less" : "");
  return peak_memory() + needed;
}

Solved solve(Context& ctx, const Settings& given, const CommandLine& options, int level, const Uses& uses) {
  Settings settings = given;
  settings.problem.on_mesh = bodies_on(ctx, settings.mesh_at(level), settings.problem);
  const bool warns = !settings.table, talk = warns && !settings.quiet;
  const TensorMesh<3> mesh = settings.mesh_at(level);
  const std::int64_t expected = expected_memory(ctx, settings, mesh, uses);
  if (warns) {
    warn(program_name, warning_of_edges(mesh, settings.problem));
    warn_of_bodies(program_name, ctx, mesh, settings.problem);
  }
  progress(settings, "setting up ...");
  std::optional<PoissonSolver3D> solver(std::in_place, ctx, mesh, settings.problem, settings.solver);
  progress(settings, "");
  Solved solved{.outcome = {level, mesh, solver->plan()}, .bodies = settings.problem.on_mesh};
  Outcome& outcome = solved.outcome;
  outcome.expected_memory = expected;
  const NodePlanes planes = solver->nodes();
  const GridLayout<3> own = solver->unknowns();
  const auto of_ranks = [&] {
    return numbers_of_ranks(ctx, settings.machine, outcome.plan, own,
                            {.setup_seconds = outcome.report.setup_seconds,
                             .solve_seconds = outcome.report.solve_seconds,
                             .expected_memory = expected});
  };
  outcome.ranks = of_ranks();
  outcome.compatibility = solver->compatibility();
  if (talk) print_heading(settings, options, ctx, outcome);
  progress(settings, "solving ...");
  Progress solving(!settings.quiet);
  outcome.report = solver->solve([&, table = talk ? residual_table(ReferenceNorm::initial, 0)
                                                  : Monitor{}](int iteration, double residual) {
    solving.clear();
    progress(settings, "");
    if (table) table(iteration, residual);
    solving(static_cast<double>(iteration) / settings.solver.stop.max_iterations,
            [iteration, &outcome] { return message(outcome.plan.is_direct() ? "solve " : "iteration ", iteration); });
  });
  solving.clear();
  progress(settings, "");
  outcome.compatibility = solver->compatibility();
  outcome.compatibility_of_rooms = solver->compatibility_of_rooms();
  const bool is_finite = settings.exit_code(outcome.report) != 3;
  if (uses.summary) {
    outcome.errors = solver->relative_errors();
    if (is_finite) {
      outcome.fluxes = solver->fluxes();
      outcome.range = solver->range();
      outcome.given_bodies = settings.problem.bodies;
      outcome.bodies = solver->body_fluxes();
    }
  }
  if (uses.nodal()) solved.nodal = solver->nodal_solution();
  solver.reset();  // makes room for files
  solved.planes = planes;
  if (uses.vtk && uses.pieces) solved.own = solved.nodal;
  solved.nodal = uses.gathered() ? planes_on_first_rank(ctx, nodes_of_axes(mesh), planes.axis, planes.first,
                                                        std::move(solved.nodal))
                                 : std::vector<double>();
  outcome.ranks = of_ranks();
  if (talk) print_outcome(outcome);
  if (warns) {
    warn_of_solution(settings, outcome);
    const auto& u = outcome.range;
    warn_of_data(
        program_name, ctx, mesh, settings.problem,
        {.points = settings.solver.quadrature_points, .vanishes = u && u->smallest.value == 0 && u->largest.value == 0},
        "");
  }
  return solved;
}

void compare(Solved& solved, const Solved& coarser) {
  for (const Solved* one : {&std::as_const(solved), &coarser})
    if (exit_code(one->outcome.report.status) == 3) return;
  if (solved.nodal.empty()) return;
  Outcome& outcome = solved.outcome;
  outcome.difference = level_difference(coarser.outcome.mesh, coarser.nodal, solved.nodal);
  outcome.order = observed_order(coarser.outcome.difference, *outcome.difference);
}

}  // namespace stratum::apps::poisson3d
