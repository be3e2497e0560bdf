#include <stratum/multigrid/film_warning.hpp>

#include <algorithm>

#include <stratum/core/errors.hpp>

namespace stratum {

std::string warning_of_films(const StructuredSolver& solver, double lost) {
  const std::string cells = "cells between boundaries without values are so long and thin that ";
  if (!solver.keeps_differences() && lost > 1e-6)
    return message(cells, "round-off of the matrix may change u by about ", std::min(lost, 1.0),
                   " of itself. Wider cells, or fewer along the film, lose less");
  const GridLayout<2> grid = solver.meshes().back().unknowns();
  const double along = std::max(grid.nx, grid.ny);
  // The cycle is that of the bands: there, errors that are smooth along the film are smaller by this factor.
  constexpr double most = 100;
  if (lost * along * along <= most) return {};
  return cells +
         "the error of the iteration may be larger than is estimated. Look at the balance of the fluxes; wider cells, "
         "or fewer along the film, are solved better";
}

std::string both_warnings(const std::string& first, const std::string& second) {
  return first + (first.empty() || second.empty() ? "" : "; ") + second;
}

}  // namespace stratum
