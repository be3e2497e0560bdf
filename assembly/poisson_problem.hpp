#pragma once

// The Poisson problem -Laplace u = f in [0, a] x [0, b], u = g on the boundary: load vector and error norm.
//
//     b_i = integral of f phi_i  -  sum over boundary nodes k of A_ik g(x_k)
//     relative L2 error = || u_h - u || / || u ||
//
// Without functions of the user's it is the published accuracy study: u = x (a - x) y (b - y), f = 2 (y (b - y) + x (a - x)),
// g = 0, integrated exactly (separable terms, 4-point Gauss rule per interval). Functions of the user's are integrated by the
// 4 x 4 Gauss rule in every cell. Errors use the 3 x 3 Gauss rule. Points know their distance to all four sides,
// so that a - x keeps its accuracy in cells far thinner than the rounding of x.
// Source: Goeddeke, Strzodka 2011, Section 2.3.

#include <functional>
#include <optional>
#include <vector>

#include <stratum/core/context.hpp>
#include <stratum/core/vector.hpp>
#include <stratum/mesh/tensor_mesh.hpp>

namespace stratum {

/// A point of the mesh with its distances to the right and the upper side: a - x and b - y.
struct Point {
  double x = 0;
  double y = 0;
  double to_right = 0;
  double to_top = 0;
};

/// Called from several threads at once, each on a copy of its own.
using ScalarFunction = std::function<double(const Point&)>;

struct PoissonProblem {
  ScalarFunction rhs;       // f; empty: the polynomial problem
  ScalarFunction exact;     // u; empty: the polynomial problem's where rhs and boundary are empty too, else unknown
  ScalarFunction boundary;  // g; empty: exact where given, else zero

  [[nodiscard]] bool is_polynomial() const { return !rhs; }
  [[nodiscard]] bool has_exact() const { return exact || (!rhs && !boundary); }
};

/// The load vector on the interior nodes. Throws UsageError when a function gives a value that is not finite.
void assemble_load(Context& ctx, const TensorMesh& mesh, const PoissonProblem& problem, GridView<double> b);

/// || u_h - u || / || u || in L2, u_h given on the interior nodes; the absolute norm when u = 0; empty where u is unknown.
[[nodiscard]] std::optional<double> relative_l2_error(Context& ctx, const TensorMesh& mesh,
                                                      const PoissonProblem& problem, GridView<const double> u);

/// u_h on all nodes, boundary included: (cells_x + 1) * (cells_y + 1) numbers, x fastest.
[[nodiscard]] std::vector<double> nodal_solution(Context& ctx, const TensorMesh& mesh, const PoissonProblem& problem,
                                                 GridView<const double> u);

/// f, u and g as functions that are never empty (u only where it is known), polynomial problem included.
[[nodiscard]] ScalarFunction rhs_function(const PoissonProblem& problem);
[[nodiscard]] ScalarFunction exact_function(const PoissonProblem& problem);
[[nodiscard]] ScalarFunction boundary_function(const PoissonProblem& problem);

/// A function at all nodes, x fastest.
[[nodiscard]] std::vector<double> at_nodes(Context& ctx, const TensorMesh& mesh, const ScalarFunction& function);

}  // namespace stratum
