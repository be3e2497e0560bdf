#pragma once

// Inclusions of high K, and a deflation vector for each. Every isolated inclusion leaves one slow mode in the cycle
// (solvers/deflation/deflation.hpp removes them).
//
// An inclusion is a connected set of cells whose K is above the geometric mean of the smallest and the largest K; cells that
// share a node are connected. An inclusion with a Dirichlet node is grounded: it has no slow mode and gets no vector.
//
// The vector of an inclusion is one on its nodes and zero on the nodes of all others. Elsewhere it is injected to the coarsest
// grid with eight cells across, and prolongated by the cycle's own P, with ones restored on the inclusion's nodes on every
// level: it is as smooth outside as the cycle resolves. A vector that drops to zero beside the inclusion would not do: its
// energy grows as cells shrink.
//
// The work is done on the host and, by Transfer, where the hierarchy is: the time of two to four cycles for 25 inclusions. On
// subdomains of a grid inclusions are those of the whole grid, and vectors have the subdomain's rows. Throws UsageError for
// coefficients that do not match the finest level of the hierarchy.

#include <vector>

#include <stratum/assembly/coefficients.hpp>
#include <stratum/multigrid/hierarchy.hpp>
#include <stratum/solvers/deflation/vectors.hpp>

namespace stratum {

struct Inclusions {
  std::vector<int> of_unknown;  // -1: in none
  std::vector<char> grounded;   // of every inclusion

  /// Those that have a vector.
  [[nodiscard]] int floating() const;
};

/// Of K = kxx, the mesh's own cells.
[[nodiscard]] Inclusions inclusions(const TensorMesh<2>& mesh, const CellCoefficients& k);
/// Of a matrix alone: what its nodes couple together, the sum of |a_km| over m != k, stands for K; nodes whose coupling is 0.01
/// of either's or more are connected, and one whose row sums to that much is a Dirichlet node's neighbour. Nodes whose rows sum
/// to ten times what couples them, held by penalties, are grounded.
[[nodiscard]] Inclusions inclusions(const SparseRows& a);
/// The same where each subdomain has its own rows of it (subdomain_rows of core/operators/csr_matrix.hpp): every subdomain
/// gathers two numbers a node of the whole.
[[nodiscard]] Inclusions inclusions(Communicator& comm, const SparseRows& a, const GridLayout<2>& subdomain,
                                    const GridLayout<2>& whole);
/// Of a number an unknown, where unknowns are cells (apps/two_phase/five_point.hpp): those that share a side are connected.
[[nodiscard]] Inclusions inclusions(const GridLayout<2>& unknowns, const std::vector<double>& kappa);

[[nodiscard]] DeflationVectors inclusion_vectors(Context& ctx, const Hierarchy<double>& hierarchy,
                                                 const Inclusions& inclusions);

}  // namespace stratum
