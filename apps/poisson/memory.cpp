#include "memory.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include <stratum/assembly/expressions/gpu_integrals.hpp>
#include <stratum/mesh/vtk/vtk.hpp>

#include "support/rank_output.hpp"

namespace stratum::apps::poisson {

namespace {

/// What lies on the host in fields of the grid's size for a while, where a GPU does not compute it: loads; solutions.
struct HostFields {
  bool loads = false, solutions = false;

  HostFields(const Context& ctx, const Settings& settings, const Geometry& mesh, const Uses& uses) {
    const bool rectangle_on_gpu = ctx.on_gpu() && mesh.mapped() == nullptr;
    const auto computed = [&](const ScalarFunction& f) {
      return rectangle_on_gpu && gpu_computes(ctx, f, mesh.logical().unknowns().nodes());
    };
    const bool cellwise_reaction = settings.problems[0].reaction_of_cells.is_given();
    solutions = uses.nodal() || (uses.summary && (!rectangle_on_gpu || cellwise_reaction));
    for (const auto& problem : settings.problems) {
      loads = loads || !computed(rhs_function(problem));
      solutions = solutions || (uses.errors && problem.has_exact() && !computed(exact_function(problem)));
    }
  }
};

}  // namespace

GridLayout<2> subdomain_of(const Context& ctx, const TensorMesh<2>& mesh, const PoissonSolverParams& params) {
  if (ctx.subdomains() == 1) return mesh.unknowns();
  return PartitionLevels(ctx, mesh_hierarchy(mesh), params.multigrid.partition()).finest();
}

PoissonSolverParams params_on(Context& ctx, const Settings& settings, const Geometry& mesh) {
  PoissonSolverParams params = settings.solver;
  const PoissonProblem& problem = settings.problems[0];
  if (problem.has_coefficients()) {
    int numbers = 1;
    for (const Coefficient* other : {&problem.diffusion.xy, &problem.diffusion.yy, &problem.reaction_of_cells})
      numbers += other->is_given() ? 1 : 0;
    expect_room_on_ranks(ctx, settings.machine, named(mesh.logical()),
                         numbers * mesh.logical().cells() * std::int64_t{sizeof(double)}, 0);
  }
  params.terms = operator_terms(mesh, problem);
  if (auto k = cell_coefficients(ctx, mesh, problem))
    params.coefficients = std::make_shared<const CellCoefficients>(std::move(*k));
  return params;
}

std::int64_t expected_memory(const Context& ctx, const Settings& settings, const Geometry& geometry, const Uses& uses,
                             const PoissonSolverParams& params) {
  const TensorMesh<2>& mesh = geometry.logical();
  const GridLayout<2> subdomain = subdomain_of(ctx, mesh, params);
  const NodeRows rows = node_rows(mesh, subdomain);
  const std::int64_t line = std::int64_t{mesh.x().size() + 1} * std::int64_t{sizeof(double)};
  const std::int64_t whole = line * (mesh.y().size() + 1), field = line * rows.count();
  const HostFields on_host(ctx, settings, geometry, uses);
  const auto systems = settings.problems.size();
  const std::int64_t solver = required_memory(ctx, geometry, params, builtin_smoothers(), systems);
  const std::int64_t solving = (on_host.loads ? field : 0) + (ctx.on_gpu() ? 0 : solver);
  const std::int64_t writer = vtk_writer_bytes(field, ctx.threads());
  std::int64_t fields = geometry.mapped() != nullptr ? 4 : 1;  // aspect ratios, points
  for (const auto& problem : settings.problems) fields += problem.has_exact() ? 4 : 2;
  const auto count = static_cast<std::int64_t>(systems);
  // Unknowns and nodes of one solution, beside those that are kept.
  const std::int64_t comparing = on_host.solutions
                                     ? (uses.nodal() ? count + 1 : 2) * field +
                                           (ctx.subdomains() > 1 && uses.kept ? 2 * count * whole : 0) +
                                           (ctx.on_gpu() ? 0 : count * field_bytes<double>(Backend::cpu, subdomain))
                                     : 0;
  const std::int64_t needed = std::max({solving, comparing, uses.vtk ? writer + fields * field : 0});
  expect_room_on_ranks(ctx, settings.machine, named(mesh), needed, solver,
                       uses.vtk ? "; --vtk none may take less" : "");
  return peak_memory() + needed;
}

}  // namespace stratum::apps::poisson
