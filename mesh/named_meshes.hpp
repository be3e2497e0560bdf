#pragma once

// The eight published meshes by name, and any other of their kind. Source: Goeddeke, Strzodka 2011, Section 4.1.

#include <string>
#include <string_view>
#include <vector>

#include <stratum/mesh/tensor_mesh.hpp>

namespace stratum {

/// [0, a] x [0, b], refined by bisection; thin intervals by the factor nu at one end of each direction.
struct MeshFamily {
  std::string name = "custom";
  double a = 1;
  double b = 1;
  double nu = 1;
  ThinSide thin_x = ThinSide::last;
  ThinSide thin_y = ThinSide::first;
  std::string description;
};

/// U1 to U3 (uniform) and A1 to A5 (anisotropic refinement towards the right and bottom boundaries).
[[nodiscard]] const std::vector<MeshFamily>& named_meshes();

/// Throws UsageError for an unknown name, listing the known ones.
[[nodiscard]] const MeshFamily& mesh_family(std::string_view name);

/// 2^level x 2^level cells. Throws UsageError for a level outside 0 .. 20, a nu outside (0, 2), boundaries that are not
/// positive and finite, or widths that vanish in double.
[[nodiscard]] TensorMesh<2> make_mesh(const MeshFamily& family, int level);

}  // namespace stratum
