#pragma once

// What leaves the domain through each boundary, of u_h, the solution of the problem -div(K grad u) + c u = f of
// assembly/poisson_problem.hpp,
//
//     F_S = - integral over boundary S of n.K grad u,  n outward;      sum of F_S  +  integral of c u_h  =  integral of f .
//
// Neumann or Robin boundaries: what their data say, F_S = - integral of g - alpha u_h. Dirichlet and periodic ones: the
// reaction of the discrete equations at the nodes of the boundary,
//
//     r_i = integral of grad phi_i . K grad u_h + c u_h phi_i - f phi_i = integral over the boundaries of phi_i n.K grad u ,
//
// over the cells inside alone; F_S is minus the sum of r_i. As the phi_i sum up to one the second equation above holds to
// rounding where u_h solves its equations, and by the sum of their residuals where it nearly does. F_S has an error of second
// order; differences across thin cells, as K grad u_h at the boundary itself has them, would have one of first order.
//
// A corner's reaction belongs to two sides. A Neumann or Robin one has what its data say; of two Dirichlet boundaries each has
// the integral of phi_i n.K grad u_h over its own interval there, taken from the corner's cell, and half of what is left.
// Through two opposite periodic boundaries flows the same: beside a Dirichlet boundary their part is the mean of such integrals
// in both cells.
//
// Nodal values are on the host, those of all nodes, x fastest, as nodal_solution gives them. Work: cells at the boundaries, and
// all where there is c. Source: P. M. Gresho, R. L. Lee, S. T. Chan, M. K. Maslanik, The consistent Galerkin method for
// computing derived boundary quantities in thermal and/or fluids problems, 1987. Throws UsageError for nodal values of another
// number.

#include <array>
#include <span>

#include <stratum/assembly/poisson_problem.hpp>

namespace stratum {

struct BoundaryFluxes {
  double left = 0, right = 0, bottom = 0, top = 0;  // outward
  double reaction = 0;                              // integral of c u_h
  /// What the rounding of nodal values may have done to all of them: cells far thinner than the rounding of u_h do not tell a
  /// flux.
  double rounding = 0;

  /// The integral of f, but for residuals and rounding.
  [[nodiscard]] double sum() const { return left + right + bottom + top + reaction; }
};

/// `cells`: what cell_coefficients gives for the same mesh and problem, where the caller has them. Where make_compatible
/// subtracts a constant from f, f is what is left.
[[nodiscard]] BoundaryFluxes boundary_fluxes(Context& ctx, const Geometry& mesh, const PoissonProblem& problem,
                                             std::span<const double> nodal, const CellCoefficients* cells = nullptr);

/// Of the solution's unknowns: without c, and on a rectangle with a constant one, those near the boundaries alone come to the
/// host.
[[nodiscard]] BoundaryFluxes boundary_fluxes(Context& ctx, const Geometry& mesh, const PoissonProblem& problem,
                                             const GridFunction<const double>& u,
                                             const CellCoefficients* cells = nullptr);

/// The integral of f as the load vector b has it.
[[nodiscard]] double load_integral(Context& ctx, const Geometry& mesh, const PoissonProblem& problem,
                                   const GridFunction<const double>& b, const CellCoefficients* cells = nullptr);

}  // namespace stratum
