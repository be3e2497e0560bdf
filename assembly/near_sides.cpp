#include <stratum/assembly/near_sides.hpp>

#include <algorithm>

#include <stratum/assembly/points.hpp>
#include <stratum/core/grid/blas.hpp>

namespace stratum {

namespace {

/// Of pieces that have zero where another one has the number.
void join(const Context& ctx, std::vector<double>& numbers) {
  if (ctx.pieces() == 1) return;
  const std::size_t count = numbers.size();
  std::vector<double> all(count * static_cast<std::size_t>(ctx.pieces()));
  ctx.communicator()->gather_on_host(numbers.data(), all.data(), count * sizeof(double));
  std::fill(numbers.begin(), numbers.end(), 0.0);
  for (std::size_t k = 0; k < all.size(); ++k) numbers[k % count] += all[k];
}

}  // namespace

NearSides::NearSides(Context& ctx, const TensorMesh& mesh, const PoissonProblem& problem, GridView<const double> u)
    : last_x_(mesh.x().size()), last_y_(mesh.y().size()) {
  const int first_row = first_row_of(ctx, "the solution", mesh, u);
  const SideValues sides = side_values(mesh, problem);
  const auto line = [&](Direction along, int k) {
    const bool row = along == Direction::x;
    const Line &own = row ? mesh.x() : mesh.y(), &across = row ? mesh.y() : mesh.x();
    const int number = unknown_at(across, k);
    if (number < 0 && k == 0) return row ? sides.bottom : sides.left;
    if (number < 0) return row ? sides.top : sides.right;
    std::vector<double> nodes(static_cast<std::size_t>(own.size()) + 1);
    if (mesh.unknowns().nodes() > 0) {
      // What this piece has of the line.
      const int begin = row ? own.first_unknown() : own.first_unknown() + first_row,
                local = row ? number - first_row : number;
      GridView<const double> part = u;
      (row ? part.ny : part.nx) = !row || (local >= 0 && local < u.ny) ? 1 : 0;
      if (part.nodes() > 0) {
        part.data = row ? &u(0, local) : &u(local, 0);
        copy_to_host(ctx, part, nodes.data() + begin);
      }
      join(ctx, nodes);
    }
    if (!own.is_periodic()) {
      const auto at = static_cast<std::size_t>(k);
      if (own.first_end() == LineEnd::dirichlet) nodes.front() = (row ? sides.left : sides.bottom)[at];
      if (own.last_end() == LineEnd::dirichlet) nodes.back() = (row ? sides.right : sides.top)[at];
    }
    if (own.is_periodic()) nodes.back() = nodes.front();
    return nodes;
  };
  bottom_ = {line(Direction::x, 0), line(Direction::x, 1)};
  top_ = {line(Direction::x, last_y_), line(Direction::x, last_y_ - 1)};
  left_ = {line(Direction::y, 0), line(Direction::y, 1)};
  right_ = {line(Direction::y, last_x_), line(Direction::y, last_x_ - 1)};
}

}  // namespace stratum
