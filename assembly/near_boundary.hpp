#pragma once

// Nodal values of a solution on the two outermost lines of every boundary of a mesh, on the host: what the cells at the
// boundaries need, copied from a GPU without the rest. Each line is as long as a boundary, Dirichlet values included. Where the
// grid is partitioned into subdomains each subdomain gets all of them.

#include <array>
#include <vector>

#include <stratum/assembly/poisson_problem.hpp>

namespace stratum {

class NearBoundary {
 public:
  NearBoundary(Context& ctx, const Geometry& mesh, const PoissonProblem& problem, const GridFunction<const double>& u);

  /// Of a node on one of these lines.
  [[nodiscard]] double operator()(int i, int j) const {
    const auto p = static_cast<std::size_t>(i), q = static_cast<std::size_t>(j);
    if (j <= 1) return bottom_[q][p];
    if (j >= last_y_ - 1) return top_[static_cast<std::size_t>(last_y_ - j)][p];
    if (i <= 1) return left_[p][q];
    return right_[static_cast<std::size_t>(last_x_ - i)][q];
  }
  [[nodiscard]] int last_x() const { return last_x_; }
  [[nodiscard]] int last_y() const { return last_y_; }

 private:
  int last_x_, last_y_;
  std::array<std::vector<double>, 2> left_, right_, bottom_, top_;  // the boundary itself first
};

}  // namespace stratum
