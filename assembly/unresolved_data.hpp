#pragma once

// Data that a mesh does not resolve. f is integrated by the points of a Gauss rule, values of Neumann and Robin boundaries
// likewise, and Dirichlet boundaries have theirs at nodes: what is narrower than a cell may lie between all of these. The
// discrete problem then has other data, and is solved well.
//
// This cannot be known in general. Here every function is looked at between the points where it is taken: at 2^17 points or so,
// 4 to 32 in each direction of a cell, in up to 8192 cells or 4096 intervals that are spread over all. A warning says where
//
//     sum over cells of | integral by the rule - integral by these points |   >   0.2  integral of |f|
//     integral of what lies outside of the values of the cell's nodes         >   0.25 integral of |g - mean of nodal values|
//
// of integrals and of nodal values. A jump, wherever it is, changes the integrals of the cells that it crosses by some per
// cent of |f| there, and lies within the values of nodes: a source of three cells or more stays below both, as smooth data do
// that have some cells a wave. Another warning says that f, or all data, are zero at all points, though an expression that is
// no number was given.
//
// K is taken at the centres of cells. It is looked at on lines through these, in each direction: where what such a line conducts,
// along or across, differs by a factor of more than 4 from what the K at the centres of the cells around would have it conduct,
// a layer is lost. Interfaces within cells are none: the cell beside has the K that comes.
//
// Host only; where there are subdomains each of them looks at all. Functions that are not finite there are for assembly.

#include <string>

#include <stratum/assembly/heat_problem.hpp>
#include <stratum/assembly/heat_problem_3d.hpp>

namespace stratum {

/// How a discretisation takes the data.
struct DataRule {
  int points =
      0;  // Gauss points of f in each direction; 0: 4, and 2 in boxes of more than 2^18 cells or where f changes in time
  bool boundary_means = false;  // Dirichlet values are means over edges, as finite volumes have them
  bool vanishes = false;        // the right-hand side of all equations is known to be zero
};

/// What programs and languages print, with what to do; empty where data are resolved, or where the problem has no functions.
[[nodiscard]] std::string warning_of_data(Context& ctx, const Geometry& mesh, const PoissonProblem& problem,
                                          const DataRule& rule = {});
[[nodiscard]] std::string warning_of_data(Context& ctx, const TensorMesh<3>& mesh, const PoissonProblem3D& problem,
                                          const DataRule& rule = {});

/// Of a run: at the start, with the initial values, and if data or K change halfway and at the end, too.
[[nodiscard]] std::string warning_of_data(Context& ctx, const Geometry& mesh, const HeatProblem& problem, double start,
                                          double end, const DataRule& rule = {});
[[nodiscard]] std::string warning_of_data(Context& ctx, const TensorMesh<3>& mesh, const HeatProblem3D& problem,
                                          double start, double end, const DataRule& rule = {});

}  // namespace stratum
