#pragma once

// Deformations of the unit square that solvers are compared on:
//
//     shear     (x + y tan(angle), y)
//     annulus   r (sin(pi x / 2), cos(pi x / 2)), r = 1 + (outer - 1) y: a quarter
//     sine      (x + w, y + w), w = size sin(2 pi x) sin(2 pi y); folded from size 1 / (2 pi) on
//     Kershaw   lines jump up and down between six subdomains; cells beside a side are e or 2 - e times as high as even ones
//
// Source of the last: D. Kershaw, Differencing of the Diffusion Equation in Lagrangian Hydrodynamic Codes, J. Comput. Phys. 39,
// 1981, in the smooth form of the meshes of T. Kolev et al., Efficient Exascale Discretizations, Int. J. High Perform. Comput.
// Appl. 35, 2021.

#include <string>

#include <stratum/assembly/geometry.hpp>

namespace stratum {

/// Where the point goes, for `mapped` of assembly/poisson_problem.hpp.
struct SampleMap {
  std::string name;
  ScalarFunction x, y;
};

[[nodiscard]] SampleMap shear_map(double degrees);
[[nodiscard]] SampleMap annulus_map(double outer);
[[nodiscard]] SampleMap sine_map(double size);
[[nodiscard]] SampleMap kershaw_map(double e);

}  // namespace stratum
