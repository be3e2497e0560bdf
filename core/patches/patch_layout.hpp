#pragma once

// PatchLayout: how the closed grids of patches lie in one vector. Nodes on edges and vertices have a copy in every patch they
// belong to.
//
//     patch p: node (i, j), 0 <= i <= nx, 0 <= j <= ny, is number first + j pitch + i of the vector
//
// Around every patch the numbers are zero: one row below and above, one column at least between rows. So the nine-point rows of
// a patch read no other patch, and dot products and vector updates run over the whole vector (core/field/blas.hpp).
//
// There are two kinds of vectors, and they are two types:
//
//     Consistent   all copies of a node have its value: x, search directions, corrections
//     Partial      the value of a node is the sum of its copies: loads, residuals, A x
//
// Then r_p = b_p - A_p x_p, the restriction P_p^T r_p and the Galerkin product P_p^T A_p P_p need no other patch, and
// (r, z) = sum over patches of r_p . z_p needs no weights. `sum_copies` makes a partial vector consistent: it adds copies in
// the order of patch numbers, so that all copies of a node have the same bits.
//
// Ranks. Each rank may have some of the patches: its vectors hold these alone, and the layout knows the shape of the others.
// In the layout of all patches those of a rank follow each other, so that the parts of all ranks are gathered as they lie.
//
// Topology. A patch has vertices 00, 10, 11, 01 and local edges 0 (y = 0), 1 (x = 1), 2 (y = 1), 3 (x = 0), each in the
// direction of the growing coordinate; an edge has a direction of its own and may be reversed in a patch. Two edges may have
// the same vertices, and a patch may be its own neighbour. Edges that face each other across patches are a chord and have as
// many cells.
//
// Throws UsageError where the numbers exceed 2^31 - 1.

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include <stratum/core/field/field.hpp>

namespace stratum {

struct PatchTopology {
  struct LocalEdge {
    int number = 0;
    bool reversed = false;
  };
  struct Patch {
    std::array<int, 4> corners{};
    std::array<LocalEdge, 4> edges{};
  };
  struct Side {
    int patch = 0, local = 0;
  };
  struct Edge {
    int first = 0, second = 0;  // vertices
    int chord = 0;
    bool against_chord = false;
    std::vector<Side> sides{};  // one on the boundary, else two
    [[nodiscard]] bool on_boundary() const { return sides.size() == 1; }
  };
  struct Corner {
    int patch = 0, corner = 0;
  };
  struct Vertex {
    std::vector<int> edges{};  // one from the vertex to itself is listed twice
    std::vector<Corner> corners{};
    bool on_boundary = false;
  };
  std::vector<Patch> patches;
  std::vector<Edge> edges;
  std::vector<Vertex> vertices;
  int chords = 0;
  /// Chords that come back to their own edges in the other direction.
  std::vector<bool> twisted;
};

/// Which patches are there, of those that several ranks share out.
struct PatchShare {
  std::shared_ptr<const std::vector<int>> ranks{};  // of each patch; none: one rank has all
  int rank = -1;                                    // whose patches are there; negative: all are
};

class PatchLayout {
 public:
  struct Patch {
    int first = 0;       // number of node (0, 0); negative where the patch is not there
    int pitch = 0;       // between rows
    int nx = 0, ny = 0;  // cells
    [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE int node(int i, int j) const { return first + j * pitch + i; }
    [[nodiscard]] int cells(int direction) const { return direction == 0 ? nx : ny; }
    [[nodiscard]] int stride(int direction) const { return direction == 0 ? 1 : pitch; }
  };

  PatchLayout(std::shared_ptr<const PatchTopology> topology, std::vector<int> cells_of_chords, PatchShare share = {});

