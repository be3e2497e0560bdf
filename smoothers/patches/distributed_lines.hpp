#pragma once

// DistributedLines: zebra line relaxation on a rank's patches, where lines run on through patches of other ranks
// (smoothers/patches/line_chunks.hpp). x is consistent over all ranks bit by bit: those with a part of a line solve what is
// left of it from the same numbers.
//
//     phase:  residuals of chunks -> one gather of all ranks -> lines that are left, corrections of their nodes
//             -> lines of this rank, and inner nodes of its chunks
//
// On a GPU these are four launches: a thread solves a short line that is left. Long ones, which have edges between ranks, take
// two launches more.
//
// Collective. Phases without such lines gather nothing. Nothing is allocated and nothing waits for the stream but where the
// communicator does. Memory traffic of a phase: that of PatchLines (smoothers/patches/patch_lines.hpp) and about 10 words per
// unknown of lines that are cut.

#include <vector>

#include <stratum/core/patches/rank_numbers.hpp>
#include <stratum/smoothers/patches/line_chunks.hpp>
#include <stratum/smoothers/patches/patch_lines.hpp>

namespace stratum {

template <class T>
class DistributedLines {
 public:
  /// `own`: the plan of lines and chunks on this rank.
  DistributedLines(Context& ctx, const PatchLayout& layout, const DistributedLinesOnHost& from,
                   const PatchLinePlan& own);

  /// `lines`: of this rank.
  void sweep(Context& ctx, PatchLines<T>& lines, const PatchOperator<T>& a, const Partial<T>& b, Consistent<T>& x,
             bool backward = false);

 private:
  void relax_left(Context& ctx, const PatchOperator<T>& a, const Partial<T>& b, Consistent<T>& x, std::size_t phase);

  std::vector<PatchSegment> segments_;
  std::vector<DistributedLinesOnHost::Chunk> chunks_;
  std::vector<int> chunk_phases_, node_phases_, target_phases_, summed_phases_, short_phases_;
  std::shared_ptr<void> segments_on_gpu_, chunks_on_gpu_;
  Field<T> to_first_, to_last_;
  std::shared_ptr<void> nodes_, targets_, short_lines_, short_targets_;
  std::vector<NumbersOfRanks<T>> numbers_;  // of each phase
  Field<int> sources_, begin_, summed_;
  PatchOperator<T> a_;
  PatchLines<T> lines_;
  Partial<T> b_;
  Consistent<T> x_;
};

}  // namespace stratum
