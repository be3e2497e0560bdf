#pragma once

// SmallLevels: the V-cycle of a hierarchy whose finest level has at most 64 x 64 unknowns, as one kernel of one block.
//
// On a GPU small levels cost launches, not bytes: a cycle with one ADI application before and after has some 16 kernels a
// level, each of a few microseconds whatever its size. Here all vectors live in shared memory, a warp solves a line, and a
// barrier takes the place of a launch. Zebra ADI, tensor operators, coarsest level one unknown; what a level computes is what
// the separate kernels compute, to rounding. Bytes: b and x once.

#include <memory>
#include <vector>

#include <stratum/core/grid_operator.hpp>
#include <stratum/multigrid/transfer.hpp>

namespace stratum {

template <class T>
class SmallLevels {
 public:
  static constexpr int max_levels = 8;
  static constexpr int max_nodes = 64;  // in each direction

  struct Level {
    const GridOperator<T>* a;
    const Transfer<T>* transfer;
  };

  /// How many of these levels, coarsest first, one kernel can take: 0 on a CPU.
  [[nodiscard]] static int suited(const Context& ctx, const std::vector<Level>& levels);

  SmallLevels() = default;
  /// The levels must outlive this.
  SmallLevels(const std::vector<Level>& levels, int steps, bool symmetric);

  /// x = one cycle from zero for A x = b on the finest of the levels.
  void apply(Context& ctx, GridView<const T> b, GridView<T> x) const;

 private:
  struct Hierarchy;
  std::shared_ptr<const Hierarchy> hierarchy_;
};

}  // namespace stratum
