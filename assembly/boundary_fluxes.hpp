#pragma once

// Fluxes out of the domain through each boundary, of u_h, the discrete solution of -div(K grad u) + c u = f
// (assembly/poisson_problem.hpp),
//
//     F_S = - integral over boundary S of n.K grad u,  n outward;      sum of F_S  +  integral of c u_h  =  integral of f .
//
// Neumann and Robin boundaries: the flux follows from the data, F_S = - integral of g - alpha u_h. Dirichlet and periodic
// boundaries: it follows from the residuals of the discrete equations at the nodes of the boundary,
//
//     r_i = integral of grad phi_i . K grad u_h + c u_h phi_i - f phi_i = integral over the boundaries of phi_i n.K grad u ,
//
// integrated over the cells of the domain; F_S is minus the sum of r_i. Since the phi_i sum to one, the balance above holds to
// round-off if u_h solves its equations exactly, and otherwise up to the sum of their residuals. F_S has a second-order error.
// Differences across the boundary cells, which are K grad u_h at the boundary itself, would have a first-order error.
//
// Corners. The residual of a corner belongs to two boundaries. A Neumann or Robin boundary takes the part that follows from its
// data. Of two Dirichlet boundaries, each takes the integral of phi_i n.K grad u_h over its own interval in the corner's cell,
// and half of the rest. Two opposite periodic boundaries have the same flux; beside a Dirichlet boundary their part is the mean
// of such integrals in the cells at both ends.
//
// Nodal values are on the host, for all nodes, x fastest, as nodal_solution gives them. Work: the cells at the boundaries, and
// all cells if c is not zero. Throws UsageError for a wrong number of nodal values. Source: P. M. Gresho, R. L. Lee, S. T.
// Chan, M. K. Maslanik, The consistent Galerkin method for computing derived boundary quantities in thermal and/or fluids
// problems, 1987.

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
  double magnitudes = 0;  // of what cells and intervals give to the boundaries, which may cancel

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
/// Magnitudes of the load vector b, with which a balance is compared; 0 where values of u at boundaries or bodies are in b.
[[nodiscard]] double load_magnitudes(Context& ctx, const PoissonProblem& problem, FieldView<const double> b);

}  // namespace stratum
