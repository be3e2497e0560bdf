#pragma once

// Grid functions of a rectangle's mesh that are put together from 1-D ones, so that nothing of the grid's size lies on the host:
//
//     integrals of phi_i                    hat_x(i) hat_y(j)
//     Coons's patch between four sides      by what the sides have, linear in between
//
// On the Context's backend; what gives a number back waits for the stream. A node and word moved each.

#include <vector>

#include <stratum/assembly/poisson_problem.hpp>

namespace stratum {

/// Integrals of the phi_i of the unknowns are products of these.
struct HatIntegrals {
  std::vector<double> x, y;
  [[nodiscard]] double area() const;
};

/// b = b - constant hats, such that sum b = 0; zero where nothing but rounding is left. The sums of before.
Compatibility make_compatible(Context& ctx, const HatIntegrals& hats, GridView<double> b);
/// u = u - sum u hats / area
void subtract_integral_mean(Context& ctx, const HatIntegrals& hats, GridView<double> u);

/// Values along the sides at the unknowns' rows and columns, and at the corners by x, by y; `in_x`, `in_y`: the directions that
/// have sides with values.
struct CoonsSides {
  std::vector<double> left, right, bottom, top;
  std::vector<double> t, s;  // fractions of the way in x and y
  double corner[2][2];
  bool in_x, in_y;
};
void set_coons_patch(Context& ctx, const CoonsSides& sides, GridView<double> u);

}  // namespace stratum
