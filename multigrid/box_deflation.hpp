#pragma once

// Conjugate gradients in a box with a deflation vector for each isolated part that couples a thousand times as strongly as its
// surroundings (multigrid/inclusions.hpp, solvers/deflation/deflated_cg.hpp). Every such part leaves a slow mode in the cycle.
// The vector of a part is one on its nodes and zero elsewhere. Set-up is on the host; memory there: 27 entries a row of A.

#include <array>
#include <memory>
#include <span>
#include <vector>

#include <stratum/core/operators/box_matrix.hpp>
#include <stratum/core/operators/sparse_rows.hpp>
#include <stratum/multigrid/gate.hpp>
#include <stratum/solvers/solver.hpp>

namespace stratum {

struct BoxDeflation {
  static constexpr int most_vectors = 400;
  static constexpr double jump_for_vectors = 1e3, jump_for_two_parts = 1e4;
  /// Null: none, of matrices without such parts.
  std::unique_ptr<Solver<double>> solver{};
  int count = 0;
};

/// Of the rows of the nodes of a box and their sums. A is symmetric positive definite.
[[nodiscard]] BoxDeflation make_box_deflation(Context& ctx, const SparseRows& a, const BoxShape& shape,
                                              std::span<const double> sums);
/// Of K by cells.
[[nodiscard]] BoxDeflation make_box_deflation(Context& ctx, const BoxCoefficients& coefficients, bool scalar);

/// Widths of neighbours differ by less than a half: on others thin cells would be taken for such parts.
[[nodiscard]] bool are_even(const std::array<GatedAxis, 3>& axes);

}  // namespace stratum
