#pragma once

// Grid functions on a rectangle's mesh that are formed from 1-D arrays, so that no array of the grid's size is on the host:
//
//     integrals of phi_i                         hat_x(i) hat_y(j)
//     Coons's patch between four boundaries      the boundary values, linear in between
//
// They run on the Context's backend. Functions that return a number wait for the stream. Memory traffic: one word per node.

#include <vector>

#include <stratum/assembly/line_loads.hpp>
#include <stratum/assembly/poisson_problem.hpp>

namespace stratum {

/// Integrals of the phi_i of the unknowns are products of these; row 0 of a subdomain has number first_row of y.
struct HatIntegrals {
  std::vector<double> x, y;
  int first_row = 0;
  [[nodiscard]] double area() const;
};

/// The sums of b; no mean.
[[nodiscard]] Compatibility compatibility(Context& ctx, FieldView<const double> b);
/// b = b - constant hats, such that sum b = 0; zero where nothing but rounding is left. The sums of before.
Compatibility make_compatible(Context& ctx, const HatIntegrals& hats, FieldView<double> b);
/// u = u - sum u hats / area
void subtract_integral_mean(Context& ctx, const HatIntegrals& hats, FieldView<double> u);
/// With the integrals of the phi_i of any mesh, at the unknowns of b and u.
Compatibility make_compatible(Context& ctx, FieldView<const double> hats, FieldView<double> b);
void subtract_integral_mean(Context& ctx, FieldView<const double> hats, FieldView<double> u);

[[nodiscard]] double sum_of(Context& ctx, FieldView<const double> u);
/// Of u_h over the domain, values of Dirichlet boundaries included.
[[nodiscard]] double integral(Context& ctx, const TensorMesh<2>& mesh, const PoissonProblem& problem,
                              const GridFunction<const double>& u);

/// Values along the boundaries at the unknowns' rows and columns, and at the corners by x, by y; `in_x`, `in_y`: the directions
/// that have boundaries with values.
struct CoonsBoundary {
  std::vector<double> left, right, bottom, top;
  std::vector<double> t, s;  // fractions of the way in x and y
  double corner[2][2];
  bool in_x, in_y;
};
void set_coons_patch(Context& ctx, const CoonsBoundary& boundaries, FieldView<double> u);

}  // namespace stratum
