#pragma once

// PatchLines: zebra line relaxation along lines that run on across the edges of patches (smoothers/patches/line_plan.hpp),
//
//     x <- x + T^-1 (b - A x)   on all lines of a phase, phase after phase; T: the rows of A along a line.
//
// b is partial, x consistent, and stays so bit by bit: a row on an edge is the sum of what its patches give, and all copies get
// the same correction. `backward` runs the phases in reverse order: forward before and backward after the coarse correction
// make a symmetric cycle.
//
// A line is cut into chunks, one on the CPU; on a GPU into pieces of 4 to 16 nodes, a thread for each
// (smoothers/patches/line_blocks.hpp), or 32 chunks where a line has more pieces than a block has threads. With couplings
// l, u >= 0 to the neighbours and the excess e of a row within its line,
//
//     (e_k + l_k + u_k) d_k - l_k d_(k-1) - u_k d_(k+1) = r_k ,
//
// the nodes of a chunk are eliminated one after another, and with them the coupling w to the chunk's first node,
//
//     p = e' + u + w,   e'_(k+1) = e_(k+1) + l_(k+1) e'_k / p_k,   r'_(k+1) = r_(k+1) + l_(k+1) r'_k / p_k,
//     w_(k+1) = l_(k+1) w_k / p_k .
//
// Only quotients of sums appear (GTH elimination: W. Grassmann, M. Taksar, D. Heyman, 1985), so that lines between Neumann
// boundaries lose nothing in single precision. The first nodes of chunks are a tridiagonal or cyclic system in the same form,
// solved by parallel cyclic reduction. Cyclic lines need nothing else: the last chunk ends at the first node of the line.
//
// One launch a phase. Nothing is allocated and nothing waits for the stream. Memory traffic of a phase: about 13 words per
// unknown that it relaxes, on a GPU 12 along rows of patches and 16 along columns, of which a sector of memory has the lines
// of both parities; of lines with more nodes than threads can take 19.

#include <memory>

#include <stratum/core/patches/patch_operator.hpp>
#include <stratum/smoothers/patches/line_blocks.hpp>
#include <stratum/smoothers/patches/line_plan.hpp>

namespace stratum {

template <class T>
class PatchLines {
 public:
  PatchLines(Context& ctx, const PatchLayout& layout, PatchLinePlan plan);

  void sweep(Context& ctx, const PatchOperator<T>& a, const Partial<T>& b, Consistent<T>& x, bool backward = false);
  /// One phase of a sweep.
  void relax(Context& ctx, const PatchOperator<T>& a, const Partial<T>& b, Consistent<T>& x, int phase);

  [[nodiscard]] const PatchLinePlan& plan() const { return plan_; }
  /// Phases of a sweep.
  [[nodiscard]] int phases() const;

 private:
  void lines(Context& ctx, const PatchOperator<T>& a, const Partial<T>& b, Consistent<T>& x, int phase);
  void vertices(Context& ctx, const PatchOperator<T>& a, const Partial<T>& b, Consistent<T>& x, int phase);

  PatchLinePlan plan_;
  std::int64_t nodes_;
  PatchLineBlocks blocks_;                                         // on a GPU
  std::shared_ptr<void> segments_, groups_, pieces_, block_list_;  // in its memory
  Field<int> vertex_copies_, vertex_begin_;
  Field<T> quotients_;  // r'/p, u/p and w/p of the nodes of a phase, in the order of threads; on a GPU
  int scratch_ = 0;     // numbers of each
};

}  // namespace stratum
