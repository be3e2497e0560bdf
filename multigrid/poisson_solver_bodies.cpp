#include <stratum/multigrid/poisson_solver_bodies.hpp>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include <stratum/assembly/films.hpp>
#include <stratum/assembly/rooms.hpp>
#include <stratum/multigrid/by_differences.hpp>
#include <stratum/multigrid/identity_rows.hpp>
#include <stratum/multigrid/room_parts.hpp>
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

/// The rows of unknowns by differences. `keep`: one at these, zero at others.
std::shared_ptr<const LinearOperator<double>> by_differences(Context& ctx, const TensorMesh<2>& mesh,
                                                             const PoissonSolverParams& params,
                                                             const std::vector<double>& keep,
                                                             const GridLayout<2>& unknowns) {
  const CellCoefficients& k = *params.coefficients;
  const CellFields fields(ctx, mesh, k, params.terms.reaction);
  GridOperator<double> cells =
      assemble_cells(ctx, mesh, fields, params.terms, cell_tensor(mesh, k), StorageFormat::cell, unknowns);
  ctx.synchronise();  // the fields of K may be gone before the stream is here
  auto rows = std::make_shared<Field<double>>(ctx, GridLayout<2>::flat(static_cast<int>(unknowns.nodes())));
  if (!ctx.is_dry_run()) copy_from_host(ctx, keep.data(), rows->view());
  return std::make_shared<SumByDifferences>(ctx, std::move(cells), std::move(rows));
}

SingularParts parts_of(const TensorMesh<2>& mesh, const Rooms& rooms, const GridLayout<2>& unknowns) {
  const auto columns = static_cast<std::size_t>(mesh.x().size()) + 1;
  const GridLayout<2> all = mesh.unknowns();
  std::vector<int> of_unknown;
  for (int j = 0; j < all.ny; ++j) {
    const auto row = rooms.of_node.begin() +
                     static_cast<std::ptrdiff_t>(static_cast<std::size_t>(j + mesh.y().first_unknown()) * columns +
                                                 static_cast<std::size_t>(mesh.x().first_unknown()));
    of_unknown.insert(of_unknown.end(), row, row + all.nx);
  }
  const std::int64_t begin = std::int64_t{unknowns.origin_y - all.origin_y} * all.nx;
  return parts_of_rooms(rooms.rooms, of_unknown, static_cast<std::size_t>(begin),
                        static_cast<std::size_t>(unknowns.nodes()));
}

}  // namespace

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
  const auto marks_of = [&](auto keeps) {
    std::vector<double> marks;
    for (int j = 0; j < unknowns.ny; ++j)
      for (int i = 0; i < unknowns.nx; ++i)
        marks.push_back(keeps(map.node_at(i + logical.x().first_unknown(), j + unknowns.origin_y)) ? 1 : 0);
    return marks;
  };
  const auto is_unknown = [](int node) { return node == BodyMap::unknown; };
  const auto mark = [&](auto keeps) {
    const auto marks = marks_of(keeps);
    if (!ctx.is_dry_run()) copy_from_host(ctx, marks.data(), keep.view());
    exchange(ctx, keep);
  };
  StructuredProblem problem{.mesh = logical};
  std::optional<CellMatrix> of_cycle;
  std::optional<CellCoefficients> conducting;
  if (map.has_empty_cells) {
    CellMatrix solved(ctx, mesh, k, params.terms, unknowns);
    mark(is_unknown);
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
  if (mesh.mapped() == nullptr && !params.terms.varies() &&
      (params.precision == Precision::mixed || params.precision == Precision::full) &&
      round_off_of_films(mesh, &k, params.terms.reaction) > film)
    problem.by_differences = by_differences(ctx, logical, params, marks_of(is_unknown), unknowns);
  return {ctx, std::move(problem), params, registry};
}

}  // namespace stratum
