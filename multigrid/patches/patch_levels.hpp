#pragma once

// The levels of a collection of patches, on the host and in double: every chord loses every second node until few unknowns are
// left, matrices by Galerkin products, and the lines of every level but the coarsest. Formed before Dirichlet nodes are taken
// out.
//
// On several ranks the finest levels have the patches of this rank alone. Levels with too few unknowns to be worth exchanges
// have all patches on every rank, and each solves them whole: what is restricted to the first of these is gathered.
//
// Numbers of nodes are those of core/patches/patch_layout.hpp; arrays of that size are the caller's duty. No Context, hence no
// stream. Memory: 5 words of rows, 2 of conductances and 1.5 of weights per node and level.

#include <optional>
#include <vector>

#include <stratum/core/patches/patch_operator.hpp>
#include <stratum/multigrid/patches/patch_transfer.hpp>
#include <stratum/smoothers/patches/line_chunks.hpp>

namespace stratum {

struct PatchLevelOnHost {
  PatchLayout layout;
  PatchRowsOnHost rows;
  PatchConductances conductances;
  std::vector<int> fixed;  // numbers of Dirichlet nodes, all copies
  std::int64_t unknowns = 0;
  PatchWeightsOnHost weights{};  // to the next coarser level
  PatchLinePlan lines{};         // where the level has the patches of a rank, of this rank alone
  std::optional<DistributedLinesOnHost> distributed{};
};

/// Finest first. `fixed_edges`: which edges are Dirichlet boundaries. `ranks`: where the layout is that of a rank's patches;
/// collective. Levels of fewer unknowns than `least_distributed` have all patches on every rank.
[[nodiscard]] std::vector<PatchLevelOnHost>
patch_levels(PatchLayout layout, PatchRowsOnHost rows, PatchConductances conductances,
             const std::vector<bool>& fixed_edges, std::int64_t coarsest_unknowns, int threads = 1,
             Communicator* ranks = nullptr, std::int64_t least_distributed = 0);

/// Numbers of the nodes of these edges, all copies that are there, sorted.
[[nodiscard]] std::vector<int> nodes_of_edges(const PatchLayout& layout, const std::vector<bool>& edges);

/// Whether lines run on across each edge: the largest conductance across beside that along it, in the cells on both sides,
/// exceeds `most`. Of a rank's patches: as far as its cells say.
[[nodiscard]] std::vector<bool> crossed_edges(const PatchLayout& layout, const PatchConductances& conductances,
                                              double most = 4);

/// The unknowns of a level, each once: the copies of all, and the sparse matrix that their rows sum to.
struct PatchUnknowns {
  std::vector<int> copies, begin;  // copies of unknown k: begin[k] .. begin[k + 1] - 1, in the order of patches
  std::vector<int> row_begin, column;
  std::vector<double> entry;
  [[nodiscard]] int count() const { return static_cast<int>(begin.size()) - 1; }
};
[[nodiscard]] PatchUnknowns unknowns_of(const PatchLevelOnHost& level);

}  // namespace stratum
