#pragma once

// The eight published meshes by name, and any other of their kind, in two dimensions and in three. Source: Goeddeke, Strzodka
// 2011, Section 4.1.

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include <stratum/mesh/tensor_mesh.hpp>

namespace stratum {

/// The end of direction d that is thin on the published meshes: the last one of x, the first one of y, and so of z.
[[nodiscard]] constexpr ThinSide published_thin_side(int d) { return d == 0 ? ThinSide::last : ThinSide::first; }

/// [0, lengths[0]] x [0, lengths[1]] ..., refined by bisection; in each direction the intervals at one end, or at none, are
/// split by the factor nu.
template <int D>
struct MeshFamily {
  static_assert(D == 2 || D == 3);

  std::string name = "custom";
  std::array<double, D> lengths = [] {
    std::array<double, D> ones;
    ones.fill(1);
    return ones;
  }();
  double nu = 1;
  std::array<ThinSide, D> thin = [] {
    std::array<ThinSide, D> sides{};
    for (int d = 0; d < D; ++d) sides[static_cast<std::size_t>(d)] = published_thin_side(d);
    return sides;
  }();
  std::string description{};
};

/// U1 to U3 (uniform) and A1 to A5 (anisotropic refinement towards the right and bottom boundaries).
[[nodiscard]] const std::vector<MeshFamily<2>>& named_meshes();

/// Throws UsageError for an unknown name, listing the known ones.
[[nodiscard]] const MeshFamily<2>& mesh_family(std::string_view name);

/// Boxes of the same names. `graded` names one, two or three directions, as in "z" or "xy": A1 to A5 are refined towards the
/// last end of x and the first ends of y and z in those directions, and uniform in the others; U2 and U3 are 1/4 and 1/16 long
/// in those directions, and 1 in the others. Throws UsageError for an unknown name, and for directions that are none or named
/// twice.
[[nodiscard]] MeshFamily<3> box_family(std::string_view name, std::string_view graded = "z");

/// 2^level cells in each direction. Throws UsageError for a level outside 0 .. 20, a nu outside (0, 2), lengths that are not
/// positive and finite, or widths that vanish in double.
template <int D>
[[nodiscard]] TensorMesh<D> make_mesh(const MeshFamily<D>& family, int level);

}  // namespace stratum
