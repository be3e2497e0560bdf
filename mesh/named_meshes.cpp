#include <stratum/mesh/named_meshes.hpp>

#include <stratum/core/errors.hpp>

namespace stratum {

const std::vector<MeshFamily<2>>& named_meshes() {
  static const std::vector<MeshFamily<2>> families = [] {
    const auto uniform = [](const char* name, double a, const char* description) {
      return MeshFamily<2>{name, {a, 1}, 1, {ThinSide::none, ThinSide::none}, description};
    };
    const auto refined = [](const char* name, double nu, const char* description) {
      return MeshFamily<2>{name, {1, 1}, nu, {published_thin_side(0), published_thin_side(1)}, description};
    };
    return std::vector<MeshFamily<2>>{
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

const MeshFamily<2>& mesh_family(std::string_view name) {
  std::string known;
  for (const auto& family : named_meshes()) {
    if (family.name == name) return family;
    known += (known.empty() ? "" : ", ") + family.name;
  }
  throw UsageError(message("unknown mesh '", name, "'; known: ", known));
}

MeshFamily<3> box_family(std::string_view name, std::string_view graded) {
  constexpr std::string_view directions = "xyz";
  const MeshFamily<2>& rectangle = mesh_family(name);
  MeshFamily<3> box{rectangle.name, {1, 1, 1}, rectangle.nu, {ThinSide::none, ThinSide::none, ThinSide::none}, {}};
  expects(!graded.empty() && graded.find_first_not_of(directions) == std::string_view::npos, "'", shown(graded),
          "' does not name directions; give one, two or three of x, y and z, as in z, yz or xyz");
  for (std::size_t d = 0; d < directions.size(); ++d) {
    const auto first = graded.find(directions[d]);
    if (first == std::string_view::npos) continue;
    expects(graded.find(directions[d], first + 1) == std::string_view::npos, "'", shown(graded), "' names ",
            directions[d], " twice");
    box.lengths[d] = rectangle.lengths[0];
    if (rectangle.nu != 1) box.thin[d] = published_thin_side(static_cast<int>(d));
  }
  return box;
}

template <int D>
TensorMesh<D> make_mesh(const MeshFamily<D>& family, int level) {
  return TensorMesh<D>(
      make_axes<D>([&](std::size_t d) { return bisected(family.lengths[d], level, family.thin[d], family.nu); }),
      family.name);
}

template TensorMesh<2> make_mesh(const MeshFamily<2>& family, int level);
template TensorMesh<3> make_mesh(const MeshFamily<3>& family, int level);

}  // namespace stratum
