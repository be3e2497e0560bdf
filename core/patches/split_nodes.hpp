#pragma once

// SplitNodes: nodes with copies in patches of several ranks, and their sums. Where there is one rank there are none.

#include <vector>

#include <stratum/core/patches/patch_layout.hpp>
#include <stratum/core/patches/rank_numbers.hpp>

namespace stratum {

class SplitNodes {
 public:
  /// Of the layout of a rank's patches.
  SplitNodes(Context& ctx, const PatchLayout& layout);

  /// As gather_copies, of these nodes: the first copy of all gets their sum, in the order of patches, the others zero. One
  /// gather.
  void gather_copies(Context& ctx, Partial<double>& r);
  /// As sum_copies: all copies that are here get it, of x, which may be r. One gather.
  void sum_copies(Context& ctx, const Partial<double>& r, Consistent<double>& x);

 private:
  void sum(Context& ctx, const double* r, double* to, bool into_first_alone);

  NumbersOfRanks<double> numbers_;
  Field<int> sent_;                  // own copies
  Field<int> copies_, own_, begin_;  // of the nodes with one here: places of all copies, and own numbers or -1
  int sent_count_ = 0, nodes_ = 0;
};

}  // namespace stratum
