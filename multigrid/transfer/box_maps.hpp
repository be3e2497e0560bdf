#pragma once

// Of one direction of a level, which fine node belongs to which coarse one (BoxAxisMap of multigrid/transfer/box_transfer.hpp),
// on the host: of all nodes, or of the planes of a slab. Nodes that are kept and dropped do not depend on the number of ranks.

#include <vector>

#include <stratum/core/operators/box_rows.hpp>
#include <stratum/multigrid/gate.hpp>

namespace stratum {

struct BoxAxisNumbers {
  std::vector<int> coarse, dropped, kept, begin, end;

  BoxAxisNumbers() = default;
  BoxAxisNumbers(const GatedAxis& axis, const std::vector<bool>& drop);

  /// Where the planes of a slab that are kept stand among those of the next level.
  [[nodiscard]] BoxSlab coarser(const BoxSlab& slab) const;
  /// Of a slab with `planes` own ones: from those of all, which these are.
  [[nodiscard]] BoxAxisNumbers of_slab(const BoxSlab& slab, int planes) const;
  /// How many of all nodes before node i are kept; i may lie across a periodic box, at most once around.
  [[nodiscard]] int kept_before(int i) const;

 private:
  /// Node number c of the kept ones, which may lie around a periodic box; else the boundary's.
  [[nodiscard]] int kept_at(int c, bool around) const;
};

}  // namespace stratum
