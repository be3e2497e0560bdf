#include <stratum/assembly/box_bodies.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

#include <stratum/assembly/body_checks.hpp>
#include <stratum/assembly/box_points.hpp>
#include <stratum/assembly/box_values.hpp>
#include <stratum/assembly/gauss_rules.hpp>
#include <stratum/assembly/points.hpp>
#include <stratum/assembly/union.hpp>
#include <stratum/core/errors.hpp>

namespace stratum {

namespace {

using Values = std::vector<double>;
using Place = std::array<std::size_t, 3>;

std::string label(const BoxBodies& bodies, std::size_t body) { return detail::body_label(bodies.names, body); }

Point3D point_in(const TensorMesh<3>& mesh, const Place& cell, double x, double y, double z) {
  return make_point(LineInterval(mesh.x(), static_cast<int>(cell[0])).at(x),
                    LineInterval(mesh.y(), static_cast<int>(cell[1])).at(y),
                    LineInterval(mesh.z(), static_cast<int>(cell[2])).at(z));
}
Point3D centre_of(const TensorMesh<3>& mesh, const Place& cell) { return point_in(mesh, cell, 0.5, 0.5, 0.5); }

Point3D at_node(const TensorMesh<3>& mesh, const Place& at) {
  return node_point(mesh, static_cast<int>(at[0]), static_cast<int>(at[1]), static_cast<int>(at[2]));
}

std::string text_of(const Point3D& p) { return message("(", p.x, ", ", p.y, ", ", p.z, ")"); }

/// The cells whose centres lie inside, one list a body.
std::vector<std::vector<std::size_t>> cells_inside(const Context& ctx, const TensorMesh<3>& mesh,
                                                   const BoxBodies& bodies, const std::vector<Body3D>& given) {
  const auto& [nx, ny, nz] = bodies.cells_of_axes;
  std::vector<std::vector<std::vector<std::size_t>>> layers(nz, std::vector<std::vector<std::size_t>>(given.size()));
  for_each_row(
      ctx, static_cast<int>(nz),
      [&, x = nx, y = ny](int layer, const std::vector<Body3D>& own) {
        const auto k = static_cast<std::size_t>(layer);
        for (std::size_t j = 0; j < y; ++j)
          for (std::size_t i = 0; i < x; ++i) {
            const Point3D centre = centre_of(mesh, {i, j, k});
            for (std::size_t b = 0; b < own.size(); ++b)
              if (evaluate(own[b].inside, centre, "shape of a body") > 0) layers[k][b].push_back((k * y + j) * x + i);
          }
      },
      given);
  std::vector<std::vector<std::size_t>> all(given.size());
  for (const auto& layer : layers)
    for (std::size_t b = 0; b < all.size(); ++b) all[b].insert(all[b].end(), layer[b].begin(), layer[b].end());
  return all;
}

[[noreturn]] void refuse_empty(const TensorMesh<3>& mesh, const BoxBodies& bodies, const Body3D& body,
                               const std::string& name) {
  const auto& [nx, ny, nz] = bodies.cells_of_axes;
  bool seen = false;
  for (std::size_t c = 0; c < bodies.cell.size() && !seen; ++c)
    for (const auto& [r, weight_r] : gauss2)
      for (const auto& [s, weight_s] : gauss2)
        for (const auto& [t, weight_t] : gauss2)
          seen = seen || body.inside(point_in(mesh, bodies.place(c), r, s, t)) > 0;
  throw UsageError(message(name, " holds no cell of the mesh of ", nx, " x ", ny, " x ", nz,
                           seen ? ": no cell has its centre inside; the body is thinner than a cell, take a finer mesh"
                                : ": it lies outside of the domain, or is thinner than a cell"));
}

/// Solids overlap with nothing but their like.
void check_overlaps(const TensorMesh<3>& mesh, const BoxBodies& bodies) {
  std::vector<int> owner(bodies.cell.size(), -1), surface(owner);
  for (std::size_t b = 0; b < bodies.kinds.size(); ++b) {
    const BodyKind ours = bodies.kinds[b];
    for (const std::size_t c : bodies.cells[b]) {
      int& mine = ours == BodyKind::contact ? surface[c] : owner[c];
      const int other = std::exchange(mine, static_cast<int>(b));
      if (other < 0) continue;
      const BodyKind theirs = bodies.kinds[static_cast<std::size_t>(other)];
      const char* const why = ours == BodyKind::contact ? "a cell has one contact resistance"
                              : ours != theirs ? "a cell belongs to a body of one kind; make the shapes disjoint"
                              : ours == BodyKind::coefficient ? "a cell has one K; make the shapes disjoint"
                                                              : nullptr;
      expects(why == nullptr, label(bodies, static_cast<std::size_t>(other)), " and ", label(bodies, b),
              " overlap in the cell around ", text_of(centre_of(mesh, bodies.place(c))), ": ", why);
    }
  }
  for (std::size_t c = 0; c < owner.size(); ++c)
    if (surface[c] >= 0 && bodies.cell[c] != BoxBodies::live)
      throw UsageError(message(label(bodies, static_cast<std::size_t>(owner[c])), " and ",
                               label(bodies, static_cast<std::size_t>(surface[c])), " overlap in the cell around ",
                               text_of(centre_of(mesh, bodies.place(c))),
                               ": a contact resistance belongs to a body that conducts"));
}

/// Nodes, and the values of those that are held.
void set_nodes(const TensorMesh<3>& mesh, const std::vector<Body3D>& given, BoxBodies& bodies) {
  const auto& [nx, ny, nz] = bodies.cells_of_axes;
  bodies.node.assign((nx + 1) * (ny + 1) * (nz + 1), BoxBodies::inactive);
  for (std::size_t c = 0; c < bodies.cell.size(); ++c)
    if (bodies.cell[c] == BoxBodies::live)
      bodies.for_each_corner(c, [&](const Place& at) { bodies.node[bodies.joined_node(at)] = BoxBodies::unknown; });
  if (bodies.has_held_cells) {
    bodies.value.assign(bodies.node.size(), 0.0);
    bodies.holder.assign(bodies.node.size(), -1);
  }
  for (std::size_t b = 0; b < given.size(); ++b) {
    if (given[b].kind != BodyKind::value) continue;
    for (const std::size_t c : bodies.cells[b])
      bodies.for_each_corner(c, [&](const Place& at) {
        const std::size_t n = bodies.joined_node(at);
        const int other = bodies.holder[n];
        bool is_joined = false;  // where a body across a periodic face may have two values
        for (std::size_t d = 0; d < 3; ++d)
          is_joined = is_joined || (bodies.periodic[d] && (at[d] == 0 || at[d] == bodies.cells_of_axes[d]));
        if (other == static_cast<int>(b) && !is_joined) return;
        const Point3D p = at_node(mesh, at);
        const double value = evaluate(given[b].value, p, "value of a body");
        if (other >= 0 && !detail::agree(bodies.value[n], value)) {
          const bool same = other == static_cast<int>(b);
          const std::string who = same ? "" : label(bodies, static_cast<std::size_t>(other)) + " and ";
          throw UsageError(message(who, label(bodies, b), same ? " has two values" : " meet with different values",
                                   " at ", text_of(p), ", ", bodies.value[n], " and ", value,
                                   same ? ", on both sides of a periodic face: give one value"
                                        : ": leave a cell between them, or give one value"));
        }
        if (other >= 0) return;
        bodies.holder[n] = static_cast<int>(b);
        bodies.value[n] = value;
        bodies.node[n] = BoxBodies::given;
      });
  }
  bool any = false;
  for (std::size_t k = 0; k <= nz; ++k)
    for (std::size_t j = 0; j <= ny; ++j)
      for (std::size_t i = 0; i <= nx; ++i) {
        const std::size_t n = bodies.node_number(i, j, k), joined = bodies.joined_node({i, j, k});
        bodies.node[n] = bodies.node[joined];
        if (!bodies.value.empty()) bodies.value[n] = bodies.value[joined];
        if (!bodies.holder.empty()) bodies.holder[n] = bodies.holder[joined];
        any = any || (bodies.node[n] == BoxBodies::unknown && unknown_at(mesh.x(), static_cast<int>(i)) >= 0 &&
                      unknown_at(mesh.y(), static_cast<int>(j)) >= 0 && unknown_at(mesh.z(), static_cast<int>(k)) >= 0);
      }
  expects(any, "the bodies cover the mesh of ", nx, " x ", ny, " x ", nz, " cells: no unknown is left");
}

/// The neighbour of a cell across a face; none outside the domain.
std::optional<std::size_t> beside(const BoxBodies& bodies, std::size_t cell, std::size_t d, bool last) {
  Place at = bodies.place(cell);
  const std::size_t n = bodies.cells_of_axes[d];
  if (last ? at[d] + 1 == n : at[d] == 0) {
    if (!bodies.periodic[d]) return std::nullopt;
    at[d] = last ? 0 : n - 1;
  } else {
    at[d] += last ? 1 : std::size_t(-1);
  }
  return (at[2] * bodies.cells_of_axes[1] + at[1]) * bodies.cells_of_axes[0] + at[0];
}

void set_contact(const TensorMesh<3>& mesh, const Body3D& body, const BoxBodies& bodies, std::size_t number,
                 std::array<Values*, 3> k) {
  Place least{SIZE_MAX, SIZE_MAX, SIZE_MAX}, most{};
  std::vector<char> inside(bodies.cell.size(), 0);
  for (const std::size_t c : bodies.cells[number]) {
    inside[c] = 1;
    for (std::size_t d = 0; d < 3; ++d) {
      least[d] = std::min(least[d], bodies.place(c)[d]);
      most[d] = std::max(most[d], bodies.place(c)[d]);
    }
  }
  const std::size_t full = (most[0] - least[0] + 1) * (most[1] - least[1] + 1) * (most[2] - least[2] + 1);
  expects(
      bodies.cells[number].size() == full, label(bodies, number),
      ": its cells do not fill a box. In three "
      "dimensions contact resistances are for bodies of the shape box(...): a staircase of cells has another area than "
      "an oblique surface");
  if (body.resistance == 0) return;
  for (const std::size_t c : bodies.cells[number])
    for (std::size_t d = 0; d < 3; ++d) {
      double faces = 0;
      for (const bool last : {false, true})
        if (const auto other = beside(bodies, c, d, last); other && inside[*other] == 0) ++faces;
      double& own = (*k[d])[c];
      own /= 1 + faces * body.resistance * own / mesh.axis(static_cast<int>(d)).widths()[bodies.place(c)[d]];
    }
}

}  // namespace

ScalarFunction3D box_shape(const std::array<double, 3>& first, const std::array<double, 3>& last) {
  for (std::size_t d = 0; d < 3; ++d)
    expects(first[d] < last[d], "box(", first[0], ",", first[1], ",", first[2], ",", last[0], ",", last[1], ",",
            last[2], ") has no extent: give the corner with the smallest and that with the largest x, y and z");
  return [=](const Point3D& p) {
    return std::min({p.x - first[0], last[0] - p.x, p.y - first[1], last[1] - p.y, p.z - first[2], last[2] - p.z});
  };
}

ScalarFunction3D ball_shape(const std::array<double, 3>& centre, double radius) {
  expects(radius > 0, "ball(", centre[0], ",", centre[1], ",", centre[2], ",", radius,
          ") has no extent: the radius must be positive");
  return [=](const Point3D& p) { return radius - std::hypot(p.x - centre[0], p.y - centre[1], p.z - centre[2]); };
}

ScalarFunction3D cylinder_shape(const std::array<double, 3>& first, const std::array<double, 3>& last, double radius) {
  const std::array<double, 3> along{last[0] - first[0], last[1] - first[1], last[2] - first[2]};
  const double length = std::hypot(along[0], along[1], along[2]);
  expects(radius > 0 && length > 0, "the cylinder from (", first[0], ", ", first[1], ", ", first[2], ") to (", last[0],
          ", ", last[1], ", ", last[2], ") of radius ", radius, " has no extent");
  return [=](const Point3D& p) {
    const std::array<double, 3> to{p.x - first[0], p.y - first[1], p.z - first[2]};
    const double s = (to[0] * along[0] + to[1] * along[1] + to[2] * along[2]) / length, t = s / length;
    const double distance = std::hypot(to[0] - t * along[0], to[1] - t * along[1], to[2] - t * along[2]);
    return std::min({radius - distance, s, length - s});
  };
}

std::shared_ptr<const BoxBodies> bodies_on(const Context& ctx, const TensorMesh<3>& mesh,
                                           const PoissonProblem3D& problem) {
  const auto& given = problem.bodies;
  if (given.empty()) return nullptr;
  auto bodies = std::make_shared<BoxBodies>();
  for (std::size_t d = 0; d < 3; ++d) {
    const Axis& axis = mesh.axis(static_cast<int>(d));
    bodies->cells_of_axes[d] = static_cast<std::size_t>(axis.size());
    bodies->periodic[d] = axis.is_periodic();
  }
  if (problem.on_mesh && problem.on_mesh->cells_of_axes == bodies->cells_of_axes) return problem.on_mesh;
  for (const Body3D& body : given) {
    bodies->kinds.push_back(body.kind);
    bodies->names.push_back(body.name);
    detail::check_body(body, label(*bodies, bodies->names.size() - 1));
  }
  const auto& [nx, ny, nz] = bodies->cells_of_axes;
  bodies->cell.assign(nx * ny * nz, BoxBodies::live);
  bodies->cells = cells_inside(ctx, mesh, *bodies, given);
  for (std::size_t b = 0; b < given.size(); ++b) {
    if (bodies->cells[b].empty()) refuse_empty(mesh, *bodies, given[b], label(*bodies, b));
    if (given[b].kind != BodyKind::value && given[b].kind != BodyKind::no_flux) continue;
    const bool held = given[b].kind == BodyKind::value;
    for (const std::size_t c : bodies->cells[b]) bodies->cell[c] = held ? BoxBodies::held : BoxBodies::empty;
    (held ? bodies->has_held_cells : bodies->has_empty_cells) = true;
  }
  check_overlaps(mesh, *bodies);
  set_nodes(mesh, given, *bodies);
  if (!bodies->has_solids()) return bodies;
  expects(problem.reaction == 0,
          "bodies that hold u or let nothing in cannot be combined with a reaction c in a box, which is ",
          problem.reaction, " here; leave c out");
  for (const BoxFace face : all_box_faces) {
    if (face_alpha(mesh, problem, face) == 0) continue;
    const FacePlace place(face);
    const auto d = static_cast<std::size_t>(place.across);
    const std::size_t layer = place.last ? bodies->cells_of_axes[d] - 1 : 0;
    for (std::size_t c = 0; c < bodies->cell.size(); ++c)
      if (bodies->place(c)[d] == layer && bodies->cell[c] != BoxBodies::live)
        throw UsageError(
            message("a body that holds u or lets nothing in touches the ", to_string(face), " face at ",
                    text_of(centre_of(mesh, bodies->place(c))),
                    ", which is a Robin face: leave a cell between them, or take a Neumann or Dirichlet face"));
  }
  return bodies;
}

void set_bodies(const Context& ctx, const TensorMesh<3>& mesh, const PoissonProblem3D& problem, const BoxBodies& bodies,
                std::vector<double>& xx, std::vector<double>& yy, std::vector<double>& zz) {
  const bool directions = std::any_of(problem.bodies.begin(), problem.bodies.end(), [](const Body3D& body) {
    return body.kind == BodyKind::contact || body.kyy || body.kzz;
  });
  if (directions && yy.empty()) yy = zz = xx;
  for (std::size_t b = 0; b < problem.bodies.size(); ++b) {
    if (bodies.kinds[b] != BodyKind::coefficient) continue;
    const auto& own = bodies.cells[b];
    for_each_row(
        ctx, static_cast<int>(own.size()),
        [&](int n, const Body3D& body) {
          const std::size_t c = own[static_cast<std::size_t>(n)];
          const Point3D centre = centre_of(mesh, bodies.place(c));
          const auto k = [&](const ScalarFunction3D& f) {
            const double value = evaluate(f, centre, "K of a body");
            if (!(value > 0))
              throw UsageError(
                  message(label(bodies, b), ": K must be positive; at ", text_of(centre), " it is ", value));
            return value;
          };
          xx[c] = k(body.value);
          if (yy.empty()) return;
          yy[c] = body.kyy ? k(body.kyy) : xx[c];
          zz[c] = body.kzz ? k(body.kzz) : xx[c];
        },
        problem.bodies[b]);
  }
  for (std::size_t b = 0; b < problem.bodies.size(); ++b)
    if (bodies.kinds[b] == BodyKind::contact) set_contact(mesh, problem.bodies[b], bodies, b, {&xx, &yy, &zz});
}

ScalarFunction3D in_live_cells(const TensorMesh<3>& mesh, const BoxBodies& bodies, const ScalarFunction3D& f) {
  if (!f) return f;
  Values live(bodies.cell.size());
  std::transform(bodies.cell.begin(), bodies.cell.end(), live.begin(),
                 [](std::uint8_t cell) { return cell == BoxBodies::live ? 1.0 : 0.0; });
  return [is_live = on_cells(mesh, bodies.cells_of_axes, std::move(live)), f](const Point3D& p) {
    return is_live(p) > 0 ? f(p) : 0.0;
  };
}

PoissonProblem3D in_live_cells(const TensorMesh<3>& mesh, const BoxBodies& bodies, const PoissonProblem3D& problem) {
  PoissonProblem3D masked = problem;
  masked.rhs = in_live_cells(mesh, bodies, rhs_function(problem));
  for (BoundaryCondition3D& face : masked.boundaries.faces)
    if (boundary_type(face.kind) == BoundaryType::neumann) face.value = in_live_cells(mesh, bodies, face.value);
  return masked;
}

bool BoxRooms::any_singular() const {
  return std::any_of(rooms.begin(), rooms.end(), [](const Room& room) { return room.singular; });
}
bool BoxRooms::all_singular() const {
  return std::all_of(rooms.begin(), rooms.end(), [](const Room& room) { return room.singular; });
}

BoxRooms rooms_of(const TensorMesh<3>& mesh, const PoissonProblem3D& problem, const BoxBodies& bodies) {
  const auto is_free = [&](const Place& at) {
    return bodies.node[bodies.node_number(at[0], at[1], at[2])] == BoxBodies::unknown &&
           unknown_at(mesh.x(), static_cast<int>(at[0])) >= 0 && unknown_at(mesh.y(), static_cast<int>(at[1])) >= 0 &&
           unknown_at(mesh.z(), static_cast<int>(at[2])) >= 0;
  };
  Union connected(bodies.node.size());
  constexpr std::size_t none = SIZE_MAX;
  std::vector<std::size_t> first(bodies.cell.size(), none);
  BoxRooms found;
  found.of_node.assign(bodies.node.size(), -1);
  found.integral.assign(bodies.node.size(), 0.0);
  for (std::size_t c = 0; c < first.size(); ++c) {
    if (bodies.cell[c] != BoxBodies::live) continue;
    const auto [i, j, k] = bodies.place(c);
    const double part = mesh.x().widths()[i] * mesh.y().widths()[j] * mesh.z().widths()[k] / 8;
    bodies.for_each_corner(c, [&](const Place& at) {
      const std::size_t joined = bodies.joined_node(at);
      found.integral[joined] += part;
      if (!is_free(at)) return;
      if (first[c] == none) first[c] = joined;
      connected.join(first[c], joined);
    });
  }
  std::array<double, 6> alpha{};
  for (const BoxFace face : all_box_faces) alpha[static_cast<std::size_t>(face)] = face_alpha(mesh, problem, face);
  std::vector<int> number(bodies.node.size(), -1);
  for (std::size_t c = 0; c < first.size(); ++c) {
    if (first[c] == none) continue;
    int& of_root = number[connected.find(first[c])];
    if (of_root < 0) {
      of_root = static_cast<int>(found.rooms.size());
      const Point3D centre = centre_of(mesh, bodies.place(c));
      found.rooms.push_back({0, centre.x, centre.y, centre.z, true});
    }
    const int room = of_root;
    BoxRooms::Room& own = found.rooms[static_cast<std::size_t>(room)];
    ++own.cells;
    for (std::size_t d = 0; d < 3; ++d)
      if ((bodies.place(c)[d] == 0 && alpha[2 * d] > 0) ||
          (bodies.place(c)[d] + 1 == bodies.cells_of_axes[d] && alpha[2 * d + 1] > 0))
        own.singular = false;
    bodies.for_each_corner(c, [&](const Place& at) {
      if (is_free(at))
        found.of_node[bodies.joined_node(at)] = room;
      else
        own.singular = false;
    });
  }
  return found;
}

namespace {

double volume_of(const TensorMesh<3>& mesh, const Place& cell) {
  const auto& [i, j, k] = cell;
  return mesh.x().widths()[i] * mesh.y().widths()[j] * mesh.z().widths()[k];
}

}  // namespace

std::vector<double> sums_of_bodies(const TensorMesh<3>& mesh, const BoxBodies& bodies, std::span<const double> nodal,
                                   std::size_t begin, std::size_t end) {
  const std::size_t before = bodies.node_number(0, 0, begin), layers = bodies.cells_of_axes[2];
  std::vector<double> sums;
  for (std::size_t b = 0; b < bodies.kinds.size(); ++b) {
    const bool solid = bodies.kinds[b] == BodyKind::no_flux;
    std::vector<char> seen(solid ? nodal.size() : 0, 0);
    double integral = 0, weights = 0;
    for (const std::size_t c : bodies.cells[b]) {
      const Place cell = bodies.place(c);
      const bool own_cell = cell[2] >= begin && cell[2] < end;
      if (!solid && !own_cell) continue;
      const double weight = solid ? 1 : volume_of(mesh, cell) / 8;
      bodies.for_each_corner(c, [&](const Place& at) {
        // Nodes of a surface are counted once, and so are those that periodic faces join: planes belong to the layer behind
        // them, the last one to the last layer.
        const std::size_t node = solid ? bodies.joined_node(at) : bodies.node_number(at[0], at[1], at[2]);
        const std::size_t plane = node / bodies.node_number(0, 0, 1);
        const bool own_plane = plane >= begin && (plane < end || (end == layers && plane == layers));
        if (solid && !own_plane) return;
        if (solid && (seen[node - before] != 0 || bodies.node[node] != BoxBodies::unknown)) return;
        if (solid) seen[node - before] = 1;
        integral += weight * nodal[node - before];
        weights += weight;
      });
    }
    sums.push_back(integral);
    sums.push_back(weights);
  }
  return sums;
}

std::vector<BoxBodyFlux> means_of_bodies(const TensorMesh<3>& mesh, const BoxBodies& bodies,
                                         std::span<const double> sums) {
  std::vector<BoxBodyFlux> found(bodies.kinds.size());
  for (std::size_t b = 0; b < found.size(); ++b) {
    found[b].cells = static_cast<std::int64_t>(bodies.cells[b].size());
    for (const std::size_t c : bodies.cells[b]) found[b].volume += volume_of(mesh, bodies.place(c));
    found[b].mean = sums[2 * b + 1] > 0 ? sums[2 * b] / sums[2 * b + 1] : 0;
  }
  return found;
}

BodyGap3D largest_body_gap(const TensorMesh<3>& mesh, const PoissonProblem3D& problem, const BoxBodies& bodies) {
  BodyGap3D largest;
  if (!bodies.has_held_cells) return largest;
  const ScalarFunction3D of_all = boundary_function(problem);
  const auto& n = bodies.cells_of_axes;
  for (const BoxFace face : all_box_faces) {
    const BoundaryCondition3D& condition = problem.boundaries[face];
    if (condition.kind != BoundaryConditionType::dirichlet) continue;
    const ScalarFunction3D& g = condition.value ? condition.value : of_all;
    const FacePlace place(face);
    Place at{};
    const auto across = static_cast<std::size_t>(place.across), first = static_cast<std::size_t>(place.first),
               second = static_cast<std::size_t>(place.second);
    at[across] = place.last ? n[across] : 0;
    for (at[second] = 0; at[second] <= n[second]; ++at[second])
      for (at[first] = 0; at[first] <= n[first]; ++at[first]) {
        const std::size_t number = bodies.node_number(at[0], at[1], at[2]);
        if (bodies.node[number] != BoxBodies::given) continue;
        const Point3D p = at_node(mesh, at);
        if (const double gap = std::abs(g(p) - bodies.value[number]); gap > largest.gap) largest = {gap, p.x, p.y, p.z};
      }
  }
  return largest;
}

}  // namespace stratum
