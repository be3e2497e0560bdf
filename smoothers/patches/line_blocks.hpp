#pragma once

// How a GPU takes the lines of a plan (smoothers/patches/line_plan.hpp): phase after phase, in blocks of threads.
//
// A line is cut into pieces: a separator, and behind it the inner nodes up to the next one. The first and the last node of a
// segment are separators, so that the nodes of patches that share an edge are one separator with two owners; the last node of a
// segment is a piece of its own. A thread takes a piece of a line (smoothers/patches/line_thread.hpp).
//
// Pieces are short where a phase has few lines, whose latency counts, and long where it has many. Lines that do not fit into a
// block are left to another kernel.

#include <vector>

#include <stratum/smoothers/patches/line_plan.hpp>

namespace stratum {

/// A piece of a line, the same for all lines of a chain.
struct PatchLinePiece {
  // Node m of the piece of line k is number first + m along + k across; on an inner edge it has two copies.
  int first[2] = {}, along[2] = {}, pitch[2] = {};
  int across = 0;
  int lanes = 1;
  int inner = 0;          // nodes between the separators
  int separator = 0;      // node 0
  int last = 0;           // the separator behind the inner nodes
  int interval = -1;      // between these two: the number of the earlier one; none: a separator alone
  bool reversed = false;  // node 0 is the later one
  bool second = false;    // node 0 belongs to the segment before, too, and this is the second owner
  bool shared = false;    // separator number k of the line, where this is piece k, has two owners
};

/// Lines of a chain that a block takes.
struct PatchLineBlock {
  int pieces_begin = 0, pieces = 0;  // of a line
  int separators = 0;                // no more than pieces; without a last one that belongs to others
  int first_line = 0, step = 2, lines = 1;
  int lanes = 0;  // 0: a thread's neighbours take the pieces of a line; or else the same piece of as many lines
  bool cyclic = false, first_fixed = false, last_fixed = false;
};

/// A launch for each phase.
struct PatchLineLaunch {
  int blocks_begin = 0, blocks_end = 0;
  int threads = 0;      // of a block
  int piece = 4;        // nodes of a piece at most
  int groups_left = 0;  // the first groups of the phase, whose lines are too long
};

struct PatchLineBlocks {
  std::vector<PatchLinePiece> pieces;
  std::vector<PatchLineBlock> blocks;
  std::vector<PatchLineLaunch> phases;

  static constexpr int most_threads = 512;
};

/// Pieces have `shortest`, twice as many, ... or `longest` nodes; the shortest, four or more.
[[nodiscard]] PatchLineBlocks blocks_of(const PatchLinePlan& plan, int longest, int shortest = 4);

}  // namespace stratum
