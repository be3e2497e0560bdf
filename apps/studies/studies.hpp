#pragma once

// The studies of paper_tables. Each prints tables to standard output. The sources say which papers they are of.

#include <stratum/solvers/jacobi_sweeps.hpp>

#include "support/program.hpp"

namespace stratum::apps {

/// One table, one figure, or all where both are 0; levels up to `level`.
struct StudySelection {
  int table = 0, figure = 0, level = 8;
  bool csv = false;
  bool krylov = false;                          // of the study multigrid: a table of Krylov methods
  SweepTest sweep_test = SweepTest::increment;  // of the study toeplitz

  [[nodiscard]] bool all() const { return table == 0 && figure == 0 && !krylov; }
  [[nodiscard]] bool has_table(int number) const { return all() || table == number; }
  [[nodiscard]] bool has_figure(int number) const { return all() || figure == number; }
};

inline constexpr int first_bubbly_figure = 74, last_bubbly_figure = 79;

void print_boundary_layer_study(const Machine& machine, const StudySelection& selection);
void print_bubbly_study(const Machine& machine, const StudySelection& selection);
void print_coefficient_study(const Machine& machine, const StudySelection& selection);
void print_edge_study(const Machine& machine, const StudySelection& selection);
void print_multigrid_study(const Machine& machine, const StudySelection& selection);
void print_staggered_study(const Machine& machine, const StudySelection& selection);
void print_toeplitz_study(const Machine& machine, const StudySelection& selection);

}  // namespace stratum::apps
