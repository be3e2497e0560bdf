#pragma once

// Patches of any mesh of quadrilaterals, by its base complex: the fewest logically rectangular patches that match edge to edge.
//
//     irregular node      inside: not four quadrilaterals meet there; on the boundary: not two,
//                         or two boundaries meet
//     cuts                all edges at irregular nodes, each followed straight on to the boundary or to an irregular node, and
//                         edges between regions; closed, so that a regular node has no cut, one straight through, or all four
//     patches             what is left connected
//
// An annulus without irregular nodes is cut three times.
//
// Errors: UsageError for an edge of three quadrilaterals, for regions that are no rectangles of cells, for more than
// max_patches patches.
//
// Source: Bommes, Lempfer, Kobbelt, Global Structure Optimization of Quadrilateral Meshes, 2011 (base complex).

#include <array>
#include <string>
#include <vector>

#include <stratum/mesh/patches/patch_mesh.hpp>

namespace stratum {

struct QuadMesh {
  std::vector<Position> nodes{};
  std::vector<std::array<int, 4>> quads{};  // nodes in order around
  std::vector<int> regions{};               // of quads; empty: one
  struct Line {
    int first = 0, second = 0;  // nodes
    std::string name{};
  };
  std::vector<Line> lines{};  // names of boundaries; those inside are left out
};

struct BaseComplex {
  GridPatchParts parts{};
  std::vector<int> regions{};  // of patches
  std::string summary{};       // how many patches of how many cells
};

[[nodiscard]] BaseComplex base_complex(QuadMesh mesh, const std::string& name);

}  // namespace stratum
