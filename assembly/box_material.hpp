#pragma once

// K of a problem in a box (assembly/poisson_problem_3d.hpp) on the cells of its mesh, at their centres, and whether the problem
// is separable: then
//
//     kxx = k_x(x) w_y(y) w_z(z) ,  kyy = w_x k_y w_z ,  kzz = w_x w_y k_z   on the cells, to rounding,
//
// w constant where there is a reaction, or an alpha on a face across them. Else K has a number, or three, for every cell.
//
// Several ranks evaluate K on a share of the layers of cells each, and agree; every one gets all. Throws UsageError for K that is not finite and positive,
// with its value and place.

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <stratum/assembly/poisson_problem_3d.hpp>
#include <stratum/core/device/context.hpp>

namespace stratum {

struct BoxBodies;  // assembly/box_bodies.hpp

struct BoxMaterial {
  std::string why_not_separable;              // one sentence; empty: it is
  std::shared_ptr<const BoxBodies> bodies{};  // where there are any: K = 0 in solids and held bodies
  std::array<std::vector<double>, 3> k, w;    // of a separable one, an interval; else ones
  std::vector<double> xx, yy, zz;             // of another one, a cell, x fastest; yy and zz empty: a scalar K
  double contrast = 1;                        // of another one: largest K by smallest of a direction,
  double jump = 1;                            // the most of two neighbouring cells, k,
  double steepness = 0;                       // and of (k - 1)^2 L / h, L the axis, h the thinner of the two

  [[nodiscard]] bool is_separable() const { return why_not_separable.empty(); }
  /// kxx, kyy and kzz of a cell by its number, of one that is not separable.
  [[nodiscard]] std::array<double, 3> at(std::size_t cell) const {
    const double x = xx[cell];
    return {x, yy.empty() ? x : yy[cell], zz.empty() ? x : zz[cell]};
  }
};

/// `mesh` has the ends of the problem's faces. `as_cells`: K by cells, separable or not.
[[nodiscard]] BoxMaterial find_material(const Context& ctx, const TensorMesh<3>& mesh, const PoissonProblem3D& problem,
                                        bool as_cells = false);

}  // namespace stratum
