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
//     fixed        rows that hold nothing but their diagonal are solved first, and their couplings go to the right-hand side.
//                  Outer layers of them are left out
//     sign         of a matrix whose diagonal is negative throughout -A x = -b is solved
//     symmetry     |a_km - a_mk| <= 1e-12 sqrt(a_kk a_mm). Else D A with positive d that make it symmetric
//                  (core/operators/row_scales.hpp), as of differences on cells whose sizes vary, until b - A x meets the
//                  tolerance. Else A is solved by GMRES around cycles with coarse matrices in
//                  27 bands (multigrid/structured/box_krylov.hpp): with lines along all directions where convection is
//                  stronger than diffusion in cells, and of upwind couplings where those of A have both signs
//     singular     no row fixed, every row of the one part sums to zero but for rounding: right-hand sides must have no mean
//                  (|sum b| <= 1e-8 sum |b|, which is subtracted; of D b for scaled rows) unless `project`; solutions have mean zero.
//                  A part of several that is determined up to a constant is refused, and an unsymmetric A whose columns do not
//                  sum to zero. `singular` = true takes sums of 1e-6 of a row's entries for zero, as files with few digits have them
//     inclusions   isolated parts that couple a thousand times as strongly as their surroundings have a deflation vector each, where
//                  the method is left open (multigrid/box_deflation.hpp)
//     widths       by the couplings: of a tensor grid those in two directions are as the squares of its widths. Medians of layers.
//                  Those that are given are multiplied by a number for each direction, so that they agree with couplings, too
//
// Coarse matrices are Galerkin products in 14 bands, or 27, interpolation follows the couplings. Memory: as many numbers an
// unknown and precision and what BoxMultigrid takes; on the host the matrix once more. Solves wait for the stream. One object
// serves one thread at a time. One rank. Throws UsageError, naming the first row, for rows that do not fit the box, numbers that
// are not finite, diagonals of both signs, matrices as above, and claims that do not hold; BreakdownError where the matrix turns
// out to be indefinite on the coarsest level.

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <stratum/core/device/context.hpp>
#include <stratum/core/io/solve_report.hpp>
#include <stratum/core/operators/sparse_rows.hpp>
#include <stratum/multigrid/select.hpp>
#include <stratum/multigrid/structured/dense_vectors.hpp>
#include <stratum/multigrid/structured/grid_rows.hpp>
#include <stratum/solvers/stopping.hpp>

namespace stratum {

struct BoxMatrixParams {
  StoppingParams stop{.rtol = 1e-8, .max_iterations = 200};
  bool float_cycles = true;                     // and vectors of the iteration, but for residuals
  std::optional<bool> symmetric{}, singular{};  // none: detected. A claim that A does not bear out is refused
  /// None: cg where A is symmetric, or D A, else gmres. multigrid: cycles alone.
  std::optional<Method> method{};
  int restart = 30;                   // of gcr and gmres
  Triangle triangle = Triangle::ask;  // of a matrix that has one alone (multigrid/structured/grid_rows.hpp)
  bool project = false;               // right-hand sides of a singular A lose their mean, however large
  std::array<std::vector<double>, 3>
      widths{};  // n - 1 between nodes; more where the boundary's nodes are no unknowns; n periodic
  bool widths_beyond_ends =
      false;                     // always n + 1, of which those beyond Neumann ends, and the last around, are not used
  std::vector<int> numbering{};  // node (k ny + j) nx + i of every unknown; empty: detected
};

/// Throws UsageError unless options for two dimensions are those that boxes have: smoother "auto", one sweep before and after the
/// coarse correction, cycle "v", interpolation "matrix". Empty names, and no sweeps, leave it open.
void expects_options_of_boxes(std::string_view smoother, std::optional<int> sweeps, std::string_view cycle,
                              std::string_view interpolation);

/// Rows with columns in any order, those of one place added, of 32- or 64-bit integers. Throws UsageError for arrays that are no
/// square matrix.
template <class Index>
[[nodiscard]] SparseRows rows_of_csr(std::span<const Index> start, std::span<const Index> column,
                                     std::span<const double> value);

class BoxMatrixSolver {
 public:
  BoxMatrixSolver(Context& ctx, const SparseRows& a, const std::array<int, 3>& n, const BoxMatrixParams& params = {});
  ~BoxMatrixSolver();
  BoxMatrixSolver(BoxMatrixSolver&&) noexcept;
  BoxMatrixSolver& operator=(BoxMatrixSolver&&) noexcept;
  BoxMatrixSolver(const BoxMatrixSolver&) = delete;
  BoxMatrixSolver& operator=(const BoxMatrixSolver&) = delete;

  /// Solves A x = b from the given x: arrays on the host, in the numbering of the matrix.
  SolveReport solve(Context& ctx, std::span<const double> b, std::span<double> x, const Monitor& monitor = {});
  /// z = one cycle for A z = r from zero; a symmetric map where A is symmetric.
  /// Identity rows are solved first, as in a solve.
  void apply(Context& ctx, std::span<const double> r, std::span<double> z);
  /// The same of vectors of Eigen and similar libraries.
  template <class B, class X>
  requires detail::DenseVectors<B, X> SolveReport solve(Context& ctx, const B& b, X&& x, const Monitor& monitor = {}) {
    return solve(ctx, detail::numbers_of_vector(b), detail::numbers_of_vector(x), monitor);
  }
  void set_stop(const StoppingParams& stop);
  [[nodiscard]] std::size_t unknowns() const;

  struct Findings {
    std::array<int, 3> order{0, 1, 2};  // directions as they are numbered, the fastest first; of a given numbering none
    std::array<bool, 3> periodic{};
    bool symmetric = false, singular = false;  // without scales
    bool scaled = false;
    bool negative = false;  // the diagonal
    int fixed = 0;
    std::array<std::vector<double>, 3> widths;        // as coarsening sees them, up to a factor
    std::array<std::array<bool, 2>, 3> is_natural{};  // Neumann's or Robin's: the first and the last end
    Method method = Method::cg;
    std::string choice;               // of the method, and why
    std::vector<std::string> levels;  // "63 x 63 x 63 points"
  };
  [[nodiscard]] const Findings& findings() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace stratum
