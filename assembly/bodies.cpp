#include <stratum/assembly/bodies.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <stratum/assembly/body_checks.hpp>
#include <stratum/assembly/body_surface.hpp>
#include <stratum/assembly/gauss_rules.hpp>
#include <stratum/assembly/points.hpp>
#include <stratum/assembly/poisson_problem.hpp>
#include <stratum/assembly/problem_boundary.hpp>
#include <stratum/core/errors.hpp>
#include <stratum/core/field/blas.hpp>

namespace stratum {

namespace {

std::string place(const Geometry& mesh, std::size_t cell, int nx) {
  const Point p = mesh.cell(static_cast<int>(cell % static_cast<std::size_t>(nx)),
                            static_cast<int>(cell / static_cast<std::size_t>(nx)))
                      .at(0.5, 0.5);
  return message("the cell around (", p.x, ", ", p.y, ")");
}

/// The cells whose centres lie inside, one list a body.
std::vector<std::vector<std::size_t>> cells_inside(Context& ctx, const Geometry& mesh,
                                                   const std::vector<Body>& bodies) {
  const int nx = mesh.logical().x().size(), ny = mesh.logical().y().size();
  std::vector<std::vector<std::vector<std::size_t>>> rows(static_cast<std::size_t>(ny),
                                                          std::vector<std::vector<std::size_t>>(bodies.size()));
  for_each_row(
      ctx, ny,
      [&](int j, const std::vector<Body>& own) {
        for (int i = 0; i < nx; ++i) {
          const Point centre = mesh.cell(i, j).at(0.5, 0.5);
          for (std::size_t k = 0; k < own.size(); ++k)
            if (evaluate(own[k].inside, centre, "shape of a body") > 0)
              rows[static_cast<std::size_t>(j)][k].push_back(
                  static_cast<std::size_t>(j) * static_cast<std::size_t>(nx) + static_cast<std::size_t>(i));
        }
      },
      bodies);
  std::vector<std::vector<std::size_t>> all(bodies.size());
  for (const auto& row : rows)
    for (std::size_t k = 0; k < all.size(); ++k) all[k].insert(all[k].end(), row[k].begin(), row[k].end());
  return all;
}

/// Why a body has no cell.
[[noreturn]] void refuse_empty(const Geometry& mesh, const Body& body, const std::string& name) {
  const int nx = mesh.logical().x().size(), ny = mesh.logical().y().size();
  bool seen = false;
  for (int j = 0; j < ny && !seen; ++j)
    for (int i = 0; i < nx && !seen; ++i) {
      const CellPoints cell = mesh.cell(i, j);
      for (const auto& [s, weight_s] : gauss4)
        for (const auto& [t, weight_t] : gauss4) seen = seen || body.inside(cell.at(t, s)) > 0;
    }
  throw UsageError(message(name, " holds no cell of the mesh of ", nx, " x ", ny,
                           seen ? ": no cell has its centre inside; the body is thinner than a cell, take a finer mesh"
                                : ": it lies outside of the domain, or is thinner than a cell"));
}

enum class Role : std::uint8_t { solid, material, surface };

Role role_of(BodyKind kind) {
  return kind == BodyKind::contact ? Role::surface : kind == BodyKind::coefficient ? Role::material : Role::solid;
}

/// Which body has the material of a cell, or is solid there; -1: none. Solids overlap with nothing but their like.
void check_overlaps(const Geometry& mesh, const std::vector<Body>& bodies, const BodyMap& map) {
  std::vector<int> owner(map.cell.size(), -1);
  std::vector<int> surface(map.cell.size(), -1);
  for (std::size_t k = 0; k < bodies.size(); ++k) {
    const Role role = role_of(bodies[k].kind);
    for (const std::size_t c : map.cells[k]) {
      int& mine = role == Role::surface ? surface[c] : owner[c];
      const auto refuse = [&](int other, const char* what) {
        throw UsageError(message(body_label(map, static_cast<std::size_t>(other)), " and ", body_label(map, k),
                                 " overlap in ", place(mesh, c, map.nx), ": ", what));
      };
      const int other = mine;
      mine = static_cast<int>(k);
      if (role == Role::surface) {
        if (other >= 0) refuse(other, "a cell has one contact resistance");
        continue;
      }
      if (other < 0) continue;
      const BodyKind theirs = bodies[static_cast<std::size_t>(other)].kind, ours = bodies[k].kind;
      if (theirs != ours) refuse(other, "a cell belongs to a body of one kind; make the shapes disjoint");
      if (ours == BodyKind::coefficient) refuse(other, "a cell has one K; make the shapes disjoint");
    }
  }
  for (std::size_t c = 0; c < owner.size(); ++c)
    if (surface[c] >= 0 && owner[c] >= 0 && role_of(bodies[static_cast<std::size_t>(owner[c])].kind) == Role::solid)
      throw UsageError(message(body_label(map, static_cast<std::size_t>(owner[c])), " and ",
                               body_label(map, static_cast<std::size_t>(surface[c])), " overlap in ",
                               place(mesh, c, map.nx), ": a contact resistance belongs to a body that conducts"));
}

/// The numbers of a node, of which there are several where boundaries are periodic.
template <class Use>
void for_each_image(const TensorMesh<2>& mesh, int i, int j, const Use& use) {
  const auto of = [](const Axis& line, int n) {
    return std::pair{n, line.is_periodic() && n == 0 ? line.size() : line.is_periodic() && n == line.size() ? 0 : n};
  };
  const auto [i0, i1] = of(mesh.x(), i);
  const auto [j0, j1] = of(mesh.y(), j);
  use(i0, j0);
  if (i1 != i0) use(i1, j0);
  if (j1 != j0) use(i0, j1);
  if (i1 != i0 && j1 != j0) use(i1, j1);
}

template <class Use>
void for_each_corner(const BodyMap& map, std::size_t cell, const Use& use) {
  const int i = static_cast<int>(cell % static_cast<std::size_t>(map.nx)),
            j = static_cast<int>(cell / static_cast<std::size_t>(map.nx));
  for (const auto& [p, q] : {std::pair{i, j}, {i + 1, j}, {i, j + 1}, {i + 1, j + 1}}) use(p, q);
}

/// Nodes, and the values of those that are held.
void set_nodes(const Geometry& mesh, const std::vector<Body>& bodies, BodyMap& map) {
  const TensorMesh<2>& logical = mesh.logical();
  const auto count = (static_cast<std::size_t>(map.nx) + 1) * (static_cast<std::size_t>(map.ny) + 1);
  map.node.assign(count, BodyMap::inactive);
  for (std::size_t c = 0; c < map.cell.size(); ++c)
    if (map.cell[c] == BodyMap::live)
      for_each_corner(map, c, [&](int i, int j) {
        for_each_image(logical, i, j, [&](int p, int q) { map.node[map.node_number(p, q)] = BodyMap::unknown; });
      });
  if (map.has_held()) set_held_values(mesh, bodies, map);
  bool any = false;
  for (int j = 0; j <= map.ny && !any; ++j)
    for (int i = 0; i <= map.nx && !any; ++i)
      any = map.node_at(i, j) == BodyMap::unknown && unknown_at(logical.x(), i) >= 0 && unknown_at(logical.y(), j) >= 0;
  expects(any, "the bodies cover the mesh of ", map.nx, " x ", map.ny, " cells: no unknown is left");
}

void set_contact(const Geometry& mesh, const Body& body, const BodyMap& map, std::size_t number, CellCoefficients& k) {
  expects(mesh.mapped() == nullptr || !mesh.mapped()->is_cartesian(), body_label(map, number),
          ": contact resistances are for rectangles and their coordinates, not for deformed meshes");
  if (body.resistance == 0) return;
  const Axis &x = mesh.logical().x(), &y = mesh.logical().y();
  const detail::BodySurface surface(map, number, x.is_periodic(), y.is_periodic());
  for (const std::size_t c : map.cells[number]) {
    const int i = static_cast<int>(c % static_cast<std::size_t>(map.nx)),
              j = static_cast<int>(c / static_cast<std::size_t>(map.nx));
    const auto [across_x, across_y] = surface.faces(i, j);
    if (across_x + across_y == 0) continue;
    const Scales scales = mesh.cell(i, j).scales(0.5, 0.5);
    const double hx = x.widths()[static_cast<std::size_t>(i)] * scales.x,
                 hy = y.widths()[static_cast<std::size_t>(j)] * scales.y;
    const double resistance = body.resistance * surface.steps(i, j, hx, hy).longer_in_cells();
    const double by_x = 1 / (1 + across_x * resistance * k.xx[c] / hx),
                 by_y = 1 / (1 + across_y * resistance * k.yy[c] / hy);
    k.xx[c] *= by_x;
    k.yy[c] *= by_y;
    k.xy[c] *= std::sqrt(by_x * by_y);
  }
}

/// A problem's function that is zero in cells that are not live.
struct InLiveCells {
  std::shared_ptr<const BodyMap> map;
  ScalarFunction function;

