#include <stratum/assembly/finite_volumes.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include <stratum/assembly/films.hpp>
#include <stratum/assembly/gauss_rules.hpp>
#include <stratum/assembly/points.hpp>
#include <stratum/assembly/problem_boundary.hpp>
#include <stratum/assembly/rectangle_fields.hpp>
#include <stratum/core/errors.hpp>
#include <stratum/core/field/blas.hpp>

namespace stratum {

namespace {

using Kind = BoundaryConditionType;

/// Of conductances one behind the other, with a resistance between them.
double series(double a, double b, double resistance = 0) {
  return a == 0 || b == 0 ? 0 : 1 / (1 / a + 1 / b + resistance);
}

/// K and c of the cells, which bodies change.
std::optional<CellCoefficients> coefficients_of(Context& ctx, const TensorMesh<2>& mesh,
                                                const PoissonProblem& problem) {
  if (!problem.has_coefficients()) return std::nullopt;
  CellCoefficients cells = on_cells(ctx, mesh, problem.diffusion, problem.reaction_of_cells);
  if (!problem.bodies.empty())
    set_bodies(ctx, mesh, problem.bodies, bodies_on_cells(ctx, mesh, problem.bodies), problem.reaction, cells);
  return cells;
}

/// Nodes at the centres of the intervals. Half an interval lies beside an end with values; the only interval has one on both
/// sides, since a line has a width.
Axis centres_of(const Axis& line, Kind first, Kind last) {
  const auto& h = line.widths();
  const std::size_t n = h.size();
  const bool periodic = first == Kind::periodic;
  expects(!periodic || n >= 3, "a periodic direction takes at least 3 cells, not ", n);
  const bool half_first = !periodic && (first == Kind::dirichlet || n == 1),
             half_last = !periodic && (last == Kind::dirichlet || n == 1);
  std::vector<double> widths;
  if (half_first) widths.push_back(h.front() / 2);
  for (std::size_t i = 0; i + 1 < n; ++i) widths.push_back((h[i] + h[i + 1]) / 2);
  if (half_last) widths.push_back(h.back() / 2);
  if (periodic) widths.push_back((h.back() + h.front()) / 2);
  const double origin = line.origin() + (half_first ? 0 : h.front() / 2);
  const auto type = [](bool half) { return half ? BoundaryType::dirichlet : BoundaryType::neumann; };
  const Axis axis = half_first && half_last ? Axis(std::move(widths), line.length()) : Axis(std::move(widths));
  return axis.starting_at(origin).with_boundaries(periodic ? BoundaryType::periodic : type(half_first),
                                                  periodic ? BoundaryType::periodic : type(half_last));
}

/// The same with both ends of the line as nodes.
Axis points_of(const Axis& line) {
  return centres_of(line, Kind::dirichlet, Kind::dirichlet)
      .with_boundaries(BoundaryType::neumann, BoundaryType::neumann);
}

}  // namespace

FiniteVolumes::FiniteVolumes(Context& ctx, const TensorMesh<2>& mesh, const PoissonProblem& problem)
    : mesh_(mesh), centres_([&] {
        const auto& [left, right, bottom, top] = problem.boundaries;
        expects((left.kind == Kind::periodic) == (right.kind == Kind::periodic) &&
                    (bottom.kind == Kind::periodic) == (top.kind == Kind::periodic),
                "a direction is periodic at both sides or at none");
        return TensorMesh<2>(centres_of(mesh.x(), left.kind, right.kind), centres_of(mesh.y(), bottom.kind, top.kind),
                             mesh.name());
      }()),
      points_(points_of(mesh.x()), points_of(mesh.y()), mesh.name()), nx_(mesh.x().size()), ny_(mesh.y().size()),
      periodic_x_(problem.boundaries.left.kind == Kind::periodic),
      periodic_y_(problem.boundaries.bottom.kind == Kind::periodic), reaction_(problem.reaction),
      k_(coefficients_of(ctx, mesh, problem)), map_(k_ ? k_->bodies : nullptr),
      plain_(!problem.diffusion.is_given() && problem.bodies.empty()) {
  expects(std::isfinite(reaction_) && reaction_ >= 0,
          "the reaction coefficient c must be finite and not negative, not ", reaction_);
  expects(
      !k_ || std::all_of(k_->xy.begin(), k_->xy.end(), [](double k) { return k == 0; }),
      "finite volumes take a diagonal K: a five-point matrix has no place for kxy. Leave kxy out, or take elements");
  if (map_) set_bodies(problem);
  faces_ = boundary_faces(problem, false);
  bool holds = reaction_ > 0 || (k_ && !k_->c.empty());
  for (const auto& boundary : faces_)
    holds =
        holds || std::any_of(boundary.begin(), boundary.end(), [](const auto& face) { return face.conductance > 0; });
  singular_ = !holds;
  if (map_ && map_->has_solids()) find_rooms();
  const auto boundaries = detail::all_boundaries(problem.boundaries);
  for (std::size_t side = 0; side < boundaries.size(); ++side) {
    holds_[side] = boundaries[side].condition.kind == Kind::dirichlet;
    plain_ = plain_ && boundaries[side].condition.kind != Kind::robin;
  }
  constexpr double seen = 1e-5;
  const double lost = lost_by_rounding(std::numeric_limits<double>::epsilon() / 2);
  expects(lost <= seen, "cells down to ", mesh.smallest_width(),
          " wide lie far from Dirichlet boundaries: the diagonal of a five-point matrix in double loses about ", lost,
          " of what holds u there. Take elements (--discretisation elements), which store no diagonal, or wider cells");
}

double FiniteVolumes::lost_by_rounding(double unit) const {
  double most = 0;
  for (const auto& [line, first] : {std::pair{&mesh_.x(), std::size_t{0}}, {&mesh_.y(), std::size_t{2}}}) {
    const auto n = static_cast<std::size_t>(line->size());
    double sum = 0;
    for (std::size_t i = 0; n > 1 && i < n; ++i) {
      const double h = line->widths()[i];
      double distance = 1;
      if (holds_[first]) distance = std::min(distance, (line->from_begin()[i] + h / 2) / line->length());
      if (holds_[first + 1]) distance = std::min(distance, (line->from_end()[i + 1] + h / 2) / line->length());
      const double rounded = 2 / h * distance * distance;
      sum += rounded * rounded;
    }
    most = std::max(most, unit * line->length() * std::sqrt(sum));
  }
  return most;
}

double FiniteVolumes::east(int i, int j) const {
  const int next = i + 1 < nx_ ? i + 1 : 0;
  if ((next == 0 && !periodic_x_) || !is_live(i, j) || !is_live(next, j)) return 0;
  return series(half_x(i, j), half_x(next, j), contact_x_.empty() ? 0 : contact_x_[at(i, j)] / width_y(j));
}

double FiniteVolumes::north(int i, int j) const {
  const int next = j + 1 < ny_ ? j + 1 : 0;
  if ((next == 0 && !periodic_y_) || !is_live(i, j) || !is_live(i, next)) return 0;
  return series(half_y(i, j), half_y(i, next), contact_y_.empty() ? 0 : contact_y_[at(i, j)] / width_x(i));
}

FiniteVolumes::BoundaryFaces FiniteVolumes::boundary_faces(const PoissonProblem& problem, bool with_sources) const {
  const Geometry geometry(mesh_);
  const auto boundaries = detail::all_boundaries(problem.boundaries);
  const ScalarFunction of_all = boundary_function(problem);
  BoundaryFaces faces;
  for (std::size_t side = 0; side < boundaries.size(); ++side) {
    const auto& boundary = boundaries[side];
    const auto& [condition, name, place] = boundary;
    if (condition.kind == Kind::periodic) continue;
    const ScalarFunction g = condition.value                     ? condition.value
                             : condition.kind == Kind::dirichlet ? of_all
                                                                 : ScalarFunction{};
    const bool across_x = place.along == Direction::y;
    for (int k = 0; k < (across_x ? ny_ : nx_); ++k) {
      const auto value = [&](double t) { return evaluate(g, geometry.on_boundary(place, k, t), "boundary value"); };
      BoundaryFace face;
      face.area = across_x ? width_y(k) : width_x(k);
      const int i = across_x ? (place.last ? nx_ - 1 : 0) : k, j = across_x ? k : (place.last ? ny_ - 1 : 0);
      if (!is_live(i, j)) {
        faces[side].push_back(face);
        continue;
      }
      face.half = across_x ? half_x(i, j) : half_y(i, j);
      const double given = with_sources && g ? mean_along(value) : 0;
      switch (condition.kind) {
        case Kind::dirichlet:
          face.conductance = face.half;
          face.source = face.half * given;
          break;
        case Kind::robin: {
          const double alpha =
              face.area * mean_along([&](double t) { return detail::alpha_at(geometry, boundary, k, t); });
          face.conductance = series(face.half, alpha);
          face.source = face.area * given * (face.half / (face.half + alpha));
          break;
        }
        default: face.source = face.area * given;
      }
      faces[side].push_back(face);
    }
  }
  return faces;
}

std::vector<double> FiniteVolumes::row_sums(const GridLayout<2>& subdomain) const {
  const int first = subdomain.origin_y - centres_.unknowns().origin_y, rows = subdomain.ny;
  expects(subdomain.nx == nx_ && first >= 0 && first + rows <= ny_, "rows ", first, " to ", first + rows - 1, " of ",
          subdomain.nx, " cells are none of a mesh of ", nx_, " x ", ny_, " cells");
  std::vector<double> sums(static_cast<std::size_t>(nx_) * static_cast<std::size_t>(rows));
  const auto outward = [&](std::size_t side, int k) {
    return faces_[side].empty() ? 0.0 : faces_[side][static_cast<std::size_t>(k)].conductance;
  };
  for (int row = 0; row < rows; ++row)
    for (int i = 0, j = first + row; i < nx_; ++i) {
      double& sum = sums[at(i, row)];
      if (!is_live(i, j)) continue;
      sum = reaction(i, j) * volume(i, j);
      if (i == 0) sum += outward(0, j);
      if (i + 1 == nx_) sum += outward(1, j);
      if (j == 0) sum += outward(2, i);
      if (j + 1 == ny_) sum += outward(3, i);
    }
  for (const HeldFace& face : held_faces_)
    if (face.j >= first && face.j < first + rows) sums[at(face.i, face.j - first)] += face.conductance;
  return sums;
}

GridOperator<double> FiniteVolumes::matrix(Context& ctx, const GridLayout<2>& subdomain) const {
  SymmetricNineBand<double> a(ctx, subdomain);
  if (ctx.is_dry_run()) return {std::move(a)};
  const int first = subdomain.origin_y - centres_.unknowns().origin_y;
  std::vector<double> centre = row_sums(subdomain), to_east(centre.size()), to_north(centre.size());
  for_each_row(ctx, subdomain.ny, [&](int row) {
    const int j = first + row, below = j > 0 ? j - 1 : ny_ - 1;
    for (int i = 0; i < nx_; ++i) {
      const double e = east(i, j), n = north(i, j);  // zero where there is no neighbour
      const std::size_t p = at(i, row);
      centre[p] = is_live(i, j) ? centre[p] + e + n + (east(i > 0 ? i - 1 : nx_ - 1, j) + north(i, below)) : 1;
      to_east[p] = -e;
      to_north[p] = -n;
    }
  });
  copy_from_host(ctx, centre.data(), a.band[0].view());
  copy_from_host(ctx, to_east.data(), a.band[1].view());
  copy_from_host(ctx, to_north.data(), a.band[3].view());
  for (auto& band : a.band) exchange(ctx, band);
  return {std::move(a)};
}

std::vector<double> FiniteVolumes::means(Context& ctx, const ScalarFunction& f, int first_row, int rows,
                                         int points) const {
  const auto rule = gauss_rule(points);
  std::vector<double> values(static_cast<std::size_t>(nx_) * static_cast<std::size_t>(rows));
  const Geometry geometry(mesh_);
  for_each_row(
      ctx, rows,
      [&](int row, const ScalarFunction& own) {
        for (int i = 0; i < nx_; ++i) {
          if (!is_live(i, first_row + row)) continue;
          const CellPoints cell = geometry.cell(i, first_row + row);
          for (const auto& [s, of_s] : rule)
            for (const auto& [t, of_t] : rule)
              values[at(i, row)] += of_s * of_t * evaluate(own, cell.at(t, s), "right-hand side");
        }
      },
      f);
  return values;
}

std::vector<double> FiniteVolumes::at_centres(Context& ctx, const ScalarFunction& f, int first_row, int rows) const {
  std::vector<double> values(static_cast<std::size_t>(nx_) * static_cast<std::size_t>(rows));
  const Geometry geometry(mesh_);
  for_each_row(
      ctx, rows,
      [&](int row, const ScalarFunction& own) {
        for (int i = 0; i < nx_; ++i)
          values[at(i, row)] = evaluate(own, geometry.cell(i, first_row + row).at(0.5, 0.5), "exact solution");
      },
      f);
  return values;
}

double FiniteVolumes::assemble_load(Context& ctx, const PoissonProblem& problem, const GridFunction<double>& b) const {
  const int first = first_row_of(ctx, "the load vector", centres_, b);
  return assemble_load(ctx, problem, means(ctx, rhs_function(problem), first, b.view.ny), b);
}

double FiniteVolumes::assemble_load(Context& ctx, const PoissonProblem& problem, std::vector<double> load,
                                    const GridFunction<double>& b) const {
  const int first = first_row_of(ctx, "the load vector", centres_, b), rows = b.view.ny;
  expects(load.size() == static_cast<std::size_t>(b.view.nodes()), "f has ", load.size(), " means, b is of ", nx_,
          " x ", rows, " cells");
  double integral = 0;
  for (int row = 0; row < rows; ++row)
    for (int i = 0; i < nx_; ++i) integral += load[at(i, row)] *= is_live(i, first + row) ? volume(i, first + row) : 0;
  const BoundaryFaces faces = boundary_faces(problem, true);
  const auto add = [&](std::size_t side, int k, int i, int j) {
    if (!faces[side].empty() && j >= first && j < first + rows)
      load[at(i, j - first)] += faces[side][static_cast<std::size_t>(k)].source;
  };
  for (int j = 0; j < ny_; ++j) {
    add(0, j, 0, j);
    add(1, j, nx_ - 1, j);
  }
  for (int i = 0; i < nx_; ++i) {
    add(2, i, i, 0);
    add(3, i, i, ny_ - 1);
  }
  const auto held = held_values(problem);
  for (std::size_t k = 0; k < held.size(); ++k)
    if (const HeldFace& face = held_faces_[k]; face.j >= first && face.j < first + rows)
      load[at(face.i, face.j - first)] += face.conductance * held[k];
  copy_from_host(ctx, load.data(), b.view);
  if (!b.is_part()) return integral;
  const auto all = ctx.communicator()->gather_on_host(integral);
  return std::accumulate(all.begin(), all.end(), 0.0);
}

Compatibility FiniteVolumes::make_compatible(Context& ctx, const GridFunction<double>& b, bool project) const {
  const int first = first_row_of(ctx, "the load vector", centres_, b);
  if (!rooms_) {
    const HatIntegrals volumes{mesh_.x().widths(), mesh_.y().widths(), first};
    const Compatibility found = stratum::make_compatible(ctx, volumes, b.view);
    expect_compatible(found, project, "the integral of f plus the boundary fluxes");
    return found;
  }
  const auto found = stratum::make_compatible(ctx, *rooms_, cells_in_rooms(first, b.view.ny), b);
  expect_compatible(*rooms_, found, project);
  return sum_of(found);
}

void FiniteVolumes::subtract_mean(Context& ctx, const GridFunction<double>& u) const {
  const int first = first_row_of(ctx, "the solution", centres_, u);
  if (rooms_) return subtract_integral_means(ctx, *rooms_, cells_in_rooms(first, u.view.ny), u);
  subtract_integral_mean(ctx, HatIntegrals{mesh_.x().widths(), mesh_.y().widths(), first}, u.view);
}

double FiniteVolumes::round_off_of_films() const {
  return stratum::round_off_of_films(mesh_, k_ ? &*k_ : nullptr, reaction_, holds_);
}

void FiniteVolumes::lift_boundary(Context& ctx, const PoissonProblem& problem, const GridFunction<double>& u) const {
  // The mesh of centres has its Dirichlet boundaries where the domain has them.
  PoissonProblem boundaries = problem;
  boundaries.bodies.clear();
  stratum::lift_boundary(ctx, centres_, boundaries, u);
  if (!rooms_ || u.view.nodes() == 0) return;
  const int first = first_row_of(ctx, "the start", centres_, u);
  std::vector<double> values(static_cast<std::size_t>(u.view.nodes()));
  copy_to_host(ctx, FieldView<const double>(u.view), values.data());
  for (int row = 0; row < u.view.ny; ++row)
    for (int i = 0; i < nx_; ++i)
      if (!is_live(i, first + row)) values[at(i, row)] = 0;
  copy_from_host(ctx, values.data(), u.view);
}

std::vector<double> FiniteVolumes::cell_values(Context& ctx, const PoissonProblem& problem,
                                               const GridFunction<const double>& u) const {
  expects_bodies(problem);
  (void)first_row_of(ctx, "the solution", centres_, u);
  std::vector<double> cells;
  if (u.is_part()) {
    cells = all_rows(ctx, u.view);
  } else {
    cells.resize(static_cast<std::size_t>(this->cells()));
    copy_to_host(ctx, u.view, cells.data());
  }
  if (!rooms_) return cells;
  for (std::size_t k = map_->kinds.size(); k-- > 0;)  // of equal ones the first holds
    for (const std::size_t c : map_->cells[k]) {
      if (map_->kinds[k] == BodyKind::no_flux) cells[c] = std::nan("");
      if (map_->kinds[k] != BodyKind::value) continue;
      const int i = static_cast<int>(c % static_cast<std::size_t>(nx_)),
                j = static_cast<int>(c / static_cast<std::size_t>(nx_));
      cells[c] = evaluate(problem.bodies[k].value, Geometry(mesh_).cell(i, j).at(0.5, 0.5), "value of a body");
    }
  return cells;
}

void FiniteVolumes::expects_cells(std::span<const double> cells) const {
  expects(cells.size() == static_cast<std::size_t>(this->cells()), "the solution has ", cells.size(),
          " values, the mesh ", nx_, " x ", ny_, " cells");
}

std::vector<double> FiniteVolumes::point_values(const PoissonProblem& problem, std::span<const double> cells) const {
  expects_cells(cells);
  const auto columns = static_cast<std::size_t>(nx_) + 2, rows = static_cast<std::size_t>(ny_) + 2;
  std::vector<double> values(columns * rows);
  const auto point = [&](int i, int j) -> double& {  // cells from 0 on
    return values[(static_cast<std::size_t>(j) + 1) * columns + static_cast<std::size_t>(i) + 1];
  };
  for (int j = 0; j < ny_; ++j)
    for (int i = 0; i < nx_; ++i) point(i, j) = cells[at(i, j)];
  const BoundaryFaces faces = boundary_faces(problem, true);
  const auto on_face = [&](std::size_t side, int k, double u) {
    const BoundaryFace& face = faces[side][static_cast<std::size_t>(k)];
    if (face.half == 0) return u;  // of a body
    // A Dirichlet value is its own, whatever u.
    if (face.conductance == face.half) return face.source / face.half;
    return u - (face.conductance * u - face.source) / face.half;
  };
  // Between a body and its like, or where one of them has no u, that of the other.
  const auto between = [](double t, double u, double s, double v) {
    return std::isnan(u) ? v : std::isnan(v) || t + s == 0 ? u : (t * u + s * v) / (t + s);
  };
  for (int j = 0; j < ny_; ++j) {
    const double first = cells[at(0, j)], last = cells[at(nx_ - 1, j)];
    const double both = periodic_x_ ? between(half_x(0, j), first, half_x(nx_ - 1, j), last) : 0;
    point(-1, j) = periodic_x_ ? both : on_face(0, j, first);
    point(nx_, j) = periodic_x_ ? both : on_face(1, j, last);
  }
  for (int i = 0; i < nx_; ++i) {
    const double first = cells[at(i, 0)], last = cells[at(i, ny_ - 1)];
    const double both = periodic_y_ ? between(half_y(i, 0), first, half_y(i, ny_ - 1), last) : 0;
    point(i, -1) = periodic_y_ ? both : on_face(2, i, first);
    point(i, ny_) = periodic_y_ ? both : on_face(3, i, last);
  }
  for (const auto& [i, inner_i] : {std::pair{-1, 0}, {nx_, nx_ - 1}})
    for (const auto& [j, inner_j] : {std::pair{-1, 0}, {ny_, ny_ - 1}})
      point(i, j) = (point(inner_i, j) + point(i, inner_j)) / 2;
  return values;
}

BoundaryFluxes FiniteVolumes::fluxes(const PoissonProblem& problem, std::span<const double> cells) const {
  expects_cells(cells);
  const BoundaryFaces faces = boundary_faces(problem, true);
  BoundaryFluxes fluxes;
  double magnitude = 0;
  // Through the face to the next cell. Where nothing flows through the boundary, this tells how large f is there.
  const auto between = [&](double conductance, std::size_t a, std::size_t b) {
    return conductance > 0 ? std::abs(conductance * (cells[a] - cells[b])) : 0;
  };
  const auto through = [&](std::size_t side, const auto& cell, const auto& to_next) {
    double sum = 0;
    for (std::size_t k = 0; k < faces[side].size(); ++k) {
      if (faces[side][k].half == 0) continue;  // of a body
      const double u = cells[cell(static_cast<int>(k))];
      const double flux = faces[side][k].conductance * u - faces[side][k].source;
      sum += flux;
      fluxes.magnitudes += std::abs(flux) + to_next(static_cast<int>(k));
      magnitude += std::abs(faces[side][k].conductance * u) + std::abs(faces[side][k].source);
    }
    return sum;
  };
  const auto in_x = [&](int i, int j) { return nx_ > 1 ? between(east(i, j), at(i, j), at(i + 1, j)) : 0; };
  const auto in_y = [&](int i, int j) { return ny_ > 1 ? between(north(i, j), at(i, j), at(i, j + 1)) : 0; };
  const int right = nx_ - 1, top = ny_ - 1;
  fluxes.left = through(
      0, [&](int j) { return at(0, j); }, [&](int j) { return in_x(0, j); });
  fluxes.right = through(
      1, [&](int j) { return at(right, j); }, [&](int j) { return in_x(right - 1, j); });
  fluxes.bottom = through(
      2, [&](int i) { return at(i, 0); }, [&](int i) { return in_y(i, 0); });
  fluxes.top = through(
      3, [&](int i) { return at(i, top); }, [&](int i) { return in_y(i, top - 1); });
  // Through a periodic boundary flows what comes in at the other one.
  if (periodic_x_) {
    for (int j = 0; j < ny_; ++j)
      if (const double t = east(nx_ - 1, j); t > 0) fluxes.right += t * (cells[at(nx_ - 1, j)] - cells[at(0, j)]);
    fluxes.left = -fluxes.right;
  }
  if (periodic_y_) {
    for (int i = 0; i < nx_; ++i)
      if (const double t = north(i, ny_ - 1); t > 0) fluxes.top += t * (cells[at(i, ny_ - 1)] - cells[at(i, 0)]);
    fluxes.bottom = -fluxes.top;
  }
  for (int j = 0; j < ny_; ++j)
    for (int i = 0; i < nx_; ++i)
      if (is_live(i, j)) fluxes.reaction += reaction(i, j) * volume(i, j) * cells[at(i, j)];
  fluxes.rounding = std::numeric_limits<double>::epsilon() * magnitude;
  return fluxes;
}

std::optional<RelativeErrors> FiniteVolumes::errors(Context& ctx, const PoissonProblem& problem,
                                                    std::span<const double> cells) const {
  expects_cells(cells);
  if (!problem.has_exact()) return std::nullopt;
  std::vector<double> exact = at_centres(ctx, exact_function(problem), 0, ny_), error(exact.size());
  // Of one room, or of all, that are singular.
  struct Means {
    double volume = 0, exact = 0, error = 0;
  };
  std::vector<Means> means(rooms_ ? rooms_->rooms.size() : 1);
  const auto room_of = [&](std::size_t p) { return rooms_ ? rooms_->of_cell[p] : 0; };
  const auto singular = [&](int room) {
    return rooms_ ? rooms_->rooms[static_cast<std::size_t>(room)].singular : singular_;
  };
  for (int j = 0; j < ny_; ++j)
    for (int i = 0; i < nx_; ++i) {
      const std::size_t p = at(i, j);
      if (!is_live(i, j)) {
        exact[p] = error[p] = 0;
        continue;
      }
      error[p] = cells[p] - exact[p];
      Means& mean = means[static_cast<std::size_t>(room_of(p))];
      mean.volume += volume(i, j);
      mean.exact += volume(i, j) * exact[p];
      mean.error += volume(i, j) * error[p];
    }
  if (singular_)
    for (std::size_t p = 0; p < exact.size(); ++p) {
      const int room = room_of(p);
      if (room < 0 || !singular(room)) continue;
      const Means& mean = means[static_cast<std::size_t>(room)];
      const double of_room = mean.exact / mean.volume;
      constexpr double rounding = 1e-12;  // all that is left of a constant
      exact[p] = std::abs(exact[p] - of_room) > rounding * std::abs(of_room) ? exact[p] - of_room : 0;
      error[p] -= mean.error / mean.volume;
    }
  const auto held = held_values(problem);
  const BoundaryFaces faces = boundary_faces(problem, true);
  const auto kinds = detail::all_boundaries(problem.boundaries);
  struct Sums {
    double l2 = 0, largest = 0, energy = 0;
  };
  const auto sums_of = [&](const std::vector<double>& v, bool with_values) {
    Sums sums;
    const auto add = [&](double conductance, double difference) {
      sums.energy += conductance * difference * difference;
    };
    for (int j = 0; j < ny_; ++j)
      for (int i = 0; i < nx_; ++i) {
        const double own = v[at(i, j)];
        sums.l2 += volume(i, j) * own * own;
        sums.largest = std::max(sums.largest, std::abs(own));
        add(reaction(i, j) * volume(i, j), own);
        add(east(i, j), own - v[at(i + 1 < nx_ ? i + 1 : 0, j)]);
        add(north(i, j), own - v[at(i, j + 1 < ny_ ? j + 1 : 0)]);
      }
    const auto boundary = [&](std::size_t side, int k, double own) {
      if (kinds[side].condition.kind != Kind::dirichlet) return;
      const BoundaryFace& face = faces[side][static_cast<std::size_t>(k)];
      if (face.half > 0) add(face.half, own - (with_values ? face.source / face.half : 0));
    };
    for (std::size_t k = 0; k < held.size(); ++k)
      add(held_faces_[k].conductance, v[at(held_faces_[k].i, held_faces_[k].j)] - (with_values ? held[k] : 0));
    for (int j = 0; j < ny_; ++j) {
      boundary(0, j, v[at(0, j)]);
      boundary(1, j, v[at(nx_ - 1, j)]);
    }
    for (int i = 0; i < nx_; ++i) {
      boundary(2, i, v[at(i, 0)]);
      boundary(3, i, v[at(i, ny_ - 1)]);
    }
    return sums;
  };
  const Sums of_error = sums_of(error, false), of_exact = sums_of(exact, true);
  const auto relative = [](double part, double whole) { return whole > 0 ? part / whole : part; };
  return RelativeErrors{std::sqrt(relative(of_error.l2, of_exact.l2)), relative(of_error.largest, of_exact.largest),
                        std::sqrt(relative(of_error.energy, of_exact.energy))};
}

LevelDifference level_difference_of_cells(const TensorMesh<2>& coarse_mesh, std::span<const double> coarse,
                                          std::span<const double> fine) {
  const auto nx = static_cast<std::size_t>(coarse_mesh.x().size()),
             ny = static_cast<std::size_t>(coarse_mesh.y().size());
  expects(coarse.size() == nx * ny && fine.size() == 4 * nx * ny, coarse.size(), " and ", fine.size(),
          " values are not those of ", nx, " x ", ny, " cells and of their quarters");
  double difference = 0, whole = 0, largest = 0, largest_value = 0;
  for (std::size_t j = 0; j < ny; ++j)
    for (std::size_t i = 0; i < nx; ++i) {
      const std::size_t p = 2 * j * (2 * nx) + 2 * i, above = p + 2 * nx;
      const double mean = (fine[p] + fine[p + 1] + fine[above] + fine[above + 1]) / 4, own = coarse[j * nx + i];
      if (std::isnan(mean) || std::isnan(own)) continue;  // in a solid
      const double volume = coarse_mesh.x().widths()[i] * coarse_mesh.y().widths()[j];
      difference += volume * (own - mean) * (own - mean);
      whole += volume * mean * mean;
      largest = std::max(largest, std::abs(own - mean));
      largest_value = std::max(largest_value, std::abs(mean));
    }
  return {std::sqrt(whole > 0 ? difference / whole : difference),
          largest_value > 0 ? largest / largest_value : largest};
}

}  // namespace stratum
