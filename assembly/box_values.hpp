#pragma once

// Interpolation of a Q1 function in a box. In cell (i, j, k), at fractions t = (tx, ty, tz) of its edges,
//
//     u(t) = sum over the 8 corners c of the cell of  u_c  product over directions d of (t_d or 1 - t_d) .
//
// Fractions are computed from distances to the first ends of the axes, as in two dimensions (assembly/point_values.hpp). On a
// plane normal to an axis u is a Q1 function of two variables: the two other axes, in their order, span its rectangle.
//
// Nodal values are on the host, for all nodes of the box, x fastest, then y. Throws UsageError for a wrong number of values.

#include <array>
#include <optional>
#include <span>
#include <vector>

#include <stratum/assembly/error_norms.hpp>
#include <stratum/assembly/poisson_problem_3d.hpp>
#include <stratum/core/device/context.hpp>
#include <stratum/mesh/tensor_mesh.hpp>

namespace stratum {

using BoxPosition = std::array<double, 3>;  // x, y, z

/// A cell and the fractions of its edges.
struct BoxMeshPoint {
  std::array<int, 3> cell{};
  std::array<double, 3> fraction{};
};

/// Nothing for a point outside the box.
[[nodiscard]] std::optional<BoxMeshPoint> locate(const TensorMesh<3>& mesh, const BoxPosition& p);
[[nodiscard]] double value_at(const TensorMesh<3>& mesh, std::span<const double> nodal, const BoxMeshPoint& p);

/// (cells + 1) of x, y and z multiplied.
[[nodiscard]] std::size_t node_count(const TensorMesh<3>& mesh);

/// Across axis d at a coordinate. Throws UsageError for a coordinate outside the box.
struct PlaneValues {
  TensorMesh<2> mesh;
  std::vector<double> nodal;
};
[[nodiscard]] PlaneValues plane_values(const TensorMesh<3>& mesh, std::span<const double> nodal, int d, double at);

/// A function at all nodes, finite or not.
[[nodiscard]] std::vector<double> at_nodes(const Context& ctx, const TensorMesh<3>& mesh,
                                           const ScalarFunction3D& function);

/// At the centres of all cells, x fastest. Throws UsageError where it is not finite.
[[nodiscard]] std::vector<double> at_cells(const Context& ctx, const TensorMesh<3>& mesh,
                                           const ScalarFunction3D& function);

/// Numbers on the cells of a mesh as a function: a point has that of its cell, found from the nearer ends of the axes. Along a
/// direction in which there is one number all cells have it. Throws UsageError for another number of them.
[[nodiscard]] ScalarFunction3D on_cells(const TensorMesh<3>& mesh, const std::array<std::size_t, 3>& count,
                                        std::vector<double> numbers);

/// Numbers at the nodes of a mesh as a function, linear in x, y and z between them. Throws UsageError for another number of
/// them.
[[nodiscard]] ScalarFunction3D on_nodes(const TensorMesh<3>& mesh, std::vector<double> numbers);

/// As in two dimensions; `fine`: values on the mesh with every cell of `coarse_mesh` cut into eight, which weigh an eighth of
/// the cells around.
[[nodiscard]] LevelDifference level_difference(const TensorMesh<3>& coarse_mesh, std::span<const double> coarse,
                                               std::span<const double> fine);

}  // namespace stratum
