#pragma once

// Conjugate gradients for a matrix on a box with a deflation vector for each isolated part that couples a thousand times as
// strongly as its surroundings (multigrid/inclusions.hpp, solvers/deflation/deflated_cg.hpp). Every such part leaves a slow
// mode in the cycle. The vector of a part is one on its nodes and zero elsewhere. On the host; memory: the rows once more, and A Z.

#include <memory>

#include <stratum/multigrid/structured/box_rows.hpp>
#include <stratum/solvers/solver.hpp>

namespace stratum {

struct BoxDeflation {
  static constexpr int most_vectors = 400;
  static constexpr double jump_for_vectors = 1e3, jump_for_two_parts = 1e4;
  std::unique_ptr<Solver<double>>
      solver;  // null: none, of matrices without such parts, on graded cells, or that are singular
  int count = 0;
};

/// `rows`: of a symmetric matrix, or one that is so by its scales.
[[nodiscard]] BoxDeflation make_box_deflation(Context& ctx, const BoxRows& rows);

}  // namespace stratum
