#include <stratum/assembly/rooms.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

#include <stratum/assembly/host_loads.hpp>
#include <stratum/assembly/room_balance.hpp>
#include <stratum/assembly/union.hpp>
#include <stratum/core/field/blas.hpp>

namespace stratum {

namespace {

/// The nodes of one mesh by their numbers; those that periodic boundaries join have one.
struct Nodes {
  const Axis &x, &y;
  std::size_t columns;

  explicit Nodes(const TensorMesh<2>& mesh)
      : x(mesh.x()), y(mesh.y()), columns(static_cast<std::size_t>(mesh.x().size()) + 1) {}
  [[nodiscard]] std::size_t number(int i, int j) const {
    if (x.is_periodic() && i == x.size()) i = 0;
    if (y.is_periodic() && j == y.size()) j = 0;
    return static_cast<std::size_t>(j) * columns + static_cast<std::size_t>(i);
  }
  [[nodiscard]] bool is_unknown(int i, int j) const { return unknown_at(x, i) >= 0 && unknown_at(y, j) >= 0; }
};

/// Of one room and subdomain, of all.
std::vector<double> sums_of_all(const Context& ctx, std::vector<double> own, bool is_part) {
  if (!is_part) return own;
  const std::vector<double> all = ctx.communicator()->join_on_host(own);
  std::vector<double> sums(own.size(), 0.0);
  for (std::size_t k = 0; k < all.size(); ++k) sums[k % sums.size()] += all[k];
  return sums;
}

/// The number of the cell that has the point.
std::size_t cell_of(const Point& p, int nx, int ny) {
  const auto place = [](double at, int cells) {
    return static_cast<std::size_t>(std::clamp(static_cast<int>(std::floor(at * cells)), 0, cells - 1));
  };
  return place(p.place_y, ny) * static_cast<std::size_t>(nx) + place(p.place_x, nx);
}

/// A field on the host.
std::vector<double> fetched(Context& ctx, const GridFunction<double>& u) {
  std::vector<double> values(static_cast<std::size_t>(u.view.nodes()));
  copy_to_host(ctx, FieldView<const double>(u.view), values.data());
  return values;
}
auto total_of(const Context& ctx, const GridFunction<double>& u) {
  return [&ctx, part = u.is_part()](std::vector<double> own) { return sums_of_all(ctx, std::move(own), part); };
}

UnknownsInRooms nodes_in_rooms(Context& ctx, const Geometry& mesh, const Rooms& rooms, const GridFunction<double>& u) {
  const TensorMesh<2>& logical = mesh.logical();
  const int first = first_row_of(ctx, "the field", logical, u);
  const int nx = logical.x().size(), ny = logical.y().size();
  detail::HostGrid integrals(u.view.nx, u.view.ny, first);
  const auto in_rooms = [&](const Point& p) { return rooms.of_cell[cell_of(p, nx, ny)] < 0 ? 0.0 : 1.0; };
  detail::add_load(ctx, mesh, gauss3, in_rooms, integrals);
  UnknownsInRooms found{std::vector<int>(static_cast<std::size_t>(u.view.nodes())), std::move(integrals.values)};
  const auto columns = static_cast<std::size_t>(nx) + 1;
  for (int j = 0; j < u.view.ny; ++j)
    for (int i = 0; i < u.view.nx; ++i) {
      const auto node = static_cast<std::size_t>(j + first + logical.y().first_unknown()) * columns +
                        static_cast<std::size_t>(i + logical.x().first_unknown());
      const int own = rooms.of_node[node];
      found.room[static_cast<std::size_t>(j) * static_cast<std::size_t>(u.view.nx) + static_cast<std::size_t>(i)] =
          own >= 0 && rooms.rooms[static_cast<std::size_t>(own)].singular ? own : -1;
    }
  return found;
}

}  // namespace

int Rooms::singular() const {
  return static_cast<int>(std::count_if(rooms.begin(), rooms.end(), [](const Room& room) { return room.singular; }));
}

Rooms rooms_of(const Geometry& mesh, const OperatorTerms& terms, const CellCoefficients& cells) {
  const TensorMesh<2>& logical = mesh.logical();
  const Nodes nodes(logical);
  const int nx = logical.x().size(), ny = logical.y().size();
  const BodyMap* const map = cells.bodies.get();
  const auto cell_number = [nx](int i, int j) {
    return static_cast<std::size_t>(j) * static_cast<std::size_t>(nx) + static_cast<std::size_t>(i);
  };
  const auto is_live = [&](int i, int j) { return map == nullptr || map->cell_at(i, j) == BodyMap::live; };
  const auto is_free = [&](int i, int j) {
    return nodes.is_unknown(i, j) && (map == nullptr || map->node_at(i, j) == BodyMap::unknown);
  };
  const auto for_each_corner = [](int i, int j, const auto& use) {
    use(i, j);
    use(i + 1, j);
    use(i, j + 1);
    use(i + 1, j + 1);
  };
  const std::size_t count = nodes.columns * (static_cast<std::size_t>(ny) + 1);
  Union joined(count);
  std::vector<std::size_t> first_node(static_cast<std::size_t>(nx) * static_cast<std::size_t>(ny), count);
  for (int j = 0; j < ny; ++j)
    for (int i = 0; i < nx; ++i) {
      if (!is_live(i, j)) continue;
      std::size_t& first = first_node[cell_number(i, j)];
      for_each_corner(i, j, [&](int p, int q) {
        if (!is_free(p, q)) return;
        const std::size_t n = nodes.number(p, q);
        if (first == count)
          first = n;
        else
          joined.join(first, n);
      });
    }
  Rooms found;
  found.of_cell.assign(first_node.size(), -1);
  found.of_node.assign(count, -1);
  std::vector<int> number(count, -1);
  for (int j = 0; j < ny; ++j)
    for (int i = 0; i < nx; ++i) {
      const std::size_t c = cell_number(i, j);
      if (first_node[c] == count) continue;
      int& room = number[joined.find(first_node[c])];
      if (room < 0) {
        room = static_cast<int>(found.rooms.size());
        const Point centre = mesh.cell(i, j).at(0.5, 0.5);
        found.rooms.push_back({0, centre.x, centre.y, true});
      }
      found.of_cell[c] = room;
      Rooms::Room& own = found.rooms[static_cast<std::size_t>(room)];
      ++own.cells;
      if (cells.reaction(i, j) + terms.reaction > 0) own.singular = false;
      for_each_corner(i, j, [&](int p, int q) {
        if (is_free(p, q))
          found.of_node[nodes.number(p, q)] = room;
        else
          own.singular = false;
      });
    }
  const auto visit_side = [&](const RobinCoefficient& alpha, const BoundaryPlace& side) {
    if (alpha.is_zero()) return;
    const bool row = side.along == Direction::x;
    const int across = side.last ? (row ? ny : nx) - 1 : 0;
    const Axis& along = mesh.along(side);
    for (int k = 0; k < along.size(); ++k) {
      const int room = found.of_cell[row ? cell_number(k, across) : cell_number(across, k)];
      if (room < 0) continue;
      const auto interval = static_cast<std::size_t>(k);
      for (const auto& [t, weight] : gauss4)
        if (alpha.constant > 0 ||
            (alpha.varying && alpha.varying(along.from_begin()[interval] + t * along.widths()[interval]) > 0))
          found.rooms[static_cast<std::size_t>(room)].singular = false;
    }
  };
  visit_side(terms.left, {Direction::y, false});
  visit_side(terms.right, {Direction::y, true});
  visit_side(terms.bottom, {Direction::x, false});
  visit_side(terms.top, {Direction::x, true});
  return found;
}

std::optional<Rooms> rooms_around_bodies(const Geometry& mesh, const OperatorTerms& terms,
                                         const CellCoefficients* cells) {
  if (cells == nullptr || !cells->bodies || !cells->bodies->has_solids()) return std::nullopt;
  return rooms_of(mesh, terms, *cells);
}

std::vector<Compatibility> make_compatible(Context& ctx, const Rooms& rooms, const UnknownsInRooms& unknowns,
                                           const GridFunction<double>& b) {
  auto load = fetched(ctx, b);
  auto found = balance_in_rooms(rooms.rooms.size(), unknowns, load, total_of(ctx, b));
  copy_from_host(ctx, load.data(), b.view);
  return found;
}

std::vector<Compatibility> make_compatible(Context& ctx, const Geometry& mesh, const Rooms& rooms,
                                           const GridFunction<double>& b) {
  return make_compatible(ctx, rooms, nodes_in_rooms(ctx, mesh, rooms, b), b);
}

Compatibility sum_of(std::span<const Compatibility> rooms) {
  Compatibility all;
  for (const Compatibility& room : rooms) {
    all.sum += room.sum;
    all.sum_of_magnitudes += room.sum_of_magnitudes;
  }
  if (rooms.size() == 1) all.mean = rooms.front().mean;
  return all;
}

void expect_compatible(const Rooms& rooms, const std::vector<Compatibility>& found, bool project) {
  expect_balanced(rooms.rooms, found, project);
}

double make_compatible(Context& ctx, const Geometry& mesh, const Rooms& rooms, const GridFunction<double>& b,
                       bool project, PoissonProblem& problem) {
  if (rooms.singular() == 0) return 0;
  const auto found = make_compatible(ctx, mesh, rooms, b);
  expect_compatible(rooms, found, project);
  problem.rhs = [f = rhs_function(problem), of_cell = rooms.of_cell, found, nx = mesh.logical().x().size(),
                 ny = mesh.logical().y().size()](const Point& p) {
    const int room = of_cell[cell_of(p, nx, ny)];
    return f(p) - (room < 0 ? 0 : found[static_cast<std::size_t>(room)].mean);
  };
  return sum_of(found).sum;
}

void subtract_integral_means(Context& ctx, const Rooms& rooms, const UnknownsInRooms& unknowns,
                             const GridFunction<double>& u) {
  auto values = fetched(ctx, u);
  subtract_means_in_rooms(rooms.rooms.size(), unknowns, values, total_of(ctx, u));
  copy_from_host(ctx, values.data(), u.view);
}

void subtract_integral_means(Context& ctx, const Geometry& mesh, const Rooms& rooms, const GridFunction<double>& u) {
  if (rooms.singular() == 0) return;
  subtract_integral_means(ctx, rooms, nodes_in_rooms(ctx, mesh, rooms, u), u);
}

}  // namespace stratum
