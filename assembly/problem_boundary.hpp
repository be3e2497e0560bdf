#pragma once

// The four boundaries of a problem with their positions on the mesh, and the nodes on them that have Dirichlet values: common
// helpers of the sources of this folder.

#include <array>
#include <functional>

#include <stratum/assembly/poisson_problem.hpp>

namespace stratum::detail {

struct BoundaryOf {
  const BoundaryCondition& condition;
  const char* name;
  BoundaryPlace place;
};

[[nodiscard]] inline std::array<BoundaryOf, 4> all_boundaries(const BoundaryConditions& boundaries) {
  return {{{boundaries.left, "left", {Direction::y, false}},
           {boundaries.right, "right", {Direction::y, true}},
           {boundaries.bottom, "bottom", {Direction::x, false}},
           {boundaries.top, "top", {Direction::x, true}}}};
}

/// At fraction t of interval k of the boundary; zero of one that is no Robin boundary. Throws UsageError where it is not finite
/// or negative.
[[nodiscard]] double alpha_at(const Geometry& mesh, const BoundaryOf& boundary, int k, double t);

/// f(i, j, boundary) for every node with a Dirichlet value and the boundary that it gets it from; of periodic boundaries' nodes
/// those of the first.
void for_each_dirichlet_node(const TensorMesh<2>& mesh, const BoundaryConditions& boundaries,
                             const std::function<void(int i, int j, const BoundaryCondition& boundary)>& f);
/// f(i, j, value) likewise.
void for_each_dirichlet_value(const Geometry& mesh, const PoissonProblem& problem,
                              const std::function<void(int i, int j, double value)>& f);

/// use(i, j) for the cells of nx x ny that touch the boundary, each once.
template <class Use>
void for_each_outer_cell(int nx, int ny, const Use& use) {
  for (int i = 0; i < nx; ++i) {
    use(i, 0);
    if (ny > 1) use(i, ny - 1);
  }
  for (int j = 1; j < ny - 1; ++j) {
    use(0, j);
    if (nx > 1) use(nx - 1, j);
  }
}

}  // namespace stratum::detail
