// PoissonSolver of a matrix of finite volumes (assembly/finite_volumes.hpp), with bodies, too.

#include <algorithm>
#include <limits>
#include <utility>

#include <stratum/assembly/films.hpp>
#include <stratum/multigrid/by_differences.hpp>
#include <stratum/multigrid/poisson_solver.hpp>
#include <stratum/multigrid/room_parts.hpp>
#include <stratum/solvers/held_constant.hpp>

namespace stratum {

namespace {

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

SingularParts parts_of(const FiniteVolumes& volumes, const GridLayout<2>& cells) {
  const std::int64_t begin =
      std::int64_t{cells.origin_y - volumes.centres().unknowns().origin_y} * std::int64_t{cells.nx};
  const Rooms& rooms = *volumes.rooms();
  return parts_of_rooms(rooms.rooms, rooms.of_cell, static_cast<std::size_t>(begin),
                        static_cast<std::size_t>(cells.nodes()));
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
  const bool in_double = params.precision == Precision::mixed || params.precision == Precision::full;
  problem.settles_constant = volumes.rooms() == nullptr && !volumes.is_singular() && is_singular(volumes.centres(), {});
  const bool has_films = volumes.round_off_of_films() > film;
  if (ctx.on_gpu() || !in_double || !(has_films || problem.settles_constant)) return problem;
  const auto sums = std::make_shared<Field<double>>(ctx, cells);
  if (!ctx.is_dry_run()) copy_from_host(ctx, volumes.row_sums(cells).data(), sums->view());
  auto sum =
      std::make_shared<FiveBandsByDifferences>(problem.iterated_on ? *problem.iterated_on : *problem.matrix, sums);
  if (has_films || (!ctx.is_dry_run() && hold_of_constants(ctx, *sum).lost > film))
    problem.by_differences = std::move(sum);
  return problem;
}

}  // namespace

std::int64_t required_memory(const Context& ctx, const FiniteVolumes& volumes, const PoissonSolverParams& params) {
  Context dry_run = ctx.memory_dry_run();
  const GridLayout<2> unknowns = PoissonSolver::cells_of_subdomain(dry_run, volumes, params);
  const Field<double> b(dry_run, unknowns), x(dry_run, unknowns);
  const PoissonSolver solver(dry_run, volumes, params);
  return dry_run.memory()->peak_bytes;
}

PoissonSolver::PoissonSolver(Context& ctx, const FiniteVolumes& volumes, const PoissonSolverParams& params,
                             const SmootherRegistry& registry)
    : StructuredSolver(ctx, problem_of(ctx, volumes, params), params_of(volumes, params), registry) {}

GridLayout<2> PoissonSolver::cells_of_subdomain(const Context& ctx, const FiniteVolumes& volumes,
                                                const PoissonSolverParams& params) {
  return PartitionLevels(ctx, mesh_hierarchy(volumes.centres()), params.multigrid.partition()).finest();
}

}  // namespace stratum
