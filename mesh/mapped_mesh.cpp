#include <stratum/mesh/mapped_mesh.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

#include <stratum/core/errors.hpp>
#include <stratum/mesh/graded.hpp>

namespace stratum {

namespace {

Position operator-(const Position& p, const Position& q) { return {p.x - q.x, p.y - q.y}; }
double length(const Position& p) { return std::sqrt(p.x * p.x + p.y * p.y); }
double cross(const Position& p, const Position& q) { return p.x * q.y - p.y * q.x; }

}  // namespace

double Quadrilateral::aspect_ratio() const {
  const double along = length(at(1, 0.5) - at(0, 0.5)), up = length(at(0.5, 1) - at(0.5, 0));
  return std::max(along / up, up / along);
}

MappedMesh::MappedMesh(TensorMesh<2> logical, std::vector<double> x, std::vector<double> y)
    : MappedMesh(std::move(logical),
                 std::make_shared<const Positions>(Positions{.x = std::move(x), .y = std::move(y)})) {
  const auto nodes =
      (static_cast<std::size_t>(logical_.x().size()) + 1) * (static_cast<std::size_t>(logical_.y().size()) + 1);
  expects(this->x().size() == nodes && this->y().size() == nodes, "a mesh of ", logical_.x().size(), " x ",
          logical_.y().size(), " cells has ", nodes, " nodes, not ", this->x().size(), " in x and ", this->y().size(),
          " in y");
  for (int j = 0; j <= logical_.y().size(); ++j)
    for (int i = 0; i <= logical_.x().size(); ++i) {
      const auto [px, py] = node(i, j);
      expects(std::isfinite(px) && std::isfinite(py), "node (", i, ", ", j, ") of the mesh lies at (", px, ", ", py,
              "); positions must be finite");
    }
  check_cells();
  check_periodic();
}

MappedMesh::MappedMesh(TensorMesh<2> rectangle, Coordinates coordinates) : logical_(std::move(rectangle)) {
  check_range(coordinates, logical_);
  Positions positions;
  const auto x = logical_.x().coordinates(), y = logical_.y().coordinates();
  for (const double to_y : y)
    for (const double to_x : x) {
      positions.x.push_back(to_x);
      positions.y.push_back(to_y);
    }
  positions.coordinates = coordinates;
  if (coordinates != Coordinates::cartesian) {
    positions.in_x = axis_weights(coordinates, logical_.x(), Direction::x);
    positions.in_y = axis_weights(coordinates, logical_.y(), Direction::y);
  }
  positions_ = std::make_shared<const Positions>(std::move(positions));
  check_cells();
  check_periodic();
}

MappedMesh::MappedMesh(TensorMesh<2> logical, std::shared_ptr<const Positions> positions)
    : logical_(std::move(logical)), positions_(std::move(positions)) {}

MappedMesh MappedMesh::with_ends_of(const TensorMesh<2>& mesh) const {
  expects(mesh.x().size() == logical_.x().size() && mesh.y().size() == logical_.y().size(), "ends of a mesh of ",
          mesh.x().size(), " x ", mesh.y().size(), " cells do not belong to one of ", logical_.x().size(), " x ",
          logical_.y().size());
  MappedMesh other({logical_.x().with_boundaries(mesh.x().first_boundary(), mesh.x().last_boundary()),
                    logical_.y().with_boundaries(mesh.y().first_boundary(), mesh.y().last_boundary()), logical_.name()},
                   positions_);
  other.check_periodic();
  return other;
}

void MappedMesh::check_cells() const {
  // Below this the sine of a corner's angle is rounding.
  constexpr double rounding = 1e-13;
  std::int64_t over = 0, bad = 0;
  std::string first;
  for (int j = 0; j < logical_.y().size(); ++j)
    for (int i = 0; i < logical_.x().size(); ++i) {
      int negative = 0;
      bool positive = true;
      for (int corner = 0; corner < 4; ++corner) {
        const int p = i + corner % 2, q = j + corner / 2;
        // The sides that meet there, along x and along y.
        const Position along = node(i + 1, q) - node(i, q), up = node(p, j + 1) - node(p, j);
        const double det = cross(along, up);
        const bool fits = std::isfinite(det) && det > rounding * length(along) * length(up);
        negative += det < 0 ? 1 : 0;
        positive = positive && fits;
        if (!fits && first.empty()) {
          const auto [px, py] = node(p, q);
          first = message("cell (", i, ", ", j, ") of the mesh is turned over, folded or has no area: det J is ", det,
                          " at its ", corner / 2 == 0 ? "lower " : "upper ", corner % 2 == 0 ? "left" : "right",
                          " corner, (", px, ", ", py, ")");
        }
      }
      bad += positive ? 0 : 1;
      over += negative == 4 ? 1 : 0;
    }
  if (bad == 0) return;
  if (over == logical_.cells())
    throw UsageError(first + "; all cells are: the mesh is mirrored, let one of its directions run the other way");
  throw UsageError(message(first, "; ", bad, " of ", logical_.cells(), " cells are"));
}

void MappedMesh::check_periodic() const {
  // Node k of one side and of the side across must differ by the same for every k.
  const int nx = logical_.x().size(), ny = logical_.y().size();
  constexpr double rounding = 1e-10;
  const auto check = [&](int nodes, const char* boundaries, const auto& first, const auto& second) {
    double size = 0;
    for (int k = 1; k < nodes; ++k) size = std::max(size, length(first(k) - first(0)));
    const Position shift = second(0) - first(0);
    for (int k = 1; k < nodes; ++k) {
      const double gap = length((second(k) - first(k)) - shift);
      expects(gap <= rounding * size, "the ", boundaries,
              " boundaries cannot be periodic: one must be the other shifted, and beside node ", k, " they differ by ",
              gap, " from that");
    }
  };
  if (logical_.x().is_periodic())
    check(
        ny + 1, "left and right", [&](int k) { return node(0, k); }, [&](int k) { return node(nx, k); });
  if (logical_.y().is_periodic())
    check(
        nx + 1, "bottom and top", [&](int k) { return node(k, 0); }, [&](int k) { return node(k, ny); });
}

double MappedMesh::largest_aspect_ratio() const {
  double largest = 1;
  for (int j = 0; j < logical_.y().size(); ++j)
    for (int i = 0; i < logical_.x().size(); ++i) largest = std::max(largest, cell(i, j).aspect_ratio());
  return largest;
}

std::vector<double> cell_aspect_ratios(const MappedMesh& mesh) {
  return cell_aspect_ratios(mesh, {0, mesh.logical().y().size()});
}

std::vector<double> cell_aspect_ratios(const MappedMesh& mesh, NodeRows rows) {
  const int columns = mesh.logical().x().size();
  std::vector<double> ratios;
  ratios.reserve(static_cast<std::size_t>(rows.last - rows.first) * static_cast<std::size_t>(columns));
  for (int j = rows.first; j < rows.last; ++j)
    for (int i = 0; i < columns; ++i) ratios.push_back(mesh.cell(i, j).aspect_ratio());
  return ratios;
}

MappedMesh halved(const MappedMesh& mesh, int times) {
  expects(times >= 0, "a mesh is halved 0 times or more, not ", times);
  if (times == 0) return mesh;
  const TensorMesh<2>& coarse = mesh.logical();
  const auto line = [times](const Axis& of) {
    return halved(of, times).with_boundaries(of.first_boundary(), of.last_boundary());
  };
  TensorMesh<2> fine(line(coarse.x()), line(coarse.y()), coarse.name());
  if (!mesh.is_cartesian()) return {std::move(fine), mesh.coordinates()};
  const int parts = 1 << times, nx = fine.x().size(), ny = fine.y().size();
  std::vector<double> x, y;
  const auto nodes = (static_cast<std::size_t>(nx) + 1) * (static_cast<std::size_t>(ny) + 1);
  x.reserve(nodes);
  y.reserve(nodes);
  for (int j = 0; j <= ny; ++j)
    for (int i = 0; i <= nx; ++i) {
      // Of the last node the cell before it.
      const int p = std::min(i / parts, coarse.x().size() - 1), q = std::min(j / parts, coarse.y().size() - 1);
      const auto at =
          mesh.cell(p, q).at(static_cast<double>(i - p * parts) / parts, static_cast<double>(j - q * parts) / parts);
      x.push_back(at.x);
      y.push_back(at.y);
    }
  return {std::move(fine), std::move(x), std::move(y)};
}

}  // namespace stratum
