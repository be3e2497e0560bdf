#pragma once

// Conjugate gradients in a box with a deflation vector for each isolated part that couples a thousand times as strongly as its
// surroundings (multigrid/inclusions.hpp, solvers/deflation/deflated_cg.hpp). Every such part leaves a slow mode in the cycle.
// The vector of a part is one on its nodes and zero elsewhere. Set-up is on the host; memory there: 27 entries a row of A.
//
// On several ranks each has the rows of its slab (BoxSlab), with columns for the planes beside it; parts are those of the whole
// box, and all ranks call together.

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
  /// Conjugate gradients take about an iteration more for each part; the set-up from K by cells takes as long as six to eight.
  static constexpr int least_vectors = 6, most_vectors = 400;
  static constexpr double jump_for_vectors = 1e3, jump_for_two_parts = 1e4;
  /// Null: none, of matrices without such parts.
  std::unique_ptr<Solver<double>> solver{};
  int count = 0;
};

/// Of the rows of the nodes of a box and their sums. A is symmetric positive definite.
[[nodiscard]] BoxDeflation make_box_deflation(Context& ctx, const SparseRows& a, const BoxShape& shape,
                                              std::span<const double> sums);
/// Bytes that the set-up takes on the host for a while.
[[nodiscard]] std::size_t bytes_of_box_deflation(const BoxShape& shape);
/// Parts of the cells whose K is above the geometric mean of the smallest and the largest, that share nodes and have none on a
/// Dirichlet face: a pass over the cells, which says whether rows are worth making.
[[nodiscard]] int isolated_bodies(const TensorMesh<3>& mesh, const std::vector<double>& k);
/// Of K by cells.
[[nodiscard]] BoxDeflation make_box_deflation(Context& ctx, const BoxCoefficients& coefficients, bool scalar);

/// Widths of neighbours differ by less than a half: on others thin cells would be taken for such parts.
[[nodiscard]] bool are_even(const std::array<GatedAxis, 3>& axes);

}  // namespace stratum
