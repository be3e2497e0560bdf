#pragma once

// What flows out of a body through its surface (assembly/bodies.hpp), of u_h, by the reaction of the discrete equations at its
// nodes over the cells outside, as assembly/boundary_fluxes.hpp has it at boundaries:
//
//     F = - integral over the surface of n.K grad u,  n out of the body
//     sum of F_S of all boundaries + integral of c u = integral of f + sum of F of held bodies
//
// What the data of a Neumann or Robin boundary give at these nodes is taken off. Nodes with the value of a Dirichlet boundary
// belong to the boundary, and a node that two bodies hold to the first of them. Into a solid without flux nothing flows but
// residuals. On the host; all subdomains of a grid ask together.
//
// u is on the unknowns of the mesh, or on a subdomain's rows of them. Throws UsageError for a u of other unknowns. Waits for
// the stream. Work: the cells that touch bodies, after one copy of u to the host.

#include <cstdint>
#include <vector>

#include <stratum/assembly/poisson_problem.hpp>

namespace stratum {

struct BodyFlux {
  std::int64_t cells = 0;
  double area = 0, flux = 0;
  double mean = 0;  // of u over the body; of a solid without flux, of the nodes of its surface
};
/// Of every body, in their order.
[[nodiscard]] std::vector<BodyFlux> body_fluxes(Context& ctx, const Geometry& mesh, const PoissonProblem& problem,
                                                const GridFunction<const double>& u,
                                                const CellCoefficients* cells = nullptr);

/// Largest difference of the values that a held body and a Dirichlet boundary give a node, where the boundary's holds.
[[nodiscard]] CornerGap largest_body_gap(Context& ctx, const Geometry& mesh, const PoissonProblem& problem);

}  // namespace stratum
