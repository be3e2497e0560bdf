#pragma once

// BoxMatrixSolver: solves with somebody's matrix on a box of nx x ny x nz nodes, each row of which couples a node with some of
// its 26 neighbours (7 or 27 points), by multigrid with gated coarsening (multigrid/box_multigrid.hpp):
//
//     BoxMatrixSolver solver(ctx, rows, {nx, ny, nz});
//     SolveReport report = solver.solve(ctx, b, x);                             arrays in the numbering of the matrix
//
// What is detected:
//
//     numbering    x fastest, or any other order of the three directions; else `numbering` says which node an unknown is
//     periodic     rows that couple to the other end of a direction of at least three nodes
//     fixed        rows that hold nothing but their diagonal are solved first, and their couplings go to the right-hand side
//     symmetry     |a_km - a_mk| <= 1e-12 sqrt(a_kk a_mm). Else D A with positive d that make it symmetric
//                  (core/operators/row_scales.hpp), as of differences on cells whose sizes vary, until b - A x meets the
//                  tolerance. A matrix that is neither is refused: conjugate gradients and these cycles are not for it
//     singular     no row fixed, every row of the one part sums to zero but for rounding: right-hand sides must have no mean
//                  (|sum b| <= 1e-8 sum |b|, which is subtracted; of D b for scaled rows) unless `project`; solutions have mean zero.
//                  A part of several that is determined up to a constant is refused
//     widths       by the couplings: of a tensor grid those in two directions are as the squares of its widths. Medians of layers
//
// Coarse matrices are Galerkin products in 14 bands, interpolation follows the couplings. Memory: 14 numbers an unknown and
// precision and what BoxMultigrid takes; on the host the matrix once more. Solves start from zero, and wait for the stream. One
// rank. Throws UsageError, naming the first row, for rows that do not fit the box, numbers that are not finite, diagonals that
// are not positive, matrices as above, and claims that do not hold; BreakdownError where the matrix turns out to be indefinite
// on the coarsest level.

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <stratum/core/device/context.hpp>
#include <stratum/core/io/solve_report.hpp>
#include <stratum/core/operators/sparse_rows.hpp>
#include <stratum/solvers/stopping.hpp>

namespace stratum {

struct BoxMatrixParams {
  StoppingParams stop{.rtol = 1e-8, .max_iterations = 200};
  bool float_cycles = true;                     // and vectors of the iteration, but for residuals
  std::optional<bool> symmetric{}, singular{};  // none: detected. A claim that A does not bear out is refused
  bool project = false;                         // right-hand sides of a singular A lose their mean, however large
  std::array<std::vector<double>, 3>
      widths{};                  // n - 1 between nodes; more where the boundary's nodes are no unknowns; n periodic
  std::vector<int> numbering{};  // node (k ny + j) nx + i of every unknown; empty: detected
};

class BoxMatrixSolver {
 public:
  BoxMatrixSolver(Context& ctx, const SparseRows& a, const std::array<int, 3>& n, const BoxMatrixParams& params = {});
  ~BoxMatrixSolver();
  BoxMatrixSolver(BoxMatrixSolver&&) noexcept;
  BoxMatrixSolver& operator=(BoxMatrixSolver&&) noexcept;
  BoxMatrixSolver(const BoxMatrixSolver&) = delete;
  BoxMatrixSolver& operator=(const BoxMatrixSolver&) = delete;

  /// Arrays on the host, in the numbering of the matrix; whatever x holds.
  SolveReport solve(Context& ctx, std::span<const double> b, std::span<double> x, const Monitor& monitor = {});
  /// z = one cycle for A z = r from zero, a symmetric map where A is symmetric.
  void apply(Context& ctx, std::span<const double> r, std::span<double> z);
  void set_stop(const StoppingParams& stop);

  struct Findings {
    std::array<int, 3> order{0, 1, 2};  // directions as they are numbered, the fastest first; of a given numbering none
    std::array<bool, 3> periodic{};
    bool symmetric = false, singular = false;  // without scales
    bool scaled = false;
    int fixed = 0;
    std::array<std::vector<double>, 3> widths;  // as coarsening sees them, up to a factor
    std::vector<std::string> levels;            // "63 x 63 x 63 points"
  };
  [[nodiscard]] const Findings& findings() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace stratum
