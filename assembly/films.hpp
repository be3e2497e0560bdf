#pragma once

// Films: regions between boundaries that hold nothing, whose cells are long along it and thin across it. Across a film cells
// conduct kyy hx / hy, along it kxx hy / hx. A matrix that stores its entries in double rounds the sum of both, and a column of
// cells, as far as it reaches without a solid, keeps of what it conducts along the film all but about
//
//     epsilon  sum over the column of kyy hx / hy  /  sum over the column of (kxx hy / hx + c hx hy) .
//
// Without K, epsilon times the square of the aspect ratio. Work on the host, cells once.

#include <array>

#include <stratum/assembly/coefficients.hpp>

namespace stratum {

/// The largest such number, of columns and of rows. `k`: K and c, which bodies may have changed; null: K = 1. `holds`: the left,
/// right, bottom and top boundary hold u, as values do; a column at such a boundary, or at a held body, loses nothing.
[[nodiscard]] double round_off_of_films(const Geometry& mesh, const CellCoefficients* k, double reaction,
                                        const std::array<bool, 4>& holds);
/// The same with boundaries that hold u where the mesh has Dirichlet boundaries.
[[nodiscard]] double round_off_of_films(const Geometry& mesh, const CellCoefficients* k, double reaction);

/// Beyond this a matrix is not to be stored alone: residuals want differences (multigrid/by_differences.hpp).
inline constexpr double film = 1e-9;

}  // namespace stratum
