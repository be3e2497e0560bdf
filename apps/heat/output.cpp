#include "output.hpp"

#include <algorithm>
#include <deque>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace stratum::apps::heat {

OutputFiles parse_outputs(const CommandLine& options, const Settings& settings) {
  const Machine& machine = settings.machine;
  return parse_outputs_of_steps(options, machine.has_ranks() ? machine.ranks->size() : 1,
                                settings.deformation.is_given() ? 's' : 'r');
}

NodeRows rows_of(const HeatSolver& solver) { return node_rows(solver.mesh(), solver.unknowns()); }

std::vector<double> kappa_on_cells(Context& ctx, const Settings& settings, const ProblemMesh& mesh, double t,
                                   const NodeRows& rows) {
  const PoissonProblem now = at_time(settings.problem, t);
  const auto line = static_cast<std::ptrdiff_t>(mesh.logical().x().size());
  const auto first = rows.first * line, count = (rows.count() - 1) * line;
  if (coefficients_are_numbers(mesh, settings.problem, t))
    return std::vector<double>(static_cast<std::size_t>(count), now.diffusion.xx.constant.value_or(1));
  const auto all =
      now.bodies.empty() ? on_cells(ctx, mesh, now.diffusion, {}).xx : cell_coefficients(ctx, mesh, now)->xx;
  return {all.begin() + first, all.begin() + first + count};
}

void write_picture(Context& ctx, const Settings& settings, const HeatSolver& solver, int number, VtkSeries& series) {
  const ProblemMesh& mesh = solver.geometry();
  const NodeRows rows = rows_of(solver);
  const PoissonProblem now = at_time(settings.problem, solver.time());
  std::deque<std::pair<std::string, std::vector<double>>> nodal;
  nodal.emplace_back("u", solver.nodal_solution(ctx));
  if (now.exact) {
    nodal.emplace_back("exact", at_nodes(ctx, mesh, now.exact, rows));
    nodal.emplace_back("error", nodal[0].second);
    std::transform(nodal[0].second.begin(), nodal[0].second.end(), nodal[1].second.begin(), nodal[2].second.begin(),
                   std::minus<>());
  }
  std::vector<VtkField> fields;
  for (const auto& [name, values] : nodal) fields.push_back({name, values});
  const auto kappa = kappa_on_cells(ctx, settings, mesh, solver.time(), rows);
  series.write(number, solver.time(), mesh, fields, {{"kappa", kappa}}, rows);
}

std::int64_t expected_memory(const Context& ctx, const Settings& settings, const ProblemMesh& geometry,
                             const OutputFiles& outputs) {
  const TensorMesh<2>& mesh = geometry.logical();
  const std::string what = named(mesh);
  const GridLayout<2> subdomain =
      PartitionLevels(ctx, mesh_hierarchy(mesh), settings.params.solver.multigrid.partition()).finest();
  const std::int64_t line = std::int64_t{mesh.x().size() + 1} * std::int64_t{sizeof(double)};
  const std::int64_t whole = line * (mesh.y().size() + 1), field = line * node_rows(mesh, subdomain).count();
  // K, c and the capacity of all cells, and K = 0 beside the capacity once more; every rank has them.
  const bool numbers = coefficients_are_numbers(geometry, settings.problem, settings.params.start);
  const std::int64_t coefficients = numbers ? 0 : 5 * whole;
  expect_room_on_ranks(ctx, settings.machine, what, coefficients, 0);
  const std::int64_t solver = required_memory(ctx, geometry, settings.problem, settings.params);
  // A state has three vectors, which rank 0 makes one text of; a picture is drawn of values that all ranks have.
  const bool speaks = settings.machine.ranks->rank() == 0;
  const std::int64_t states =
      std::max(outputs.has("save") && speaks ? 6 * whole : 0, outputs.has("png") || settings.probe ? 2 * whole : 0);
  const std::int64_t meanwhile = std::max({coefficients, 4 * field, states});
  const std::int64_t needed = meanwhile + (ctx.on_gpu() ? 0 : solver);
  expect_room_on_ranks(ctx, settings.machine, what, needed, solver);
  return peak_memory() + needed;
}

}  // namespace stratum::apps::heat
