#include <stratum/multigrid/poisson_solver.hpp>

#include <algorithm>
#include <limits>
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
  StructuredProblem problem{.mesh = mesh.logical()};
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

/// Of a matrix of finite volumes.
PoissonSolverParams params_of(const FiniteVolumes& volumes, PoissonSolverParams params) {
  expects(!params.full_multigrid, "finite volumes have no full multigrid (cycle fmg), which needs coarse meshes with "
                                  "operators of their own; take v, w, f, w2 or k");
  params.coefficients.reset();
  params.terms = {};
  if (volumes.is_plain() && !params.interpolation) params.interpolation = InterpolationKind::bilinear;
  if (volumes.rooms() == nullptr) return params;
  expects(params.deflate.by == DeflateBy::none,
          "deflation is not for problems with bodies that hold u or let nothing in");
  expects(
      !volumes.bodies()->has_empty_cells || params.precision == Precision::mixed || params.precision == Precision::full,
      "problems with solids that nothing flows into take mixed or double precision, not ", to_string(params.precision));
  return params;
}

/// The rooms of own cells.
SingularParts parts_of(const FiniteVolumes& volumes, const GridLayout<2>& cells) {
  const Rooms& rooms = *volumes.rooms();
  std::vector<int> number(rooms.rooms.size(), SingularParts::regular);
  std::vector<std::int64_t> first(rooms.rooms.size(), -1);
  for (std::size_t c = rooms.of_cell.size(); c-- > 0;)
    if (rooms.of_cell[c] >= 0) first[static_cast<std::size_t>(rooms.of_cell[c])] = static_cast<std::int64_t>(c);
  SingularParts parts;
  for (std::size_t r = 0; r < number.size(); ++r)
    if (rooms.rooms[r].singular) {
      number[r] = static_cast<int>(parts.parts.size());
      parts.parts.push_back({rooms.rooms[r].cells, first[r]});
    }
  const std::int64_t begin =
      std::int64_t{cells.origin_y - volumes.centres().unknowns().origin_y} * std::int64_t{cells.nx};
  for (std::int64_t c = begin; c < begin + cells.nodes(); ++c) {
    const int room = rooms.of_cell[static_cast<std::size_t>(c)];
    parts.of_node.push_back(room < 0 ? SingularParts::fixed : number[static_cast<std::size_t>(room)]);
  }
  return parts;
}

/// The cycle is that of the matrix in which solids without flux conduct next to nothing, between projections, as
/// multigrid/poisson_solver_bodies.hpp has it of elements.
void set_solids(Context& ctx, const FiniteVolumes& volumes, const GridLayout<2>& cells, StructuredProblem& problem) {
  if (volumes.rooms() == nullptr) return;
  const BodyMap& map = *volumes.bodies();
  const auto& rooms = volumes.rooms()->rooms;
  const bool all_singular =
      !map.has_held() && std::all_of(rooms.begin(), rooms.end(), [](const auto& room) { return room.singular; });
  MatrixFacts& facts = *problem.facts;
  facts.singular = all_singular;
  facts.has_identity_rows = true;
  // Float has no digits for what holds next to nothing.
  facts.has_singular_parts = volumes.is_singular() && !(all_singular && rooms.size() == 1);
  problem.identity_rows = map.has_held();
  if (!map.has_empty_cells && !volumes.is_singular()) return;
  problem.iterated_on = std::move(problem.matrix);
  problem.matrix = volumes.with_solids_that_conduct().matrix(ctx, cells);
  problem.means = PartMeans(ctx, cells, parts_of(volumes, cells));
}

StructuredProblem problem_of(Context& ctx, const FiniteVolumes& volumes, const PoissonSolverParams& params) {
  const GridLayout<2> cells = PoissonSolver::cells_of_subdomain(ctx, volumes, params);
  StructuredProblem problem{.mesh = volumes.centres(), .matrix = volumes.matrix(ctx, cells)};
  problem.facts.emplace();
  problem.facts->symmetric = true;
  problem.facts->singular = volumes.is_singular();
  problem.facts->lost_in_float = volumes.lost_by_rounding(std::numeric_limits<float>::epsilon() / 2);
  set_solids(ctx, volumes, cells, problem);
  return problem;
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

std::int64_t required_memory(const Context& ctx, const FiniteVolumes& volumes, const PoissonSolverParams& params) {
  Context dry_run = ctx.memory_dry_run();
  const GridLayout<2> unknowns = PoissonSolver::cells_of_subdomain(dry_run, volumes, params);
  const Field<double> b(dry_run, unknowns), x(dry_run, unknowns);
  const PoissonSolver solver(dry_run, volumes, params);
  return dry_run.memory()->peak_bytes;
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

PoissonSolver::PoissonSolver(Context& ctx, const FiniteVolumes& volumes, const PoissonSolverParams& params,
                             const SmootherRegistry& registry)
    : StructuredSolver(ctx, problem_of(ctx, volumes, params), params_of(volumes, params), registry) {}

GridLayout<2> PoissonSolver::cells_of_subdomain(const Context& ctx, const FiniteVolumes& volumes,
                                                const PoissonSolverParams& params) {
  return PartitionLevels(ctx, mesh_hierarchy(volumes.centres()), params.multigrid.partition()).finest();
}

}  // namespace stratum
