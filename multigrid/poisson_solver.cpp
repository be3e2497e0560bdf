#include <stratum/multigrid/poisson_solver.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <stratum/assembly/rooms.hpp>
#include <stratum/multigrid/identity_rows.hpp>
#include <stratum/multigrid/transfer/operator_dependent.hpp>

namespace stratum {

namespace {

/// -div(K grad u) + c u in five bands, and what its cells conduct.
class CellMatrix {
 public:
  CellMatrix(Context& ctx, const Geometry& mesh, const CellCoefficients& k, const OperatorTerms& terms,
             const GridLayout<2>& unknowns)
      : mesh_(mesh) {
    if (mesh.mapped() != nullptr) {
      mapped_.emplace(ctx, *mesh.mapped(), &k, terms.reaction);
      matrix_ = assemble_diffusion(ctx, *mesh.mapped(), *mapped_, terms, unknowns);
    } else {
      fields_.emplace(ctx, mesh.logical(), k, terms.reaction);
      matrix_ = assemble_cells(ctx, mesh.logical(), *fields_, terms, cell_tensor(mesh.logical(), k),
                               StorageFormat::symmetric, unknowns);
    }
  }
  [[nodiscard]] GridOperator<double>& matrix() { return matrix_; }
  [[nodiscard]] Conductances conductances(Context& ctx) const {
    return mapped_ ? Conductances(ctx, *mesh_.mapped(), *mapped_) : Conductances(ctx, mesh_.logical(), *fields_);
  }

