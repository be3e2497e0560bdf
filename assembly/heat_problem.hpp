#pragma once

// The problem  capacity u_t - div(K grad u) + c u = f  on a rectangle or a mesh of quadrilaterals, u given at the start, with
// boundaries as in assembly/poisson_problem.hpp. All data may change with the time, which functions find in Point::t. In space,
// on the nodes that are unknowns, with bilinear elements,
//
//     M u' + M_D g' + A u + A_D g = F,     M_ij = integral of capacity phi_i phi_j
//
// or, of a lumped mass, M_ii = integral of capacity phi_i alone and M_D = 0. Backward Euler then keeps u between its data
// however short its steps are, on cells up to sqrt 2 times as long as wide (on longer ones A itself has positive entries beside
// its diagonal); the consistent M undershoots where steps are shorter than h^2 / 6. Both have order 2 in space and the same
// integral of capacity u. Here g are the values of Dirichlet nodes, F the load of f and of the Neumann or Robin boundaries'
// values. A cell has the capacity at its centre or its mean, as c (assembly/coefficients.hpp); where c or the capacity is a
// mean, so is f. Bodies (assembly/bodies.hpp) keep their shapes; g and K of them may change. M has nothing in cells of held
// bodies and solids. Loads and solutions may be a subdomain's (mesh/partition.hpp).

#include <stratum/assembly/poisson_problem.hpp>

namespace stratum {

struct HeatProblem {
  PoissonProblem space{};      // f (zero where it is empty), the exact solution where it is known, boundaries, K and c
  Coefficient capacity = 1.0;  // positive
  ScalarFunction initial{};    // u at the start; empty: exact where it is given, else zero
  // What does not change with the time is evaluated once. Numbers are known not to.
  bool steady_rhs = false;           // f
  bool steady_coefficients = false;  // K, c, capacity and alpha, K of bodies
  bool steady_bodies = false;        // values of bodies
  bool lumped = false;               // M
};

/// The same function with this time in every point.
[[nodiscard]] ScalarFunction at_time(const ScalarFunction& function, double t);
[[nodiscard]] Coefficient at_time(const Coefficient& coefficient, double t);
/// f, boundaries, K, c and the exact solution at this time; f is never empty.
[[nodiscard]] PoissonProblem at_time(const HeatProblem& problem, double t);
/// u at the start; never empty.
[[nodiscard]] ScalarFunction initial_function(const HeatProblem& problem, double start);
/// K, c, capacity or alpha may change with the time.
[[nodiscard]] bool coefficients_vary(const HeatProblem& problem);
/// K, c, the capacity and alpha of every side are numbers on a rectangle, so that nothing need be evaluated by cells.
[[nodiscard]] bool coefficients_are_numbers(const Geometry& mesh, const HeatProblem& problem, double t);

/// The load of f alone: of Neumann or Robin boundaries' values and Dirichlet nodes nothing. A steady f is integrated as
/// assemble_load does it; one that changes, which is evaluated in every step, by the 2 x 2 Gauss rule, an eighth of the values.
/// `averaged`: the cells where c or the capacity is a mean. Throws UsageError for one that is not finite.
void assemble_heat_load(Context& ctx, const Geometry& mesh, const HeatProblem& problem, double t,
                        const GridFunction<double>& b, const std::vector<std::size_t>& averaged = {});

/// The integral of capacity u_h over the domain without held bodies and solids without flux, at this time. For a subdomain's u
/// all subdomains call it together, and get the same number.
[[nodiscard]] double total_heat(Context& ctx, const Geometry& mesh, const HeatProblem& problem, double t,
                                const GridFunction<const double>& u);

}  // namespace stratum
