#pragma once

// The smallest and the largest of nodal values and where they are, those of the boundary, and the largest difference
//
//     max over edges of cells, those along sides excepted, of | u_1 - u_2 |
//
// of two neighbouring nodes: where it is a large part of the range the mesh does not resolve the solution there. (Along sides u
// is often given.) Bilinear functions have their extremes at nodes. Nodal values are on the host, those of all nodes, x
// fastest, as nodal_solution gives them. Of several equal ones the first is named. Throws UsageError for another number of
// values.

#include <span>

#include <stratum/assembly/poisson_problem.hpp>

namespace stratum {

struct NodalValue {
  double value = 0, x = 0, y = 0;
};

struct SolutionRange {
  NodalValue smallest, largest;
  double smallest_on_boundary = 0, largest_on_boundary = 0;
  NodalValue step_from, step_to;  // the neighbours that differ most

  [[nodiscard]] double range() const { return largest.value - smallest.value; }
  /// Of the range; 0 of a constant.
  [[nodiscard]] double largest_step() const;
};

[[nodiscard]] SolutionRange solution_range(Context& ctx, const Geometry& mesh, std::span<const double> nodal);
/// Of the solution's unknowns: on a GPU and a rectangle without copying them to the host.
[[nodiscard]] SolutionRange solution_range(Context& ctx, const Geometry& mesh, const PoissonProblem& problem,
                                           GridView<const double> u);

/// Of intervals of a rectangle's mesh; of quadrilaterals the shortest distance between the midpoints of opposite sides.
[[nodiscard]] double smallest_width(const Geometry& mesh);

}  // namespace stratum
