#pragma once

// OverlapRows: how many rows of its neighbours a subdomain smooths beside its own on a level that is smoothed by overlap.
// Multigrid::overlap and PoissonSolver::overlaps return them for every subdomain.

namespace stratum {

/// Rows that a subdomain takes of its neighbours; 0 where there is none.
struct OverlapRows {
  int below = 0, above = 0;
  [[nodiscard]] int most() const { return below > above ? below : above; }
  friend bool operator==(const OverlapRows&, const OverlapRows&) = default;
};

}  // namespace stratum
