#pragma once

// Conjugate gradients in a box with a deflation vector for each isolated body of high K,
//
//     z_d = 1 on the nodes of body d, 0 elsewhere           (solvers/deflation/deflated_cg.hpp)
//
// Every such body leaves a slow mode in the cycle. A body is a connected set of cells whose K is above the geometric mean of the
// smallest and the largest, as in two dimensions (multigrid/inclusions.hpp); of a matrix without K, one of nodes that couple as
// strongly. Unknowns are numbered x fastest. Set-up is on the host. Of K by cells it needs the rows of A where A Z is not zero,
// on the surfaces of bodies: 27 entries each, and 64 bytes an unknown; of a matrix all rows.
//
// On several ranks each has all rows of its slab (BoxSlab), with columns for the planes beside it. Bodies are those of the whole
// box, and all ranks call together.
//
// Throws ResourceError where the coarse matrix of the vectors would not fit into memory.

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include <stratum/core/operators/box_matrix.hpp>
#include <stratum/core/operators/sparse_rows.hpp>
#include <stratum/mesh/tensor_mesh.hpp>
#include <stratum/multigrid/gate.hpp>
#include <stratum/solvers/solver.hpp>

namespace stratum {

struct BoxDeflation {
  /// On several ranks, where the set-up takes as long as six to eight iterations: bodies at least, and unknowns at most.
  static constexpr int least_on_ranks = 6;
  static constexpr std::int64_t most_unknowns_on_ranks = 1500000;
  static constexpr int most_vectors = 400;
  static constexpr double jump_for_vectors = 1e3, jump_for_two_parts = 1e4;
  /// Null: none, of matrices without such parts.
  std::unique_ptr<Solver<double>> solver{};
  int count = 0;
};

/// Of the rows of the nodes of a box and their sums. A is symmetric positive definite.
[[nodiscard]] BoxDeflation make_box_deflation(Context& ctx, const SparseRows& a, const BoxShape& shape,
                                              std::span<const double> sums);

/// Bodies that share no node with a Dirichlet face; none of a K that jumps by less than jump_for_vectors. One pass over the cells.
/// Of more than most_vectors there is the count alone.
struct IsolatedBodies {
  int count = 0;
  double jump = 1;               // of K: the largest by the smallest
  std::vector<int> of_unknown;   // the body of an unknown, -1: none; empty where there are no bodies
  std::vector<char> on_surface;  // of an unknown: A Z has entries there
  std::size_t surface_unknowns = 0;

  IsolatedBodies(const TensorMesh<3>& mesh, const std::vector<double>& k);
  /// Bytes that the set-up takes on the host for a while, of these unknowns or a slab of them.
  [[nodiscard]] std::size_t bytes(const BoxShape& shape) const;
};
/// Of K by cells, without a reaction.
[[nodiscard]] BoxDeflation make_box_deflation(Context& ctx, const BoxCoefficients& coefficients,
                                              const IsolatedBodies& bodies);

/// Widths of neighbours differ by less than a half: on others thin cells would be taken for such parts.
[[nodiscard]] bool are_even(const std::array<GatedAxis, 3>& axes);

}  // namespace stratum
