#pragma once

// Corner leaks: what flows through nodes in which cells that conduct well touch in a corner alone, between two others of which
// K is a hundredth of theirs or less. Those are cells of low K, a body's or a function's, or with a contact resistance
// (assembly/bodies.hpp). Elements have one value at the node and conduct through it by the high K. So a wall of cells of low K
// along a diagonal holds nothing back, and a checkerboard of 1 and 1e4 conducts ten times as well as it should on any mesh that
// fits into memory. Finite volumes conduct by the low K there, and too little. Around solids without flux alone the leak is
// known before anything flows (assembly/corner_contacts.hpp); these nodes are not among those here.
//
// K alone does not tell whether such a node matters: between two regions that one boundary holds at the same u nothing flows.
// Hence a warning compares, of a solution u, with r_i of a cell its integral of grad phi_i . K grad u,
//
//     leak = sum over these nodes of |r_i of one of the cells that conduct well|
//     flow = sum over all nodes of |sum of r_i over the cells at the node| / 2 ,
//
// the latter what all sources, boundaries among them, give off. On rectangles and meshes of quadrilaterals. On the host, after
// one copy of u, and only where K has such nodes; all subdomains of a grid ask together. Throws UsageError for a u of other
// unknowns.

#include <cstdint>
#include <string>

#include <stratum/assembly/poisson_problem.hpp>

namespace stratum {

struct CornerLeaks {
  std::int64_t nodes = 0;
  double x = 0, y = 0;        // of the first of them
  double leak = 0, flow = 0;  // zero where leaks are nothing but rounding
  static constexpr double contrast = 100, negligible = 0.05;

  /// What programs and languages print, with what to do; empty where leaks are negligible.
  [[nodiscard]] std::string warning() const;
};
/// `cells`: K, c and bodies of the mesh as cell_coefficients gives them; null where K = 1.
[[nodiscard]] CornerLeaks corner_leaks(Context& ctx, const Geometry& mesh, const PoissonProblem& problem,
                                       const GridFunction<const double>& u, const CellCoefficients* cells);

}  // namespace stratum