  [[nodiscard]] const PatchTopology& topology() const { return *topology_; }
  [[nodiscard]] const std::shared_ptr<const PatchTopology>& shared_topology() const { return topology_; }
  [[nodiscard]] const std::vector<int>& cells_of_chords() const { return chords_; }
  [[nodiscard]] int cells_of_edge(int edge) const {
    return chords_[static_cast<std::size_t>(topology_->edges[static_cast<std::size_t>(edge)].chord)];
  }
  [[nodiscard]] int patches() const { return static_cast<int>(patches_.size()); }
  [[nodiscard]] const Patch& patch(int number) const { return patches_[static_cast<std::size_t>(number)]; }
  [[nodiscard]] bool has(int patch) const { return patches_[static_cast<std::size_t>(patch)].first >= 0; }
  /// Patches of other ranks are not there.
  [[nodiscard]] bool is_part() const { return share_.ranks != nullptr && share_.rank >= 0; }
  [[nodiscard]] int rank_of(int patch) const {
    return share_.ranks == nullptr ? 0 : (*share_.ranks)[static_cast<std::size_t>(patch)];
  }
  /// The layout of all patches, and that of one rank's.
  [[nodiscard]] PatchLayout complete() const { return {topology_, chords_, {share_.ranks, -1}}; }
  [[nodiscard]] PatchLayout part_of(int rank) const { return {topology_, chords_, {share_.ranks, rank}}; }
  /// Of the layout of all patches: the numbers of a rank's, begin <= k < end. They lie alike in the layout of the rank.
  struct Numbers {
    int begin = 0, end = 0;
  };
  [[nodiscard]] Numbers numbers_of(int rank) const;
  /// Numbers in a vector, those between patches included.
  [[nodiscard]] int size() const { return size_; }
  /// Nodes of the domain, each once.
  [[nodiscard]] std::int64_t nodes() const { return nodes_; }
  [[nodiscard]] std::int64_t cells() const;

  /// Number of a corner's node.
  [[nodiscard]] int corner(const PatchTopology::Corner& corner) const;
  /// Numbers of the nodes of an edge as a patch has it: first + k stride, k = 0 .. cells, in the direction of the edge.
  struct Run {
    int first = 0, stride = 0;
  };
  [[nodiscard]] Run run_of(const PatchTopology::Side& side) const;
  /// The next coarser layout: chords with more than one cell have half as many, rounded up.
  [[nodiscard]] bool coarsens() const;
  [[nodiscard]] PatchLayout coarser() const;

 private:
  std::shared_ptr<const PatchTopology> topology_;
  std::vector<int> chords_;
  PatchShare share_;
  std::vector<Patch> patches_;
  std::int64_t nodes_ = 0;
  int size_ = 0;
};

/// Of a chord of n cells that loses every second node: the fine node of coarse node `k`, counted in the direction of the chord.
/// Where n is odd the last interval stays alone.
struct CoarseChord {
  int n = 0;
  bool reversed = false;  // counted against the direction of the chord: the first interval stays alone
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE int coarse() const { return (n + 1) / 2; }
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE bool lone_first() const { return reversed && n % 2 != 0; }
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE int fine(int k) const {
    if (lone_first()) return k == 0 ? 0 : 2 * k - 1;
    return 2 * k < n ? 2 * k : n;
  }
  /// Coarse node at or before fine node `i`.
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE int at_or_before(int i) const {
    if (lone_first()) return (i + 1) / 2;
    return i == n ? coarse() : i / 2;
  }
};

/// All copies of a node have its value.
template <class T>
struct Consistent {
  Field<T> numbers;
};
/// The value of a node is the sum of its copies.
template <class T>
struct Partial {
  Field<T> numbers;
};

template <class T>
[[nodiscard]] Consistent<T> consistent(Context& ctx, const PatchLayout& layout) {
  return {Field<T>(ctx, layout.size())};
}
template <class T>
[[nodiscard]] Partial<T> partial(Context& ctx, const PatchLayout& layout) {
  return {Field<T>(ctx, layout.size())};
}

/// The copies of nodes that have more than one, in the memory of a Context; where patches are shared out, of nodes that are on
/// one rank alone (core/patches/split_nodes.hpp has the others).
class SharedNodes {
 public:
  SharedNodes(Context& ctx, const PatchLayout& layout);

  struct View {
    const int* copies;  // of all nodes, in the order of patches
    const int* begin;   // of each node; one more at the end
    int nodes;
  };
  [[nodiscard]] View view() const;

 private:
  Field<int> copies_, begin_;
  int nodes_ = 0;
};

/// x = the sums of the copies of r.
template <class T>
void sum_copies(Context& ctx, const SharedNodes& shared, const Partial<T>& r, Consistent<T>& x);

/// The first copy of every node gets the sum of all, the others zero: r stays what it is. Copies that cancel each other, as
/// fluxes on both sides of an edge do, would lose the digits of their sum in single precision; and the norm of r is that of the
/// vector.
template <class T>
void gather_copies(Context& ctx, const SharedNodes& shared, Partial<T>& r);

}  // namespace stratum
