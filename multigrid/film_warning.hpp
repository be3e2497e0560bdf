#pragma once

// What programs and languages warn of in films (assembly/films.hpp).

#include <string>

#include <stratum/multigrid/structured_solver.hpp>

namespace stratum {

/// Of a solver whose operator is in bands; empty where films cost little. `lost`: by round_off_of_films.
[[nodiscard]] std::string warning_of_films(const StructuredSolver& solver, double lost);
/// Two warnings, or the one that there is.
[[nodiscard]] std::string both_warnings(const std::string& first, const std::string& second);

}  // namespace stratum
