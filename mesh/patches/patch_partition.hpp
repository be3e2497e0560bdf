#pragma once

// Which rank has each patch of a mesh: whole patches, so that ranks have about as many cells, and few nodes lie between ranks.
//
// Ranks are halved again and again, and patches with them: along the order in which patches lie along x, y, a diagonal, around
// or away from the middle, or by steps from a patch to its neighbours, whichever leaves the least work to the busiest half and
// then the fewest nodes between both, which count ten times where cells are thin across their edge: lines cross there
// (smoothers/patches/line_plan.hpp). Then patches at the border change sides while that helps. All ranks find the same.
//
// Throws UsageError where there are fewer patches than ranks.

#include <vector>

#include <stratum/mesh/patches/patch_mesh.hpp>

namespace stratum {

[[nodiscard]] std::vector<int> ranks_of_patches(const PatchMesh& mesh, int ranks);

}  // namespace stratum
