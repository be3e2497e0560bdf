#pragma once

// The smallest and the largest nodal value with their places, the same on the boundary, and the largest difference
//
//     max over edges of cells, except edges on boundaries, of | u_1 - u_2 |
//
// of two neighbouring nodes. The mesh does not resolve the solution at an edge where this is a large part of the range and
// where the flux K du/ds changes towards the edges before and after it. (Edges on boundaries are left out because u is often
// given there.) Bilinear functions have their extremes at nodes. Of several equal ones the first is named.
//
// Nodal values are on the host, for all nodes, x fastest, as nodal_solution gives them. Throws UsageError for a wrong number of
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
  /// These two along their line, between the nodes before and behind them, which are not numbers where there are none here; and
  /// the second one's place.
  struct StepLine {
    NodalValue before, first, second, behind;
    int i = 0, j = 0;
    bool along_x = true;
  } line{};

  [[nodiscard]] double range() const { return largest.value - smallest.value; }
  /// Of the range; 0 of a constant.
  [[nodiscard]] double largest_step() const;
};

[[nodiscard]] SolutionRange solution_range(Context& ctx, const Geometry& mesh, std::span<const double> nodal);
/// Of the solution's unknowns: on a GPU and a rectangle without copying them to the host.
[[nodiscard]] SolutionRange solution_range(Context& ctx, const Geometry& mesh, const PoissonProblem& problem,
                                           const GridFunction<const double>& u);

/// How much the flux K du/ds on the edge between the two neighbours that differ most changes on the way to the edges before and
/// behind it, relative to itself: zero where u is linear, or piecewise linear with the kinks that K makes; 1 or more in a layer
/// that no edge resolves. K is one where `cells` are not given. Infinite where there is no edge to compare with.
[[nodiscard]] double change_of_flux(const Geometry& mesh, const SolutionRange& range,
                                    const CellCoefficients* cells = nullptr);

/// Of intervals of a rectangle's mesh; of quadrilaterals the shortest distance between the midpoints of opposite sides.
[[nodiscard]] double smallest_width(const Geometry& mesh);

}  // namespace stratum
