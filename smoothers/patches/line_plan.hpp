#pragma once

// Which lines of a collection of patches are solved together, on the host and once a level.
//
// Chain: patches that lines cross one after another. Its lines run on across an edge where cells are thin across that edge on
// this level: where the largest conductance across the edge exceeds four times that along it, in a cell on either side. (A line
// relaxes the strong couplings of thin cells only if it runs on where the thin cells do.) Elsewhere, and at the boundary, they
// end. Lines that come back to their beginning are cyclic.
// Edge line: edges that go straight on through vertices where four patches meet, or two on the boundary.
// Vertices where edge lines cannot go straight on are relaxed alone, after all lines.
//
// A sweep goes through the colours of chains and edge lines. A colour has the odd lines of its chains, then the last one where
// their number makes it a neighbour of the next edge, then the even ones together with the edge lines. No two lines of a phase
// couple. Two units conflict, and so have different colours, where chains cross in a patch, where a chain crosses or touches an
// edge line across it, and where edge lines meet at an unknown, leave a vertex within one patch, or face each other across one
// cell. Colours by DSATUR (D. Brelaz, New methods to color the vertices of a graph, Comm. ACM 22, 1979); of the colours that
// are free a unit takes that of a parallel neighbour. Where all inner vertices have four patches two colours suffice.

#include <array>
#include <vector>

#include <stratum/core/patches/patch_layout.hpp>

namespace stratum {

/// A patch's part of a line: node k of line m is number first + k along + m across, k = 0 .. cells of the segment.
struct PatchLane {
  int first = 0, along = 0, across = 0, pitch = 0;
};

/// What a line has between two edges, or of an edge line an edge: one patch, or those on both sides of the edge.
struct PatchSegment {
  int cells = 0, lanes = 1;
  int start = 0;  // cells of the segments before
  PatchLane lane[2];
};

/// Lines alike: lines first_line, first_line + step, ... of a chain, or an edge line.
struct PatchLineGroup {
  int segments_begin = 0, segments_end = 0;
  int cells = 0;  // of all segments
  int first_line = 0, lines = 1, step = 2;
  bool cyclic = false;
  bool first_fixed = false, last_fixed = false;  // the lines' first and last nodes belong to others
  int scratch = 0;                               // a place for the group's numbers, among those of its phase
};

struct PatchLinePlan {
  static constexpr int lines_of_group = 8;

  std::vector<PatchSegment> segments;
  std::vector<std::array<int, 2>> patches;  // of the lanes of each segment
  std::vector<PatchLineGroup> groups;       // phase after phase, longest first
  std::vector<int> phases;                  // the first group of each phase; one more at the end
  std::vector<int>
      vertex_copies;  // of vertices that are relaxed alone, in the order of patches: pairs of node and pitch
  std::vector<int> vertex_patches;  // of each pair
  std::vector<int> vertex_begin;    // the first pair of each vertex; one more at the end
  std::vector<int> vertex_phases;   // the first vertex of each phase; one more at the end
  int colours = 0;
  int crossed_edges = 0;  // inner edges that lines cross
};

/// `crossed`: of every edge, whether lines across it run on; `fixed`: of every edge, whether it is a Dirichlet boundary.
[[nodiscard]] PatchLinePlan plan_lines(const PatchLayout& layout, const std::vector<bool>& crossed,
                                       const std::vector<bool>& fixed);

}  // namespace stratum
