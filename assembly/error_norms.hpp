#pragma once

// Error norms of a solution, and estimates from the solutions on two levels if no exact solution is known.
//
//     l2       || e || / || u ||  (also relative_l2_error of assembly/poisson_problem.hpp)
//     largest  max | e | / max | u |
//     energy   ( integral of grad e . K grad e + c e^2  /  the same of u )^(1/2),
//
// with e = u_h - u, at the 3 x 3 Gauss points of every cell. Gradients are those of the quadratic interpolant of the values at
// these points, so that u need not provide derivatives; its own error is one order smaller than that of grad u_h. Norms are
// absolute if u = 0, and of functions minus their means if the problem is singular; absolute, too, if u is a constant then.
//
//     difference of levels  || u_H - u_h || / || u_h ||  over the nodes of H, which are every second node of h, weighted by a
//                           quarter of the cells around them; and the largest difference
//
// With the order p = log2 (D_H / D_h) that two such differences show, the error of the finest solution is about
// D_h / (2^p - 1) (L. F. Richardson, The approximate arithmetical solution by finite differences, 1911).
//
// Nodal values are on the host, for all nodes, x fastest. Throws UsageError for a wrong number of values, and if the exact
// solution is not finite.

#include <optional>
#include <span>

#include <stratum/assembly/poisson_problem.hpp>

namespace stratum {

struct RelativeErrors {
  double l2 = 0, largest = 0, energy = 0;
};

/// Empty where u is unknown. `cells`: what cell_coefficients gives, where the caller has them.
[[nodiscard]] std::optional<RelativeErrors> relative_errors(Context& ctx, const Geometry& mesh,
                                                            const PoissonProblem& problem,
                                                            std::span<const double> nodal,
                                                            const CellCoefficients* cells = nullptr);
/// Of the solution's unknowns: on a GPU and a rectangle without copying them to the host, where the GPU computes u. Of
/// subdomains (mesh/partition.hpp) every subdomain adds up its own cells, and has the errors of all.
[[nodiscard]] std::optional<RelativeErrors> relative_errors(Context& ctx, const Geometry& mesh,
                                                            const PoissonProblem& problem,
                                                            const GridFunction<const double>& u,
                                                            const CellCoefficients* cells = nullptr);

struct LevelDifference {
  double l2 = 0, largest = 0;
};

/// `fine`: values on the mesh with every cell of `coarse_mesh` cut into four.
[[nodiscard]] LevelDifference level_difference(const Geometry& coarse_mesh, std::span<const double> coarse,
                                               std::span<const double> fine);

}  // namespace stratum
