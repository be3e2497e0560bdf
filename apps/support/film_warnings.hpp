#pragma once

// What programs warn of in films (assembly/films.hpp).

#include <algorithm>
#include <string>

#include <stratum/multigrid/structured_solver.hpp>

#include "program.hpp"

namespace stratum::apps {

/// Of a solver whose operator is in bands; `lost`: by round_off_of_films (assembly/films.hpp).
inline void warn_of_films(const char* program, const StructuredSolver& solver, double lost) {
  const std::string cells = "cells between boundaries without values are so long and thin that ";
  const GridLayout<2> grid = solver.meshes().back().unknowns();
  const double along = std::max(grid.nx, grid.ny);
  // The cycle is that of the bands: there, errors that are smooth along the film are smaller by this factor.
  constexpr double most = 100;
  if (!solver.keeps_differences() && lost > 1e-6)
    warn(program, message(cells, "round-off of the matrix may change u by about ", std::min(lost, 1.0),
                          " of itself. Wider cells, or fewer along the film, lose less"));
  else if (lost * along * along > most)
    warn(program,
         message(cells, "the error of the iteration may be larger than is estimated. Look at the balance of the "
                        "fluxes; wider cells, or fewer along the film, are solved better"));
}

}  // namespace stratum::apps
