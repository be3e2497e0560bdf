#include <stratum/multigrid/poisson_solver.hpp>

#include <optional>
#include <utility>

#include <stratum/multigrid/poisson_solver_bodies.hpp>
#include <stratum/multigrid/transfer/operator_dependent.hpp>

namespace stratum {

namespace {

StructuredSolver solver_on(Context& ctx, const Geometry& mesh, PoissonSolverParams params,
                           const SmootherRegistry& registry) {
  if (params.coefficients && params.coefficients->bodies && params.coefficients->bodies->has_solids())
    return solver_around_bodies(ctx, mesh, std::move(params), registry);
  StructuredProblem problem{.mesh = mesh.logical(), .settles_constant = is_singular(mesh.logical(), {})};
  if (mesh.mapped() == nullptr) return {ctx, std::move(problem), params, registry};
  expects(params.interpolation != InterpolationKind::split,
          "interpolation split is for rectangles; a deformed mesh takes conductance, bilinear or matrix");
  std::optional<MappedCells> cells(std::in_place, ctx, *mesh.mapped(), params.coefficients.get(),
                                   params.terms.reaction);
  params.multigrid.singular = is_singular(mesh.logical(), params.terms) && !cells->has_reaction();
  const PartitionLevels partition(ctx, mesh_hierarchy(mesh.logical()), params.multigrid.partition());
  problem.matrix = assemble_diffusion(ctx, *mesh.mapped(), *cells, params.terms, partition.finest());
  const Conductances k(ctx, *mesh.mapped(), *cells);
  cells.reset();  // makes room
  problem.conductances = &k;
  problem.is_deformed = true;
  problem.is_cartesian = mesh.mapped()->is_cartesian();
  return {ctx, std::move(problem), params, registry};
}

}  // namespace

std::int64_t required_memory(const Context& ctx, const Geometry& mesh, const PoissonSolverParams& params,
                             const SmootherRegistry& registry, std::size_t systems) {
  Context dry_run = ctx.memory_dry_run();
  const GridLayout<2> unknowns =
      PartitionLevels(ctx, mesh_hierarchy(mesh.logical()), params.multigrid.partition()).finest();
  std::vector<Field<double>> b_and_x;
  for (std::size_t k = 0; k < 2 * systems; ++k) b_and_x.emplace_back(dry_run, unknowns);
  const PoissonSolver solver(dry_run, mesh, params, registry);
  std::int64_t bytes = dry_run.memory()->peak_bytes;
  if (const auto threads = PoissonSolver::side_by_side(ctx, unknowns, systems);
      threads > 1 && mesh.mapped() == nullptr) {
    Context one = Context(Backend::cpu, 1).memory_dry_run();
    const PoissonSolver worker(one, mesh, params, registry);
    bytes += static_cast<std::int64_t>(threads) * one.memory()->peak_bytes;
  }
  return bytes;
}

PoissonSolver::PoissonSolver(Context& ctx, const Geometry& mesh, const PoissonSolverParams& params,
                             const SmootherRegistry& registry)
    : StructuredSolver(solver_on(ctx, mesh, params, registry)) {}
PoissonSolver::PoissonSolver(Context& ctx, const GridOperator<double>& a, const TensorMesh<2>& mesh,
                             const PoissonSolverParams& params, const SmootherRegistry& registry)
    : StructuredSolver(ctx, {.mesh = mesh, .matrix = a}, params, registry) {}
PoissonSolver::PoissonSolver(Context& ctx, const GridOperator<double>& a, const Conductances& k,
                             const TensorMesh<2>& mesh, const PoissonSolverParams& params,
                             const SmootherRegistry& registry)
    : StructuredSolver(ctx, {.mesh = mesh, .matrix = a, .conductances = &k}, params, registry) {}

}  // namespace stratum
