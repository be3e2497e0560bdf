#include <stratum/assembly/near_boundary.hpp>

#include <algorithm>

#include <stratum/assembly/points.hpp>
#include <stratum/core/field/blas.hpp>

namespace stratum {

NearBoundary::NearBoundary(Context& ctx, const Geometry& geometry, const PoissonProblem& problem,
                           const GridFunction<const double>& of_u)
    : last_x_(geometry.logical().x().size()), last_y_(geometry.logical().y().size()) {
  const TensorMesh<2>& mesh = geometry.logical();
  const BoundaryValues boundaries = boundary_values_of_nodes(geometry, problem);
  const int first_row = first_row_of(ctx, "the solution", mesh, of_u);
  const FieldView<const double> u = of_u.view;
  const auto map = bodies_on(ctx, geometry, problem);
  const auto with_bodies = [&](std::vector<double> nodes, Direction along, int k) {
    if (map && map->has_held())
      for (std::size_t n = 0; n < nodes.size(); ++n) {
        const int i = along == Direction::x ? static_cast<int>(n) : k,
                  j = along == Direction::x ? k : static_cast<int>(n);
        if (map->node_at(i, j) == BodyMap::given && unknown_at(mesh.x(), i) >= 0 && unknown_at(mesh.y(), j) >= 0)
          nodes[n] = map->value_at(i, j);
      }
    return nodes;
  };
  const auto unheld = [&](Direction along, int k) {
    const bool row = along == Direction::x;
    const Axis &own = row ? mesh.x() : mesh.y(), &across = row ? mesh.y() : mesh.x();
    const int number = unknown_at(across, k);
    if (number < 0 && k == 0) return row ? boundaries.bottom : boundaries.left;
    if (number < 0) return row ? boundaries.top : boundaries.right;
    std::vector<double> nodes(static_cast<std::size_t>(own.size()) + 1);
    nodes.front() = (row ? boundaries.left : boundaries.bottom)[static_cast<std::size_t>(k)];
    nodes.back() = (row ? boundaries.right : boundaries.top)[static_cast<std::size_t>(k)];
    if (u.nodes() == 0) return nodes;
    FieldView<const double> part = u;
    if (row) {
      const int own_row = number - first_row;
      part.ny = own_row >= 0 && own_row < u.ny ? 1 : 0;
      if (part.ny == 1) part.data = &u(0, own_row);
    } else {
      part.nx = 1;
      part.data = &u(number, 0);
    }
    const auto values = all_rows(ctx, part);
    std::copy(values.begin(), values.end(), nodes.begin() + own.first_unknown());
    if (own.is_periodic()) nodes.back() = nodes.front();
    return nodes;
  };
  const auto line = [&](Direction along, int k) { return with_bodies(unheld(along, k), along, k); };
  bottom_ = {line(Direction::x, 0), line(Direction::x, 1)};
  top_ = {line(Direction::x, last_y_), line(Direction::x, last_y_ - 1)};
  left_ = {line(Direction::y, 0), line(Direction::y, 1)};
  right_ = {line(Direction::y, last_x_), line(Direction::y, last_x_ - 1)};
}

}  // namespace stratum
