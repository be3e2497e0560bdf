#include <stratum/assembly/mapped_operators.hpp>

#include <stratum/assembly/boundary_terms.hpp>
#include <stratum/core/field/for_each_node.hpp>

namespace stratum {

namespace {

/// The five bands of one row, from the cells around the node.
struct AssembleRow {
  MappedCellsView cells;
  GridLayout<2> grid;
  FieldView<double> centre, east, north_west, north, north_east;

  /// Number `k` of `n` cells in a line, or a negative one: there is none.
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE static int cell(int k, int n, bool periodic) {
    if (k < 0) return periodic ? n - 1 : -1;
    return k < n ? k : periodic ? 0 : -1;
  }
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE MappedElement element(int i, int j) const {
    return i < 0 || j < 0 ? MappedElement() : cells.element(i, j);
  }
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int i, int j) const {
    const int nx = cells.x.nx - 1, ny = cells.x.ny - 1, column = i + grid.origin_x, row = j + grid.origin_y;
    const int left = cell(column - 1, nx, grid.periodic_x), right = cell(column, nx, grid.periodic_x),
              lower = cell(row - 1, ny, grid.periodic_y), upper = cell(row, ny, grid.periodic_y);
    double own = element(left, lower).entry(1, 1, 1, 1);
    const MappedElement south_east = element(right, lower);
    own += south_east.entry(0, 1, 0, 1);
    double to_east = south_east.entry(0, 1, 1, 1);
    const MappedElement west = element(left, upper);
    own += west.entry(1, 0, 1, 0);
    double to_north = west.entry(1, 0, 1, 1);
    const double to_north_west = west.entry(1, 0, 0, 1);
    const MappedElement both = element(right, upper);
    own += both.entry(0, 0, 0, 0);
    to_east += both.entry(0, 0, 1, 0);
    to_north += both.entry(0, 0, 0, 1);
    centre(i, j) = own;
    // A coefficient that reaches across a side of the grid is zero.
    east(i, j) = couples(grid, i + 1, j) ? to_east : 0.0;
    north(i, j) = couples(grid, i, j + 1) ? to_north : 0.0;
    north_west(i, j) = couples(grid, i - 1, j + 1) ? to_north_west : 0.0;
    north_east(i, j) = couples(grid, i + 1, j + 1) ? both.entry(0, 0, 1, 1) : 0.0;
  }
};

Field<double> numbers(Context& ctx, const GridLayout<2>& shape, const std::vector<double>& host) {
  if (host.empty()) return {};
  Field<double> v(ctx, shape);
  copy_from_host(ctx, host.data(), v.view());
  return v;
}

/// A constant alpha as one that varies: a side's integrals have one form.
OperatorTerms varying(OperatorTerms terms) {
  for (RobinCoefficient* alpha : {&terms.left, &terms.right, &terms.bottom, &terms.top}) {
    if (alpha->is_zero() || alpha->varying) continue;
    alpha->varying = [value = alpha->constant](double) { return value; };
    alpha->constant = 0;
  }
  return terms;
}

}  // namespace

MappedCells::MappedCells(Context& ctx, const MappedMesh& mesh, const CellCoefficients* k, double constant_reaction)
    : constant_reaction_(constant_reaction) {
  const int nx = mesh.logical().x().size(), ny = mesh.logical().y().size();
  expects(k == nullptr || (k->nx == nx && k->ny == ny), "the coefficients are not of ", nx, " x ", ny,
          " cells, as the mesh is");
  const GridLayout<2> nodes{nx + 1, ny + 1, 0, 0}, cells{nx, ny, 0, 0};
  x_ = numbers(ctx, nodes, mesh.x());
  y_ = numbers(ctx, nodes, mesh.y());
  const auto weights = [&](Direction d) {
    const auto& given = mesh.weights(d).numbers;
    return given.empty() ? Field<double>() : numbers(ctx, GridLayout<2>::flat(static_cast<int>(given.size())), given);
  };
  in_x_ = weights(Direction::x);
  in_y_ = weights(Direction::y);
  expects(mesh.is_cartesian() || k == nullptr || k->xy.empty(), "kxy is for Cartesian coordinates; in ",
          to_string(mesh.coordinates()), " ones K has a kxx and a kyy alone");
  if (k == nullptr) return;
  xx_ = numbers(ctx, cells, k->xx);
  xy_ = numbers(ctx, cells, k->xy);
  yy_ = numbers(ctx, cells, k->yy);
  c_ = numbers(ctx, cells, k->c);
}

MappedCellsView MappedCells::view() const {
  return {x_.cview(), y_.cview(),         xx_.cview(),        xy_.cview(),       yy_.cview(),
          c_.cview(), in_x_.cview().data, in_y_.cview().data, constant_reaction_};
}

GridOperator<double> assemble_diffusion(Context& ctx, const MappedMesh& mesh, const MappedCells& cells,
                                        const OperatorTerms& terms) {
  return assemble_diffusion(ctx, mesh, cells, terms, mesh.logical().unknowns());
}

GridOperator<double> assemble_diffusion(Context& ctx, const MappedMesh& mesh, const MappedCells& cells,
                                        const OperatorTerms& terms, const GridLayout<2>& subdomain) {
  detail::check_terms(mesh.logical(), terms);
  SymmetricNineBand<double> a(ctx, subdomain);
  const auto centre = a.band[0].view();
  for_each_node(ctx, all_nodes(centre),
                AssembleRow{cells.view(), subdomain, centre, a.band[1].view(), a.band[2].view(), a.band[3].view(),
                            a.band[4].view()});
  for (auto& band : a.band) exchange(ctx, band);
  if (ctx.is_dry_run()) return GridOperator<double>(std::move(a));
  return detail::with_boundaries(ctx, mesh, varying(terms), std::move(a));
}

}  // namespace stratum