 private:
  const Geometry& mesh_;
  std::optional<MappedCells> mapped_;
  std::optional<CellFields> fields_;
  GridOperator<double> matrix_;
};

/// The cells of solids conduct by so much, of the least that others do, in the matrix of the cycle.
constexpr double next_to_nothing = 1e-8;

CellCoefficients conducting_next_to_nothing(const CellCoefficients& given) {
  CellCoefficients k = given;
  const BodyMap& map = *given.bodies;
  double least = HUGE_VAL;
  for (std::size_t c = 0; c < map.cell.size(); ++c)
    if (map.cell[c] != BodyMap::empty) least = std::min({least, k.xx[c], k.yy.empty() ? k.xx[c] : k.yy[c]});
  for (std::size_t c = 0; c < map.cell.size(); ++c) {
    if (map.cell[c] != BodyMap::empty) continue;
    k.xx[c] = next_to_nothing * least;
    if (!k.yy.empty()) k.yy[c] = k.xx[c];
  }
  return k;
}

/// Own unknowns by their rooms.
SingularParts parts_of(const TensorMesh<2>& mesh, const Rooms& rooms, const GridLayout<2>& unknowns) {
  SingularParts parts;
  std::vector<int> number(rooms.rooms.size(), SingularParts::regular);
  std::vector<std::int64_t> nodes(rooms.rooms.size(), 0), first(rooms.rooms.size(), -1);
  const auto columns = mesh.x().size() + 1;
  const GridLayout<2> all = mesh.unknowns();
  const auto room_of = [&](int i, int j) {
    return rooms.of_node[static_cast<std::size_t>(j + mesh.y().first_unknown()) * static_cast<std::size_t>(columns) +
                         static_cast<std::size_t>(i + mesh.x().first_unknown())];
  };
  for (int j = 0; j < all.ny; ++j)
    for (int i = 0; i < all.nx; ++i)
      if (const int room = room_of(i, j); room >= 0) {
        const auto r = static_cast<std::size_t>(room);
        if (nodes[r]++ == 0) first[r] = std::int64_t{j} * all.nx + i;
      }
  for (std::size_t r = 0; r < number.size(); ++r)
    if (rooms.rooms[r].singular) {
      number[r] = static_cast<int>(parts.parts.size());
      parts.parts.push_back({nodes[r], first[r]});
    }
  for (int j = 0; j < unknowns.ny; ++j)
    for (int i = 0; i < unknowns.nx; ++i) {
      const int room = room_of(i, j + unknowns.origin_y - all.origin_y);
      parts.of_node.push_back(room < 0 ? SingularParts::fixed : number[static_cast<std::size_t>(room)]);
    }
  return parts;
}

/// The equations of nodes that bodies leave; those that they hold, or that have no equation, are identity rows. The cycle is of
/// a matrix in which solids without flux conduct next to nothing, between projections: whatever is narrow on a coarse level,
/// its coarse nodes lie in solids and serve as well as others.
StructuredSolver solver_around_bodies(Context& ctx, const Geometry& mesh, PoissonSolverParams params,
                                      const SmootherRegistry& registry) {
  const CellCoefficients& k = *params.coefficients;
  const BodyMap& map = *k.bodies;
  const TensorMesh<2>& logical = mesh.logical();
  expects(!params.full_multigrid,
          "a cycle of full multigrid is not for problems with bodies that hold u or let nothing in");
  expects(params.deflate.by == DeflateBy::none,
          "deflation is not for problems with bodies that hold u or let nothing in");
  expects(!params.interpolation || params.interpolation == InterpolationKind::conductance,
          "problems with bodies that hold u or let nothing in take the interpolation conductance, not ",
          to_string(params.interpolation.value_or(InterpolationKind::conductance)));
  expects(!map.has_empty_cells || params.precision == Precision::mixed || params.precision == Precision::full,
          "problems with solids that nothing flows into take mixed or double precision, not ",
          to_string(params.precision));
  const PartitionLevels partition(ctx, mesh_hierarchy(logical), params.multigrid.partition());
  const GridLayout<2> unknowns = partition.finest();
  const Rooms rooms = rooms_of(mesh, params.terms, k);
  Field<double> keep(ctx, unknowns);
  const auto mark = [&](auto keeps) {
    std::vector<double> marks;
    for (int j = 0; j < unknowns.ny; ++j)
      for (int i = 0; i < unknowns.nx; ++i)
        marks.push_back(keeps(map.node_at(i + logical.x().first_unknown(), j + unknowns.origin_y)) ? 1 : 0);
    if (!ctx.is_dry_run()) copy_from_host(ctx, marks.data(), keep.view());
    exchange(ctx, keep);
  };
  StructuredProblem problem{.mesh = logical};
  std::optional<CellMatrix> of_cycle;
  std::optional<CellCoefficients> conducting;
  if (map.has_empty_cells) {
    CellMatrix solved(ctx, mesh, k, params.terms, unknowns);
    mark([](int node) { return node == BodyMap::unknown; });
    decouple(ctx, keep, solved.matrix());
    problem.iterated_on = solved.matrix();
    problem.means = PartMeans(ctx, unknowns, parts_of(logical, rooms, unknowns));
    conducting = conducting_next_to_nothing(k);
  }
  of_cycle.emplace(ctx, mesh, conducting ? *conducting : k, params.terms, unknowns);
  if (map.has_held()) {
    mark([](int node) { return node != BodyMap::given; });
    decouple(ctx, keep, of_cycle->matrix());
    problem.identity_rows = true;
  }
  const auto is_singular_room = [](const Rooms::Room& room) { return room.singular; };
  params.multigrid.singular = !map.has_held() && std::all_of(rooms.rooms.begin(), rooms.rooms.end(), is_singular_room);
  problem.matrix = of_cycle->matrix();
  const Conductances conductances = of_cycle->conductances(ctx);
  problem.conductances = &conductances;
  problem.is_deformed = mesh.mapped() != nullptr;
  problem.is_cartesian = mesh.mapped() == nullptr || mesh.mapped()->is_cartesian();
  params.multigrid.symmetric = true;
  return {ctx, std::move(problem), params, registry};
}

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
                                  "operators of their own; take v, w, "
                                  "f, w2 or k");
  params.coefficients.reset();
  params.terms = {};
  if (volumes.is_plain() && !params.interpolation) params.interpolation = InterpolationKind::bilinear;
  return params;
}

StructuredProblem problem_of(Context& ctx, const FiniteVolumes& volumes, const PoissonSolverParams& params) {
  StructuredProblem problem{.mesh = volumes.centres(),
                            .matrix = volumes.matrix(ctx, PoissonSolver::cells_of_subdomain(ctx, volumes, params))};
  problem.facts.emplace();
  problem.facts->symmetric = true;
  problem.facts->singular = volumes.is_singular();
  problem.facts->lost_in_float = volumes.lost_by_rounding(std::numeric_limits<float>::epsilon() / 2);
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
