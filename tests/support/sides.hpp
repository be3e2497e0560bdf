#pragma once

// Meshes by the kinds of their sides.

#include <stratum/mesh/tensor_mesh.hpp>

namespace test {

struct Ends {
  stratum::LineEnd left, right, bottom, top;
};

[[nodiscard]] inline stratum::TensorMesh with_ends(const stratum::TensorMesh& mesh, const Ends& ends) {
  return {mesh.x().with_ends(ends.left, ends.right), mesh.y().with_ends(ends.bottom, ends.top)};
}

}  // namespace test
