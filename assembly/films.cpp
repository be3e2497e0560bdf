#include <stratum/assembly/films.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

#include <stratum/assembly/bodies.hpp>

namespace stratum {

namespace {

/// What cell (i, j) conducts along x and along y, what its reaction holds, and what it is.
struct CellOfFilm {
  double x, y, reaction;
  std::uint8_t kind;
};

class CellsOfFilms {
 public:
  CellsOfFilms(const Geometry& mesh, const CellCoefficients* k, double reaction)
      : mesh_(mesh), k_(k), map_(k != nullptr ? k->bodies.get() : nullptr), reaction_(reaction) {}

  [[nodiscard]] CellOfFilm operator()(int i, int j) const {
    double hx = mesh_.logical().x().widths()[static_cast<std::size_t>(i)],
           hy = mesh_.logical().y().widths()[static_cast<std::size_t>(j)];
    if (const MappedMesh* const mapped = mesh_.mapped(); mapped != nullptr && mapped->is_cartesian()) {
      const Jacobian at = mapped->cell(i, j).derivatives(0.5, 0.5);
      hx = std::hypot(at.xt, at.yt);
      hy = std::hypot(at.xs, at.ys);
    }
    const double kxx = k_ != nullptr ? k_->kxx(i, j) : 1, kyy = k_ != nullptr ? k_->kyy(i, j) : 1,
                 c = reaction_ + (k_ != nullptr ? k_->reaction(i, j) : 0);
    return {kxx * hy / hx, kyy * hx / hy, c * hx * hy,
            map_ != nullptr ? map_->cell_at(i, j) : std::uint8_t{BodyMap::live}};
  }

 private:
  const Geometry& mesh_;
  const CellCoefficients* k_;
  const BodyMap* map_;
  double reaction_;
};

/// Of a line of cells across films: cell(n), n < count.
template <class Cell>
double largest_loss(int count, bool first_holds, bool last_holds, const Cell& cell) {
  double most = 0, across = 0, along = 0;
  bool held = first_holds;
  const auto end = [&](bool holds) {
    if (!held && !holds && along > 0) most = std::max(most, across / along);
    across = along = 0;
    held = holds;
  };
  for (int n = 0; n < count; ++n) {
    const auto [conducts_across, conducts_along, kind] = cell(n);
    if (kind != BodyMap::live) {
      end(kind == BodyMap::held);
      continue;
    }
    across += conducts_across;
    along += conducts_along;
  }
  end(last_holds);
  return most;
}

struct AcrossAndAlong {
  double across, along;
  std::uint8_t kind;
};

}  // namespace

double round_off_of_films(const Geometry& mesh, const CellCoefficients* k, double reaction,
                          const std::array<bool, 4>& holds) {
  const CellsOfFilms cells(mesh, k, reaction);
  const int nx = mesh.logical().x().size(), ny = mesh.logical().y().size();
  double most = 0;
  for (int i = 0; i < nx; ++i)
    most = std::max(most, largest_loss(ny, holds[2], holds[3], [&](int j) {
                      const CellOfFilm cell = cells(i, j);
                      return AcrossAndAlong{cell.y, cell.x + cell.reaction, cell.kind};
                    }));
  for (int j = 0; j < ny; ++j)
    most = std::max(most, largest_loss(nx, holds[0], holds[1], [&](int i) {
                      const CellOfFilm cell = cells(i, j);
                      return AcrossAndAlong{cell.x, cell.y + cell.reaction, cell.kind};
                    }));
  return std::numeric_limits<double>::epsilon() * most;
}

double round_off_of_films(const Geometry& mesh, const CellCoefficients* k, double reaction) {
  const auto holds = [](BoundaryType type) { return type == BoundaryType::dirichlet; };
  const Axis &x = mesh.logical().x(), &y = mesh.logical().y();
  return round_off_of_films(
      mesh, k, reaction,
      {holds(x.first_boundary()), holds(x.last_boundary()), holds(y.first_boundary()), holds(y.last_boundary())});
}

}  // namespace stratum
