#pragma once

// Planes of a box across one direction, of which every rank has some: its part of the mesh, and numbers of all ranks on the first
// one. Arrays are on the host, x fastest.

#include <array>
#include <vector>

#include <stratum/core/device/context.hpp>
#include <stratum/mesh/tensor_mesh.hpp>

namespace stratum {

/// Planes of nodes across a direction, first and last.
struct NodePlanes {
  int axis, first, last;
  [[nodiscard]] int count() const { return last - first + 1; }
};

/// The cells between these planes. Ends that are none of the box's are natural.
[[nodiscard]] TensorMesh<3> part_of(const TensorMesh<3>& mesh, const NodePlanes& planes);
/// Nodes of each direction, faces included.
[[nodiscard]] std::array<int, 3> nodes_of_axes(const TensorMesh<3>& mesh);

/// Of n[0] x n[1] x n[2] numbers this rank has `own`, on planes across `axis` from number `first` on, or none: all of them on the
/// first rank, the others get none. A plane that several ranks have is the same on each. All ranks call together.
[[nodiscard]] std::vector<double> planes_on_first_rank(const Context& ctx, const std::array<int, 3>& n, int axis,
                                                       int first, std::vector<double> own);
/// Of so many numbers those on `count` planes across `axis`.
[[nodiscard]] std::vector<double> planes_of(const std::vector<double>& all, const std::array<int, 3>& n, int axis,
                                            int first, int count);

}  // namespace stratum
