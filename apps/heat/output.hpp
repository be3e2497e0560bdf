#pragma once

// The files of a run: their names, the pictures of a film, and the memory that they and the solver take.

#include <cstdint>
#include <vector>

#include "settings.hpp"
#include "support/output_files.hpp"
#include "support/rank_output.hpp"
#include "support/vtk_series.hpp"

namespace stratum::apps::heat {

/// The names of the files, checked.
[[nodiscard]] OutputFiles parse_outputs(const CommandLine& options, const Settings& settings);

/// The nodes that this rank has values of.
[[nodiscard]] NodeRows rows_of(const HeatSolver& solver);

/// Picture `number` of the film: u, and where the exact solution is given that and the error.
void write_picture(Context& ctx, const Settings& settings, const HeatSolver& solver, int number, VtkSeries& series);

/// kxx in the cells between these rows of nodes.
[[nodiscard]] std::vector<double> kappa_on_cells(Context& ctx, const Settings& settings, const ProblemMesh& mesh,
                                                 double t, const NodeRows& rows);

/// The peak of the host's memory that this rank will reach, in bytes. Throws ResourceError where the host or the GPU has less,
/// before anything of the grid's size is allocated.
[[nodiscard]] std::int64_t expected_memory(const Context& ctx, const Settings& settings, const ProblemMesh& geometry,
                                           const OutputFiles& outputs);

}  // namespace stratum::apps::heat
