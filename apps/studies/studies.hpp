#pragma once

// The studies of paper_tables beside that of multigrid. Each prints tables to standard output. The sources say which papers they
// are of.

#include <stratum/core/device/context.hpp>
#include <stratum/solvers/jacobi_sweeps.hpp>

namespace stratum::apps {

/// One table, one figure, or all where both are 0; levels up to `level`.
struct StudySelection {
  int table = 0, figure = 0, level = 8;
  bool csv = false;

  [[nodiscard]] bool all() const { return table == 0 && figure == 0; }
  [[nodiscard]] bool has_table(int number) const { return all() || table == number; }
  [[nodiscard]] bool has_figure(int number) const { return all() || figure == number; }
};

inline constexpr int first_bubbly_figure = 74, last_bubbly_figure = 79;

void print_boundary_layer_study(Context& ctx, const StudySelection& selection);
void print_bubbly_study(Backend backend, int threads, const StudySelection& selection);
void print_coefficient_study(Context& ctx, const StudySelection& selection);
void print_edge_study(Context& ctx, const StudySelection& selection);
void print_staggered_study(Context& ctx, const StudySelection& selection);
void print_toeplitz_study(Backend backend, int threads, SweepTest test, const StudySelection& selection);

}  // namespace stratum::apps
