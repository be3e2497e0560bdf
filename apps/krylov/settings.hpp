#pragma once

// What the options of krylov ask for, checked as far as that is possible without the matrix.

#include <algorithm>
#include <cstdint>
#include <string>

#include <stratum/multigrid/multigrid.hpp>
#include <stratum/solvers/jacobi_sweeps.hpp>
#include <stratum/solvers/preconditioner.hpp>
#include <stratum/solvers/solver.hpp>
#include <stratum/solvers/stopping.hpp>

#include "support/program.hpp"

namespace stratum::apps::krylov {

enum class Storage : std::uint8_t { automatic, band, csr };

/// The options, read.
struct Settings {
  std::string matrix, rhs;
  std::string triangle;  // symmetric or general; empty: asked for where it matters
  std::string problem;
  std::string grid;         // of rows: its size as given
  std::string coordinates;  // of rows, a file
  bool in_box = false;      // of three directions
  Storage storage = Storage::automatic;
  std::string method;  // empty: by the matrix
  int restart = SolverParams{}.restart;
  std::string preconditioner;  // empty: none
  IncompleteCholeskyParams incomplete_cholesky;
  IncompletePoissonForm incomplete_poisson = IncompletePoissonForm::scaled;
  MultigridParams multigrid;
  int sweeps = 2;     // of multigrid: as a preconditioner few do
  std::string inner;  // empty: none; "jacobi": sweeps
  StoppingParams inner_stop;
  SweepTest sweep_test = SweepTest::residual;
  StoppingParams stop;
  bool tolerance_asked_for = false;  // or below what the precision asked for can reach
  bool single = false, inner_single = false;
  Machine machine;
  bool quiet = false;

  /// Sizes of three directions.
  [[nodiscard]] static bool are_of_box(const std::string& sizes) {
    return std::count_if(sizes.begin(), sizes.end(), [](char c) { return c == ',' || c == 'x'; }) > 1;
  }
};

/// Throws UsageError, which names the option, where options do not fit each other.
[[nodiscard]] Settings parse_settings(const CommandLine& options);

}  // namespace stratum::apps::krylov
