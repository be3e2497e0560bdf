// Bodies in finite volumes (finite_volumes.hpp): their faces, the rooms that they leave, and what flows out of them.

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include <stratum/assembly/body_checks.hpp>
#include <stratum/assembly/body_surface.hpp>
#include <stratum/assembly/finite_volumes.hpp>
#include <stratum/assembly/gauss_rules.hpp>
#include <stratum/assembly/points.hpp>
#include <stratum/assembly/problem_boundary.hpp>
#include <stratum/core/errors.hpp>

namespace stratum {

namespace {

using Kind = BoundaryConditionType;

constexpr std::array<int, 4> step_x{-1, 1, 0, 0}, step_y{0, 0, -1, 1};  // left, right, bottom, top

}  // namespace

std::optional<std::array<int, 2>> FiniteVolumes::beside(int i, int j, int side) const {
  int p = i + step_x[static_cast<std::size_t>(side)], q = j + step_y[static_cast<std::size_t>(side)];
  if (periodic_x_) p = (p + nx_) % nx_;
  if (periodic_y_) q = (q + ny_) % ny_;
  if (p < 0 || p >= nx_ || q < 0 || q >= ny_) return std::nullopt;
  return std::array{p, q};
}

double FiniteVolumes::towards(int i, int j, int side) const {
  if (side == 1) return east(i, j);
  if (side == 3) return north(i, j);
  const auto next = beside(i, j, side);
  if (!next) return 0;
  return side == 0 ? east((*next)[0], (*next)[1]) : north((*next)[0], (*next)[1]);
}

double FiniteVolumes::value_on_face(const PoissonProblem& problem, std::size_t body, int i, int j, int side) const {
  const CellPoints cell = Geometry(mesh_).cell(i, j);
  const double across = side % 2 == 0 ? 0 : 1;
  return mean_along([&](double t) {
    return evaluate(problem.bodies[body].value, side < 2 ? cell.at(across, t) : cell.at(t, across), "value of a body");
  });
}

void FiniteVolumes::expects_bodies(const PoissonProblem& problem) const {
  const std::size_t made_with = map_ ? map_->kinds.size() : 0;
  expects(problem.bodies.size() == made_with, "the problem has ", problem.bodies.size(),
          " bodies; these finite volumes were made with ", made_with);
  for (std::size_t b = 0; b < made_with; ++b)
    expects(problem.bodies[b].kind == map_->kinds[b], body_label(*map_, b), " is of the kind ",
            to_string(problem.bodies[b].kind), "; these finite volumes were made with ", to_string(map_->kinds[b]));
}

std::vector<double> FiniteVolumes::held_values(const PoissonProblem& problem) const {
  expects_bodies(problem);
  if (!map_) return {};
  std::vector<double> values;
  for (const HeldFace& face : held_faces_)
    values.push_back(value_on_face(problem, face.body, face.i, face.j, face.side));
  return values;
}

void FiniteVolumes::set_contact(const Body& body, std::size_t number) {
  if (body.resistance == 0) return;
  contact_x_.resize(static_cast<std::size_t>(cells()), 0.0);
  contact_y_.resize(static_cast<std::size_t>(cells()), 0.0);
  const detail::BodySurface surface(*map_, number, periodic_x_, periodic_y_);
  for (const std::size_t c : map_->cells[number]) {
    const int i = static_cast<int>(c % static_cast<std::size_t>(nx_)),
              j = static_cast<int>(c / static_cast<std::size_t>(nx_));
    for (int side = 0; side < 4; ++side) {
      const auto next = beside(i, j, side);
      if (!next || surface.inside[at((*next)[0], (*next)[1])] != 0) continue;
      const double r = body.resistance * surface.steps(i, j, width_x(i), width_y(j)).longer_on_faces();
      const std::size_t first = side % 2 == 1 ? c : at((*next)[0], (*next)[1]);
      (side < 2 ? contact_x_ : contact_y_)[first] += r;
    }
  }
}

void FiniteVolumes::set_bodies(const PoissonProblem& problem) {
  const auto& bodies = problem.bodies;
  for (std::size_t k = 0; k < bodies.size(); ++k)
    if (bodies[k].kind == BodyKind::contact) set_contact(bodies[k], k);
  if (!map_->has_held()) return;
  const auto column = [this](std::size_t c) { return static_cast<int>(c % static_cast<std::size_t>(nx_)); };
  const auto row = [this](std::size_t c) { return static_cast<int>(c / static_cast<std::size_t>(nx_)); };
  const auto agree = [&](std::size_t one, std::size_t other, double a, double b, std::size_t c) {
    const Point p = Geometry(mesh_).cell(column(c), row(c)).at(0.5, 0.5);
    expects(detail::agree(a, b), body_label(*map_, one), " and ", body_label(*map_, other),
            " meet with different values at (", p.x, ", ", p.y, "), ", a, " and ", b,
            ": leave a cell between them, or give one value");
  };
  std::vector<int> holder(static_cast<std::size_t>(cells()), -1);
  for (std::size_t k = 0; k < bodies.size(); ++k) {
    if (bodies[k].kind != BodyKind::value) continue;
    for (const std::size_t c : map_->cells[k]) {
      const Point centre = Geometry(mesh_).cell(column(c), row(c)).at(0.5, 0.5);
      const double value = evaluate(bodies[k].value, centre, "value of a body");
      if (holder[c] < 0)
        holder[c] = static_cast<int>(k);
      else
        agree(static_cast<std::size_t>(holder[c]), k,
              evaluate(bodies[static_cast<std::size_t>(holder[c])].value, centre, "value of a body"), value, c);
    }
  }
  for (std::size_t c = 0; c < holder.size(); ++c) {
    if (holder[c] < 0) continue;
    const auto body = static_cast<std::size_t>(holder[c]);
    for (int side = 0; side < 4; ++side) {
      const auto next = beside(column(c), row(c), side);
      if (!next) continue;
      const auto [i, j] = *next;
      const int back = side % 2 == 0 ? side + 1 : side - 1;
      if (const int other = holder[at(i, j)]; other > holder[c])
        agree(body, static_cast<std::size_t>(other), value_on_face(problem, body, i, j, back),
              value_on_face(problem, static_cast<std::size_t>(other), i, j, back), c);
      if (!is_live(i, j)) continue;
      const std::size_t first = back % 2 == 1 ? at(i, j) : c;
      const auto& contact = side < 2 ? contact_x_ : contact_y_;
      const double half = side < 2 ? half_x(i, j) : half_y(i, j), area = side < 2 ? width_y(j) : width_x(i);
      held_faces_.push_back({i, j, back, body, 1 / (1 / half + (contact.empty() ? 0 : contact[first] / area))});
    }
  }
}

void FiniteVolumes::find_rooms() {
  rooms_.emplace();
  rooms_->of_cell.assign(static_cast<std::size_t>(cells()), -1);
  std::vector<std::array<int, 2>> open;
  for (int j = 0; j < ny_; ++j)
    for (int i = 0; i < nx_; ++i) {
      if (!is_live(i, j) || rooms_->of_cell[at(i, j)] >= 0) continue;
      const int number = static_cast<int>(rooms_->rooms.size());
      const Point centre = Geometry(mesh_).cell(i, j).at(0.5, 0.5);
      Rooms::Room room{0, centre.x, centre.y, true};
      open.assign(1, {i, j});
      rooms_->of_cell[at(i, j)] = number;
      while (!open.empty()) {
        const auto [p, q] = open.back();
        open.pop_back();
        ++room.cells;
        const auto held_by = [&](std::size_t side, int k) {
          return !faces_[side].empty() && faces_[side][static_cast<std::size_t>(k)].conductance > 0;
        };
        if (reaction(p, q) > 0 || (p == 0 && held_by(0, q)) || (p + 1 == nx_ && held_by(1, q)) ||
            (q == 0 && held_by(2, p)) || (q + 1 == ny_ && held_by(3, p)))
          room.singular = false;
        for (int side = 0; side < 4; ++side) {
          const auto next = beside(p, q, side);
          if (!next) continue;
          int& of_next = rooms_->of_cell[at((*next)[0], (*next)[1])];
          if (of_next >= 0 || !is_live((*next)[0], (*next)[1])) continue;
          of_next = number;
          open.push_back(*next);
        }
      }
      rooms_->rooms.push_back(room);
    }
  for (const HeldFace& face : held_faces_)
    rooms_->rooms[static_cast<std::size_t>(rooms_->of_cell[at(face.i, face.j)])].singular = false;
  singular_ = rooms_->singular() > 0;
}

UnknownsInRooms FiniteVolumes::cells_in_rooms(int first, int rows) const {
  UnknownsInRooms found;
  for (int j = first; j < first + rows; ++j)
    for (int i = 0; i < nx_; ++i) {
      const int room = rooms_->of_cell[at(i, j)];
      found.room.push_back(room >= 0 && rooms_->rooms[static_cast<std::size_t>(room)].singular ? room : -1);
      found.integral.push_back(volume(i, j));
    }
  return found;
}

FiniteVolumes FiniteVolumes::with_solids_that_conduct() const {
  FiniteVolumes conducting = *this;
  conducting.k_ = conducting_next_to_nothing(*k_);
  auto map = std::make_shared<BodyMap>(*map_);
  std::replace(map->cell.begin(), map->cell.end(), std::uint8_t{BodyMap::empty}, std::uint8_t{BodyMap::live});
  map->has_empty_cells = false;
  conducting.map_ = std::move(map);
  return conducting;
}

std::vector<BodyFlux> FiniteVolumes::body_fluxes(const PoissonProblem& problem, std::span<const double> cells) const {
  expects_cells(cells);
  const auto held = held_values(problem);
  if (!map_) return {};
  std::vector<BodyFlux> found(map_->kinds.size());
  for (std::size_t b = 0; b < found.size(); ++b) {
    BodyFlux& body = found[b];
    const BodyKind kind = map_->kinds[b];
    body.cells = static_cast<std::int64_t>(map_->cells[b].size());
    std::vector<char> inside(map_->cell.size(), 0);
    for (const std::size_t c : map_->cells[b]) inside[c] = 1;
    double surface = 0;
    for (const std::size_t c : map_->cells[b]) {
      const int i = static_cast<int>(c % static_cast<std::size_t>(nx_)),
                j = static_cast<int>(c / static_cast<std::size_t>(nx_));
      body.area += volume(i, j);
      if (kind != BodyKind::no_flux) body.mean += volume(i, j) * cells[c];
      if (kind == BodyKind::value) continue;
      for (int side = 0; side < 4; ++side) {
        const auto next = beside(i, j, side);
        if (!next) continue;
        const std::size_t other = at((*next)[0], (*next)[1]);
        if (inside[other] != 0 || map_->cell[other] != BodyMap::live) continue;
        if (kind == BodyKind::no_flux) {
          const double area = side < 2 ? width_y(j) : width_x(i);
          surface += area;
          body.mean += area * cells[other];
        } else if (const double t = towards(i, j, side); t > 0) {
          body.flux += t * (cells[c] - cells[other]);
        }
      }
    }
    for (std::size_t k = 0; k < held.size(); ++k) {
      const HeldFace& face = held_faces_[k];
      const double out = face.conductance * (held[k] - cells[at(face.i, face.j)]);
      if (face.body == b)
        body.flux += out;
      else if (kind != BodyKind::value && inside[at(face.i, face.j)] != 0)
        body.flux -= out;
    }
    if (kind != BodyKind::no_flux)
      body.mean /= body.area;
    else if (surface > 0)
      body.mean /= surface;
  }
  return found;
}

CornerGap FiniteVolumes::largest_body_gap(const PoissonProblem& problem) const {
  expects_bodies(problem);
  CornerGap largest;
  if (!map_ || !map_->has_held()) return largest;
  const Geometry geometry(mesh_);
  const ScalarFunction of_all = boundary_function(problem);
  for (const auto& boundary : detail::all_boundaries(problem.boundaries)) {
    if (boundary.condition.kind != Kind::dirichlet) continue;
    const ScalarFunction& g = boundary.condition.value ? boundary.condition.value : of_all;
    const bool across_x = boundary.place.along == Direction::y, last = boundary.place.last;
    for (std::size_t b = 0; b < map_->kinds.size(); ++b) {
      if (map_->kinds[b] != BodyKind::value) continue;
      for (const std::size_t c : map_->cells[b]) {
        const int i = static_cast<int>(c % static_cast<std::size_t>(nx_)),
                  j = static_cast<int>(c / static_cast<std::size_t>(nx_));
        if ((across_x ? i : j) != (last ? (across_x ? nx_ : ny_) - 1 : 0)) continue;
        const Point p = geometry.on_boundary(boundary.place, across_x ? j : i, 0.5);
        const double gap = std::abs(g(p) - problem.bodies[b].value(p));
        if (gap > largest.gap) largest = {gap, p.x, p.y};
      }
    }
  }
  return largest;
}

}  // namespace stratum
