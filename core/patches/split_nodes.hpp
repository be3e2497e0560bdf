#pragma once

// SplitNodes: the nodes with copies in patches of several ranks, and the sums of their copies. With one rank there are none.
//
//     gather_copies   r(first copy) = sum of r over all copies, r(other copies) = 0
//     sum_copies      x(every copy) = that sum
//
// Sums are formed in the order of patches, so that all ranks get the same bits. Both functions are collective and send one
// number for each own copy. They wait for the stream where the communicator does.

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
