#pragma once

// BoxKrylov: any method of solvers/krylov for a matrix on a box, around one cycle of multigrid with gated coarsening for it,
// or for another matrix that is like it.
// Vectors are in double, cycles in float unless asked otherwise. b and x are vectors of unknowns (`rows_of`). Memory beside that
// of the cycle and the method: a vector. Waits for the stream. Throws UsageError for an unknown method, one that takes symmetric
// matrices alone for a matrix in 27 bands, and as BoxMultigrid does.

#include <array>
#include <memory>
#include <string_view>
#include <vector>

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

  BoxKrylov(Context& ctx, const BoxMatrix<double>& a, const BoxMatrix<double>& of_cycle,
            const std::array<GatedAxis, 3>& gate, const BoxMultigridParams& multigrid, BoxKrylovParams params);

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
