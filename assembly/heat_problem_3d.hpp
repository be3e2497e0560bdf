#pragma once

// The problem  capacity u_t - div(K grad u) + c u = f  in a box, u given at the start, with faces as in
// assembly/poisson_problem_3d.hpp. f, the exact solution and the values of faces may change with the time, which functions find
// in Point3D::t; K, c, alpha and the capacity stay as they are at the start. In space, on the nodes that are unknowns, with
// trilinear elements,
//
//     M u' + M_D g' + A u + A_D g = F,     M_ij = integral of capacity phi_i phi_j
//
// where g are the values of Dirichlet nodes, F the load of f and of the Neumann or Robin faces' values.
//
// Bodies (assembly/box_bodies.hpp) keep their shapes and K; values of held ones may change. Where some are held or let nothing in
// the mass is lumped,  M_ii = integral of capacity phi_i over live cells,  M_D = 0, which has order 2 in space, too.

#include <stratum/assembly/poisson_problem_3d.hpp>

namespace stratum {

struct HeatProblem3D {
  PoissonProblem3D space{};    // f (zero where it is empty), the exact solution where it is known, faces, K and c
  double capacity = 1;         // positive
  ScalarFunction3D initial{};  // u at the start; empty: exact where it is given, else zero
  // What does not change with the time is evaluated once. Expressions without t are known not to.
  bool steady_rhs = false;     // f
  bool steady_faces = false;   // values of faces
  bool steady_bodies = false;  // values of bodies
};

/// f, faces, values of bodies and the exact solution at this time; f is never empty. Expressions stay ones.
[[nodiscard]] PoissonProblem3D at_time(const HeatProblem3D& problem, double t);
/// u at the start; never empty.
[[nodiscard]] ScalarFunction3D initial_function(const HeatProblem3D& problem, double start);
/// What is said or known not to change.
[[nodiscard]] bool has_steady_rhs(const HeatProblem3D& problem);
[[nodiscard]] bool has_steady_faces(const HeatProblem3D& problem);
[[nodiscard]] bool has_steady_bodies(const HeatProblem3D& problem);

}  // namespace stratum