  double operator()(const Point& p) const {
    const auto cell = [](double place, int cells) {
      return std::clamp(static_cast<int>(std::floor(place * cells)), 0, cells - 1);
    };
    return map->cell_at(cell(p.place_x, map->nx), cell(p.place_y, map->ny)) == BodyMap::live ? function(p) : 0.0;
  }
};

}  // namespace

ScalarFunction rectangle_shape(double x0, double y0, double x1, double y1) {
  expects(x0 < x1 && y0 < y1, "rectangle(", x0, ",", y0, ",", x1, ",", y1,
          ") has no extent: give the lower left and the upper right corner");
  return [=](const Point& p) { return std::min({p.x - x0, x1 - p.x, p.y - y0, y1 - p.y}); };
}

ScalarFunction disc_shape(double x, double y, double radius) {
  expects(radius > 0, "disc(", x, ",", y, ",", radius, ") has no extent: the radius must be positive");
  return [=](const Point& p) { return radius - std::hypot(p.x - x, p.y - y); };
}

ScalarFunction polygon_shape(std::vector<Position> corners) {
  expects(corners.size() >= 3, "a polygon has three corners or more, not ", corners.size());
  return [corners = std::move(corners)](const Point& p) {
    bool inside = false;
    for (std::size_t k = 0, last = corners.size() - 1; k < corners.size(); last = k++) {
      const Position &a = corners[k], &b = corners[last];
      if ((a.y > p.y) != (b.y > p.y) && p.x < a.x + (b.x - a.x) * (p.y - a.y) / (b.y - a.y)) inside = !inside;
    }
    return inside ? 1.0 : -1.0;
  };
}

std::string body_label(const BodyMap& map, std::size_t body) { return detail::body_label(map.names, body); }

std::shared_ptr<BodyMap> bodies_on_cells(Context& ctx, const Geometry& mesh, const std::vector<Body>& bodies) {
  const int nx = mesh.logical().x().size(), ny = mesh.logical().y().size();
  auto map = std::make_shared<BodyMap>();
  map->nx = nx;
  map->ny = ny;
  for (const Body& body : bodies) {
    map->kinds.push_back(body.kind);
    map->names.push_back(body.name);
    detail::check_body(body, body_label(*map, map->names.size() - 1));
  }
  map->cells = cells_inside(ctx, mesh, bodies);
  map->cell.assign(static_cast<std::size_t>(nx) * static_cast<std::size_t>(ny), BodyMap::live);
  for (std::size_t k = 0; k < bodies.size(); ++k) {
    if (map->cells[k].empty()) refuse_empty(mesh, bodies[k], body_label(*map, k));
    if (role_of(bodies[k].kind) != Role::solid) continue;
    const bool held = bodies[k].kind == BodyKind::value;
    for (const std::size_t c : map->cells[k]) map->cell[c] = held ? BodyMap::held : BodyMap::empty;
    (held ? map->has_held_cells : map->has_empty_cells) = true;
  }
  check_overlaps(mesh, bodies, *map);
  expects(std::any_of(map->cell.begin(), map->cell.end(), [](auto cell) { return cell == BodyMap::live; }),
          "the bodies cover the mesh of ", nx, " x ", ny, " cells: no unknown is left");
  return map;
}

void set_held_values(const Geometry& mesh, const std::vector<Body>& bodies, BodyMap& map) {
  map.value.assign(map.node.size(), 0.0);
  std::vector<int> holder(map.node.size(), -1);
  for (std::size_t k = 0; k < bodies.size(); ++k) {
    if (bodies[k].kind != BodyKind::value) continue;
    for (const std::size_t c : map.cells[k])
      for_each_corner(map, c, [&](int i, int j) {
        const std::size_t node = map.node_number(i, j);
        bool is_joined = false;  // where a body across a periodic boundary may have two values
        for_each_image(mesh.logical(), i, j,
                       [&](int p, int q) { is_joined = is_joined || map.node_number(p, q) != node; });
        if (holder[node] == static_cast<int>(k) && !is_joined) return;
        const double value = evaluate(bodies[k].value, mesh.node(i, j), "value of a body");
        for_each_image(mesh.logical(), i, j, [&](int p, int q) {
          const std::size_t n = map.node_number(p, q);
          if (holder[n] >= 0 && !detail::agree(map.value[n], value)) {
            const bool same = holder[n] == static_cast<int>(k);
            const std::string who = same ? "" : body_label(map, static_cast<std::size_t>(holder[n])) + " and ";
            throw UsageError(message(who, body_label(map, k), same ? " has two values" : " meet with different values",
                                     " at (", mesh.node(i, j).x, ", ", mesh.node(i, j).y, "), ", map.value[n], " and ",
                                     value,
                                     same ? ", on both sides of a periodic boundary: give one value"
                                          : ": leave a cell between them, or give one value"));
          }
          holder[n] = static_cast<int>(k);
          map.value[n] = value;
          map.node[n] = BodyMap::given;
        });
      });
  }
}

std::shared_ptr<const BodyMap> bodies_on(Context& ctx, const Geometry& mesh, const PoissonProblem& problem) {
  if (problem.bodies.empty()) return nullptr;
  const int nx = mesh.logical().x().size(), ny = mesh.logical().y().size();
  if (problem.on_mesh && problem.on_mesh->nx == nx && problem.on_mesh->ny == ny) return problem.on_mesh;
  auto map = bodies_on_cells(ctx, mesh, problem.bodies);
  set_nodes(mesh, problem.bodies, *map);
  return map;
}

void set_bodies(Context& ctx, const Geometry& mesh, const std::vector<Body>& bodies,
                const std::shared_ptr<const BodyMap>& map, double reaction, CellCoefficients& cells) {
  cells.bodies = map;
  if (cells.yy.empty()) cells.yy = cells.xx;
  if (cells.xy.empty()) cells.xy.assign(cells.xx.size(), 0.0);
  for (std::size_t k = 0; k < bodies.size(); ++k) {
    if (bodies[k].kind != BodyKind::coefficient) continue;
    const auto& own = map->cells[k];
    for_each_row(
        ctx, static_cast<int>(own.size()),
        [&](int n, const Body& body) {
          const std::size_t c = own[static_cast<std::size_t>(n)];
          const Point centre = mesh.cell(static_cast<int>(c % static_cast<std::size_t>(map->nx)),
                                         static_cast<int>(c / static_cast<std::size_t>(map->nx)))
                                   .at(0.5, 0.5);
          const double xx = evaluate(body.value, centre, "K of a body"),
                       xy = body.kxy ? evaluate(body.kxy, centre, "K of a body") : 0,
                       yy = body.kyy ? evaluate(body.kyy, centre, "K of a body") : xx;
          if (!(xx > 0 && yy > 0 && std::abs(xy) < std::sqrt(xx) * std::sqrt(yy)))
            throw UsageError(message(body_label(*map, k), ": K must be positive definite; in ", place(mesh, c, map->nx),
                                     ", it is [", xx, " ", xy, "; ", xy, " ", yy, "]"));
          cells.xx[c] = xx;
          cells.xy[c] = xy;
          cells.yy[c] = yy;
        },
        bodies[k]);
  }
  for (std::size_t k = 0; k < bodies.size(); ++k)
    if (bodies[k].kind == BodyKind::contact && !map->node.empty()) set_contact(mesh, bodies[k], *map, k, cells);
  if (map->has_solids()) {
    if (reaction != 0) cells.c.resize(cells.xx.size(), 0.0);
    for (std::size_t c = 0; c < map->cell.size(); ++c) {
      if (map->cell[c] == BodyMap::live) continue;
      if (map->cell[c] == BodyMap::empty) cells.xx[c] = cells.xy[c] = cells.yy[c] = 0;
      if (!cells.c.empty()) cells.c[c] = reaction == 0 ? 0 : -reaction;  // beside which that is none
    }
    std::erase_if(cells.averaged, [&](std::size_t c) { return map->cell[c] != BodyMap::live; });
  }
  const auto is_zero = [](const std::vector<double>& values) {
    return std::all_of(values.begin(), values.end(), [](double value) { return value == 0; });
  };
  if (is_zero(cells.xy)) cells.xy.clear();
  if (is_zero(cells.c)) cells.c.clear();
  if (cells.yy == cells.xx) cells.yy.clear();
}

PoissonProblem in_live_cells(const PoissonProblem& problem, const std::shared_ptr<const BodyMap>& map) {
  if (!map || !map->has_solids()) return problem;
  PoissonProblem masked = problem;
  masked.on_mesh = map;
  masked.rhs = InLiveCells{map, rhs_function(problem)};
  for (BoundaryCondition* const boundary :
       {&masked.boundaries.left, &masked.boundaries.right, &masked.boundaries.bottom, &masked.boundaries.top}) {
    if (boundary_type(boundary->kind) != BoundaryType::neumann) continue;
    if (boundary->value) boundary->value = InLiveCells{map, boundary->value};
    if (boundary->alpha) boundary->alpha = InLiveCells{map, boundary->alpha};
  }
  return masked;
}

CellCoefficients conducting_next_to_nothing(const CellCoefficients& given) {
  CellCoefficients k = given;
  const BodyMap& map = *given.bodies;
  double least = HUGE_VAL;
  for (std::size_t c = 0; c < map.cell.size(); ++c)
    if (map.cell[c] != BodyMap::empty) least = std::min({least, k.xx[c], k.yy.empty() ? k.xx[c] : k.yy[c]});
  for (std::size_t c = 0; c < map.cell.size(); ++c) {
    if (map.cell[c] != BodyMap::empty) continue;
    k.xx[c] = conductance_of_solids * least;
    if (!k.yy.empty()) k.yy[c] = k.xx[c];
  }
  return k;
}

void clear_fixed_nodes(Context& ctx, const Geometry& mesh, const BodyMap& map, const GridFunction<double>& u) {
  if (!map.has_solids() || u.view.nodes() == 0) return;
  const TensorMesh<2>& logical = mesh.logical();
  const int first = first_row_of(ctx, "the field", logical, u);
  std::vector<double> values(static_cast<std::size_t>(u.view.nodes()));
  copy_to_host(ctx, FieldView<const double>(u.view), values.data());
  for (int j = 0; j < u.view.ny; ++j)
    for (int i = 0; i < u.view.nx; ++i)
      if (map.node_at(i + logical.x().first_unknown(), j + first + logical.y().first_unknown()) != BodyMap::unknown)
        values[static_cast<std::size_t>(j) * static_cast<std::size_t>(u.view.nx) + static_cast<std::size_t>(i)] = 0;
  copy_from_host(ctx, values.data(), u.view);
}

}  // namespace stratum
