#pragma once

// BoxKrylov: any method of solvers/krylov for a matrix on a box, around one cycle of multigrid with gated coarsening,
//
//     M = a cycle for A, or of an A that is not symmetric for S, (A + A^T) / 2 with rows that do not sum to less than zero.
//
// Vectors are in double, cycles in float unless asked otherwise. b and x are vectors of unknowns (`rows_of`). Memory beside that
// of the cycle and the method: of an A that is not symmetric its rows, and two vectors. Waits for the stream. Throws UsageError
// for an unknown method, one that takes symmetric matrices alone for such an A, and as BoxMultigrid does.

#include <array>
#include <memory>
#include <string_view>
#include <vector>

#include <stratum/core/operators/sparse_rows.hpp>
#include <stratum/multigrid/box_multigrid.hpp>
#include <stratum/solvers/solver.hpp>

namespace stratum {

struct BoxKrylovParams {
  std::string_view method = "gmres";  // of solver_entries()
  int restart = 30;
  bool float_cycles = true;
  std::unique_ptr<Solver<double>> solver{};  // in place of `method`
};

class BoxKrylov {
 public:
  Field<double> b, x;

  /// `general`: the rows of A on the nodes where `s` is not A; else of no rows.
  BoxKrylov(Context& ctx, const BoxMatrix<double>& s, const SparseRows& general, const std::array<GatedAxis, 3>& gate,
            const BoxMultigridParams& multigrid, BoxKrylovParams params);

  /// From zero.
  SolveReport solve(Context& ctx, const StoppingParams& stop, const Monitor& monitor);
  /// x = M^-1 b
  void precondition(Context& ctx);
  [[nodiscard]] const std::vector<GatedLevel>& levels() const { return levels_; }

 private:
  std::vector<GatedLevel> levels_;
  Shared<Preconditioner<double>> m_;
  std::unique_ptr<LinearOperator<double>> a_;
  std::unique_ptr<Solver<double>> solver_;
};

}  // namespace stratum
