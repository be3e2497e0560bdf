// Files of patches: the first byte says which. What is accepted and small becomes a mesh, whose cells cover an area and whose
// patches agree on the nodes of their edges.

#include <cmath>
#include <string>

#include <stratum/core/errors.hpp>
#include <stratum/mesh/patches/feat3.hpp>
#include <stratum/mesh/patches/gmsh.hpp>
#include <stratum/mesh/patches/patch_text.hpp>
#include <stratum/mesh/patches/quad_mesh.hpp>

#include "scratch_file.hpp"
#include "target.hpp"

using namespace stratum;

namespace {

constexpr int most_cells = 64;

/// Nothing that takes long, and no files of this machine.
bool is_small(const PatchMeshParts& parts) {
  if (parts.cells > most_cells || parts.patches.size() > 64) return false;
  for (const PatchEdgeParts& edge : parts.edges)
    if (edge.cells > most_cells || (edge.grading && edge.grading->from_file())) return false;
  return true;
}

void check(const PatchMesh& mesh) {
  double area = 0;
  for (int p = 0; p < mesh.patches(); ++p) {
    const PatchNodes nodes = mesh.nodes_of(p);
    require(nodes.nx == mesh.cells_x(p) && nodes.ny == mesh.cells_y(p), "a patch has the cells of its chords");
    for (int j = 0; j < nodes.ny; ++j)
      for (int i = 0; i < nodes.nx; ++i) {
        const Position x = nodes.step_x[static_cast<std::size_t>(j) * static_cast<std::size_t>(nodes.nx) +
                                        static_cast<std::size_t>(i)],
                       y = nodes.step_y[nodes.node(i, j)];
        area += x.x * y.y - x.y * y.x;
      }
  }
  require(area > 0 && std::isfinite(area), "cells have an area");
  for (int e = 0; e < mesh.edges(); ++e)
    require(mesh.edge(e).on_boundary() == (mesh.edge(e).boundary >= 0), "boundary edges have names, others have none");
  require(mesh.nodes() > mesh.cells() - mesh.patches() * 2, "nodes are counted");
  require(mesh.halved(1).cells() == 4 * mesh.cells(), "halving makes four cells of one");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const ScratchFile file(".patches");
  if (size == 0) return 0;
  file.write(data + 1, size - 1);
  try {
    if (data[0] == 'g') {
      const QuadMesh quads = read_gmsh(file.path());
      if (quads.quads.size() > 4096) return 0;
      check(PatchMesh(base_complex(quads, "mesh").parts));
    } else {
      const PatchMeshParts parts = data[0] == 'f' ? read_feat3(file.path()) : read_patch_text(file.path()).parts;
      if (is_small(parts)) check(PatchMesh(parts));
    }
  } catch (const UsageError&) {
    return 0;
  } catch (const FileError&) {
    return 0;
  }
  return 0;
}
