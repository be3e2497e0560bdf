#include <stratum/mesh/named_meshes.hpp>

#include <stratum/core/errors.hpp>

namespace stratum {

const std::vector<MeshFamily>& named_meshes() {
  static const std::vector<MeshFamily> families = [] {
    const auto uniform = [](const char* name, double a, const char* description) {
      return MeshFamily{name, a, 1, 1, ThinSide::none, ThinSide::none, description};
    };
    const auto refined = [](const char* name, double nu, const char* description) {
      return MeshFamily{name, 1, 1, nu, ThinSide::last, ThinSide::first, description};
    };
    return std::vector<MeshFamily>{
        uniform("U1", 1, "square cells"),
        uniform("U2", 0.25, "cells four times as high as wide"),
        uniform("U3", 0.0625, "cells sixteen times as high as wide"),
        refined("A1", 0.75, "weak refinement towards the right and bottom boundaries"),
        refined("A2", 0.5, "medium refinement: aspect ratios to 1.5e3 at level 10"),
        refined("A3", 0.25, "hard refinement: 1.8e6 at level 10"),
        refined("A4", 0.0625, "hard refinement: 2.1e12 at level 10"),
        refined("A5", 0.03125, "extreme refinement: 2.1e15 at level 10"),
    };
  }();
  return families;
}

const MeshFamily& mesh_family(std::string_view name) {
  std::string known;
  for (const auto& family : named_meshes()) {
    if (family.name == name) return family;
    known += (known.empty() ? "" : ", ") + family.name;
  }
  throw UsageError(message("unknown mesh '", name, "'; known: ", known));
}

TensorMesh<2> make_mesh(const MeshFamily& family, int level) {
  return {bisected(family.a, level, family.thin_x, family.nu), bisected(family.b, level, family.thin_y, family.nu),
          family.name};
}

}  // namespace stratum
