#pragma once

// hypre's multigrid solvers as peers of ours: A x = b in double, A the nine bands of a mesh, or five and symmetric, on one
// rank.
//
//   SMG            semicoarsening and plane relaxation, one step before and after, through the Struct interface
//   SMG-CG         conjugate gradients preconditioned by one cycle of it
//   PFMG-CG        semicoarsening, Jacobi relaxation weighted by 0.5, in boxes by 0.44, two steps before and after,
//                  Galerkin coarse matrices
//   BoomerAMG-CG   algebraic multigrid with a strong threshold of 0.5, its other parameters as they come, through IJ
//
// and, for the matrix of edge elements,
//
//   AMS-CG         conjugate gradients around one step of AMS, its parameters as they come, told that there is no mass term
//
// hypre runs on one core; built with CUDA (2.33 or later) it solves on a GPU, too, in boxes:
//
//   PFMG-CG                  as above
//   BoomerAMG-CG             PMIS, extended+e interpolation, l1-Jacobi relaxation and a strong threshold of 0.7: of what runs
//                            on GPUs the fewest iterations on stretched boxes
//   BoomerAMG-Chebyshev-CG   the same with Chebyshev polynomials of degree 2
//
// The Struct matrices are stored as symmetric ones. Set-up is the time of hypre's own; handing over the matrix is free.
// An iteration stops on the 2-norm of the residual that hypre keeps. The report tells the true one, ||b - A x||_2 of
// the solution returned, and claims convergence on it alone, with one per cent of tolerance between the two.
// Source: hypre Reference Manual, version 2.26, chapters Struct Solvers, ParCSR Solvers; version 3.1, GPU-supported Options.

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <stratum/core/io/solve_report.hpp>
#include <stratum/core/operators/csr_matrix.hpp>
#include <stratum/core/operators/grid_operator.hpp>

#include "support/timing.hpp"

namespace stratum::apps {

/// One linear solver of hypre, set up.
class HypreSolver {
 public:
  HypreSolver() = default;
  HypreSolver(const HypreSolver&) = delete;
  HypreSolver& operator=(const HypreSolver&) = delete;
  HypreSolver(HypreSolver&&) = delete;
  HypreSolver& operator=(HypreSolver&&) = delete;
  virtual ~HypreSolver() = default;

  /// From a zero guess. Throws std::runtime_error when hypre reports an error other than a failure to converge.
  virtual SolveReport solve(Context& ctx, FieldView<const double> b, FieldView<double> x) = 0;
};

/// MPI and hypre, running as long as this lives: once in a process, and longer than any solver.
class Hypre {
 public:
  /// Throws ResourceError when this program was built without hypre, or is to run on a GPU with a hypre without CUDA.
  explicit Hypre(Stopwatch now, bool on_gpu = false);
  Hypre(const Hypre&) = delete;
  Hypre& operator=(const Hypre&) = delete;
  Hypre(Hypre&&) = delete;
  Hypre& operator=(Hypre&&) = delete;
  ~Hypre();

  [[nodiscard]] static bool available(bool on_gpu = false);
  [[nodiscard]] static std::string version();
  [[nodiscard]] static const std::vector<std::string>& solvers(bool on_gpu = false);
  /// How many entries a matrix can have: half of what its integers count, for it has ghosts and makes coarse matrices.
  [[nodiscard]] static std::int64_t most_entries();
  /// Failing to converge is an outcome; of anything else that hypre has noted std::runtime_error says `what` it did.
  static void check(const char* what);

  [[nodiscard]] bool on_gpu() const { return on_gpu_; }
  /// The clock, once the GPU has done what it was given.
  [[nodiscard]] double seconds() const;
  /// The values where hypre reads and writes them: themselves on the host, on a GPU a copy that lives as long as the pointer.
  [[nodiscard]] std::shared_ptr<double> lend(std::vector<double>& values) const;
  /// What hypre has written there becomes the values.
  void take_back(const std::shared_ptr<double>& lent, std::vector<double>& values) const;
  /// Memory that hypre keeps on a GPU for later goes back to it.
  void trim_memory() const;

  /// `a` must outlive the solver; where it is singular, A 1 = 0, the coarsest level is relaxed and not solved, or hypre would
  /// divide by what rounding leaves of it. Throws UsageError for an unknown name and for a storage format other than these
  /// bands.
  [[nodiscard]] std::unique_ptr<HypreSolver> set_up(const std::string& name, const GridOperator<double>& a, double rtol,
                                                    int max_iterations, bool singular = false) const;

  /// AMS-CG for the matrix of edge elements, `rows` those of a; `gradient` has a column for every node, `points` its
  /// coordinates.
  [[nodiscard]] std::unique_ptr<HypreSolver> set_up_ams(const CsrMatrix<double>& a, const SparseRows& rows,
                                                        const SparseRows& gradient,
                                                        const std::array<std::vector<double>, 3>& points, double rtol,
                                                        int max_iterations) const;

 private:
  Stopwatch now_;
  bool on_gpu_;
};

}  // namespace stratum::apps
