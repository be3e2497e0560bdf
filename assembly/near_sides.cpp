#include <stratum/assembly/near_sides.hpp>

#include <algorithm>

#include <stratum/core/grid/blas.hpp>

namespace stratum {

namespace {

/// Those of `nodes` that are unknowns are in `part`, a row or a column of u.
void take_unknowns(Context& ctx, const Line& line, GridView<const double> part, std::vector<double>& nodes) {
  std::vector<double> unknowns(static_cast<std::size_t>(line.unknowns()));
  copy_to_host(ctx, part, unknowns.data());
  std::copy(unknowns.begin(), unknowns.end(), nodes.begin() + line.first_unknown());
  if (line.is_periodic()) nodes.back() = nodes.front();
}

}  // namespace

NearSides::NearSides(Context& ctx, const TensorMesh& mesh, const PoissonProblem& problem, GridView<const double> u)
    : last_x_(mesh.x().size()), last_y_(mesh.y().size()) {
  const SideValues sides = side_values(mesh, problem);
  const auto row = [&](int j) {
    const int q = unknown_at(mesh.y(), j);
    if (q < 0) return j == 0 ? sides.bottom : sides.top;
    std::vector<double> nodes(static_cast<std::size_t>(last_x_) + 1);
    nodes.front() = sides.left[static_cast<std::size_t>(j)];
    nodes.back() = sides.right[static_cast<std::size_t>(j)];
    if (u.nodes() == 0) return nodes;
    GridView<const double> part = u;
    part.data = &u(0, q);
    part.ny = 1;
    take_unknowns(ctx, mesh.x(), part, nodes);
    return nodes;
  };
  const auto column = [&](int i) {
    const int p = unknown_at(mesh.x(), i);
    if (p < 0) return i == 0 ? sides.left : sides.right;
    std::vector<double> nodes(static_cast<std::size_t>(last_y_) + 1);
    nodes.front() = sides.bottom[static_cast<std::size_t>(i)];
    nodes.back() = sides.top[static_cast<std::size_t>(i)];
    if (u.nodes() == 0) return nodes;
    GridView<const double> part = u;
    part.data = &u(p, 0);
    part.nx = 1;
    take_unknowns(ctx, mesh.y(), part, nodes);
    return nodes;
  };
  bottom_ = {row(0), row(1)};
  top_ = {row(last_y_), row(last_y_ - 1)};
  left_ = {column(0), column(1)};
  right_ = {column(last_x_), column(last_x_ - 1)};
}

}  // namespace stratum
