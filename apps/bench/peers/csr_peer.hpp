#pragma once

// Solvers of other libraries that are given the rows of a matrix and nothing else, beside MatrixSolver: conjugate gradients
// preconditioned by a cycle of algebraic multigrid, all parameters as they come, in double on one thread.
//
// The report's residual is the true one of the solution returned, and claims convergence on it alone, with one per cent of
// tolerance to the one that the library keeps.

#include <array>
#include <span>
#include <string_view>

#include <stratum/core/io/solve_report.hpp>
#include <stratum/core/operators/sparse_rows.hpp>

#include "support/timing.hpp"

namespace stratum::apps {

struct CsrPeer {
  std::string_view option;   // of --peers
  std::string_view name;     // in tables
  std::string_view library;  // and how programs are built with it
  /// Null where they are not. From a zero guess; sets iterations and seconds.
  SolveReport (*run)(const SparseRows& a, std::span<const double> b, std::span<double> x, double rtol,
                     int max_iterations, Stopwatch now) = nullptr;

  [[nodiscard]] bool available() const { return run != nullptr; }
  [[nodiscard]] SolveReport solve(const SparseRows& a, std::span<const double> b, std::span<double> x, double rtol,
                                  int max_iterations, Stopwatch now) const;
};

/// D. Demidov, AMGCL: An efficient, flexible, and extensible algebraic multigrid implementation, Lobachevskii J. Math. 40,
/// 2019: smoothed aggregation, sparse approximate inverses (SPAI-0) as smoothers.
[[nodiscard]] CsrPeer amgcl_peer();

/// H. Anzt et al., Ginkgo: A modern linear operator algebra framework for high performance computing, ACM Trans. Math. Softw.
/// 48, 2022: parallel graph match, on its OpenMP executor.
[[nodiscard]] CsrPeer ginkgo_peer();

[[nodiscard]] inline std::array<CsrPeer, 2> csr_peers() { return {amgcl_peer(), ginkgo_peer()}; }

}  // namespace stratum::apps
